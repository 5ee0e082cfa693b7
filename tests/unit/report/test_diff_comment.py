"""Two builds as a pull request is told of them: chip by chip, short, the rest folded."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.report.diff import Side, diff
from qnnbuild.report.diff_chips import chip_lines
from qnnbuild.report.diff_comment import MARKER, diff_comment
from qnnbuild.report.diff_page import diff_page
from qnnbuild.report.fail_on import limits_of
from tests.reported import FAILED, VAD, Told, failed

BARS = limits_of(["size>5%", "sqnr<-1dB", "failed"])


def manifest(chips: tuple[str, ...], size: int, sqnr: float, model: str) -> dict[str, Any]:
    graph: dict[str, Any] = {
        "precision": "w8a16", "quantization": None, "on_cpu": [], "context": {},
        "verified": {"outputs": {"y": {"sqnr_db": sqnr}}},
    }  # fmt: skip
    return {
        "model": model, "variants": [], "chips": [{"name": chip} for chip in chips],
        "files": {"g.bin": {"bytes": size}}, "graphs": {"g": graph},
    }  # fmt: skip


def side(name: str, *bundles: tuple[str, int, float], model: str = "vad", **more: Any) -> Side:
    """Bundles as (chips with + between, bytes, dB)."""
    found = {
        f"{model}@{chips}": manifest(tuple(chips.split("+")), size, sqnr, model)
        for chips, size, sqnr in bundles
    }
    return Side(name=name, manifests=found, **more)


def comment(before: Side, after: Side, **more: Any) -> str:
    return diff_comment(before, after, diff(before, after, BARS), **more)


def test_builds_that_are_alike_are_two_lines() -> None:
    one = side("main", ("SM8550", 1000, 30.0), ("SM8750", 1000, 30.0))

    assert comment(one, one) == (
        f"{MARKER}\n### Builds: `main` → `main`\n\n"
        "No change in size, time or accuracy on 2 chips.\n"
    )


def test_a_chip_has_its_size_its_time_and_what_fell_the_most() -> None:
    before = side("main", ("SM8550", 1000, 30.0), ("SM8650+SM8750", 2000, 30.0))
    after = side("this", ("SM8550", 1000, 30.0), ("SM8650+SM8750", 2200, 28.5))
    text = comment(before, after)
    row = "| 2 kB → 2.2 kB (+10.0%) | – | 30.0 → 28.5 dB (-1.5) | less accurate 1, bigger 1 |\n"

    assert "2 changes, 2 for the worse: less accurate 1, bigger 1.\n" in text
    assert f"| `SM8650` ❌ {row}| `SM8750` ❌ {row}" in text
    assert "\n1 other chip: no change.\n" in text
    assert "\n<details><summary>Each change, 2 in all</summary>\n\n### Less accurate\n" in text
    assert text.endswith("\n</details>\n")


def test_what_fails_stands_before_what_is_bigger() -> None:
    good, bad = Told.of(VAD), Told.of(VAD).be("context/vad/near/w8a8@SM8750", failed(FAILED))
    before = side("main", ("SM8550", 1000, 30.0), told=good.json())
    after = side("this", ("SM8550", 2000, 20.0), told=bad.json())
    lines = chip_lines(before, after, diff(before, after, BARS))

    assert [(one.chip, one.worse) for one in lines] == [("SM8750", 1), ("SM8550", 2)]
    assert lines[0].counts == {"Failed": 1}
    assert lines[1].seconds == (3.0, 3.0)


@pytest.mark.parametrize("count", [13, 5_000])
def test_many_chips_are_folded_and_a_comment_fits_githubs_limit(count: int) -> None:
    chips = [f"CHIP-{number}" for number in range(count)]
    before = side("main", *((chip, 1000 + n, 30.0) for n, chip in enumerate(chips)))
    after = side("this", *((chip, 2000 + n, 20.0) for n, chip in enumerate(chips)))
    text = comment(before, after)

    assert f"<details><summary>{count - 12:,} more chip" in text
    assert len(text) <= 60_000
    assert ("more chips.\n\n</details>" in text) == (count > 100)
    assert text.count("<details>") == text.count("</details>") == 2


def test_what_was_never_built_is_told() -> None:
    names = tuple(f"fetch/m{number}" for number in range(7))
    text = comment(side("main", unbuilt=names), side("this", ("SM8550", 1000, 30.0)))

    assert (
        "⚠️ Never built of `main`: `fetch/m0`, `fetch/m1`, `fetch/m2`, `fetch/m3`, `fetch/m4` "
        "and 2 more, and what stands on it.\n"
    ) in text


HOSTILE = "</style><script>alert(1)</script>`@everyone`"


def test_the_page_has_the_same_and_words_of_others_are_text() -> None:
    before = side(HOSTILE, ("SM8550", 1000, 30.0), model=HOSTILE, unbuilt=("fetch/a",))
    after = side("this", ("SM8550", 1500, 25.0), model=HOSTILE)
    page = diff_page(before, after, diff(before, after, BARS), "size>5%")

    assert "<title>qnnbuild diff: 2 for the worse</title>" in page
    assert '<td data-label="size">1 kB → 1.5 kB (+50.0%)</td>' in page
    assert '<td data-label="SQNR">30.0 → 25.0 dB (-5.0)</td>' in page
    assert "held to: <code>size&gt;5%</code>" in page
    assert "<li><code>fetch/a</code></li>" in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3


def test_a_page_of_no_change_says_so() -> None:
    one = side("main", ("SM8550", 1000, 30.0))
    page = diff_page(one, one, [], "cpu")

    assert "No change in size, time or accuracy on 1 chip; held to: <code>cpu</code>" in page
    assert "<table>" not in page
