from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.shares import LAST, Shares, in_parts

KINDS = ("first", "chip", "last")


def action(name: str, *needs: str, group: str = "m") -> Action:
    inputs = {f"i{n}": OutputOf(action=need, output="o") for n, need in enumerate(needs)}
    return Action(name=name, step="s", call="a:b", inputs=dict(inputs), outputs=("o",), group=group)


def shares(*actions: Action) -> dict[str, tuple[str, ...]]:
    return dict(Shares.of(Plan.of(actions)).names)


def test_what_no_chip_changes_is_the_models():
    assert shares(action("fetch/m"), action("convert/m", "fetch/m")) == {
        "first/m": ("fetch/m", "convert/m")
    }


def test_what_stands_on_one_chip_is_that_chips():
    assert shares(
        action("convert/m"),
        action("context/m@SM8750", "convert/m"),
        action("bundle/m@SM8750", "context/m@SM8750"),
        action("archive/m-SM8750", "bundle/m@SM8750"),
        action("context/m@SM8550", "convert/m"),
    ) == {
        "first/m": ("convert/m",),
        "chip/SM8750": ("context/m@SM8750", "bundle/m@SM8750", "archive/m-SM8750"),
        "chip/SM8550": ("context/m@SM8550",),
    }


def test_what_needs_another_chips_binary_comes_last_and_so_does_what_stands_on_it():
    found = shares(
        action("context/m@SM8750"),
        action("verdict/m@SM8750", "context/m@SM8750"),
        action("context/m@SM8650"),
        action("bundle/m@SM8650", "context/m@SM8650", "verdict/m@SM8750"),
        action("archive/m", "bundle/m@SM8650"),
    )

    assert found[LAST] == ("bundle/m@SM8650", "archive/m")
    assert found["chip/SM8650"] == ("context/m@SM8650",)


def test_a_model_that_needs_anothers_work_waits_for_it():
    found = shares(action("fetch/a", group="a"), action("fetch/b", "fetch/a", group="b"))

    assert found == {"first/a": ("fetch/a",), LAST: ("fetch/b",)}


def test_only_shares_with_something_wanted_are_there_and_they_are_whole():
    plan = Plan.of(
        [
            action("convert/m"),
            action("context/m@SM8750", "convert/m"),
            action("bundle/m@SM8750", "context/m@SM8750"),
            action("context/m@SM8550", "convert/m"),
        ]
    )
    found = Shares.of(plan, {"bundle/m@SM8750"})

    assert dict(found.names) == {"chip/SM8750": ("context/m@SM8750", "bundle/m@SM8750")}
    assert dict(found.waves) == {"chip": ("chip/SM8750",)}


def test_an_empty_plan_has_no_shares():
    found = Shares.of(Plan.of([]))

    assert (dict(found.names), dict(found.waves)) == ({}, {})


def test_parts_are_about_equal_and_none_is_empty():
    names = [str(n) for n in range(257)]

    assert [len(part) for part in in_parts(names)] == [128, 129]
    assert [n for part in in_parts(names, 10) for n in part] == names
    assert list(in_parts([], 3)) == []


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    made: list[Action] = []
    for number in range(draw(st.integers(0, 25))):
        known = [a.name for a in made]
        needs = draw(st.lists(st.sampled_from(known), max_size=3, unique=True)) if known else []
        chip = draw(st.sampled_from(["", "@A", "@B", "@C", "@A+B"]))
        group = draw(st.sampled_from(["m", "n"]))
        made.append(action(f"s/{number}{chip}", *needs, group=group))
    return Plan.of(made)


@given(plan=plans())
@settings(max_examples=100, deadline=None)
def test_each_action_is_in_one_share_and_a_share_needs_only_earlier_kinds(plan):
    found = Shares.of(plan)
    listed = [name for names in found.names.values() for name in names]
    where = {name: share for share, names in found.names.items() for name in names}

    assert sorted(listed) == sorted(plan.actions)
    assert sorted(s for kind in found.waves.values() for s in kind) == sorted(found.names)
    for one in plan:
        for need in one.needs():
            mine, theirs = where[one.name], where[need]
            kinds = [KINDS.index(share.partition("/")[0]) for share in (theirs, mine)]
            assert mine == theirs or kinds[0] < kinds[1]


@given(count=st.integers(0, 2000), size=st.integers(1, 300))
def test_parts_lose_and_double_nothing(count, size):
    names = [str(n) for n in range(count)]
    parts = list(in_parts(names, size))

    assert [n for part in parts for n in part] == names
    assert all(0 < len(part) <= size for part in parts)
