"""What of a recipe's product of variants and chips there is not."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Target
from qnnbuild.model.settings import Settings, read_settings
from qnnbuild.model.targets import read_recipes

HEAD = """\
model: m
license: MIT
chips: [SM8350, SM8750]
variants: {head: [ctc, rnnt], seconds: [5, 10]}
source: {file: "{graph}-{seconds}.onnx"}
"""
GRAPHS = "graphs: {model: {leave_out: rnnt-*}, encoder: {leave_out: ctc-*}}\n"


def targets(text: str, settings: Settings | None = None) -> list[Target]:
    return read_recipes([("recipes/r.yaml", HEAD + text)], packaged_chips(), settings)


def built(text: str) -> list[str]:
    return [f"{t.variant}@{t.chip.name}" for t in targets(text)]


def told(text: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        targets(text)
    return [problem.message for problem in caught.value.problems]


def test_a_variant_is_left_out_for_all_chips_and_a_chip_for_all_variants() -> None:
    assert built('leave_out: ["ctc-*", SM8350]\n') == ["rnnt-5@SM8750", "rnnt-10@SM8750"]


def test_a_variant_is_left_out_for_some_chips() -> None:
    assert built('leave_out: "rnnt-* & !fp16"\n') == [
        *("ctc-5@SM8350", "ctc-5@SM8750", "ctc-10@SM8350", "ctc-10@SM8750"),
        *("rnnt-5@SM8750", "rnnt-10@SM8750"),
    ]


def test_a_variant_may_be_all_but_one_length() -> None:
    assert built('leave_out: ["ctc-[!5]*", SM8350]\n') == [
        *("ctc-5@SM8750", "rnnt-5@SM8750", "rnnt-10@SM8750"),
    ]


def test_a_graph_is_left_out_of_some_targets_and_the_others_have_it() -> None:
    found = {t.variant: [graph.name for graph in t.graphs] for t in targets(GRAPHS)}

    assert found == {
        "ctc-5": ["model"],
        "ctc-10": ["model"],
        "rnnt-5": ["encoder"],
        "rnnt-10": ["encoder"],
    }


def test_a_graph_that_is_left_out_counts_as_use_of_its_axis() -> None:
    text = HEAD.replace("{graph}-{seconds}", "{graph}").replace(", seconds: [5, 10]", "")
    found = read_recipes([("recipes/r.yaml", text + GRAPHS.replace("-*", ""))], packaged_chips())

    assert [t.graphs[0].name for t in found] == ["model", "model", "encoder", "encoder"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("leave_out: SM8755X\n", ["no chip is named 'SM8755X'"]),
        ("leave_out: SM8650\n", ["'SM8650' leaves nothing out: no target of this recipe is so"]),
        (
            'leave_out: "ctc-* & rnnt-*"\n',
            ["'ctc-* & rnnt-*' leaves nothing out: no target of this recipe is so"],
        ),
        ("leave_out: ['*']\n", ["nothing of this recipe is left"]),
        ("graphs: {model: {leave_out: ctc-5}}\n", ["no graph is left for ctc-5 on SM8350"]),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, wanted: list[str]) -> None:
    assert told(text) == wanted


def test_what_a_whole_repo_leaves_out_may_be_nothing_of_a_recipe() -> None:
    settings = read_settings('defaults: {graph: {leave_out: "SM8650"}}\n')

    assert len(targets("graphs: {model: {}}\n", settings)) == 8
