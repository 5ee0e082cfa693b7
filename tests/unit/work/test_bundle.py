from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.report.index import index
from qnnbuild.work import run_bundle
from qnnbuild.work.bundle import bundle
from qnnbuild.work.run import Run, WorkError

GOLDEN = Path(__file__).parents[2] / "golden" / "bundle"

REPORT = {
    "inputs": [{"name": "input|x", "dtype": "float32", "shape": [1, 576], "layout": "NT"}],
    "outputs": [{"name": "prob", "dtype": "float32", "shape": []}],
    "comparison": {
        "samples": "3 random",
        "outputs": {
            "prob": {"sqnr_db": 120, "max_abs_up_to": 1e-06, "max_rel_up_to": 0.01, "cosine": 1.0}
        },
    },
    "on_cpu": [],
}

RUN = {
    "provider_options": {"backend_type": "htp"},
    "session_options": {"session.disable_cpu_ep_fallback": "1"},
    "run_options": {},
    "dynamic_options": {},
}

GRAPH = {
    "graph": "vad",
    "variant": "",
    "context": "vad",
    "run_alone": False,
    "precision": "fp16",
    "source": {"pypi": "silero-vad==6.2.3", "member": "silero_vad/m.onnx", "sha256": "5e" * 32},
    "run": RUN,
    "ranges": {"input|x": [0.0, 3.0]},
    "prepared": "prepare/silero-vad/vad",
    "compiled": "context/silero-vad/vad@SM8750",
}

BURST = {
    "provider_options": {"backend_type": "htp", "htp_performance_mode": "burst"},
    "session_options": {},
    "run_options": {"qnn.perf_mode": "burst"},
    "dynamic_options": {"ep.dynamic.workload_type": "Efficient"},
}

PARAMS: Mapping[str, Any] = {
    "model": "silero-vad",
    "variants": [{"name": "", "axes": {}}],
    "description": "Hears whether somebody speaks.",
    "homepage": "https://silero.example",
    "license": {"spdx": "MIT", "redistribute": True},
    "chips": [
        {
            "name": "SM8750",
            "marketing": ["Snapdragon 8 Elite"],
            "soc_model": 69,
            "arch": 79,
            "vtcm_mb": 8,
            "fp16": True,
        }
    ],
    "toolchain": "ort",
    "folder": "recipes",
    "graphs": {"vad": GRAPH},
}

PROVENANCE = {
    "fetch/silero-vad": {
        "step": "fetch",
        "key": "f0" * 32,
        "tool": {"code:qnnbuild.work.fetch": "sha256:01"},
        "inputs": {},
        "outputs": {"model": "0e" * 32},
    },
    "prepare/silero-vad/vad": {
        "step": "prepare",
        "key": "f1" * 32,
        "tool": {"package:onnx": "1.23.2 sha256:02"},
        "inputs": {"model": "0e" * 32},
        "outputs": {"model": "1e" * 32, "report": "2e" * 32},
    },
    "context/silero-vad/vad@SM8750": {
        "step": "context",
        "key": "f2" * 32,
        "tool": {
            "package:onnxruntime-qnn": "2.7.0 sha256:03",
            "code:qnnbuild.work.context_ort": "sha256:04",
        },
        "inputs": {"model": "3e" * 32, "report": "2e" * 32},
        "outputs": {"context": "4e" * 32, "facts": "5e" * 32},
    },
}


@pytest.fixture(autouse=True)
def _private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def staged(files: Mapping[str, bytes | str], **params: Any) -> Run:
    """A run whose inputs hold what the actions before it leave, and `files`."""
    values = {**PARAMS, **params}
    given: dict[str, bytes | str] = {"provenance/provenance.json": json.dumps(PROVENANCE), **files}
    for graph in values["graphs"]:
        given.setdefault(f"context-{graph}/{graph}_ctx.onnx", f"onnx of {graph}")
        given.setdefault(f"context-{graph}/{graph}_ctx_qnn.bin", f"binary of {graph}")
        given.setdefault(f"facts-{graph}/{graph}.json", json.dumps(facts(graph)))
        given.setdefault(f"report-{graph}/report.json", json.dumps(REPORT))
    for name, data in given.items():
        path = Path("in", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    Path("out/bundle").mkdir(parents=True)
    inputs = {path.name: path for path in Path("in").iterdir()}
    return Run(params=values, inputs=inputs, outputs={"bundle": Path("out/bundle")})


def facts(graph: str) -> dict[str, Any]:
    files: dict[str, Any] = {f"{graph}_ctx.onnx": {}, f"{graph}_ctx_qnn.bin": {}}
    return {"sdk_build": "v2.51.0.1", "arch": 79, "files": files}


def made() -> list[str]:
    out = Path("out/bundle")
    return sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())


def read(name: str) -> str:
    return Path("out/bundle", name).read_text(encoding="utf-8")


def manifest() -> Any:
    return json.loads(read("manifest.json"))


