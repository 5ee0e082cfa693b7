"""What changed between two builds, as Markdown that GitHub takes."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.report.diff import Change, Side, diff
from qnnbuild.report.diff_lines import heading_of
from qnnbuild.report.diff_markdown import diff_markdown, span
from qnnbuild.report.fail_on import Limits
from tests.reported import FAILED, STALE, VAD, Told, failed

CONTEXT = "context/vad/near/w8a8@SM8750"
BUNDLE = "bundle/vad/w8a8@SM8750"


def told(**other: Any) -> Side:
    found = Told.of(VAD)
    for name, standing in other.items():
        found.be({"context": CONTEXT, "bundle": BUNDLE}[name], standing)
    return Side(told=found.json())


def change(chip: str = "SM8750", *, model: str = "vad", **said: Any) -> Change:
    values: dict[str, Any] = {"graph": "", "what": "bytes", "before": 1000, "after": 1500}
    return Change(bundle=f"{model}@{chip}", **(values | said))


def test_what_fails_now_is_worse_and_what_is_mended_is_not() -> None:
    good, bad = told(), told(context=failed(FAILED))
    limits = Limits(failed=True)
    (broke,), (mended,) = diff(good, bad, limits), diff(bad, good, limits)

    assert (broke.bundle, broke.before, broke.after) == ("vad/w8a8@SM8750", "built", "failed")
    assert (broke.worse, heading_of(broke)) == (True, "Failed")
    assert (mended.worse, heading_of(mended)) == (False, "Mended")
    assert diff(bad, bad, limits) == []


def test_what_is_not_built_any_more_is_worse_and_what_was_not_built_before_is_not() -> None:
    limits = Limits(failed=True)
    (left,) = diff(told(), told(bundle=STALE), limits)

    assert (left.after, left.worse, heading_of(left)) == ("not built", True, "Not built")
    assert [c.worse for c in diff(told(bundle=STALE), told(context=failed(FAILED)), limits)] == [
        False
    ]


def test_a_new_model_that_fails_is_told() -> None:
    before = Side(told=Told.of().json())
    found = diff(before, told(context=failed(FAILED)), Limits(failed=True))

    assert [(one.before, one.after, one.worse) for one in found] == [(None, "failed", True)]


def test_a_compile_that_took_much_longer_is_told() -> None:
    def side(seconds: float) -> Side:
        found = told()
        assert found.told is not None
        for row in found.told["models"][0]["rows"]:
            for cell in row["cells"]:
                cell["graphs"][0]["compiled"]["seconds"] = seconds
        return found

    found = diff(side(10.0), side(20.04), Limits())

    assert {(one.what, one.before, one.after) for one in found} == {("compile seconds", 10.0, 20.0)}
    assert len(found) == 6
    assert {heading_of(one) for one in found} == {"Slower"}
    assert diff(side(10.0), side(14.0), Limits()) == diff(side(0.1), side(0.9), Limits()) == []


@pytest.mark.parametrize(
    ("said", "heading"),
    [
        ({"what": "bundle", "before": True, "after": False}, "Gone"),
        ({"what": "graph", "before": False, "after": True}, "New"),
        ({"before": 3, "after": 2}, "Smaller"),
        ({"what": "SQNR of y", "before": 30.0, "after": 20.0}, "Less accurate"),
        ({"what": "SQNR of y", "before": None, "after": 20.0}, "Otherwise"),
        ({"what": "CPU nodes", "before": [], "after": ["a (Add)"]}, "More on the CPU"),
        ({"what": "CPU nodes", "before": ["b (Add)"], "after": ["a (Add)"]}, "Otherwise"),
        ({"what": "CPU share of multiply-adds", "before": 0.2, "after": 0.1}, "Less on the CPU"),
        ({"what": "precision", "before": "w8a8", "after": "w8a16"}, "Otherwise"),
    ],
)
def test_each_change_has_a_heading(said: dict[str, Any], heading: str) -> None:
    assert heading_of(change(**said)) == heading


def test_a_change_of_several_chips_is_one_row_and_each_chip_is_counted() -> None:
    text = diff_markdown([change("SM8550"), change("SM8750", worse=True), change("SM8650")])

    assert text == (
        "3 changes, 1 for the worse: bigger 3.\n\n"
        "| chip | bigger |\n| --- | --- |\n"
        "| `SM8550` | 1 |\n| `SM8650` | 1 |\n| `SM8750` | 1 |\n"
        "\n### Bigger\n\n"
        "|  | model | graph | what | before | after | chips |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| ❌ | `vad` |  | `bytes` | 1 kB | 1.5 kB (+50.0%) | `SM8750` |\n"
        "|  | `vad` |  | `bytes` | 1 kB | 1.5 kB (+50.0%) | `SM8550`, `SM8650` |\n"
    )


def test_no_change_is_told_too() -> None:
    assert diff_markdown([]) == "No change.\n"


@pytest.mark.parametrize("count", [100, 3_000])
def test_the_text_has_room_and_what_has_none_is_counted(count: int) -> None:
    changes = [change(model=f"model-{n}", after=1000 + n + 1) for n in range(count)]
    text = diff_markdown(changes, 20_000)
    shown = text.count("| `model-")
    left = count - shown

    assert len(text) <= 20_000
    assert shown >= 90
    assert text.endswith(f"… and {left:,} more.\n") == (left > 0)


@pytest.mark.parametrize(
    "hostile",
    [
        "@everyone #1",
        "a | b",
        "`` ` ``",
        "</td><img src=x>",
        "one\n\n# two",
        "\u202egnp.exe",
        "a" * 999,
    ],
)
def test_words_of_others_are_neither_markup_nor_a_mention(hostile: str) -> None:
    found = span(hostile)
    text = diff_markdown([change(what="precision", before=hostile, after="w8a8", graph=hostile)])

    assert found.startswith("`")
    assert found.endswith("`")
    assert "\n" not in found
    assert "\u202e" not in found
    assert len(found) <= 130
    assert text.count("\n# ") == 0
    assert {row.replace("\\|", "").count("|") for row in text.splitlines()[-1:]} == {8}
