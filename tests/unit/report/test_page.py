"""The report's page: one file, nothing from elsewhere, and nothing of a recipe taken for HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from qnnbuild.formats.profile_csv import read_profile
from qnnbuild.report.amounts import share, size, sizes, span
from qnnbuild.report.page import data_of, issue, page
from qnnbuild.report.profile import profile_rows, profile_told
from tests.reported import AUTO, FAILED, FLOATS, STALE, VAD, Told, failed
from tests.unit.formats.samples import sample

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
CONTEXT = "context/vad/near/w8a8@SM8750"


@dataclass
class Parsed(HTMLParser):
    """Elements by name, texts by the id of the section that they stand in."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._section = self._script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "section":
            self._section = found["id"] or ""
        if tag == "script":
            self._script = found.get("id") or "code"

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._section = ""
        if tag == "script":
            self._script = ""

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        elif data.strip():
            self.texts.setdefault(self._section, []).append(" ".join(data.split()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def parsed(told: Told) -> Parsed:
    found = Parsed()
    found.feed(page(told.json()))
    found.close()
    return found


def everything() -> Told:
    told = Told.of(VAD, FLOATS, AUTO)
    return told.be(CONTEXT, failed()).be("context/vad/near/w8a16@SM8550", STALE)


@pytest.mark.parametrize("section", ["failed", "known", "cpu", "searches", "models"])
def test_a_section_says_without_any_script(
    section: str, golden: Callable[[Path, str], None]
) -> None:
    text = "\n".join(parsed(everything()).texts[section]) + "\n"

    golden(GOLDEN / f"{section}.txt", text)


def test_times_that_came_from_a_device_are_a_table_by_node() -> None:
    profile = read_profile(sample("profile_detailed.csv"))
    told = profile_told("vad <1>.csv", profile, profile_rows(profile.layers))
    found = Parsed()
    found.feed(page({**everything().json(), "profiles": [told]}))
    texts = found.texts["times"]

    assert texts[:2] == ["Times", "vad <1>.csv"]
    assert texts[3:11] == [
        *("nodes", "QNN operator", "mean", "share"),
        *("div + erf + add + mul + mul2", "div_2", "41,946,104 cycles", "78.870%"),
    ]


def test_the_data_is_read_back_as_it_was() -> None:
    told = everything().json()

    assert data_of(page(told)) == told


def test_a_page_of_somebody_else_has_no_data() -> None:
    assert data_of("<!doctype html><title>x</title>") is None


def test_the_page_takes_nothing_from_elsewhere() -> None:
    found = parsed(everything())
    policy = [one["content"] for one in found.all("meta") if "http-equiv" in one]
    named = [one for _, one in found.tags if "src" in one or one.get("rel") == "stylesheet"]

    assert policy[0] is not None
    assert policy[0].startswith("default-src 'none'")
    assert named == []


def test_the_plotting_library_waits_until_it_is_looked_at() -> None:
    found = parsed(everything())
    kinds = {one.get("id"): one.get("type") for one in found.all("script")}

    assert kinds == {
        "data": "application/json", "figures": "application/json", "plotly": "text/plain",
        None: None,
    }  # fmt: skip
    assert "Plotly" in found.scripts["plotly"]


def test_a_report_without_pictures_has_no_plotting_library() -> None:
    told = Told.of(VAD)
    for name in told.subject.plan.actions:
        if name.startswith("fetch/"):
            told.be(name, STALE)
    found = parsed(told)

    assert "plotly" not in found.scripts
    assert "figures" not in found.scripts


def test_what_a_recipe_or_a_tool_says_is_never_html() -> None:
    reason = EVIL.replace("'", "")
    told = Told.of(VAD, FLOATS.replace("values beyond fp16", f"'{reason}'"))
    told.be(CONTEXT, failed(replace(FAILED, message=EVIL, last_lines=(EVIL,), hint=EVIL)))
    found = parsed(told)

    assert len(found.all("script")) == 4
    assert found.all("img") == []
    assert EVIL in found.texts["failed"]
    assert EVIL in found.texts["known"]
    assert "<" not in found.scripts["data"]
    assert (
        json.loads(found.scripts["data"])["models"][0]["rows"][0]["cells"][0]["known"][0]["reason"]
        == reason
    )


@pytest.mark.parametrize("said", ["javascript:alert(1)", "data:text/html,x", "7", "see #7"])
def test_only_addresses_become_links(said: str) -> None:
    told = Told.of(FLOATS.replace("owner/repo#7", f"'{said}'"))
    links = [one["href"] for one in parsed(told).all("a")]

    assert issue(said) is None
    assert all(link is not None and link.startswith("#") for link in links)


def test_an_issue_of_a_repository_becomes_its_address() -> None:
    assert issue("owner/repo#7") == "https://github.com/owner/repo/issues/7"
    assert issue("https://example.com/7") == "https://example.com/7"


def test_the_head_says_first_what_the_report_is_of() -> None:
    told = everything().json()

    assert f'content="{told["of"]}"' in page(told)[:512]


def test_every_heading_leads_on_from_the_one_before() -> None:
    levels = [int(tag[1]) for tag, _ in parsed(everything()).tags if tag in ("h1", "h2", "h3")]

    assert levels[0] == 1
    assert max(b - a for a, b in pairwise(levels)) == 1


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (936, "936 B"), (446464, "446 kB"), (1020000, "1.02 MB")]
)
def test_bytes_are_told_for_people(count: int, said: str) -> None:
    assert size(count) == said


def test_what_is_not_known_is_a_dash() -> None:
    assert [sizes(None), span(None, "{}"), share(None)] == ["–", "–", "–"]
    assert [sizes((1000, 2000)), span((1.0, 1.0), "{:.1f}"), share(0.125)] == [
        "1 kB to 2 kB", "1.0", "12.500%",
    ]  # fmt: skip
