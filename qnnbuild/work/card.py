"""The model card: README.md of a bundle, from its manifest. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qnnbuild.work.bars import limit
from qnnbuild.work.card_qnn import (
    how_to_run_qnn,
    is_of_sdk,
    of_libraries,
    provenance_of_sdk,
    qnn_borders,
)
from qnnbuild.work.card_run import how_to_run
from qnnbuild.work.markdown import code, shape_text, table

Manifest = Mapping[str, Any]

# The licences that model hubs know by their SPDX id in small letters; any other is "other".
KNOWN_LICENSES = frozenset(
    {
        *("apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "bsd-3-clause-clear", "isc", "zlib"),
        *("gpl-2.0", "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "agpl-3.0", "mpl-2.0", "epl-2.0"),
        *("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "unlicense"),
    }
)

SHOWN_NODES = 20

ELSEWHERE = {"compiled": "as it was compiled elsewhere", "genie": "as a DLC for Genie"}
"""Precisions of what was not made here, in words."""


def card(manifest: Manifest) -> str:
    """Markdown with the front matter that model hubs read."""
    of_sdk = is_of_sdk(manifest)
    blocks = [
        _front_matter(manifest),
        f"# {_title(manifest)}",
        *_introduction(manifest),
        "## Run it",
        *(how_to_run_qnn(manifest) if of_sdk else how_to_run(manifest)),
        "## Inputs and outputs",
        *(qnn_borders(manifest) if of_sdk else _all_borders(manifest)),
        "## Numbers",
        *_numbers(manifest),
        "## Licence",
        _license(manifest),
        "## Provenance",
        *_provenance(manifest),
    ]
    return "\n\n".join(blocks) + "\n"


def _front_matter(manifest: Manifest) -> str:
    spdx = manifest["license"]["spdx"]
    known = spdx.lower() in KNOWN_LICENSES
    lines = [f"license: {spdx.lower() if known else 'other'}"]
    if not known:
        lines.append(f"license_name: {json.dumps(spdx, ensure_ascii=False)}")
    chips = manifest["chips"]
    archs = dict.fromkeys(f"htp-v{chip['arch']}" for chip in chips)
    tags = ["onnx", "qnn", "qualcomm", "npu", *(chip["name"] for chip in chips), *archs]
    runtime = "qnn" if is_of_sdk(manifest) else "onnxruntime"
    lines += [f"library_name: {runtime}", f"tags: {json.dumps(tags, ensure_ascii=False)}"]
    return "\n".join(["---", *lines, "---"])


def _title(manifest: Manifest) -> str:
    variants = ", ".join(variant["name"] for variant in manifest["variants"])
    chips = ", ".join(chip["name"] for chip in manifest["chips"]) or "any chip"
    return f"{manifest['model']}{f' ({variants})' if variants else ''} for {chips}"


def _introduction(manifest: Manifest) -> Iterator[str]:
    if manifest["description"]:
        yield manifest["description"].strip()
    facts = manifest["graphs"]
    if not manifest["chips"]:
        yield from of_libraries(manifest)
        return
    precisions = ", ".join(f"{code(name)} {_made(facts[name]['precision'])}" for name in facts)
    chips = "; ".join(map(_chip, manifest["chips"]))
    these = "this chip" if len(manifest["chips"]) == 1 else "these chips"
    on = {
        facts[name]["run"].get("provider_options", {}).get("backend_type", "htp") for name in facts
    }
    what = "Compiled for the NPU" if on == {"htp"} else "For the GPU"
    if len(on) > 1:
        what = "For the NPU, where compiled, and the GPU"
    yield f"{what} of the {chips}. It is for {these} only. Holds {precisions}."
    if manifest["homepage"]:
        yield f"The model's home: <{manifest['homepage']}>"


def _made(precision: str) -> str:
    return ELSEWHERE.get(precision, f"in {precision}")


def _chip(chip: Mapping[str, Any]) -> str:
    names = f" ({', '.join(chip['marketing'])})" if chip["marketing"] else ""
    htp = f"Hexagon HTP v{chip['arch']}, {chip['vtcm_mb']} MB of VTCM"
    return f"**{chip['name']}**{names}: {htp}"


def _all_borders(manifest: Manifest) -> Iterator[str]:
    return (block for name in manifest["graphs"] for block in _borders(manifest, name))


def _borders(manifest: Manifest, name: str) -> Iterator[str]:
    graph = manifest["graphs"][name]
    if len(manifest["graphs"]) > 1:
        yield f"### {name}"
    rows = [
        [way, code(one["name"]), one["dtype"], shape_text(one["shape"]), one.get("layout", "")]
        for way, borders in (("input", graph["inputs"]), ("output", graph["outputs"]))
        for one in borders
    ]
    yield table(["", "name", "type", "shape", "layout"], rows)


def _numbers(manifest: Manifest) -> Iterator[str]:
    if not manifest["chips"]:
        yield "Libraries are not run by themselves; the bundles for chips, made of them, are."
        return
    yield from _shared(manifest)
    yield from _verified(manifest)
    rows = []
    for name, graph in manifest["graphs"].items():
        comparison = graph["comparison"]
        if "why_not" in comparison and graph["precision"] not in ELSEWHERE:
            yield f"{code(name)} was not compared with its original: {comparison['why_not']}."
        for output, found in comparison.get("outputs", {}).items():
            numbers = [f"{found['sqnr_db']} dB", f"{found['max_abs_up_to']:g}"]
            rows.append([code(name), code(output), *numbers, comparison["samples"]])
        if graph["on_cpu"]:
            yield from _on_cpu(name, graph)
    if rows:
        yield "The graph as it was compiled against the original, both on the CPU:"
        yield table(["graph", "output", "SQNR", "largest error up to", "samples"], rows)


def _on_cpu(name: str, graph: Mapping[str, Any]) -> Iterator[str]:
    nodes = graph["on_cpu"]
    kinds = ", ".join(sorted({one["operator"] for one in nodes}))
    share = graph["context"].get("cpu_share_of_multiply_adds")
    told = "" if share is None else f", {share:.2%} of the multiply-adds"
    yield f"Nodes of {code(name)} that run on the CPU: {len(nodes)} ({kinds}){told}."
    rows = [
        [code(n["node"]), n["operator"], n.get("reason") or n.get("why") or "–"]
        for n in nodes[:SHOWN_NODES]
    ]
    yield table(["node", "operator", "why"], rows)
    if len(nodes) > SHOWN_NODES:
        yield f"The other {len(nodes) - SHOWN_NODES} stand in `manifest.json`."


def _shared(manifest: Manifest) -> Iterator[str]:
    """What graphs save by having their weights in one binary."""
    told: dict[str, Any] = {}
    for name, graph in manifest["graphs"].items():
        if shared := graph["context"].get("shared"):
            told.setdefault(shared["binary"], (name, shared))
    for binary, (name, shared) in told.items():
        alone = sum(shared["alone_bytes"].values())
        names = ", ".join(map(code, (name, *shared["with"])))
        who = f"{names} share their weights"
        if "chips" in manifest["graphs"][name]["context"]:
            who = f"{', '.join(shared['with'])} share the weights of {code(name)}"
        yield (
            f"{who} in {code(binary)}: {shared['bytes']:,} bytes in place "
            f"of {alone:,}, which is {shared['saved_bytes'] / alone:.0%} less."
        )
    if told:
        yield (
            "The host's emulator cannot load such a binary: each graph was run as compiled alone "
            "with the same options."
        )


def _measured(name: str, verified: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each output of one binary that was run."""
    for output, found in verified["outputs"].items():
        shown = [_said(found.get(what)) for what in ("sqnr_db", "max_abs", "cosine")]
        yield [code(name), code(output), verified["on"], *shown, _bars(verified, output)]


