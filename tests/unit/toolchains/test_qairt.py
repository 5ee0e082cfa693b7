"""The toolchain of Qualcomm's SDK: names, what the HTP is told, what is in a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph, RunOptions
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.qairt_extensions import device_part
from qnnbuild.toolchains.qairt_htp import run_part
from qnnbuild.toolchains.qairt_names import names_of

CHIPS = packaged_chips()
OLD = Qairt(Sdk(name="qairt-2.40", root="old", ndk="ndk"))
NEW = Qairt(Sdk(name="qairt-2.48", root="new"))
PLAIN = ContextOptions()


def graph(name: str = "model", **options: Any) -> Graph:
    given = {"qairt": options} if options else {}
    return Graph(name=name, source=FileSource(file="m.onnx"), precision="fp16", options=given)


def said(one: Graph, toolchain: Qairt = OLD, chip: str = "SM8750", **context: Any) -> list[str]:
    found = toolchain.problems(one, CHIPS[chip], ContextOptions(**context))
    return [problem.message for problem in found]


# --- names ------------------------------------------------------------------------------------


def test_one_name_gives_those_of_files_graph_and_library() -> None:
    names = names_of(graph("model-10-seconds"))

    assert (names.stem, names.graph, names.library) == (
        "model-10-seconds",
        "model_10_seconds",
        "libmodel-10-seconds.so",
    )


@pytest.mark.parametrize("name", ["CLIPModel", "10s", "a.b", "a__b", "_a", "é"])
def test_names_that_leave_doubt_are_refused(name: str) -> None:
    assert said(graph(name)) == [f"the SDK's tools would give the graph '{name}' another name"]


def test_lib_in_a_name_is_refused_for_android_only() -> None:
    assert said(graph("calibrated")) == []
    assert said(graph("calibrated", library={"targets": ["aarch64-android"]})) == [
        "the SDK's build for aarch64-android takes 'lib' out of the name 'calibrated'"
    ]


# --- what the HTP is told ---------------------------------------------------------------------


def test_the_htp_is_told_what_the_published_binaries_were_compiled_with() -> None:
    work = OLD.context(graph("enc-1", htp={"perf_profile": "burst"}), CHIPS["SM8850"], PLAIN)

    assert work.params["htp"] == {
        "graphs": [{"graph_names": ["enc_1"], "vtcm_mb": 8, "O": 3}],
        "devices": [{"device_id": 0, "soc_id": 87, "dsp_arch": "v81"}],
    }
    assert work.params["members"] == [
        {"stem": "enc-1", "graph": "enc_1", "reads_back": {"O": 3, "vtcm_mb": 8}}
    ]


def test_a_newer_sdk_is_told_soc_model() -> None:
    htp: Any = NEW.context(graph(), CHIPS["SM8750"], PLAIN).params["htp"]

    assert htp["devices"] == [{"device_id": 0, "soc_model": 69, "dsp_arch": "v79"}]


def test_keys_of_the_device_change_no_binary() -> None:
    plain = OLD.context(graph(), CHIPS["SM8750"], PLAIN)
    options = {
        "perf_profile": "burst",
        "rpc_control_latency": 200,
        "mem_type": "shared_buffer",
        "group_reused_io_limit_mb": 5,
    }

    assert OLD.context(graph(htp=options), CHIPS["SM8750"], PLAIN) == plain
    assert run_part(graph(htp=options)) == {
        "devices": [
            {
                "device_id": 0,
                "cores": [{"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 200}],
            }
        ],
        "groupContext": {"reused_io_limit_mb": 5},
        "memory": {"mem_type": "shared_buffer"},
    }


def test_a_default_that_is_written_out_is_none() -> None:
    options = {"O": 3, "advanced_activation_fusion": True, "pd_session": "unsigned"}

    assert OLD.context(graph(htp=options), CHIPS["SM8750"], PLAIN) == OLD.context(
        graph(), CHIPS["SM8750"], PLAIN
    )


def test_several_graphs_share_weights_and_have_settings_each() -> None:
    graphs = {"a": graph("a"), "b": graph("b", htp={"O": 1, "vtcm_mb": 2, "hvx_threads": 4})}

    params: Any = OLD.shared(graphs, CHIPS["SM8750"], PLAIN).params

    assert params["htp"]["graphs"] == [
        {"graph_names": ["a"], "vtcm_mb": 8, "O": 3},
        {"graph_names": ["b"], "vtcm_mb": 2, "O": 1, "hvx_threads": 4},
    ]
    assert params["htp"]["context"] == {"weight_sharing_enabled": True}
    assert [member["reads_back"] for member in params["members"]] == [
        {"O": 3, "vtcm_mb": 8},
        {"O": 1, "vtcm_mb": 2, "hvx_threads": 4},
    ]


def test_graphs_of_one_name_cannot_share_a_binary() -> None:
    (problem,) = OLD.sharing_problems([graph("a-b"), graph("a_b")])

    assert problem.message == "two graphs of one binary would be called 'a_b'"
    assert list(OLD.sharing_problems([graph("a"), graph("b")])) == []


def test_variants_in_one_binary_have_names_of_their_own() -> None:
    one, other = (replace(graph("enc"), in_binary=f"enc-{length}") for length in ("5", "10"))

    assert list(OLD.sharing_problems([one, other])) == []
    assert names_of(other).graph == "enc_10"
    assert OLD.convert(other).params["stem"] == "enc-10"
    assert said(other) == []
    assert said(replace(other, in_binary="enc-big.en")) == [
        (
            "the SDK's tools would give 'enc-big.en' another name, which 'enc' has in a binary "
            "that variants share"
        )
    ]


def test_a_binary_holds_so_many_graphs() -> None:
    graphs = [graph(f"g{number}") for number in range(65)]

    assert list(OLD.sharing_problems(graphs[:64])) == []
    assert [problem.message for problem in OLD.sharing_problems(graphs)] == [
        "65 graphs would share a binary, which holds 64 at most"
    ]


def test_compressed_weights_are_not_shared() -> None:
    (problem,) = OLD.sharing_problems([graph("a"), graph("b", htp={"dlbc_weights": 1})])

    assert problem.message == "dlbc_weights cannot stand beside shared weights"


def test_the_file_around_the_htps_own_has_keys_too() -> None:
    around = {
        "context_priority": "high",
        "graph_priority": "low",
        "memory_limit_hint": 512,
        "num_max_events": 9,
    }
    one, plain = graph("enc-1", extensions=around), graph("enc-1")

    assert said(one) == []
    assert OLD.context(one, CHIPS["SM8750"], PLAIN).params["extensions"] == {
        "context_configs": {"context_priority": "high"},
        "graph_configs": [{"graph_name": "enc_1", "graph_priority": "low"}],
    }
    assert "extensions" not in OLD.context(plain, CHIPS["SM8750"], PLAIN).params
    assert device_part(one) == {
        "htp": {},
        "extensions": {
            "context_configs": {"context_priority": "high", "memory_limit_hint": 512},
            "profile_configs": {"num_max_events": 9},
            "graph_configs": [{"graph_name": "enc_1", "graph_priority": "low"}],
        },
    }
    assert device_part(plain) == {"htp": {}}
    assert said(graph(extensions={"context_priority": "highest"})) == [
        "context_priority: 'highest' is none of low, normal, normal_high, high"
    ]


def test_what_a_binary_has_once_has_one_value() -> None:
    one = graph("a", extensions={"context_priority": "high"}, htp={"O": 1})

    assert [problem.message for problem in OLD.sharing_problems([one, graph("b")])] == [
        "context_priority of 'a' and of 'b' differ, and they share a binary"
    ]


# --- keys and libraries -----------------------------------------------------------------------


def test_no_place_of_the_machine_is_in_what_makes_a_key() -> None:
    elsewhere = Qairt(Sdk(name="qairt-2.40", root="/other", python="/p", ndk="/n"))
    one = graph(library={"targets": ["aarch64-android"]})

    assert elsewhere.convert(one) == OLD.convert(one)
    assert elsewhere.libraries(one) == OLD.libraries(one)
    assert elsewhere.context(one, CHIPS["SM8750"], PLAIN) == OLD.context(
        one, CHIPS["SM8750"], PLAIN
    )
    assert OLD.convert(one).env == {}


def test_this_host_gets_a_library_always_and_android_on_request() -> None:
    assert list(OLD.libraries(graph())) == ["x86_64-linux-clang"]
    works = OLD.libraries(graph(library={"targets": ["aarch64-android"]}))
    assert {system: work.params["page_bytes"] for system, work in works.items()} == {
        "x86_64-linux-clang": 0,
        "aarch64-android": 16384,
    }


def test_a_library_for_android_needs_an_ndk() -> None:
    assert said(graph(library={"targets": ["aarch64-android"]}), NEW) == [
        "a library for aarch64-android needs an NDK, and qairt-2.48 declares none"
    ]


# --- what it does not do ----------------------------------------------------------------------


def test_keys_of_the_other_toolchain_are_told_to_do_nothing() -> None:
    one = replace(graph(), cpu_fallback="allow", run=RunOptions(perf_mode="burst"), backend="gpu")

    assert said(one, embed=True, chip_groups={"phones": ("arch>=73",)}) == [
        f"'{key}' is nothing to the toolchain qairt-2.40"
        for key in ("backend", "cpu_fallback", "run", "embed", "chip_groups")
    ]
