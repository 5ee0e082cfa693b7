"""The card of what Qualcomm's SDK made: how QNN runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qnnbuild.work.card import card
from tests.unit.work.test_library_bundle import BORDER

BUNDLE = Path(__file__).resolve().parents[2] / "golden" / "bundle"


def of_chip(**more: Any) -> dict[str, Any]:
    """The manifest of a binary, as steps and work make it for the SDK."""
    manifest: dict[str, Any] = json.loads((BUNDLE / "manifest.json").read_text(encoding="utf-8"))
    graph = manifest["graphs"]["vad"]
    context = {"sdk_build": "v2.40.0.251030114326_189385", "cpu_nodes": [], **BORDER}
    graph |= {
        "onnx": None,
        "files": ["vad.bin"],
        "run": {"htp": {}},
        "on_cpu": [],
        "context": context,
        "sdk": {
            "graph": "vad",
            "converter": ["--input_network", "model.onnx", "--out_node", "a b"],
        },
    }
    return {**manifest, "toolchain": {"name": "qairt-2.40", "tools": {}}, **more}


def of_libraries(*targets: str) -> dict[str, Any]:
    """The manifest of an archive with the libraries of these systems."""
    path = BUNDLE / "manifest-libraries.json"
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for graph in manifest["graphs"].values():
        graph["libraries"] = {name: graph["libraries"][name] for name in targets}
    return manifest


def test_the_card_of_a_binary(golden: Callable[[Path, str], None]) -> None:
    golden(BUNDLE / "card-sdk.md", card(of_chip()))


def test_the_sdks_libraries_that_are_in_it_are_told_with_their_licence() -> None:
    text = card(of_chip(sdk_libraries=["android-aarch64"]))

    assert "They are here already: in `qnn/android-aarch64/`." in text
    assert "What is in `qnn/` is Qualcomm's, under a licence of its own" in text


def test_in_an_archive_the_licence_is_called_as_users_know_it() -> None:
    assert "the text is in LICENSE." in card(of_chip(archive={"name": "m"}))


def test_libraries_for_this_host_are_for_no_device() -> None:
    text = card(of_libraries("linux-x64"))

    assert "ADSP_LIBRARY_PATH" not in text
    assert (
        "qnn-net-run --backend $QNN_SDK_ROOT/lib/x86_64-linux-clang/libQnnHtp.so "
        "--model linux-x64/libencoder.so" in text
    )


def test_a_tensor_without_an_order_is_told_with_its_layout() -> None:
    manifest = of_chip()
    graph = manifest["graphs"]["vad"]
    graph["inputs"] = [{"name": "x", "layout": "NTF"}]
    plain = {"name": "x", "dtype": "float32", "shape": [1, 6, 8]}
    told = []
    for more in ({}, {"order": [0, 1, 2]}, {"order": [0, 2, 1]}):
        graph["context"] = {"inputs": [{**plain, **more}], "outputs": []}
        row = next(line for line in card(manifest).splitlines() if line.startswith("| input |"))
        told.append(row.split(" | ")[-1].removesuffix(" |"))

    assert told == ["NTF", "NTF, as in the ONNX file", "0, 2, 1 of the ONNX file"]


def test_operators_of_ones_own_are_registered() -> None:
    manifest = of_chip()
    manifest["graphs"]["vad"]["run"] = {"htp": {}, "op_packages": "./libMine.so:Mine:HTP"}

    assert "--op_packages ./libMine.so:Mine:HTP\n" in card(manifest)


def test_a_binary_over_a_dlc_tells_both_tools_or_who_made_it() -> None:
    manifest = of_chip()
    graph = manifest["graphs"]["vad"]
    graph["sdk"] = {"graph": "vad", "route": "dlc", "converter": ["-a"], "quantizer": ["-b"]}
    text = card(manifest)
    graph["sdk"] = {"graph": "vad", "route": "ort-dlc"}

    assert "| `vad` | converter | `-a` |\n| `vad` | quantizer | `-b` |" in text
    assert "ONNX Runtime's plugin made the DLC of `vad`." in card(manifest)


def test_the_name_that_was_read_back_is_the_one_to_ask_for() -> None:
    manifest = of_chip()
    manifest["graphs"]["vad"]["context"]["graph"] = "vad_10s"

    assert "`graphRetrieve` with `vad_10s`" in card(manifest)


def test_libraries_for_another_system_name_that_systems_folder() -> None:
    manifest = of_libraries("linux-x64", "android-aarch64")
    for graph in manifest["graphs"].values():
        one = graph["libraries"].pop("android-aarch64")
        one |= {"system": "aarch64-oe-linux-gcc11.2", "file": "aarch64-oe-linux-gcc11.2/libm.so"}
        graph["libraries"]["aarch64-oe-linux-gcc11.2"] = one
    text = card(manifest)

    assert "| `libQnnHtp.so` | `lib/aarch64-oe-linux-gcc11.2` | the backend |" in text
    assert "--model libm.so " in text
    assert "lib/aarch64-android" not in text
