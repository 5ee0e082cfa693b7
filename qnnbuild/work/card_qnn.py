"""How what Qualcomm's SDK made is run with QNN itself: parts of the model card. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.work.markdown import code, shape_text, table

Manifest = Mapping[str, Any]

FOLDER = "ADSP_LIBRARY_PATH"
HOST = "linux-x64"
PLUGIN = "ort-dlc"
"""The route on which the SDK compiles what ONNX Runtime's plugin made."""

ERRORS = """\
| error | of | what it mostly is |
| --- | --- | --- |
| 1008 | `deviceCreate` | the Skel is not in a folder of `ADSP_LIBRARY_PATH` |
| 14001 | `deviceCreate` | no Skel of this HTP there, or the app lacks `<uses-native-library android:name="libcdsprpc.so" android:required="false"/>` |
| 5000 | loading a binary | the device's QNN is older than the SDK that compiled it, or the chip is another |"""  # noqa: E501  # a row of Markdown is one line


def is_of_sdk(manifest: Manifest) -> bool:
    return any("sdk" in graph for graph in manifest["graphs"].values())


def of_libraries(manifest: Manifest) -> Iterator[str]:
    """The introduction of a bundle that is for any chip."""
    graphs = manifest["graphs"]
    systems = dict.fromkeys(name for graph in graphs.values() for name in graph["libraries"])
    held = ", ".join(f"{code(name)} in {graph['precision']}" for name, graph in graphs.items())
    yield (
        f"Model libraries for {' and '.join(map(code, systems))}: any chip with an HTP compiles "
        "them itself when an app starts, which takes tens of seconds; an app may keep what came "
        f"of it. Holds {held}."
    )
    if manifest["homepage"]:
        yield f"The model's home: <{manifest['homepage']}>"


def how_to_run_qnn(manifest: Manifest) -> Iterator[str]:
    """The contract of binaries and libraries with what runs them."""
    builds = " and ".join(map(code, _builds(manifest))) or "under Provenance"
    if not manifest["chips"]:
        yield (
            "A library is for one system, and for any chip and version of QNN; the SDK that made "
            f"it is {builds}."
        )
    else:
        yield (
            f"With QNN out of the SDK {builds}, the very version that made it: a binary is for one "
            "chip and one version, on any system."
        )
    if not _is_for_devices(manifest):
        yield "Here the SDK's own tools take it, to compile binaries and to emulate the HTP:"
        yield "\n".join(["```sh", *_commands(manifest), "```"])
    else:
        yield from _on_a_device(manifest)
    yield (
        "A line of `input_list.txt` has a raw file for each input in the order below, as "
        "`NAME:=FILE` with a space between. Sizes have to be the very same; an app fills up or "
        "cuts what is of another length."
    )


def _is_for_devices(manifest: Manifest) -> bool:
    """Libraries for this host alone are for nobody's device."""
    systems = {name for g in manifest["graphs"].values() for name in g.get("libraries", ())}
    return systems != {HOST}


def _on_a_device(manifest: Manifest) -> Iterator[str]:
    yield table(["file", "out of the SDK's folder", "what it is"], list(_files(manifest)))
    if systems := manifest.get("sdk_libraries"):
        folders = " and ".join(f"`qnn/{system}/`" for system in systems)
        yield f"They are here already: in {folders}."
    yield (
        f"`{FOLDER}` has to hold the folder of the Skel, in front of what is there already. "
        "Between folders stands `;`, never `:`. Files in an APK's assets cannot be read: copy them "
        "to storage first."
    )
    yield ERRORS
    yield _calls(manifest)
    yield "\n".join(["```sh", *_commands(manifest), "```"])


def _calls(manifest: Manifest) -> str:
    names = _names(manifest)
    shell = "On a shell, with all files in one folder:"
    if manifest["chips"]:
        return (
            "An app calls `systemContextGetBinaryInfo`, `contextCreateFromBinary`, and "
            f"`graphRetrieve` with {names}. {shell}"
        )
    return (
        "An app opens the library, calls `QnnModel_composeGraphs` with debug off, finalizes "
        f"{names}, and may keep what `contextGetBinary` gives for its next start, on this device "
        f"and with this version alone. {shell}"
    )


def qnn_borders(manifest: Manifest) -> Iterator[str]:
    """Inputs and outputs as QNN has them, and where they lie otherwise than in the ONNX file."""
    for name, graph in manifest["graphs"].items():
        if len(manifest["graphs"]) > 1:
            yield f"### {name}"
        told = graph["context"] if "inputs" in graph["context"] else graph["sdk"]
        layouts = {one["name"]: one.get("layout") for one in graph["inputs"]}
        rows = [
            [
                *(way, code(one["name"]), one["dtype"], shape_text(one["shape"])),
                *_scale(one),
                _order(one, layouts.get(one["name"])),
            ]
            for way, border in (("input", "inputs"), ("output", "outputs"))
            for one in told.get(border, ())
        ]
        yield f"The graph is {code(_inside(graph))} in QNN."
        yield table(["", "name", "type", "shape", "scale", "offset", "dimensions"], rows)
        if any("scale" in one for border in ("inputs", "outputs") for one in told.get(border, ())):
            yield "With a scale, the number is (stored + offset) × scale."


