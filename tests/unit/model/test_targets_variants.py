"""Variants, placeholders and overrides."""

from __future__ import annotations

from functools import cache

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.recipe import FileSource, PypiSource, Target
from qnnbuild.model.settings import Settings, read_settings
from qnnbuild.model.targets import read_recipes

HEAD = "model: m\nlicense: MIT\nchips: [SM8350, SM8550, SM8750]\n"
FILE = "source: {file: m.onnx}\n"
SECONDS = "variants: {seconds: [5, 10]}\nsource: {file: 'm{seconds}.onnx'}\n"


@cache
def chips() -> Chips:
    return packaged_chips()


def targets(text: str, settings: Settings | None = None) -> list[Target]:
    return read_recipes([("recipes/r.yaml", HEAD + text)], chips(), settings)


def precisions(text: str) -> dict[str, str]:
    """What each variant and chip has, of the first graph."""
    return {f"{t.variant}@{t.chip.name}": t.graphs[0].precision for t in targets(text)}


def test_variants_are_all_combinations_named_by_their_values_as_written() -> None:
    text = "variants: {v: [2.40, 010], w: [x]}\nsource: {file: '{v}{w}.onnx'}\n"
    found = targets(text)

    assert [(t.variant, t.chip.name, dict(t.axes)) for t in found] == [
        ("2.40-x", "SM8350", {"v": "2.40", "w": "x"}),
        ("2.40-x", "SM8550", {"v": "2.40", "w": "x"}),
        ("2.40-x", "SM8750", {"v": "2.40", "w": "x"}),
        ("010-x", "SM8350", {"v": "010", "w": "x"}),
        ("010-x", "SM8550", {"v": "010", "w": "x"}),
        ("010-x", "SM8750", {"v": "010", "w": "x"}),
    ]
    assert found[0].graphs[0].source == FileSource(file="recipes/2.40x.onnx")


def test_placeholders_take_the_type_of_their_place() -> None:
    text = SECONDS + "graphs: {g: {inputs: {x: {shape: [1, '{seconds}']}},"
    text += (
        " options: {ort: {a: '{seconds}', b: 's{seconds}', c: '{{}}'}}, deadline: '{seconds}0'}}\n"
    )
    graph = targets(text)[0].graphs[0]

    assert graph.inputs["x"].shape == (1, 5)
    assert graph.options == {"ort": {"a": 5, "b": "s5", "c": "{}"}}
    assert graph.deadline_s == 50.0


def test_model_and_graph_have_values_and_the_chip_in_the_bundle() -> None:
    text = "source: {file: '{model}/{graph}.onnx'}\ngraphs: {a: , b: }\n"
    text += "bundle: {files: ['{model}-{chip}.txt']}\n"
    found = targets(text)

    assert [graph.source for graph in found[0].graphs] == [
        FileSource(file="recipes/m/a.onnx"),
        FileSource(file="recipes/m/b.onnx"),
    ]
    assert [t.bundle.files for t in found] == [
        ("recipes/m-SM8350.txt",),
        ("recipes/m-SM8550.txt",),
        ("recipes/m-SM8750.txt",),
    ]


def test_a_graph_knows_the_axes_that_change_it_and_its_source() -> None:
    text = "variants: {s: [5, 10], p: [fp16, fp32]}\n"
    text += "graphs:\n  enc: {source: {file: 'e{s}.onnx'}, precision: '{p}'}\n"
    text += "  dec: {source: {file: d.onnx}, precision: '{p}'}\n"
    text += "  vad: {source: {file: v.onnx}}\n"
    used = {g.name: (g.axes_used, g.source_axes) for g in targets(text)[0].graphs}

    assert used == {"enc": (("s", "p"), ("s",)), "dec": (("p",), ()), "vad": ((), ())}


def test_an_override_for_a_variant_counts_as_use_of_its_axis() -> None:
    text = SECONDS.replace("{seconds}", "x") + "graphs: {g: {only: {10: {precision: fp32}}}}\n"

    assert [t.graphs[0].axes_used for t in targets(text)[:1]] == [("seconds",)]


