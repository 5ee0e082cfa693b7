"""docs/sherpa.md out of recipes/sherpa: `python -m tools.sherpa_page`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from qnnbuild.model.recipe import Target
from qnnbuild.session import Session, open_session

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sherpa.md"
SHERPA = ROOT / "recipes" / "sherpa"

HEAD = """\
# sherpa-onnx's speech models

Made from `recipes/sherpa` by `python -m tools.sherpa_page`. How they are built stands in its
[README](../recipes/sherpa/README.md).

13 workflows of sherpa-onnx make its published models for the NPU, one job for each model, length
and chip. Each job converts its graphs itself, though only a context depends on the chip. The same
set here:

| family | combinations | graphs | chips | converts | there | libraries | contexts | archives |
|---|---|---|---|---|---|---|---|---|
"""
TAIL = """
A combination is one model in one length. "There" is how often the workflows run qnn-onnx-converter
and qnn-model-lib-generator: once for each graph of each job. An archive is for a chip, or holds the
libraries for one system. Where two lengths have the same decoder, byte for byte, its second convert
is taken from the store; that depends on the exporter, and is not counted here.

## Axes

| family | axes |
|---|---|
"""


def page(session: Session | None = None) -> str:
    session = session or open_session(SHERPA)
    targets: dict[str, list[Target]] = {}
    for target in session.targets:
        targets.setdefault(target.model, []).append(target)
    steps = Counter((a.group, a.step) for a in session.plan)
    rows = [_row(ours, steps) for ours in targets.values()]
    sums = [f"{sum(int(row[n]) for row in rows):,}" for n in (1, *range(4, 9))]
    total = ["all", sums[0], "", "", *sums[1:]]
    axes = [f"| {ours[0].model} | {_axes(ours)} |" for ours in targets.values()]
    lines = [f"| {' | '.join(row)} |" for row in [*rows, total]]
    return HEAD + "\n".join(lines) + "\n" + TAIL + "\n".join(axes) + "\n"


def _row(targets: Sequence[Target], steps: Counter[tuple[str, str]]) -> list[str]:
    model = targets[0].model
    counts = [steps[model, step] for step in ("convert", "library", "context", "archive")]
    runs = sum(len(target.graphs) for target in targets)
    chips = len({target.chip.name for target in targets})
    fewer = {t.chip.name for t in targets if t.variant == targets[-1].variant}
    graphs = {f"{g.name} {g.precision}": None for target in targets for g in target.graphs}
    return [
        model,
        str(len({target.variant for target in targets})),
        ", ".join(graphs),
        str(chips) if len(fewer) == chips else f"{chips}, {len(fewer)} where a graph is float",
        str(counts[0]),
        str(runs),
        *map(str, counts[1:]),
    ]


def _axes(targets: Sequence[Target]) -> str:
    values: dict[str, dict[str, None]] = {}
    for target in targets:
        for axis, value in target.axes.items():
            values.setdefault(axis, {})[value] = None
    return "; ".join(f"{axis}: {', '.join(ours)}" for axis, ours in values.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