def provenance_of_sdk(manifest: Manifest) -> Iterator[str]:
    """What the tools were told, and the builds that libraries name."""
    rows = [
        [code(name), tool, code(shlex.join(graph["sdk"][tool]))]
        for name, graph in manifest["graphs"].items()
        for tool in ("converter", "quantizer")
        if tool in graph.get("sdk", {})
    ]
    if rows:
        yield "What the SDK's tools were told:"
        yield table(["graph", "tool", "words"], rows)
    plugins = [n for n, g in manifest["graphs"].items() if g.get("sdk", {}).get("route") == PLUGIN]
    if plugins:
        yield f"ONNX Runtime's plugin made the DLC of {' and '.join(map(code, plugins))}."
    libraries = [
        [code(one["file"]), code(one["system"]), code(one["sdk_build"] or "–"), _pages(one)]
        for graph in manifest["graphs"].values()
        for one in graph.get("libraries", {}).values()
    ]
    if libraries:
        yield table(["library", "built for", "SDK build, as it says", "pages"], libraries)


def _builds(manifest: Manifest) -> list[str]:
    found: dict[str, None] = {}
    for graph in manifest["graphs"].values():
        said = [graph["context"].get("sdk_build")]
        said += [one["sdk_build"] for one in graph.get("libraries", {}).values()]
        found |= dict.fromkeys(one for one in said if one)
    return list(found)


def _systems(manifest: Manifest) -> list[str]:
    """Of devices that there are libraries for, as the SDK calls them."""
    several = (graph.get("libraries", {}) for graph in manifest["graphs"].values())
    return list(
        dict.fromkeys(
            one["system"] for each in several for name, one in each.items() if name != HOST
        )
    )


def _files(manifest: Manifest) -> Iterator[list[str]]:
    systems = _systems(manifest) or ["aarch64-android"]
    device = " or ".join(f"`lib/{system}`" for system in systems)
    archs = sorted({chip["arch"] for chip in manifest["chips"]})
    yield ["`libQnnHtp.so`", device, "the backend"]
    yield ["`libQnnSystem.so`", device, "reads binaries"]
    if not archs:
        yield ["`libQnnHtpPrepare.so`", device, "compiles a library's graph on the device"]
    for arch in archs or ["NN"]:
        what = "of this HTP" if archs else "of the chip's HTP, whose version NN is"
        yield [f"`libQnnHtpV{arch}Stub.so`", device, f"the app's side {what}"]
        folder = f"`lib/hexagon-v{arch}/unsigned`"
        yield [f"`libQnnHtpV{arch}Skel.so`", folder, f"the DSP's side {what}"]


def _inside(graph: Mapping[str, Any]) -> str:
    """Its name in the binary, as that was read back, or in the library."""
    return str(graph["context"].get("graph") or graph["sdk"]["graph"])


def _names(manifest: Manifest) -> str:
    names = [code(_inside(graph)) for graph in manifest["graphs"].values()]
    return " and ".join(dict.fromkeys(names))


def _commands(manifest: Manifest) -> Iterator[str]:
    program, backend = "./qnn-net-run", "libQnnHtp.so"
    if _is_for_devices(manifest):
        yield 'export LD_LIBRARY_PATH="$PWD"'
        yield f'export {FOLDER}="$PWD;${FOLDER}"'
    else:
        program, backend = "qnn-net-run", "$QNN_SDK_ROOT/lib/x86_64-linux-clang/libQnnHtp.so"
    for file, way in dict.fromkeys(_runnable(manifest)):
        yield (
            f"{program} --backend {backend} {way} {file} --input_list input_list.txt "
            f"--use_native_input_files --use_native_output_files{_packages(manifest, file)}"
        )


def _packages(manifest: Manifest, file: str) -> str:
    """What registers operators of the user's own, of graphs that this file holds."""
    told = [
        graph["run"]["op_packages"]
        for graph in manifest["graphs"].values()
        if file.rpartition("/")[2] in {one.rpartition("/")[2] for one in graph["files"]}
        and graph.get("run", {}).get("op_packages")
    ]
    return f" --op_packages {','.join(dict.fromkeys(told))}" if told else ""


def _runnable(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for graph in manifest["graphs"].values():
        if "libraries" not in graph:
            yield from ((one, "--retrieve_context") for one in graph["files"] if _is_binary(one))
        elif graph["libraries"]:
            files = {name: one["file"] for name, one in graph["libraries"].items()}
            chosen = next((f for name, f in files.items() if name != HOST), files.get(HOST, ""))
            yield chosen.rpartition("/")[2] if len(files) > 1 else chosen, "--model"


def _is_binary(name: str) -> bool:
    return name.endswith(".bin")


def _scale(one: Mapping[str, Any]) -> Sequence[str]:
    if "scale" not in one:
        return ("–", "–")
    return (f"{one['scale']:.9g}", str(one["offset"]))


def _order(one: Mapping[str, Any], layout: str | None) -> str:
    order = one.get("order")
    if order is None:
        return layout or "–"
    if order == sorted(order):
        return f"{layout}, as in the ONNX file" if layout else "as in the ONNX file"
    return f"{', '.join(map(str, order))} of the ONNX file"


def _pages(one: Mapping[str, Any]) -> str:
    return f"{one['page_bytes'] >> 10} KB" if one["page_bytes"] else "–"
