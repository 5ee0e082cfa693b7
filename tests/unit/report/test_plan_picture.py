"""The plan as a picture: what is folded, which edges stay, where boxes stand, what is escaped."""

from __future__ import annotations

import itertools
import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnnbuild.report.plan_layout import HEIGHT, Layout, laid_out
from qnnbuild.report.plan_page import html, svg
from qnnbuild.report.plan_picture import MOST, Picture, Shown, picture
from qnnbuild.report.plan_text import dot, mermaid

NASTY = '<b>"\\n`\x1b[31m\x00 & é'


def shown(name: str, *needs: str, state: str = "current", reasons: tuple[str, ...] = ()) -> Shown:
    step, _, rest = name.partition("/")
    return Shown(
        name=name,
        step=step,
        group=rest.partition("/")[0].partition("@")[0],
        needs=needs,
        state=state,
        reasons=reasons,
    )


def model(name: str = "m", chips: int = 3) -> list[Shown]:
    prepare, convert = f"prepare/{name}", f"convert/{name}"
    of_chips = [
        (
            shown(f"context/{name}@C{number}", prepare, convert),
            shown(f"bundle/{name}@C{number}", prepare, convert, f"context/{name}@C{number}"),
        )
        for number in range(chips)
    ]
    return [shown(prepare), shown(convert, prepare), *itertools.chain(*of_chips)]


def titles(drawn: Picture) -> list[str]:
    return [box.title for box in drawn.boxes]


def ways(drawn: Picture) -> set[str]:
    names = {box.id: box.title for box in drawn.boxes}
    return {f"{names[a]} > {names[b]}" for a, b in drawn.edges}


def test_chips_fold_into_one_box() -> None:
    drawn = picture(model(), "chips")

    assert titles(drawn) == ["prepare/m", "convert/m", "context/m@*", "bundle/m@*"]
    assert [len(box.members) for box in drawn.boxes] == [1, 1, 3, 3]


def test_models_and_steps_fold() -> None:
    both = [*model("a"), *model("b")]

    assert titles(picture(both, "models"))[:5] == [
        *("prepare a", "convert a", "context a", "bundle a", "prepare b"),
    ]
    assert titles(picture(both, "steps")) == ["prepare", "convert", "context", "bundle"]


def test_as_much_is_folded_as_has_to_be() -> None:
    few = model(chips=5)
    chips = model(chips=MOST)
    models = [one for number in range(MOST // 4) for one in model(f"m{number}", chips=30)]
    steps = [one for number in range(MOST) for one in model(f"m{number}")]

    assert [picture(part).fold for part in (few, chips, models, steps)] == [
        *("none", "chips", "chips", "steps"),
    ]


def test_an_edge_that_a_longer_way_says_is_left_out() -> None:
    drawn = picture(model(chips=1), "none")
    all_of_them = picture(model(chips=1), "none", all_edges=True)

    assert ways(drawn) == {
        *("prepare/m > convert/m", "convert/m > context/m@C0", "context/m@C0 > bundle/m@C0"),
    }
    assert ways(all_of_them) - ways(drawn) == {
        "prepare/m > context/m@C0",
        "prepare/m > bundle/m@C0",
        "convert/m > bundle/m@C0",
    }


def test_what_folds_into_a_circle_is_drawn_all_the_same() -> None:
    tries = [
        shown("judge/m/1"),
        shown("emulate/m/2", "judge/m/1"),
        shown("judge/m/2", "emulate/m/2"),
    ]
    drawn = picture(tries, "steps")

    assert ways(drawn) == {"judge > emulate", "emulate > judge"}
    assert svg(drawn).count('class="back"') == 1


def test_a_box_has_the_state_that_most_wants_to_be_seen() -> None:
    actions = [
        shown("context/m@A"),
        shown("context/m@B", state="stale", reasons=("option O: 2 → 3",)),
        shown("context/m@C", state="waits"),
    ]
    (box,) = picture(actions, "chips").boxes
    alone = picture(actions, "none").boxes[1]

    assert (box.state, box.about) == ("stale", "3 actions: 1 stale, 1 waiting, 1 current")
    assert (alone.state, alone.about) == ("stale", "stale: option O: 2 → 3")


def overlaps(layout: Layout) -> list[tuple[str, str]]:
    found = []
    for (a, one), (b, other) in itertools.combinations(layout.places.items(), 2):
        apart = (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or one.y + one.height <= other.y
            or other.y + other.height <= one.y
        )
        if not apart:
            found.append((a, b))
    return found


@st.composite
def plans(draw: st.DrawFn) -> list[Shown]:
    """Up to 24 actions, each with a step, a model, and up to three that it needs."""
    rows = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=24))
    bits = draw(st.lists(st.integers(0, 999), min_size=3 * len(rows), max_size=3 * len(rows)))
    names = [f"s{step}/m{model}/{number}" for number, (step, model) in enumerate(rows)]
    return [
        shown(
            name,
            *sorted({names[bit % number] for bit in bits[3 * number : 3 * number + 3] if number}),
        )
        for number, name in enumerate(names)
    ]


