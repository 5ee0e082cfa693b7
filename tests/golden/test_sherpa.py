"""recipes/sherpa is what 13 published workflows build: how much of it, and in which words."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import ExportSource, Graph, Target
from qnnbuild.session import Session, open_session
from qnnbuild.toolchains.qairt_htp import compile_part, run_part
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.work import qairt_context, qairt_library
from tools.sherpa_page import PAGE, page

REPO = Path(__file__).parents[2]
SHERPA = REPO / "recipes" / "sherpa"
HERE = Path(__file__).parent / "sherpa"
STEPS = (
    *("export", "prepare", "samples", "reference", "calibrate", "convert", "library"),
    *("context", "verify", "verdict", "bundle"),
)

QUANTIZED = "--input_list LIST --use_native_input_files"
WIDTHS = "--act_bitwidth 16 --bias_bitwidth 32"
PARAKEET = f"{QUANTIZED} {WIDTHS}"
FLOAT = WIDTHS
HALF = f"--float_bitwidth 16 {WIDTHS}"
ALL_FLOAT = {"encoder": FLOAT, "decoder": FLOAT, "joiner": FLOAT}
STREAMING = {"encoder": PARAKEET, "decoder": HALF, "joiner": PARAKEET}
PUBLISHED = {
    "sense-voice": {
        "model": f"--out_node logits {QUANTIZED} --input_dtype x float32 "
        f"--input_dtype prompt int32 {WIDTHS} --input_layout x NTF"
    },
    "zipformer-ctc": {
        "model": f"--out_node log_probs {QUANTIZED} --input_dtype x float32 {WIDTHS} "
        "--input_layout x NTF"
    },
    "paraformer": {
        "encoder": f"--out_node encoder_out {QUANTIZED} --input_dtype x float32 {WIDTHS} "
        "--input_layout x NTF",
        "predictor": f"{QUANTIZED} --input_dtype encoder_out float32 {WIDTHS}",
        "decoder": f"{QUANTIZED} --input_dtype encoder_out float32 "
        f"--input_dtype acoustic_embedding float32 --input_dtype mask int32 {WIDTHS}",
    },
    "whisper": {"encoder": FLOAT, "decoder": FLOAT},
    "zipformer-transducer": ALL_FLOAT,
    "streaming-zipformer-transducer": ALL_FLOAT,
    "x-asr": ALL_FLOAT,
    "parakeet-ctc": {"model": PARAKEET},
    "parakeet-tdt-ctc": {
        "model": PARAKEET,
        "encoder": PARAKEET,
        "decoder": FLOAT,
        "joiner": FLOAT,
    },
    "parakeet-tdt": STREAMING,
    "nemotron-en": STREAMING,
    "nemotron-3.5": STREAMING,
    "moonshine": {"encoder": PARAKEET, "decoder": FLOAT},
}
"""What stands behind --input_network and --output_path in each workflow, flag by flag."""

BUILT = {
    "sense-voice": (22, 22, 220),
    "paraformer": (22, 66, 220),
    "zipformer-ctc": (12, 12, 120),
    "zipformer-transducer": (11, 33, 99),
    "streaming-zipformer-transducer": (1, 3, 9),
    "x-asr": (8, 24, 72),
    "parakeet-ctc": (12, 12, 120),
    "whisper": (11, 22, 99),
    "parakeet-tdt-ctc": (48, 96, 456),
    "parakeet-tdt": (24, 72, 216),
    "nemotron-en": (4, 12, 36),
    "nemotron-3.5": (5, 15, 45),
    "moonshine": (21, 42, 189),
}
"""Combinations of model and length, distinct graphs, and what the workflows call QNN jobs."""

ARCHIVES = {
    "sense-voice": ("{s}-seconds-sense-voice-zh-en-ja-ko-yue-{d}-int8", "num_frames={n}"),
    "paraformer": ("{s}-seconds-paraformer-zh-{d}-int8", "num_seconds={s}s"),
    "zipformer-ctc": ("{s}-seconds-zipformer-ctc-zh-{d}-int8", "num_frames={n}"),
    "zipformer-transducer": (
        "reazonspeech-zipformer-transducer-ja-{s}s-2024-08-01",
        "num_seconds={s}s",
    ),
    "streaming-zipformer-transducer": (
        "streaming-zipformer-transducer-zh-en-2023-02-20-chunk-size-32",
        "chunk_size=32",
    ),
    "x-asr": (
        "x-asr-streaming-zipformer-transducer-zh-en(-punct)?-2026-06-05-chunk-size-{s}ms",
        "chunk_size={s}ms",
    ),
    "parakeet-ctc": (r"parakeet-ctc-0\.6b-{s}s", "num_seconds={s}s"),
    "whisper": (r"whisper-(distil-)?(tiny|base|small|medium)(\.en|-aishell)?", "model_name={m}"),
    "parakeet-tdt-ctc": (
        r"parakeet-tdt_ctc-(110m|0\.6b-ja)-{s}s(-transducer)?",
        "num_seconds={s}s",
    ),
    "parakeet-tdt": (r"parakeet-tdt-0\.6b-v[23]-{s}s-transducer", "num_seconds={s}s"),
    "nemotron-en": (r"nemotron-speech-streaming-en-0\.6b-{s}ms", "chunk_size_ms={s}ms"),
    "nemotron-3.5": (r"nemotron-3\.5-asr-streaming-0\.6b-{s}ms", "chunk_size_ms={s}ms"),
    "moonshine": ("moonshine-(tiny|base)(-[a-z]{{2}})?-{s}s", "num_seconds={s}s model_name={m}"),
}
"""What archives are called behind sherpa-onnx-qnn-<chip>-binary-, and info.txt in them."""

PIECES = {"s": "[0-9]+", "d": "20[0-9]{2}-[0-9]{2}-[0-9]{2}", "n": "[0-9]+", "m": "[a-z0-9.-]+"}

SOC_IDS = {
    "SA8255": (52, 73, 8), "SA8295": (39, 68, 8), "SM8350": (30, 68, 4), "SM8450": (36, 69, 8),
    "SM8475": (42, 69, 8), "SM8550": (43, 73, 8), "SM8650": (57, 75, 8), "SM8750": (69, 79, 8),
    "SM8850": (87, 81, 8), "QCS9100": (77, 73, 8),
}  # fmt: skip
"""As the workflows' table has them, but for SM8350: 35 there, which is no number of this chip."""


