"""What the issue of a night says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qnnbuild.report.diff import Side
from qnnbuild.report.fail_on import Limits
from qnnbuild.report.night import MARKER, night
from tests.reported import FAILED, STALE, VAD, Told, failed

CONTEXTS = tuple(f"context/vad/near/w8a8@{chip}" for chip in ("SM8550", "SM8750"))


def side(fails: tuple[str, ...] = (), *, message: str = FAILED.message) -> Side:
    told = Told.of(VAD)
    for name in fails:
        told.be(name, failed(replace(FAILED, message=message)))
    return Side(told=told.json())


def test_a_first_night_without_failures_is_good() -> None:
    found = night(None, side(), Limits())

    assert found.good
    assert found.title == "Nightly: all is well"
    assert found.body == (
        f"{MARKER}\n6 built, 0 failed, 0 known failure, 0 not built, 0 not possible.\n"
        "\n## Since the last good night\n\nThis is the first night.\n"
    )


def test_a_failure_is_told_once_with_all_that_it_stops() -> None:
    found = night(side(), side(CONTEXTS), Limits(), "https://example.com/run/7")

    assert not found.good
    assert found.title == "Nightly: 2 failed"
    assert found.body.startswith(
        f"{MARKER}\n[The run](https://example.com/run/7). 4 built, 2 failed, 0 known failure, "
        "0 not built, 0 not possible.\n"
        "\n## Failed\n\n"
        "- `recipes/vad.yaml:6:3`: `the tool stopped`\n"
        "  hint: `look into the log`\n"
        "  says: `error: no such operator`\n"
        "  stops `vad/w8a8@SM8550`, `vad/w8a8@SM8750`\n"
    )
    assert "\n### Failed\n\n" in found.body


def test_what_failed_last_night_and_fails_again_stays_bad() -> None:
    found = night(side(CONTEXTS), side(CONTEXTS), Limits())

    assert (found.good, found.title) == (False, "Nightly: 2 failed")
    assert "No change." in found.body


def test_what_is_not_built_is_bad() -> None:
    told = Told.of(VAD).be("bundle/vad/w8a8@SM8750", STALE)
    found = night(None, Side(told=told.json()), Limits())

    assert (found.good, found.title) == (False, "Nightly: 1 not built")


def test_a_mistake_in_a_recipe_is_bad() -> None:
    told = {
        **Told.of(VAD).json(),
        "wrong": [{"message": "no chip is named 'X'", "at": "recipes/x.yaml:1:1", "hint": None}],
    }
    found = night(None, Side(told=told), Limits())

    assert (found.good, found.title) == (False, "Nightly: 1 with mistakes")
    assert "- `recipes/x.yaml:1:1`: `no chip is named 'X'`\n" in found.body


def test_a_change_for_the_worse_is_bad_only_where_it_is_asked_for() -> None:
    def sized(count: int) -> Side:
        manifest: dict[str, Any] = {"files": {"a.bin": {"bytes": count}}, "graphs": {}}
        return Side(manifests={"vad@SM8750": manifest}, told=side().told)

    bad = night(sized(100), sized(150), Limits(size_percent=5))
    good = night(sized(100), sized(150), Limits())

    assert (bad.good, bad.title) == (False, "Nightly: 1 changed for the worse")
    assert good.good
    assert "100 B" in good.body


def test_a_night_without_a_build_is_bad() -> None:
    found = night(side(), None, Limits())

    assert (found.good, found.title) == (False, "Nightly: there is no build")
    assert found.body.startswith(MARKER)


def test_bundles_without_a_report_are_bad() -> None:
    manifests: Any = {"vad@SM8750": {"files": {}, "graphs": {}}}
    found = night(None, Side(manifests=manifests), Limits())

    assert (found.good, found.title) == (False, "Nightly: there is no report")


def test_a_build_that_did_not_end_well_is_bad_whatever_its_report_says() -> None:
    ends = {end: night(None, side(), Limits(), result=end) for end in ("success", "failure")}

    assert ends["success"].good
    assert (ends["failure"].good, ends["failure"].title) == (
        False, "Nightly: the build ended with failure",
    )  # fmt: skip


def test_a_body_has_room_in_an_issue() -> None:
    """GitHub takes 65,536 characters."""
    many = [{"message": "x" * 900, "at": None, "hint": "y" * 900} for _ in range(400)]
    manifests: Any = {
        f"model-{n}@SM8750": {"files": {"a": {"bytes": n}}, "graphs": {}} for n in range(3_000)
    }
    told = {**Told.of(VAD).json(), "wrong": many}
    found = night(Side(manifests=manifests), Side(told=told), Limits())

    assert len(found.body) <= 60_000
    assert "- … and 370 more\n" in found.body
    assert found.body.rstrip().endswith(" more.")
