"""The report as one HTML file that needs nothing else: data, style and code are in it. Pure.

Templates are files of the package. Rows are data that a script draws; what is most important stands
as plain HTML too, for readers without one.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from qnnbuild.report.amounts import share, sizes, span
from qnnbuild.report.compiled import Compiled
from qnnbuild.report.figures import figures
from qnnbuild.report.plan_picture import one_line
from qnnbuild.report.since import since
from qnnbuild.report.sparks import nights_drawn
from qnnbuild.report.summary import STATES, summary
from qnnbuild.text.amounts import duration

PAGES = "pages"
SCRIPTS = (
    "page.js", "report_rows.js", "report_matrix.js", "report_cell.js", "pictures.js",
    "report_begin.js",
)  # fmt: skip
"""One after the other they are one script."""

MOST_CHANGES = 20
"""For the worse, and seen at once."""

MOST_ROWS = 1_000
"""Of a table that stands without a script; the matrix has the others."""

_DATA = re.compile(r'^<script type="application/json" id="data">(.*)</script>$', re.MULTILINE)


def page(told: dict[str, Any]) -> str:
    """`told` as `told.as_json` gives it."""
    pictures = figures(told)
    return (
        templates()
        .get_template("report.html")
        .render(
            told=told,
            summary=summary(told),
            words=STATES,
            since=since(told),
            sparks=nights_drawn(told),
            most_rows=MOST_ROWS,
            most_changes=MOST_CHANGES,
            searches=[
                (f"{model['name']}/{search['of']}", search)
                for model in told["models"]
                for search in model["searches"]
            ],
            figures=pictures,
            data=inline(told),
            drawn=inline([picture.as_json() for picture in pictures]),
            style=own("report.css"),
            script=scripts(*SCRIPTS),
            plotly=plotly() if pictures else "",
        )
    )


def data_of(html: str) -> dict[str, Any] | None:
    """The data that a page was made of."""
    found = _DATA.search(html)
    told = json.loads(found.group(1)) if found else None
    return told if isinstance(told, dict) else None


def _time(made: str) -> str:
    return made.replace("T", " ").replace("+00:00", " UTC")


@cache  # it keeps what it has compiled
def templates() -> Environment:
    """The templates of this package; what is put into them is text, unless it says otherwise."""
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "duration": duration,
        "issue": issue,
        "line": one_line,
        "share": share,
        "shell": shlex.quote,
        "sizes": sizes,
        "span": span,
        "time": _time,
    }
    environment.bytecode_cache = Compiled(environment)
    return environment


def _text(name: str) -> str:
    return (files("qnnbuild.report") / PAGES / name).read_text(encoding="utf-8")


def own(name: str) -> Markup:
    """A file of the package as it is."""
    return Markup(_text(name))  # noqa: S704 - a file of this package


def scripts(*names: str) -> Markup:
    """Files of the package, one after the other."""
    return Markup("\n").join(own(name) for name in names)


def inline(value: Any) -> Markup:
    """JSON inside a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - escaped just now


def plotly() -> Markup:
    """The library's script, which lies in its package; importing that would take a while."""
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations)))
    text = (folder / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    # it waits in an element that browsers do not run, until a picture is looked at
    text = re.sub(r"</(script)", r"<\\/\1", text, flags=re.IGNORECASE)
    return Markup(text)  # noqa: S704 - a package's own script


_SHORT_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


def issue(said: str) -> str | None:
    """Where a known failure's issue is read, where that is an address or owner/repo#7."""
    if said.startswith(("https://", "http://")):
        return said
    short = _SHORT_ISSUE.fullmatch(said)
    return f"https://github.com/{short.group(1)}/issues/{short.group(2)}" if short else None
