"""Public reports of YAML that did not mean what was written, each in the form of a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Target
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.text.render import terminal

CASES = Path(__file__).parent / "yaml"

# what the message must name, each word of it
TOLD = {
    "alias_bomb": ["aliases unfold"],
    "alias_loop": ["'*a' holds itself"],
    "chip_exp": ["'8e2'", "'8.0e+2'", "'1_000'", "quote it"],
    "chip_octal": ["'010'", "'08'", "quote it"],
    "chip_unquoted": ["did you mean 'SM8650'?", "did you mean 'SM8750'?"],
    "dup_key": ["'graphs' is there twice, in lines 1 and 6"],
    "empty": ["the recipe is empty"],
    "flow_no_space": ["'x:64'", "put a space after the colon: x: 64"],
    "list_top": ["a mapping of keys to values, not a list"],
    "list_without_brackets": ["wants brackets", "write shape: [1, 3, …]"],
    "multi_doc": ["two documents"],
    "name_case": ["'Det'", "'det'", "share a file name"],
    "name_traversal": ["'../../x' is no safe file name"],
    "nulls": ["'model' is empty", "'license' is empty", "'chips' is empty", "'source' is empty"],
    "shape_string": [
        "a list of numbers, not '1,3,224,224'",
        "a list of numbers, not '1x3x224x224'",
    ],
    "tab_indent": [":2:1:", "a tab in the indent"],
    "unknown_key": ["'percision'", "did you mean 'precision'?"],
    "windows_path": ["control character", "use / or single quotes"],
}
WORKS = sorted({path.stem for path in CASES.glob("*.yaml")} - TOLD.keys())


def read(case: str) -> tuple[list[Target], str]:
    path = CASES / f"{case}.yaml"
    targets, problems = read_good_recipes([(path.name, path.read_bytes())], packaged_chips())
    return targets, terminal(problems)


@pytest.mark.parametrize("case", TOLD)
def test_a_mistake_is_told_by_name(case: str) -> None:
    targets, said = read(case)

    assert targets == []
    assert [words for words in TOLD[case] if words not in said] == []


@pytest.mark.parametrize(
    # sorted: processes that share the tests must agree on their order
    "case",
    sorted(TOLD.keys() - {"dup_key", "nulls", "chip_exp", "chip_octal"}),
)
def test_one_mistake_is_one_error(case: str) -> None:
    _, said = read(case)

    assert said.count(": error: ") == {"chip_unquoted": 2, "shape_string": 2}.get(case, 1)


@pytest.mark.parametrize("case", WORKS)
def test_what_can_be_meant_works(case: str) -> None:
    targets, said = read(case)

    assert said == ""
    assert {target.chip.name for target in targets} == {"SM8550"}


def test_a_shared_alias_gives_both_graphs_the_same() -> None:
    (target,), _ = read("alias_shared")

    assert [(graph.name, graph.precision) for graph in target.graphs] == [
        ("a", "fp32"),
        ("b", "fp32"),
    ]


def test_a_merge_takes_whole_values() -> None:
    (target,), _ = read("merge_shallow")
    _, use = target.graphs

    assert use.options == {"ort": {"vtcm_mb": 4}}
    assert use.precision == "fp32"


def test_versions_and_dates_stay_text() -> None:
    versions, dates = read("sdk_version")[0], read("date")[0]

    assert [(target.toolchain, target.variant) for target in versions] == [
        ("2.40", "2.40"),
        ("2.40", "2.40.0"),
    ]
    assert [(target.description, target.variant) for target in dates] == [
        ("2026-01-02", "2026-01-02")
    ]


def test_every_report_has_its_case() -> None:
    index = json.loads((CASES.parent / "index.json").read_text(encoding="utf-8"))
    reported = {Path(case["path"]).stem for case in index.values() if case["kind"] == "yaml"}

    assert reported - {path.stem for path in CASES.glob("*.yaml")} == set()
