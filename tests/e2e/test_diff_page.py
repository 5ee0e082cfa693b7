"""The page of qnnbuild diff --html in a browser: it opens without an error and fits its screen."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Literal

import pytest

from qnnbuild.report.diff import Change, Side
from qnnbuild.report.diff_page import diff_page
from tests.browser import MISSING, browser

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {MISSING}")

WIDE, NARROW = (1920, 1080), (360, 740)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
CHIPS = [f"SM{number}" for number in range(8350, 8850, 10)]
LONG = "/encoder/layers.0/self_attn/" * 6


def changes() -> list[Change]:
    grown = [Change(bundle=f"a-model-of-some-length/160ms@{chip}", graph="", what="bytes",
                    before=10**6, after=2 * 10**6, worse=True) for chip in CHIPS]  # fmt: skip
    return [*grown, Change(bundle="vad@SM8750", graph="g", what="CPU nodes", before=[],
                           after=[f"{LONG} (Ceil)"])]  # fmt: skip


def test_it_opens_without_errors_and_nothing_runs_over_the_edge(tmp_path: Path) -> None:
    path = tmp_path / "diff.html"
    errors: list[str] = []
    widths: list[int] = []
    sides = Side(name="main (0123456789ab)", unbuilt=(f"context/{LONG}",)), Side(name="build")
    path.write_text(diff_page(*sides, changes(), "size>5%"), encoding="utf-8")
    with browser() as chromium:
        for (width, height), scheme in product((WIDE, NARROW), SCHEMES):
            context = chromium.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
            )
            page = context.new_page()
            page.on("console", lambda said: errors.append(said.text))
            page.goto(path.as_uri())
            widths.append(page.evaluate("document.documentElement.scrollWidth"))
            page.get_by_text(f"{len(CHIPS)} chips", exact=True).click()

            assert page.get_by_text(CHIPS[-1]).last.is_visible()
            context.close()

    assert errors == []
    assert widths == [1920, 1920, 360, 360]
