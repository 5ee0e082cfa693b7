"""qnnbuild matrix: the plan cut into shares, each action in one, for jobs that run side by side."""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Sequence

from qnnbuild.actions.plan import Plan
from qnnbuild.actions.shares import CHIP, FIRST, LAST, MOST, Shares, in_parts
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.digest import Json, digest_bytes
from qnnbuild.engine.state import Current
from qnnbuild.errors import NothingMatches, QnnbuildError, RecipeError, did_you_mean
from qnnbuild.session import Session, open_builder, open_session

UNSAFE = re.compile(r"[^0-9A-Za-z._-]+")
"""What an artifact's name had better not have: GitHub refuses some, file systems others."""

KINDS = {FIRST: "first", CHIP: "chips", LAST: "last"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="*", help="names, models or patterns; usually everything")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="only shares in which something has to run; a remote cache is asked",
    )
    parser.add_argument(
        "--part-size",
        type=int,
        default=MOST,
        metavar="N",
        help=f"so many shares in one matrix at most; {MOST}, as GitHub allows",
    )
    parser.add_argument("--names", metavar="SHARE", help="the actions of one share, for doit")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the matrices as data")
    form.add_argument(
        "--github", action="store_true", help="lines for $GITHUB_OUTPUT: first=…, chips=…, last=…"
    )


def run(args: Namespace) -> int:
    if args.part_size < 1:
        raise RecipeError("--part-size is at least 1")
    session = open_session()
    part = _part(session.plan, args.pattern)
    shares = Shares.of(part, _stale(session, part) if args.stale else None)
    if args.names is not None:
        return _print_names(shares, Shares.of(part), args.names)
    told = {name: _matrices(shares, kind, args.part_size) for kind, name in KINDS.items()}
    if args.json:
        print_json(told)
    elif args.github:
        for name, matrices in told.items():
            text = json.dumps(matrices, separators=(",", ":"), ensure_ascii=False)
            print(f"{name}={text}")
    else:
        print_rows([(share, f"{len(names):,}") for share, names in shares.names.items()],
                   head=("share", "actions"))  # fmt: skip
    total = sum(len(names) for names in shares.names.values())
    print(f"{total:,} of {len(part):,} actions in {len(shares.names):,} shares", file=sys.stderr)
    return 0


def _part(plan: Plan, patterns: Sequence[str]) -> Plan:
    if not patterns:
        return plan
    return plan.upto(dict.fromkeys(n for pattern in patterns for n in plan.matching(pattern)))


def _stale(session: Session, part: Plan) -> Collection[str]:
    """What would have to run, as far as it can be known: what waits for such a one counts, too."""
    stale: set[str] = set()
    with open_builder(session) as builder:
        for action in part:
            try:
                current = isinstance(builder.known(action.name), Current)
            except QnnbuildError:  # a source is missing: the job that needs it tells
                current = False
            if not current:
                stale.add(action.name)
    return stale


def _print_names(shares: Shares, everything: Shares, share: str) -> int:
    if share not in everything.names:
        hint = did_you_mean(share, everything.names, otherwise="all shares: qnnbuild matrix")
        raise NothingMatches(f"no share is called '{share}'", hint=hint)
    for name in shares.names.get(share, ()):
        print(name)
    return 0


def _matrices(shares: Shares, kind: str, size: int) -> list[Json]:
    """A matrix of GitHub's for each part: {include: [{share, artifact, actions}]}."""
    return [
        {
            "include": [
                {
                    "share": share,
                    "artifact": _safe(share),
                    "actions": len(shares.names[share]),
                }
                for share in part
            ]
        }
        for part in in_parts(shares.waves.get(kind, ()), size)
    ]


def _safe(share: str) -> str:
    """The share's name for a file; two shares never have the same."""
    safe = UNSAFE.sub("-", share)
    return (
        safe if safe == share.replace("/", "-", 1) else f"{safe}-{digest_bytes(share.encode())[:8]}"
    )