@settings(deadline=None)
@given(plans(), st.sampled_from(["none", "models", "steps"]))
def test_no_two_boxes_touch_and_what_is_needed_stands_to_the_left(
    actions: list[Shown], fold: str
) -> None:
    drawn = picture(actions, fold)
    layout = laid_out(drawn)
    order = {box.id: number for number, box in enumerate(drawn.boxes)}

    assert overlaps(layout) == []
    assert layout.places.keys() == order.keys()
    for (a, b), points in layout.edges.items():
        one, other = layout.places[a], layout.places[b]
        if order[a] < order[b]:
            assert one.x + one.width < other.x
        assert points[0] == (one.x + one.width, one.y + HEIGHT / 2)
        assert points[-1] == (other.x, other.y + HEIGHT / 2)
    for place in layout.places.values():
        assert 0 <= place.x <= place.x + place.width <= layout.width
        assert 0 <= place.y <= place.y + place.height <= layout.height


def test_models_stand_one_below_the_other() -> None:
    drawn = picture([*model("a"), *model("b")], "models")
    places = laid_out(drawn).places
    lowest = max(places[box.id].y for box in drawn.boxes if box.title.endswith(" a"))

    assert all(places[box.id].y > lowest for box in drawn.boxes if box.title.endswith(" b"))


def test_svg_is_xml_whatever_names_and_reasons_hold() -> None:
    drawn = picture([shown("prepare/m", state="stale", reasons=(NASTY,))], "none")
    root = ET.fromstring(svg(drawn))
    texts = [t for one in root.iter() if (t := (one.text or "").strip()) and "\n" not in t]

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert 'stale: <b>"\\n` [31m  & é' in texts


def test_a_page_tells_of_each_action_and_runs_nothing_out_of_it() -> None:
    drawn = picture([shown("prepare/m", state="stale", reasons=(NASTY, "</script><b>"))], "none")
    page = html(drawn, "<i>&")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', page)

    assert json.loads(data)["boxes"]["n0"]["members"][0]["reasons"] == [NASTY, "</script><b>"]
    assert "<b>" not in page.replace("<b>1</b>", "")
    assert "<title>&lt;i&gt;&amp;: plan</title>" in page
    assert page.count("<script") == page.count("</script>") == 2


def test_dot_and_mermaid_keep_their_own_signs_for_themselves() -> None:
    drawn = picture(
        [shown("prepare/m", state="stale", reasons=(NASTY,)), shown("x/m", "prepare/m")]
    )

    assert 'n0 [label="prepare/m\\nstale: <b>\\"\\\\n` [31m  & é"' in dot(drawn)
    assert "  n0 -> n1;" in dot(drawn)
    assert (
        '  n0["prepare/m<br>stale: #60;b#62;#34;#92;n#96; #91;31m  #38; é"]:::stale\n'
        in mermaid(drawn)
    )
    assert "  n0 --> n1\n" in mermaid(drawn)


@pytest.mark.parametrize("draw", [svg, dot, mermaid, lambda drawn: html(drawn, "none")])
def test_nothing_can_be_drawn(draw) -> None:
    assert draw(picture([]))
