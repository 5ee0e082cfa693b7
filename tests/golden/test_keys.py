"""Keys of actions built by hand: whoever changes what a key means sees it in a diff, and must raise
KEY_VERSION and say so under Rebuilds in the changelog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, OutputOf, Provenance, SourceFiles, SourceOnnx
from qnnbuild.actions.key import key_of, key_parts
from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_bytes

KEYS = Path(__file__).parent / "keys"
MODEL = Tree(
    files={
        "model.onnx": (digest_bytes(b"model"), 5),
        "weights/m.data": (digest_bytes(b"weights"), 7),
    }
)
CODE = f"sha256:{digest_bytes(b'code')}"
RUNTIME = f"1.32.0 sha256:{digest_bytes(b'runtime')}"

FETCH = Action(
    name="fetch/m",
    step="fetch",
    call="qnnbuild.work.fetch:fetch_file",
    inputs={"source": SourceOnnx(path="onnx/m.onnx")},
    outputs=("model",),
    group="m",
)
PREPARE = Action(
    name="prepare/m/g/10s",
    step="prepare",
    call="qnnbuild.work.prepare:prepare",
    params={"inputs": {"x": {"shape": [1, 80, 1000], "type": "float32"}}, "simplify": True},
    inputs={
        "model": OutputOf(action="fetch/m", output="model"),
        "samples": SourceFiles(patterns=("samples/*.npz",)),
    },
    outputs=("model", "report"),
    tools=("package:onnx", "python"),
    places={},
    group="m",
)
CONTEXT = Action(
    name="context/m/g/10s@SM8750",
    step="context",
    call="qnnbuild.work.context_ort:context",
    params={
        "graph": "g",
        "chip": {"soc_model": 69, "arch": 79, "vtcm_mb": 8},
        "options": {"htp_graph_finalization_optimization_mode": "3", "scale": 0.5, "none": None},
    },
    inputs={"model": OutputOf(action="convert/m/g/10s", output="model")},
    outputs=("context", "facts"),
    tools=("package:onnxruntime",),
    env={"LC_ALL": "C"},
    group="m",
)
LIBRARY = Action(
    name="library/m/g",
    step="library",
    argv=("qnn-model-lib-generator", "-c", "{in.model}/model.cpp", "-o", "{out.library}"),
    inputs={"model": OutputOf(action="convert/m/g", output="model")},
    outputs=("library",),
    tools=("qairt",),
    group="m",
)
BUNDLE = Action(
    name="bundle/m/10s@SM8750",
    step="bundle",
    call="qnnbuild.work.bundle:bundle",
    params={"license": {"spdx": "MIT", "redistribute": True}, "names": ["ü", "é"]},
    inputs={
        "context-g": OutputOf(action="context/m/g/10s@SM8750", output="context"),
        "provenance": Provenance(),
    },
    outputs=("bundle",),
    lands="m/10s/SM8750",
    group="m",
)


@pytest.mark.parametrize(
    ("action", "tool"),
    [
        (FETCH, {"code:qnnbuild.work.fetch": CODE}),
        (
            PREPARE,
            {
                "package:onnx": RUNTIME,
                "python": "cpython 3.11",
                "code:qnnbuild.work.prepare": CODE,
            },
        ),
        (CONTEXT, {"package:onnxruntime": RUNTIME, "code:qnnbuild.work.context_ort": CODE}),
        (LIBRARY, {"qairt": f"2.40.0 sha256:{digest_bytes(b'qairt')}"}),
        (BUNDLE, {"code:qnnbuild.work.bundle": CODE}),
    ],
    ids=lambda value: value.step if isinstance(value, Action) else "",
)
def test_a_key_is_what_it_was(golden, action, tool):
    parts = key_parts(action, dict.fromkeys(action.inputs, MODEL.digest), tool)
    told = {"key": key_of(parts), "parts": parts}

    golden(
        KEYS / f"{action.step}.json",
        json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n",
    )
