"""The report's page in a browser: it opens without an error, filters, sorts, opens cells, by mouse
and by keys, on a narrow screen and a wide one, light and dark.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qnnbuild.report.debug_page import debug_page
from qnnbuild.report.history import with_history
from qnnbuild.report.page import page
from qnnbuild.report.standing import LastRun, Ran
from tests.browser import MISSING, browser
from tests.reported import AUTO, FLOATS, STALE, VAD, Told, failed
from tests.unit.report.test_debug_page import THREE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {MISSING}")

ACTION = "context/vad/near/w8a8@SM8750"
BUNDLE = "bundle/vad/w8a8@SM8550"
WIDE, NARROW = (1920, 1080), (360, 740)


def told() -> dict[str, Any]:
    """Two nights; in the second one cell fails, one is bigger, and one was made."""
    before = with_history(Told.of(VAD, FLOATS, AUTO).json(), None, apart=False)
    now = Told.of(VAD, FLOATS, AUTO).be(ACTION, failed()).be("fetch/floats/one", STALE)
    made = Ran(how="made", began=0.0, ended=9.0, seconds=6.0)
    now.known.run = LastRun(
        began="2026-01-03T03:00:00+00:00",
        seconds=9.0,
        actions={BUNDLE: made, ACTION: Ran(how="failed", began=1.0, ended=4.0, seconds=3.0)},
    )
    after = copy.deepcopy(now.json())
    for row in next(model for model in after["models"] if model["name"] == "vad")["rows"]:
        for cell in row["cells"]:
            if cell["chip"] == "SM8550" and row["variant"] == "w8a8":
                cell["size"] *= 2
    return with_history(after, before, apart=True)


@dataclass
class Seen:
    """A page that is open, and what went wrong in it."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def states(self) -> list[str]:
        """What the cells of the matrix say for who does not see them."""
        cells = self.page.locator("#grid tbody td[class]")
        return [str(cell.get_attribute("aria-label")) for cell in cells.all()]

    def rows(self) -> list[str]:
        return self.page.locator("#grid tbody th").all_inner_texts()

    def search(self, words: str) -> None:
        self.page.fill("#search", words)
        self.page.wait_for_selector(f'#grid[data-words="{words}"]', state="attached")

    def opened(self) -> str:
        return self.page.locator("#cell[open] h2").inner_text()


def texts(found: Locator) -> list[str]:
    return [" ".join(text.split()) for text in found.all_inner_texts()]


Open = Callable[..., Seen]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(told()), encoding="utf-8")
    return path


@pytest.fixture
def view(chromium: Browser, file: Path) -> Iterator[Open]:
    contexts = []

    def opened(
        size: tuple[int, int] = WIDE, scheme: Any = "light", at: str = "", file: Path = file
    ) -> Seen:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on(
            "console",
            lambda said: seen.errors.append(said.text) if said.type != "log" else None,
        )
        seen.page.goto(file.as_uri() + at)
        return seen

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_it_opens_without_errors_and_nothing_runs_over_the_edge(
    size: tuple[int, int], scheme: str, view: Open
) -> None:
    seen = view(size, scheme)
    for picture in seen.page.locator(".picture").all():
        picture.scroll_into_view_if_needed()
        picture.locator("svg.main-svg").first.wait_for()

    assert seen.errors == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") == size[0]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_layers_of_a_graph_are_drawn(size: tuple[int, int], view: Open, tmp_path: Path) -> None:
    file = tmp_path / "layers.html"
    file.write_text(debug_page("debug/net/net@SM8750", THREE, ["in short"]), encoding="utf-8")
    seen = view(size, file=file)
    for picture in seen.page.locator(".picture").all():
        picture.scroll_into_view_if_needed()
        picture.locator("svg.main-svg").first.wait_for()

    assert seen.errors == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") == size[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_words_can_be_read_on_their_ground(scheme: str, view: Open) -> None:
    """By WCAG's contrast of 4.5; a cell that is not possible says so by its pattern, too."""
    seen = view(WIDE, scheme)
    contrasts = seen.page.evaluate(CONTRASTS)

    assert len(contrasts) > 20
    assert {words: round(found, 2) for words, found in contrasts if found < 4.5} == {}


def test_the_top_tells_what_is_otherwise_and_leads_to_the_cell(view: Open) -> None:
    seen = view()
    lines = texts(seen.page.locator("#since > .changes li"))
    seen.page.locator("#since .changes a", has_text="SM8750").first.click()

    assert lines[0] == "failed vad/w8a8 the tool stopped SM8750"
    assert "bigger vad/w8a8 1 kB → 2 kB (+100.0%) SM8550" in lines
    assert seen.opened() == "vad/w8a8 on SM8750"
    assert "error: no such operator" in seen.page.locator("#cell").inner_text()