def test_the_manifest_of_a_bundle(golden):
    bundle(staged({"license/LICENSE.txt": "MIT License\n"}))

    golden(GOLDEN / "manifest.json", read("manifest.json"))


def test_the_card_of_a_bundle(golden):
    bundle(staged({"license/LICENSE.txt": "MIT License\n"}))

    golden(GOLDEN / "card.md", read("README.md"))


def test_the_card_of_two_graphs_that_may_not_be_passed_on(golden):
    slow = {"operator": "ai.onnx:Erf", "node": "gelu", "reason": "not supported"}
    report = {**REPORT, "comparison": {"why_not": "it is random"}}
    two = {"head": {**GRAPH, "graph": "head", "context": "head", "run": BURST}, "vad": GRAPH}
    run = staged(
        {
            "report-head/report.json": json.dumps(report),
            "facts-head/head.json": json.dumps({**facts("head"), "cpu_nodes": [slow]}),
        },
        graphs=two,
        variants=[{"name": "10s", "axes": {"seconds": "10"}}],
        description="",
        homepage="",
        license={"spdx": "LicenseRef-Own", "redistribute": False},
    )

    bundle(run)

    golden(GOLDEN / "card-two-graphs.md", read("README.md"))


def test_every_file_but_the_manifest_is_in_the_manifest_with_its_digest():
    bundle(staged({"files/recipes/tokens.txt": "a b c\n"}))

    told = ("manifest.json", "provenance.intoto.json")

    assert sorted(manifest()["files"]) == [name for name in made() if name not in told]
    assert manifest()["files"]["tokens.txt"] == {"sha256": digest_bytes(b"a b c\n"), "bytes": 6}


def test_two_runs_make_the_same_bytes(tmp_path, monkeypatch):
    texts = []
    for folder in ("one", "another"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        bundle(staged({}))
        texts.append([read(name) for name in made()])

    assert texts[0] == texts[1]


def test_more_files_are_named_as_from_the_recipes_folder():
    bundle(staged({"files/recipes/lang/tokens.txt": "a", "files/shared/notes.txt": "b"}))

    assert made() == [
        *("LICENSE.txt", "README.md", "bom.cdx.json", "lang/tokens.txt", "manifest.json"),
        *("provenance.intoto.json", "run.py", "shared/notes.txt", "vad_ctx.onnx"),
        "vad_ctx_qnn.bin",
    ]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("readme.md", "README.md"),
        ("manifest.json", "manifest.json"),
        ("Bom.cdx.json", "bom.cdx.json"),
        ("provenance.intoto.json", "provenance.intoto.json"),
        ("provenance.intoto.jsonl", "provenance.intoto.jsonl"),
        ("License.txt", "LICENSE.txt"),
        ("Run.py", "run.py"),
        ("vad_ctx.onnx", "vad_ctx.onnx"),
    ],
)
def test_a_file_does_not_overwrite_the_bundles_own(name, own):
    run = staged({f"files/recipes/{name}": "mine"})

    with pytest.raises(WorkError) as caught:
        bundle(run)

    assert caught.value.message == f"'recipes/{name}' would overwrite the bundle's own '{own}'"
    assert caught.value.place == "bundle.files"


def test_the_program_beside_the_bundle_has_the_options_of_each_graph():
    head = {**GRAPH, "graph": "head", "context": "head", "run": BURST}
    bundle(staged({}, graphs={"head": head, "vad": GRAPH}))
    program: dict[str, Any] = {"__name__": "run", "__file__": "run.py"}
    exec(read("run.py"), program)

    assert program["RUN"] == {"head": BURST, "vad": RUN}
    assert program["RUN"] == {name: one["run"] for name, one in manifest()["graphs"].items()}


def test_the_program_is_the_same_for_every_bundle_but_for_the_options():
    bundle(staged({}))
    package = Path(run_bundle.__file__).read_text(encoding="utf-8").splitlines()
    written = read("run.py").splitlines()

    assert [line for line in written if line in package] == [
        line for line in package if not line.startswith("RUN: ")
    ]


def test_a_bundle_without_an_onnx_file_has_no_program():
    told = {**facts("vad"), "files": {"vad_ctx_qnn.bin": {}}}
    run = staged({"facts-vad/vad.json": json.dumps(told)})
    Path("in/context-vad/vad_ctx.onnx").unlink()
    bundle(run)

    assert "run.py" not in made()
    assert "QNN runtime" in read("README.md")


def test_a_licence_text_gets_plain_line_ends():
    bundle(staged({"license/recipes/LICENSE": b"\xef\xbb\xbfMIT\r\n\xc2\xa9 us\r\n\r\n"}))

    assert read("LICENSE.txt") == "MIT\n© us\n"


def test_a_licence_that_is_no_text_is_an_error():
    run = staged({"license/LICENSE": b"\0\1\2"})

    with pytest.raises(WorkError) as caught:
        bundle(run)

    assert caught.value.message == "the licence 'LICENSE' is not a text"
    assert caught.value.place == "license.file"


