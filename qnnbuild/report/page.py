"""The report as one HTML file that needs nothing else: data, style and code are in it. Pure.

Templates are files of the package. Rows are data that a script draws; what is most important stands
as plain HTML too, for readers without one.
"""

from __future__ import annotations

import json
import re
import shlex
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from qnnbuild.report.figures import figures
from qnnbuild.report.summary import STATES, summary

PAGES = "pages"
_DATA = re.compile(r'^<script type="application/json" id="data">(.*)</script>$', re.MULTILINE)


def page(told: dict[str, Any]) -> str:
    """`told` as `told.as_json` gives it."""
    pictures = figures(told)
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "issue": issue,
        "share": share,
        "shell": shlex.quote,
        "sizes": sizes,
        "span": span,
    }
    return environment.get_template("report.html").render(
        told=told,
        summary=summary(told),
        words=STATES,
        searches=[
            (f"{model['name']}/{search['of']}", search)
            for model in told["models"]
            for search in model["searches"]
        ],
        figures=pictures,
        data=_inline(told),
        drawn=_inline([picture.as_json() for picture in pictures]),
        style=_own("report.css"),
        script=_own("report.js"),
        plotly=_plotly() if pictures else "",
    )


def data_of(html: str) -> dict[str, Any] | None:
    """The data that a page was made of."""
    found = _DATA.search(html)
    told = json.loads(found.group(1)) if found else None
    return told if isinstance(told, dict) else None


def _text(name: str) -> str:
    return (files("qnnbuild.report") / PAGES / name).read_text(encoding="utf-8")


def _own(name: str) -> Markup:
    return Markup(_text(name))  # noqa: S704 - a file of this package


def _inline(value: Any) -> Markup:
    """JSON inside a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - escaped just now


def _plotly() -> Markup:
    """The library's script, which lies in its package; importing that would take a while."""
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations)))
    text = (folder / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    # it waits in an element that browsers do not run, until a picture is looked at
    text = re.sub(r"</(script)", r"<\\/\1", text, flags=re.IGNORECASE)
    return Markup(text)  # noqa: S704 - a package's own script


def size(count: int) -> str:
    """Bytes for people: 446 kB, 1.02 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def sizes(both: tuple[int, int] | None) -> str:
    if both is None:
        return "–"
    least, most = map(size, both)
    return least if least == most else f"{least} to {most}"


def span(both: tuple[float, float] | None, form: str) -> str:
    if both is None:
        return "–"
    least, most = map(form.format, both)
    return least if least == most else f"{least} to {most}"


def share(part: float | None) -> str:
    return "–" if part is None else f"{part:.3%}"


_SHORT_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


def issue(said: str) -> str | None:
    """Where a known failure's issue is read, where that is an address or owner/repo#7."""
    if said.startswith(("https://", "http://")):
        return said
    short = _SHORT_ISSUE.fullmatch(said)
    return f"https://github.com/{short.group(1)}/issues/{short.group(2)}" if short else None