def test_a_graph_that_no_axis_changes_is_the_same_in_all_variants() -> None:
    text = SECONDS + "graphs: {a: , b: {source: {file: b.onnx}}}\n"
    found = targets(text)

    assert len({id(t.graphs[1]) for t in found}) == 1


def test_overrides_apply_to_the_chips_and_variants_that_their_patterns_match() -> None:
    text = SECONDS + "graphs: {g: {only: {'arch<73': {precision: fp32}, 10: {precision: qdq}}}}\n"

    assert precisions(text) == {
        "5@SM8350": "fp32",
        "5@SM8550": "fp16",
        "5@SM8750": "fp16",
        "10@SM8350": "qdq",
        "10@SM8550": "qdq",
        "10@SM8750": "qdq",
    }


def test_a_later_override_wins_and_a_graphs_own_wins_over_the_recipes() -> None:
    text = FILE + "graphs: {g: {only: {SM8350: {precision: fp32}}}}\n"
    text += "only:\n  SM*: {graphs: {g: {precision: qdq}}}\n"
    text += "  SM8750: {graphs: {g: {precision: fp16}}}\n"

    assert precisions(text) == {"@SM8350": "fp32", "@SM8550": "qdq", "@SM8750": "fp16"}


def test_overrides_merge_mappings_and_replace_lists() -> None:
    text = FILE + "graphs:\n  g:\n    outputs: [a, b]\n    options: {ort: {x: 1, y: 1}}\n"
    text += "    only: {SM8350: {outputs: [c], options: {ort: {y: 2}}}}\n"
    graph = targets(text)[0].graphs[0]

    assert list(graph.outputs) == ["c"]
    assert graph.options == {"ort": {"x": 1, "y": 2}}
    assert graph.only_for == ("SM8350",)


def test_an_override_of_another_kind_replaces_a_source_as_a_whole() -> None:
    text = f"source: {{pypi: a==1, member: m.onnx, sha256: {'a' * 64}}}\n"
    text += "only:\n  SM8350: {source: {file: m.onnx}, toolchain: other, context: {embed: true}}\n"
    found = targets(text)

    assert [t.graphs[0].source for t in found[:2]] == [
        FileSource(file="recipes/m.onnx"),
        PypiSource(pypi="a==1", member="m.onnx", sha256="a" * 64),
    ]
    assert [(t.toolchain, t.context.embed) for t in found[:2]] == [("other", True), ("ort", False)]


def test_an_override_by_the_repo_may_match_nothing_of_a_recipe() -> None:
    settings = read_settings("defaults: {graph: {only: {SM8850: {precision: fp32}}}}\n")

    assert {t.graphs[0].precision for t in targets(FILE, settings)} == {"fp16"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            FILE + "graphs: {g: {only: {SM8650: {precision: fp32}}}}\n",
            ["5:21 'SM8650' matches no chip and no variant of this recipe"],
        ),
        (
            SECONDS + "graphs: {g: {only: {20: {precision: fp32}}}}\n",
            ["6:21 no chip is named '20'"],
        ),
        (
            FILE + "variants: {n: [1, x]}\ngraphs: {g: {inputs: {x: {shape: ['{n}']}}}}\n",
            ["6:35 'shape' wants a whole number, not 'x'"],
        ),
        (
            "variants: {n: [a, ..]}\nsource: {file: '{n}.onnx'}\n",
            ["4:19 '..' is no safe file name: letters, digits, and . _ - behind the first"],
        ),
        (
            FILE + "only: {SM8350: {graphs: {m: {inputs: {x: {shape: [0]}}}}}}\n",
            ["5:51 'shape' wants at least 1, not 0"],
        ),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, wanted: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        targets(text)
    told = [f"{p.at.line}:{p.at.column} {p.message}" for p in caught.value.problems if p.at]

    assert told == wanted
