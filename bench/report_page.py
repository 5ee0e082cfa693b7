"""A report of many rows, and how long a browser takes over it.

    python bench/report_page.py [--rows 20000] [--chips 1] [--keep FILE]

Makes the data of a report (rows × chips, with a night before it in which some cells were others),
writes the page, opens it in Chromium without a window, and prints: bytes of the page, seconds to
make it, to open it, to filter by words, to sort, to scroll to the end, and to open a cell.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO)]

from qnnbuild.model.chips import packaged_chips  # noqa: E402
from qnnbuild.report.history import with_history  # noqa: E402
from qnnbuild.report.page import page  # noqa: E402
from tests.browser import browser  # noqa: E402

STEPS = ("fetch", "prepare", "convert", "context", "verify", "bundle")
CHANGED = 0.002
"""Of all cells: so many are otherwise than the night before."""

Told = dict[str, Any]


def told_of(rows: int, chips: int, *, seed: int = 1) -> Told:
    """Two nights of a zoo, the second with some changes for the worse."""
    draw = random.Random(seed)
    columns = sorted(packaged_chips(), key=lambda chip: (chip.arch, chip.name))[-chips:]
    names = [chip.name for chip in columns]
    told: Told = {
        "report_version": 1,
        "of": "0" * 64,
        "made": "2026-01-01T03:20:00+00:00",
        "wrong": [],
        "run": None,
        "chips": [
            {"name": c.name, "marketing": list(c.marketing), "arch": c.arch, "vtcm_mb": c.vtcm_mb,
             "fp16": c.fp16} for c in columns
        ],
        "models": [_model(f"model-{number:05}", names, draw) for number in range(rows)],
    }  # fmt: skip
    first = with_history(told, None, apart=False)
    return with_history(_next_night(copy.deepcopy(told), draw), first, apart=True)


def _model(name: str, chips: list[str], draw: random.Random) -> Told:
    proofs = {
        f"verdict/{name}@{chip}": {
            "chip": chip, "ran_on": "HTP emulator", "samples": None,
            "compared_with": "the original", "why_not": None, "judged": True,
            "sqnr_db": round(draw.gauss(45, 12), 2), "outputs": {}, "excused": {}, "metrics": {},
            "bars": [{"what": "min_sqnr_db", "of": "y", "value": 40.0, "bar": 20.0, "holds": True,
                      "against": "the original"}],
        } for chip in chips
    }  # fmt: skip
    return {
        "name": name, "recipe": f"recipes/{name}.yaml", "description": "", "homepage": "",
        "license": "MIT", "redistribute": True, "proofs": proofs, "calibrations": {},
        "failures": {}, "searches": [],
        "times": {step: round(draw.uniform(0.1, 20), 2) for step in STEPS},
        "rows": [{"variant": "", "impossible": {}, "cells": [_cell(name, c, draw) for c in chips]}],
    }  # fmt: skip


def _cell(name: str, chip: str, draw: random.Random) -> Told:
    size = int(draw.lognormvariate(16, 1))
    compiled = {
        "size": size, "seconds": round(draw.uniform(2, 90), 2), "made": "2026-01-01T03:20:00+00:00",
        "key": f"{draw.getrandbits(256):064x}", "log": "logs/ab/abc.log",
        "digest": f"{draw.getrandbits(256):064x}", "nodes": 140, "cpu_nodes": [],
        "cpu_share": 0.0, "sdk_build": "v2.51.0", "sharing": None,
    }  # fmt: skip
    graph = {
        "graph": "net", "precision": draw.choice(["fp16", "w8a8", "w8a16"]), "asked": "fp16",
        "compiled": compiled, "proof": f"verdict/{name}@{chip}", "calibration": None,
    }  # fmt: skip
    return {
        "chip": chip, "state": "built", "why": [], "failures": [], "known": [],
        "bundle": f"bundle/{name}@{chip}", "folder": f"{name}/{chip}", "size": size + 40_000,
        "key": f"{draw.getrandbits(256):064x}", "graphs": [graph],
    }  # fmt: skip


def _next_night(told: Told, draw: random.Random) -> Told:
    came: dict[str, str] = {}
    ran: list[Told] = []
    at = 0.0
    for model in told["models"]:
        for cell in model["rows"][0]["cells"]:
            if draw.random() >= CHANGED:
                continue
            _change(model, cell, draw)
            name = f"{model['name']}@{cell['chip']}"
            came |= {name: "made"} if cell["state"] == "built" else {}
            seconds = draw.uniform(2, 60)
            ran.append({"action": f"context/{name}", "step": "context", "how": "made",
                        "began": at, "ended": at + seconds, "seconds": seconds * 0.9,
                        "worker": ""})  # fmt: skip
            at += draw.uniform(0, 40)
    run = {
        "began": "2026-01-02T03:17:00+00:00", "seconds": at + 60, "counts": {"made": len(ran)},
        "times": {"context": sum(one["seconds"] for one in ran)}, "came": came, "ran": ran,
        "left_out": 0,
    }  # fmt: skip
    return {**told, "made": "2026-01-02T03:20:00+00:00", "run": run}


def _change(model: Told, cell: Told, draw: random.Random) -> None:
    (graph,) = cell["graphs"]
    what = draw.choice(["failed", "bigger", "slower", "less accurate"])
    if what == "bigger":
        cell["size"] = int(cell["size"] * draw.uniform(1.01, 1.4))
    elif what == "slower":
        graph["compiled"]["seconds"] = graph["compiled"]["seconds"] * 3 + 10
    elif what == "less accurate":
        model["proofs"][graph["proof"]]["sqnr_db"] -= draw.uniform(0.5, 20)
    else:
        action = f"context/{model['name']}@{cell['chip']}"
        model["failures"][action] = {
            "message": "the compiler ended with signal 11", "exit_code": 4,
            "at": f"{model['recipe']}:4:3", "facts": [], "hint": "look into its log",
            "last_lines": ["loading", "error: out of VTCM"], "log": "logs/ab/abc.log",
        }  # fmt: skip
        cell.update(state="failed", failures=[action], size=None, graphs=[])


def measured(path: Path) -> list[tuple[str, float]]:
    """What a person does, in seconds each, until the browser has drawn it."""
    drawn = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"
    found = []
    with browser() as chromium:
        view = chromium.new_page(viewport={"width": 1920, "height": 1080})
        view.set_default_timeout(120_000)

        def take(what: str, do: Any) -> None:
            began = time.perf_counter()
            do()
            view.evaluate(drawn)
            found.append((what, time.perf_counter() - began))

        def search(words: str) -> None:
            view.evaluate(
                "(words) => { const box = document.getElementById('search'); box.value = words;"
                " box.dispatchEvent(new Event('input')); }", words,
            )  # fmt: skip
            view.wait_for_function(
                "(words) => document.getElementById('grid').dataset.words === words", arg=words
            )

        take("open", lambda: view.goto(path.as_uri(), wait_until="load"))
        take("filter: a word that one row has", lambda: search("model-00007"))
        take("filter: a word that a third has", lambda: search("w8a16"))
        take("filter: everything again", lambda: search(""))
        take("sort by size", lambda: view.select_option("#sort", "size"))
        take("show sizes", lambda: view.select_option("#show", "size"))
        take(
            "scroll on",
            lambda: view.evaluate("document.getElementById('grid').scrollTop = 1e9"),
        )
        take(
            "open a cell",
            lambda: view.locator("#grid tbody td[class]").first.evaluate("cell => cell.click()"),
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--chips", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="leave the page there")
    args = parser.parse_args()
    told = told_of(args.rows, args.chips)
    began = time.perf_counter()
    html = page(told)
    took = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        path = (args.keep or Path(folder) / "report.html").absolute()
        path.write_text(html, encoding="utf-8")
        print(f"{args.rows:,} rows × {args.chips} chips: {path.stat().st_size / 1e6:.1f} MB")
        print(f"{'make the page':34} {took:7.2f} s")
        for what, seconds in measured(path):
            print(f"{what:34} {seconds:7.2f} s")


if __name__ == "__main__":
    main()
