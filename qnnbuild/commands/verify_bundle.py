"""qnnbuild verify-bundle FILE…: whether a bundle is whole, signed, and for this chip and SDK."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.engine.bundle_verify import Verified, verify
from qnnbuild.engine.signing_keys import public_key
from qnnbuild.errors import NotGood, Problem
from qnnbuild.text import render


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "bundle", nargs="+", type=Path, metavar="FILE", help="an archive, or a bundle's folder"
    )
    parser.add_argument(
        "--key", type=Path, metavar="PUB", help="a public key that has to have signed it"
    )
    parser.add_argument("--chip", default="", help="a part number that it has to be for")
    parser.add_argument("--sdk", default="", help="the version of the SDK that it has to be by")
    parser.add_argument("--json", action="store_true", help="what was found as data")


def run(args: Namespace) -> int:
    key = None if args.key is None else public_key(args.key)
    found = [verify(path, key=key, chip=args.chip, sdk=args.sdk) for path in args.bundle]
    if args.json:
        print_json([_data(one) for one in found])
    else:
        for one in found:
            _print(one)
    problems = [problem for one in found for problem in _of(one, alone=len(found) == 1)]
    if not args.json and problems:
        raise NotGood.of(problems)
    return NotGood.exit_code if problems else 0


def _of(one: Verified, *, alone: bool) -> list[Problem]:
    """The problems of one bundle; among several they say whose they are."""
    where = () if alone else (("bundle", one.path),)
    return [replace(problem, facts=(*where, *problem.facts)) for problem in one.problems]


def _print(one: Verified) -> None:
    bad = len(one.problems)
    count = "1 problem" if bad == 1 else f"{bad} problems"
    print(f"{one.path}: {f'not good, {count}' if bad else 'good'}")
    rows = [
        ("model", " ".join([one.model, *one.variants])),
        ("chips", ", ".join(one.chips) or "any"),
        ("SDK", ", ".join(one.sdk_builds) or "not said"),
        ("files", str(one.files)),
        ("signature", one.signature),
    ]
    if one.model:
        print_rows([(f"  {what}", render.clean(said)) for what, said in rows])
    for note in one.notes:
        print(f"note: {render.clean(note)}", file=sys.stderr)


def _data(one: Verified) -> dict[str, Any]:
    return {**asdict(one), "problems": render.as_json(one.problems)}
