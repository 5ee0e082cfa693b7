"""A plan's picture in the languages of other programs: Graphviz's dot, and Mermaid."""

from __future__ import annotations

from qnnbuild.report.plan_picture import STATES, Box, Picture, one_line

COLOURS = {
    "broken": ("#ffd7d5", "#b3141d"),
    "stale": ("#ffe7b0", "#7a4d00"),
    "waits": ("#e4e8ec", "#4a5560"),
    "current": ("#d2f2da", "#1a7f37"),
}
"""State → ground and line."""


def dot(picture: Picture) -> str:
    lines = [
        "digraph plan {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];',
        '  edge [color="#8c959f"];',
    ]
    for box in picture.boxes:
        ground, line = COLOURS[box.state]
        label = f"{_dot(box.title)}\\n{_dot(box.about)}"
        tip = "\\n".join(_dot(one.name) for one in box.members[:20])
        look = f'fillcolor="{ground}", color="{line}", tooltip="{tip}"'
        lines.append(f'  {box.id} [label="{label}", {look}];')
    lines += [f"  {a} -> {b};" for a, b in picture.edges]
    return "\n".join([*lines, "}", ""])


def _dot(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def mermaid(picture: Picture) -> str:
    lines = ["flowchart LR"]
    for state in STATES:
        ground, line = COLOURS[state]
        lines.append(f"  classDef {state} fill:{ground},stroke:{line},color:#1b1f24")
    lines += [f'  {box.id}["{_label(box)}"]:::{box.state}' for box in picture.boxes]
    lines += [f"  {a} --> {b}" for a, b in picture.edges]
    return "\n".join([*lines, ""])


def _label(box: Box) -> str:
    return f"{_mermaid(box.title)}<br>{_mermaid(box.about)}"


def _mermaid(text: str) -> str:
    """What Mermaid or HTML would read something into, by number."""
    return "".join(c if c.isalnum() or c in " /._-+@:,;" else f"#{ord(c)};" for c in one_line(text))
