from __future__ import annotations

import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import NothingMatches


def action(name: str, *needs: str, group: str = "m", **more: object) -> Action:
    return Action(
        name=name,
        step=name.partition("/")[0],
        call="x:y",
        inputs={need: OutputOf(action=need, output="o") for need in needs},
        outputs=("o",),
        group=group,
        **more,  # type: ignore[arg-type]
    )


CHAIN = (
    action("bundle/m@A", "context/m@A"),
    action("bundle/m@B", "context/m@B"),
    action("context/m@A", "prepare/m"),
    action("context/m@B", "prepare/m"),
    action("prepare/m", "fetch/m"),
    action("fetch/m"),
    action("fetch/n", group="n"),
)


def refused(*actions: Action) -> str:
    with pytest.raises(ValueError) as caught:
        Plan.of(actions)
    return str(caught.value)


def test_what_is_needed_comes_before_what_needs_it():
    assert list(Plan.of(CHAIN).actions) == [
        "fetch/m",
        "prepare/m",
        "context/m@A",
        "bundle/m@A",
        "context/m@B",
        "bundle/m@B",
        "fetch/n",
    ]


def test_the_order_of_what_is_independent_is_the_order_given():
    plan = Plan.of([action("b"), action("a"), action("c", "a", "b")])

    assert list(plan.actions) == ["b", "a", "c"]


def test_the_same_action_twice_is_in_the_plan_once():
    plan = Plan.of([action("fetch/m"), action("fetch/m"), action("prepare/m", "fetch/m")])

    assert [a.name for a in plan] == ["fetch/m", "prepare/m"]
    assert len(plan) == 2
    assert "fetch/m" in plan
    assert plan["fetch/m"] == action("fetch/m")


def test_two_different_actions_of_one_name_are_refused():
    assert refused(action("fetch/m"), action("fetch/m", params={"url": "x"})) == (
        "two different actions are called fetch/m"
    )


def test_an_action_that_needs_itself_is_refused():
    assert refused(action("a", "a")) == "a needs itself"


def test_a_circle_is_refused():
    assert refused(action("a", "c"), action("b", "a"), action("c", "b")) == "a needs itself"


def test_a_need_that_is_not_in_the_plan_is_refused():
    assert refused(action("a", "b")) == "a needs b, which is not in the plan"


def test_a_long_chain_is_no_trouble():
    chain = [action(str(n), *([str(n - 1)] if n else [])) for n in range(5000)]

    assert list(Plan.of(reversed(chain)).actions) == [a.name for a in chain]


def test_models_know_their_actions():
    assert Plan.of(CHAIN).groups == {
        "m": (
            "fetch/m",
            "prepare/m",
            "context/m@A",
            "bundle/m@A",
            "context/m@B",
            "bundle/m@B",
        ),
        "n": ("fetch/n",),
    }


def test_dependents_are_all_that_stands_on_a_name():
    plan = Plan.of(CHAIN)

    assert sorted(plan.dependents("prepare/m")) == [
        "bundle/m@A",
        "bundle/m@B",
        "context/m@A",
        "context/m@B",
    ]
    assert plan.dependents("bundle/m@A") == ()


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("prepare/m", ["prepare/m"]),
        ("n", ["fetch/n"]),
        ("*@B", ["context/m@B", "bundle/m@B"]),
        ("fetch/*", ["fetch/m", "fetch/n"]),
        ("context/?@[AB]", ["context/m@A", "context/m@B"]),
    ],
)
def test_a_name_a_model_and_a_pattern_select(pattern, names):
    assert list(Plan.of(CHAIN).matching(pattern)) == names


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("bundel/m@A", "did you mean 'bundle/m@A' or 'bundle/m@B'? all names: qnnbuild plan"),
        ("Fetch/M", "did you mean 'fetch/m' or 'fetch/n'? all names: qnnbuild plan"),
        ("zzz*", "all names: qnnbuild plan"),
    ],
)
def test_a_pattern_that_selects_nothing_is_told_with_what_was_meant(pattern, hint):
    with pytest.raises(NothingMatches) as caught:
        Plan.of(CHAIN).matching(pattern)

    (problem,) = caught.value.problems
    assert problem.message == f"nothing is named '{pattern}'"
    assert problem.hint == hint


def test_a_part_of_a_plan_is_what_the_names_need_in_the_same_order():
    part = Plan.of(CHAIN).upto(["context/m@B", "fetch/n"])

    assert list(part.actions) == ["fetch/m", "prepare/m", "context/m@B", "fetch/n"]


def test_what_an_action_takes_is_what_another_makes():
    taking = Action(
        name="bundle/m",
        step="bundle",
        call="x:y",
        inputs={"libraries": OutputOf(action="fetch/m", output="device")},
        outputs=("o",),
    )

    assert refused(taking, action("fetch/m")) == "bundle/m takes 'device', which fetch/m lacks"
