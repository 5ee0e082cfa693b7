"""qnnbuild graph [PATTERN…]: the plan as a picture; what would run is marked, with the reason."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.actions.plan import Plan
from qnnbuild.commands.states import Found, described, kind_of, states
from qnnbuild.engine.places import BUILD
from qnnbuild.engine.state import Current, Stale
from qnnbuild.engine.store import place
from qnnbuild.errors import RecipeError
from qnnbuild.report.plan_page import html, svg
from qnnbuild.report.plan_picture import FOLDS, STATES, Picture, Shown, picture
from qnnbuild.report.plan_text import dot, mermaid
from qnnbuild.session import Session, open_session

FORMATS = ("html", "svg", "dot", "mermaid")
ENDINGS = {".html": "html", ".htm": "html", ".svg": "svg", ".dot": "dot", ".gv": "dot",
           ".mmd": "mermaid", ".mermaid": "mermaid"}  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="*", help="names, models or patterns; usually everything")
    parser.add_argument(
        "--format", choices=FORMATS,
        help="html: a page in which a click tells of an action; else as FILE's ending says",
    )  # fmt: skip
    parser.add_argument(
        "--fold", choices=("auto", *FOLDS), default="auto",
        help="one box for each action, all chips, a model's step, a step; auto: what is legible",
    )  # fmt: skip
    parser.add_argument(
        "--stale", action="store_true", help="only what would run, and what it is made of"
    )
    parser.add_argument(
        "--all-edges", action="store_true", help="those, too, that a longer way says as well"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help=f"where it goes: a page to {BUILD}/graph.html, all else to stdout",
    )  # fmt: skip


def run(args: Namespace) -> int:
    session = open_session()
    form = _format(args.format, args.output)
    part = _part(session.plan, args.pattern)
    found = states(session, part)
    if args.stale:
        part = _stale(part, found)
    shown = [_shown(action, found[action.name]) for action in part]
    drawn = picture(shown, args.fold, all_edges=args.all_edges)
    text = _text(drawn, form, " ".join(args.pattern) or session.root.name)
    to = args.output or (session.root / BUILD / "graph.html" if form == "html" else None)
    if to is None:
        sys.stdout.write(text)
    else:
        place(to, text.encode())
    print(_summary(drawn, to, session), file=sys.stderr)
    return 0


def _format(asked: str | None, to: Path | None) -> str:
    if asked is not None:
        return asked
    if to is None:
        return "html"
    if to.suffix not in ENDINGS:
        raise RecipeError(
            f"'{to}' does not say what it is to be",
            hint=f"--format {'|'.join(FORMATS)}, or a name that ends so",
        )
    return ENDINGS[to.suffix]


def _part(plan: Plan, patterns: list[str]) -> Plan:
    if not patterns:
        return plan
    return plan.upto(dict.fromkeys(n for pattern in patterns for n in plan.matching(pattern)))


def _stale(part: Plan, found: dict[str, Found]) -> Plan:
    """What is not current, and what it takes: the ground it stands on."""
    names = [action.name for action in part if not isinstance(found[action.name], Current)]
    wanted = {*names, *(need for name in names for need in part[name].needs())}
    return Plan(actions={action.name: action for action in part if action.name in wanted})


def _shown(action: Action, found: Found) -> Shown:
    return Shown(
        name=action.name,
        step=action.step,
        group=action.group,
        needs=tuple(action.needs()),
        state=kind_of(found),
        reasons=described(found),
        facts=tuple(_facts(action, found)),
    )


def _facts(action: Action, found: Found) -> Iterator[tuple[str, str]]:
    yield "step", action.step
    if action.about:
        yield "about", action.about
    place_ = action.places.get("graph") or action.places.get("source")
    if place_ is not None:
        yield "recipe", str(place_)
    if isinstance(found, Stale):
        yield "key", found.key
    if isinstance(found, Current):
        record = found.record
        yield "key", record.key
        yield "took", f"{record.seconds:.3g} s, {record.peak_bytes / 1e6:,.0f} MB of memory"
        size = sum(tree.size for tree in record.outputs.values())
        yield "made", f"{record.made or 'before'}: {size:,} bytes"


def _text(drawn: Picture, form: str, title: str) -> str:
    if form == "html":
        return html(drawn, title)
    return {"svg": svg, "dot": dot, "mermaid": mermaid}[form](drawn)


def _summary(drawn: Picture, to: Path | None, session: Session) -> str:
    counts = ", ".join(f"{count:,} {STATES[state]}" for state, count in drawn.counts.items())
    actions = sum(drawn.counts.values())
    folded = "" if drawn.fold == "none" else f" in {len(drawn.boxes):,} boxes, by {drawn.fold}"
    told = f"{actions:,} actions{folded}: {counts}" if actions else "there is nothing to draw"
    if to is None:
        return told
    inside = to.is_absolute() and to.is_relative_to(session.root)
    return f"{to.relative_to(session.root) if inside else to}: {told}"