def test_without_a_text_the_licence_is_stated():
    bundle(staged({}))

    assert read("LICENSE.txt") == (
        "silero-vad is licensed under MIT.\n\nSPDX-License-Identifier: MIT\n\n"
        "The model's home: https://silero.example\n"
    )


def test_the_index_leads_from_a_part_number_to_a_bundle(golden):
    bundle(staged({}))
    ours = manifest()
    secret = {
        **ours,
        "model": "secret",
        "license": {"spdx": "LicenseRef-Own", "redistribute": False},
    }
    ten = {**ours, "variants": [{"name": "10s", "axes": {"seconds": "10"}}]}
    ten["graphs"] = {"vad": {**ours["graphs"]["vad"], "variant": "10s"}}

    text = json.dumps(
        index(
            {
                "silero-vad/SM8750": ours,
                "silero-vad/10s/SM8750": ten,
                "secret/SM8750": secret,
                "cut/SM8750": {},
            }
        ),
        indent=2,
    )

    golden(GOLDEN / "index.json", text + "\n")


def test_the_index_does_not_depend_on_the_order_of_bundles():
    bundle(staged({}))
    one, two = manifest(), {**manifest(), "model": "another"}

    forwards = json.dumps(index({"a": one, "b": two}))
    backwards = json.dumps(index({"b": two, "a": one}))

    assert forwards == backwards


ON_CPU = {"node": "/gelu/Erf", "operator": "Erf", "reason": "no Erf", "runtime_name": "Erf_3"}


def traced(*nodes: dict[str, str]) -> Run:
    """The compiled file has Erf_3 and a Cast on the CPU; the op trace has `nodes`."""
    left = [
        {"node": "Erf_3", "operator": "Erf", "reason": None},
        {"node": "Cast_1", "operator": "Cast", "reason": None},
    ]
    told = {**facts("vad"), "cpu_nodes": left, "cpu_share_of_multiply_adds": 0.125}
    return staged(
        {
            "facts-vad/vad.json": json.dumps(told),
            "trace-vad/op_trace.json": json.dumps({"on_cpu": nodes}),
            "trace-vad/qnn_op_trace.json": "{}",
        }
    )


def test_nodes_on_the_cpu_have_name_and_reason_of_the_op_trace():
    cast = {"node": "Cast_1", "operator": "Cast", "reason": "no Cast", "runtime_name": "Cast_1"}
    run = traced(ON_CPU, cast)
    bundle(run)

    assert run.warnings == []
    assert manifest()["graphs"]["vad"]["on_cpu"] == [
        {"node": "/gelu/Erf", "operator": "Erf", "reason": "no Erf"},
        {"node": "Cast_1", "operator": "Cast", "reason": "no Cast"},
    ]
    assert (
        "Nodes of `vad` that run on the CPU: 2 (Cast, Erf), 12.50% of the multiply-adds.\n\n"
        "| node | operator | why |\n| --- | --- | --- |\n"
        "| `/gelu/Erf` | Erf | no Erf |\n| `Cast_1` | Cast | no Cast |\n"
    ) in read("README.md")


def test_where_op_trace_and_compiled_file_differ_that_is_told():
    run = traced(ON_CPU)
    bundle(run)
    (notice,) = run.warnings

    assert notice.message == (
        "op trace and ctx.onnx of 'vad' differ in 1 node on the CPU: "
        "Cast_1 (Cast), only in ctx.onnx"
    )
    assert manifest()["graphs"]["vad"]["on_cpu_differs"] == [
        {"node": "Cast_1", "operator": "Cast", "only_in": "ctx.onnx"}
    ]


def test_libraries_of_own_operators_that_two_graphs_have_ship_once():
    two = {"head": {**GRAPH, "graph": "head", "context": "head"}, "vad": GRAPH}
    library = "op_packages/htp/libMyAdd.so"
    bundle(staged({f"packages-{graph}/{library}": b"a library" for graph in two}, graphs=two))

    assert [name for name in made() if name.startswith("op_packages")] == [library]
    assert manifest()["files"][library]["sha256"] == digest_bytes(b"a library")


def test_two_libraries_for_one_place_are_an_error():
    two = {"head": {**GRAPH, "graph": "head", "context": "head"}, "vad": GRAPH}
    library = "op_packages/htp/libMyAdd.so"
    given = {f"packages-{graph}/{library}": graph for graph in two}

    with pytest.raises(WorkError, match=r"would overwrite the bundle's own 'op_packages/htp"):
        bundle(staged(given, graphs=two))


def test_a_graph_that_only_a_device_runs_says_so_on_the_card():
    told = {**facts("vad"), "device_only": "the GPU is on a device only"}
    gpu = {**GRAPH, "run": {**RUN, "provider_options": {"backend_type": "gpu"}}}
    bundle(staged({"facts-vad/vad.json": json.dumps(told)}, graphs={"vad": gpu}))

    assert "For the GPU of the **SM8750**" in read("README.md")
    assert "`vad`: the GPU is on a device only." in read("README.md")