def _verified(manifest: Manifest) -> Iterator[str]:
    """What was measured by running a binary, and whose it was."""
    rows: list[list[str]] = []
    for name, graph in manifest["graphs"].items():
        verified = graph["verified"]
        if verified is None:
            why = graph["context"].get("device_only")
            yield f"{code(name)}: {why}." if why else f"The binary of {code(name)} was not run."
            continue
        if verified["why_not"]:
            said = "cannot be" if verified.get("compared_with", True) else "was run and not"
            yield f"{code(name)} {said} compared: {verified['why_not']}."
        each = {
            chip: {"on": chip, **one} for chip, one in graph.get("verified_singles", {}).items()
        }
        for one in each.values() or [verified]:
            rows += _measured(name, one)
        for measure, found in verified["metrics"].items():
            told = ", ".join(f"{what} {_said(value)}" for what, value in sorted(found.items()))
            yield f"{code(measure)} of {code(name)}: {told}."
    if rows:
        yield (
            "The compiled binary, run on the host's emulator of the chip, against the original "
            "model on the CPU:"
        )
        head = ["graph", "output", "run as", "SQNR dB", "largest error", "cosine", "bar"]
        yield table(head, rows)


def _bars(verified: Mapping[str, Any], output: str) -> str:
    """What this output had to reach; or why it was not judged."""
    excuse = verified["excused"].get(output)
    if excuse is not None:
        return f"not judged: {excuse}"
    told = [
        f"{BARS[bar['what']]} {limit(bar['what'], bar['bar'])}"
        for bar in verified["bars"]
        if bar["of"] == output and bar["what"] in BARS and bar["against"] == "the original"
    ]
    return ", ".join(told) or "–"


BARS = {
    "min_sqnr_db": "SQNR",
    "max_abs_error": "error",
    "max_rel_error": "error by the peak",
    "min_cosine": "cosine",
    "min_top1": "top-1",
    "min_top_k": "top-k",
}


def _said(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | int) else "–"


def _license(manifest: Manifest) -> str:
    file = "LICENSE" if "archive" in manifest else "LICENSE.txt"
    told = f"{manifest['license']['spdx']}; the text is in {file}."
    if not manifest["license"]["redistribute"]:
        told += " **This bundle may not be passed on to others.**"
    if manifest.get("sdk_libraries"):
        told += " What is in `qnn/` is Qualcomm's, under a licence of its own that lies beside it."
    return told


def _provenance(manifest: Manifest) -> Iterator[str]:
    rows = [
        [code(name), ", ".join(f"{key} {code(_plain(value))}" for key, value in _source(graph))]
        for name, graph in manifest["graphs"].items()
    ]
    yield table(["graph", "from"], rows)
    toolchain = manifest["toolchain"]
    tools = [[code(name), code(said)] for name, said in sorted(toolchain["tools"].items())]
    builds = {graph["context"].get("sdk_build") for graph in manifest["graphs"].values()}
    tools += [["SDK build, as the binary says", code(said)] for said in sorted(builds - {None})]
    graphs = manifest["graphs"].values()
    here = [graph for graph in graphs if graph["precision"] not in ELSEWHERE]
    yield f"{'Compiled' if here else 'Wrapped'} by the toolchain {code(toolchain['name'])}:"
    yield table(["tool", "version and digest"], tools)
    yield from provenance_of_sdk(manifest)
    yield (
        "`manifest.json` has the sha256 of every file and, for each action that led here, its key, "
        "its tools and the digests of what it took and made."
    )


def _source(graph: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((key, value) for key, value in graph["source"].items() if key != "digest")


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