@cache
def session() -> Session:
    return open_session(SHERPA)


def of(step: str, model: str | None = None) -> list[Action]:
    return [a for a in session().plan if _kind(a) == step and model in (None, a.group)]


def _kind(action: Action) -> str:
    """The step, but for what is made of libraries alone: bundles are those for a chip."""
    step = action.name.partition("/")[0]
    return step if step != "bundle" or "@" in action.name else "bundle of libraries"


def test_13_recipes_without_the_sdk_have_no_mistakes() -> None:
    assert session().problems == ()
    assert {target.model for target in session().targets} == {*PUBLISHED}
    assert len(PUBLISHED) == 13


def test_the_repo_above_leaves_them_alone() -> None:
    recipes = open_session(REPO).recipes

    assert recipes
    assert not any(recipe.startswith("recipes/sherpa") for recipe in recipes)


@pytest.mark.parametrize("model", BUILT)
def test_each_distinct_graph_is_converted_once_and_the_chip_comes_behind(model: str) -> None:
    exports, converts, bundles = BUILT[model]
    per_step = Counter(_kind(action) for action in of_model(model))

    assert (per_step["export"], per_step["convert"]) == (exports, converts)
    assert (per_step["bundle"], per_step["library"]) == (bundles, 2 * converts)
    behind = {_kind(action) for action in of_model(model) if "@" in action.name}
    assert behind == {"context", "verify", "verdict", "bundle"}


def of_model(model: str) -> list[Action]:
    return [action for action in session().plan if action.group == model]


