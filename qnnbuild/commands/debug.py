"""qnnbuild debug NAME: the layers of a graph on a chip, and where its numbers go wrong."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.actions.action import Action
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.commands.names import one_name
from qnnbuild.engine.again import aside
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.state import Current
from qnnbuild.engine.store import on_disk, place
from qnnbuild.errors import NothingMatches
from qnnbuild.session import open_builder, open_session
from qnnbuild.steps.debug import debug, verified_by

HEAD = ("SQNR dB", "lost", "max abs", "peak", "operator", "layer")
BAR_DB = 20.0
MOST_APART_DB = 6.0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", help="an action of one graph and chip: verify/silero-vad/vad@SM8750"
    )
    parser.add_argument("--sample", type=int, default=0, help="the sample's number, from 0")
    parser.add_argument(
        "--bar", type=float, default=BAR_DB, help=f"SQNR below which a layer is bad ({BAR_DB:g})"
    )
    parser.add_argument(
        "--alone", action="store_true", help="a compile for each layer: as fused as it can be, slow"
    )
    parser.add_argument("--json", action="store_true", help="all layers as data")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="the same as a page with pictures, in one file"
    )


def run(args: Namespace) -> int:
    session = open_session()
    name = one_name(session.plan, args.name)
    action = debug(session.plan, name, sample=args.sample, bar_db=args.bar, alone=args.alone)
    with open_builder(session) as builder:
        _check_current(builder, action)
        print(f"{action.name}: compiling with inner tensors as outputs", file=sys.stderr)
        found = json.loads(aside(builder, action, "layers")["layers.json"])
        found["shipped"] = _shipped(builder, action, found["sample"])
    if args.html is not None:
        _write_page(args.html, action.name, found)
    if args.json:
        print_json({"name": action.name, **found})
    else:
        _print(found)
    return 0


def _write_page(path: Path, name: str, found: Mapping[str, Any]) -> None:
    from qnnbuild.report.debug_page import debug_page

    text = debug_page(name, found, list(_words(found, found["layers"])))
    with on_disk("the page cannot be written"):
        place(path, text.encode(errors="replace"))


def _check_current(builder: Builder, action: Action) -> None:
    waits = [n for n in action.needs() if not isinstance(builder.state(n), Current)]
    if waits:
        raise NothingMatches(f"{', '.join(waits)} is not built yet", hint=f"doit {' '.join(waits)}")


def _shipped(builder: Builder, action: Action, sample: str) -> dict[str, float]:
    """Output → the SQNR that the binary itself has on this sample, where that was measured."""
    verified = verified_by(builder.plan, action)
    if verified is None or not isinstance(builder.state(verified), Current):
        return {}
    outputs = json.loads(builder.read(verified, "numbers", "numbers.json"))["outputs"]
    return {
        name: numbers["samples"][sample]["sqnr_db"]
        for name, numbers in outputs.items()
        if "sqnr_db" in numbers["samples"].get(sample, {})
    }


def _print(found: Mapping[str, Any]) -> None:
    layers: Sequence[Mapping[str, Any]] = found["layers"]
    print_rows(map(_row, layers), HEAD)
    for one in found["not_seen"]:
        print(f"not seen: {one['tensor']}: {one['why']}")
    print()
    for line in _words(found, layers):
        print(line)


def _row(layer: Mapping[str, Any]) -> tuple[str, ...]:
    lost = layer["lost_db"]
    return (
        f"{layer['sqnr_db']:7.1f}",
        "" if lost is None or abs(lost) < 0.05 else f"{lost:.1f}",
        f"{layer['max_abs']:.3g}",
        f"{layer['peak']:.3g}",
        layer["operator"],
        layer["node"],
    )


def _words(found: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    bad, bar = found["first_bad"], found["bar_db"]
    if bad is None:
        yield f"no layer is below {bar:g} dB on sample {found['sample']}"
        losing = max(layers, key=lambda layer: layer["lost_db"] or 0.0)
        if losing["lost_db"]:
            yield f"the most is lost by {_told(losing)}: {losing['lost_db']:.1f} dB"
    else:
        first = layers[bad]
        yield (
            f"the first bad layer is {_told(first)}: {first['sqnr_db']:.1f} dB, below {bar:g} dB, "
            f"on sample {found['sample']}"
        )
        if first["lost_db"] is not None:
            yield f"what it is computed from has {first['sqnr_db'] + first['lost_db']:.1f} dB"
        if first["remark"]:
            yield f"its values: {first['remark']}"
    yield from _outputs(found, layers)


def _outputs(found: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How near this compile is to the one that ships: on the outputs that both have."""
    for layer in layers:
        if layer["is_output"]:
            shipped = found["shipped"].get(layer["tensor"])
            said = "not measured" if shipped is None else f"{shipped:.1f} dB"
            yield f"output {layer['tensor']}: {layer['sqnr_db']:.1f} dB here, {said} as shipped"
    if any(
        found["shipped"].get(layer["tensor"], layer["sqnr_db"]) < layer["sqnr_db"] - MOST_APART_DB
        for layer in layers
        if layer["is_output"]
    ):
        yield "what ships is fused more and is worse; --alone looks at each layer as it is fused"


def _told(layer: Mapping[str, Any]) -> str:
    return f"{layer['node']} ({layer['operator']})"