def test_cells_say_how_the_last_build_came_by_them(view: Open) -> None:
    states = view().states()

    assert "vad/w8a8 on SM8550: made" in states
    assert "vad/w8a8 on SM7325: reused" in states
    assert "vad/w8a8 on SM8750: failed" in states
    assert "floats on SM8450: not possible" not in states


def test_words_and_buttons_narrow_the_matrix_down(view: Open) -> None:
    seen = view()
    seen.search("vad/w8a8 sm8750")
    by_words = seen.states()
    seen.search("")
    seen.page.locator("#states button", has_text="failed").first.click()
    pressed = seen.page.locator("#states button[aria-pressed=true]").count()

    assert by_words == ["vad/w8a8 on SM8750: failed"]
    assert (seen.states(), pressed) == (by_words, 1)


def test_words_that_nothing_has_say_so(view: Open) -> None:
    seen = view()
    seen.search("no such thing")

    assert seen.page.locator("#found").inner_text() == "nothing matches"
    assert seen.states() == []


def test_rows_are_sorted_by_what_is_chosen(view: Open) -> None:
    seen = view()
    by_name = seen.rows()
    seen.page.select_option("#sort", "size")
    by_size = seen.rows()
    seen.page.select_option("#sort", "trouble")

    assert by_name == ["floats", "found", "vad/w8a8", "vad/w8a16"]
    assert (by_size[0], seen.rows()[0]) == ("vad/w8a8", "vad/w8a8")


def test_cells_show_the_number_that_is_chosen(view: Open) -> None:
    seen = view()
    seen.page.select_option("#show", "size")
    cells = texts(seen.page.locator("#grid tbody tr", has_text="vad/w8a8").locator("td"))

    assert (cells.count("2k"), cells.count("1k")) == (1, 1)


def test_of_many_rows_those_are_there_that_are_looked_at(view: Open, tmp_path: Path) -> None:
    many = told()
    vad = next(model for model in many["models"] if model["name"] == "vad")
    many["models"] = [{**vad, "name": f"vad{number:03}"} for number in range(125)]
    file = tmp_path / "many.html"
    file.write_text(page(many), encoding="utf-8")
    seen = view(WIDE, file=file)
    rows = seen.page.locator("#grid tbody tr")
    said = [seen.page.locator("#grid .more").inner_text()]
    for count in (200, 250):
        seen.page.evaluate("document.getElementById('grid').scrollTop = 1e9")
        rows.nth(count - 1).wait_for()
        said.append(seen.page.locator("#grid .more").inner_text())
    seen.search("vad124/w8a16")

    assert said == ["150 more", "50 more", ""]
    assert seen.rows() == ["vad124/w8a16"]


def test_keys_walk_over_the_matrix_and_open_a_cell(view: Open) -> None:
    seen = view()
    seen.search("vad/w8a8")
    seen.page.locator("#grid td[tabindex='0']").focus()
    for key in ("ArrowRight", "End", "Home", "ArrowRight", "Enter"):
        seen.page.keyboard.press(key)
    opened = seen.opened()
    at = seen.page.evaluate("location.hash")
    seen.page.keyboard.press("Escape")
    focused = seen.page.evaluate("document.activeElement.getAttribute('aria-label')")

    assert opened == "vad/w8a8 on SM8550"
    assert at == "#cell=vad%2Fw8a8%40SM8550"
    assert focused == "vad/w8a8 on SM8550: made"
    assert seen.page.evaluate("location.hash") == ""


def test_the_first_key_leads_past_the_head(view: Open) -> None:
    seen = view()
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")

    assert seen.page.evaluate("location.hash") == "#matrix"


def test_an_address_opens_its_cell_with_its_numbers_over_the_nights(view: Open) -> None:
    seen = view(at="#cell=vad%2Fw8a8%40SM8550")
    nights = texts(seen.page.locator("#cell .sparks li"))

    assert seen.opened() == "vad/w8a8 on SM8550"
    assert nights[0] == "size 1 kB → 2 kB"
    shown = seen.page.locator("#cell").inner_text()
    assert "SQNR, dB, at least" in shown
    assert "qnnbuild debug context/vad/near/w8a8@SM8550 --html layers.html" in shown
    assert seen.errors == []


def test_a_narrow_screen_has_the_cell_on_the_whole_of_it(view: Open) -> None:
    seen = view(NARROW, at="#cell=vad%2Fw8a8%40SM8550")
    box = seen.page.locator("#cell").bounding_box()

    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= NARROW[0]) == (True, True)


CONTRASTS = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = rgb(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("header *, main *")) {
    const text = (one) => one.nodeType === 3 && one.textContent.trim();
    if (![...element.childNodes].some(text) || !element.checkVisibility()) continue;
    if (element.closest(".picture") || element.matches(".is-impossible")) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
    const words = element.textContent.trim().slice(0, 30);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([`${element.tagName} ${element.className}: ${words}`, contrast]);
  }
  return found;
}"""