def test_431_converts_take_the_place_of_4015() -> None:
    counts = {step: len(of(step)) for step in STEPS}

    assert counts["convert"] == sum(graphs for _, graphs, _ in BUILT.values()) == 431
    assert counts["context"] == 4015
    assert counts["bundle"] == 1901
    assert counts["export"] == 201


@pytest.mark.parametrize("model", PUBLISHED)
def test_every_convert_has_the_published_command_line(model: str) -> None:
    said: dict[str, set[str]] = {}
    for action in of("convert", model):
        said.setdefault(action.name.split("/")[2], set()).add(_behind_the_paths(action))

    assert said == {graph: {words} for graph, words in PUBLISHED[model].items()}


def _behind_the_paths(action: Action) -> str:
    """The converter's words without those that name a place."""
    argv = action.params["argv"]
    assert isinstance(argv, list)
    words = " ".join(map(str, argv))
    graph = action.name.split("/")[2].partition("+")[0]
    found = re.fullmatch(
        rf"--input_network {{in\.model}}/model\.onnx --output_path {{out\.model}}/{graph}\.cpp "
        r"(.*)",
        words,
    )
    assert found, words
    return re.sub(r"--input_list \S+", "--input_list LIST", found[1])


@pytest.mark.parametrize("model", PUBLISHED)
def test_every_library_has_the_published_command_line(model: str) -> None:
    """But for `-t`: the workflows have both systems made in one run, here each is an action."""
    for action in of("library", model):
        graph, target = action.name.split("/")[2], action.params["target"]
        lines = [
            qairt_library.words(str(action.params["stem"]), str(target), weights=weights)
            for weights in (True, False)
        ]

        assert [" ".join(line) for line in lines] == [
            f"-c {{in.model}}/{graph}.cpp {named} -t {target} -o {{out.library}}"
            for named in (f"-b {{in.model}}/{graph}.bin", f"-l {graph}")
        ]
        assert action.params["ldflags"] == "-Wl,-z,max-page-size=16384"


@pytest.mark.parametrize("model", PUBLISHED)
def test_every_context_has_the_published_command_line(model: str) -> None:
    for action in of("context", model):
        graph = action.name.split("/")[2].partition("@")[0]
        params: Mapping[str, Any] = action.params
        asked = qairt_context.Asked(
            binary=str(params["binary"]), members=params["members"], said=params
        )
        loads = ["--model", f"in/library/x86_64-linux-clang/lib{graph}.so"]

        assert [member["stem"] for member in asked.members] == [graph]
        assert " ".join(qairt_context.words(asked, loads)) == (
            "--backend {sdk}/lib/x86_64-linux-clang/libQnnHtp.so "
            f"--model in/library/x86_64-linux-clang/lib{graph}.so "
            f"--output_dir {{out.context}} --binary_file {graph} "
            "--config_file htp/htp_backend_extensions.json"
        )
        assert "op_packages" not in params


def test_the_export_program_makes_what_the_recipes_ask_for(monkeypatch) -> None:
    """Each recipe's words are those of a family, which leaves its graphs, and samples of them."""
    monkeypatch.syspath_prepend(str(SHERPA / "families"))
    exports = importlib.import_module("families").EXPORTS
    for name in ("families", "samples"):
        sys.modules.pop(name)
    seen = set()
    for target in session().targets:
        sources = {graph.source for graph in target.graphs}
        source = next(s for s in sources if isinstance(s, ExportSource))
        family, *choices = source.run[2:]
        made = exports[family](*choices)
        sampled = {
            graph.name
            for graph in target.graphs
            if graph.verify.samples.exported or graph.calibration is not None
        }
        seen.add(family)

        assert len({s.run for s in sources if isinstance(s, ExportSource)}) == 1
        assert {graph.name for graph in target.graphs} == set(made.models)
        assert sampled == {*made.samples, *made.lists}
        assert f"families/pins/{family}.json" in source.needs
    assert seen == {*exports}


@pytest.mark.parametrize("model", ARCHIVES)
def test_archives_are_called_as_users_know_them(model: str) -> None:
    """But for the slips of the workflows, which the page of these recipes lists."""
    name, info = (text.format(**PIECES) for text in ARCHIVES[model])
    exports, _, bundles = BUILT[model]
    system = "(linux-x64|android-aarch64)"
    context = re.compile(rf"sherpa-onnx-qnn-(S[MA][0-9]{{4}}|QCS9100)-binary-{name}")
    library = re.compile(rf"sherpa-onnx-qnn-{name}-{system}")
    libraries = [a for a in of("archive", model) if a.params["kind"] == "library"]
    contexts = [a for a in of("archive", model) if a.params["kind"] == "context"]

    assert (len(contexts), len(libraries)) == (bundles, 2 * exports)
    assert all(context.fullmatch(str(a.params["name"])) for a in contexts)
    assert all(library.fullmatch(str(a.params["name"])) for a in libraries)
    assert all(re.fullmatch(info, _info(a)) for a in contexts)
    assert all(re.fullmatch(f"{info} target={system}", _info(a)) for a in libraries)


def _info(action: Action) -> str:
    lines = action.params["info"]
    assert isinstance(lines, list)
    return " ".join(map(str, lines))


def test_no_two_archives_have_one_name() -> None:
    names = [str(action.params["name"]).casefold() for action in of("archive")]

    assert len(names) == len({*names}) == 1901 + 2 * 201


def test_archives_of_speech_models_have_tokens_and_recordings() -> None:
    bundles = [*of("bundle"), *of("bundle of libraries")]

    assert len(bundles) == 1901 + 201
    for bundle in bundles:
        assert bundle.params["exported"] == ["tokens.txt", "test_wavs/*"]
        assert bundle.inputs["exported-0"] == OutputOf(
            action=f"export/{_variant(bundle)}", output="_also"
        )


def _variant(bundle: Action) -> str:
    name = bundle.name.removeprefix("bundle/").removesuffix("/libraries").partition("@")[0]
    return name if f"export/{name}" in session().plan else name.partition("/")[0]


def test_every_binary_is_compiled_with_the_published_settings() -> None:
    for target, graph in _graphs():
        soc_id, arch, vtcm = SOC_IDS[target.chip.name]

        assert compile_part([graph], target.chip, "2.40") == {
            "graphs": [{"graph_names": [names_of(graph).graph], "vtcm_mb": vtcm, "O": 3}],
            "devices": [{"device_id": 0, "soc_id": soc_id, "dsp_arch": f"v{arch}"}],
        }


def test_what_only_a_device_reads_of_them_is_told_apart() -> None:
    _, graph = next(_graphs())

    assert run_part(graph) == {
        "devices": [
            {
                "device_id": 0,
                "cores": [{"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 200}],
            }
        ]
    }


def _graphs() -> Iterator[tuple[Target, Graph]]:
    return ((target, graph) for target in session().targets for graph in target.graphs)


def test_floats_are_for_no_chip_without_fp16() -> None:
    floats = {t.chip.name for t, graph in _graphs() if graph.quantization is None}
    quantized = {t.chip.name for t, graph in _graphs() if graph.quantization is not None}

    assert quantized - floats == {"SM8350"}


def test_the_page_is_what_the_recipes_say(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page(session()))


def test_one_chain_of_each_family(golden: Callable[[Path, str], None]) -> None:
    """All that the last variant needs for one chip, and how much of each step there is."""
    blocks = []
    for model in BUILT:
        counts = Counter(map(_kind, of_model(model)))
        told = ", ".join(f"{counts[step]} {step}" for step in STEPS if counts[step])
        last = [a for a in of("bundle", model) if a.name.endswith("@SM8850")][-1]
        lines = [f"  {name}" for name in sorted(_needed(last), key=_place)]
        blocks.append("\n".join([f"{model}: {told}", *lines, ""]))

    golden(HERE / "families.txt", "\n".join(blocks))


def _needed(action: Action) -> set[str]:
    found = {action.name}
    for name in action.needs():
        found |= _needed(session().plan[name])
    return found


def _place(name: str) -> tuple[int, str]:
    step = name.partition("/")[0]
    return (STEPS.index(step) if step in STEPS else len(STEPS)), name
