"""`calibration:`, `verify:` and `expect_failure:` as resolved."""

from __future__ import annotations

from functools import cache

from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.recipe import (
    Bars,
    ExpectedFailure,
    Graph,
    Images,
    Metric,
    OutputBars,
    PythonFeeds,
    RawInput,
    Samples,
    Target,
    Verify,
)
from qnnbuild.model.settings import read_settings
from qnnbuild.model.targets import read_recipes

HEAD = "model: m\nlicense: MIT\nchips: [SM8350, SM8550, SM8750]\nsource: {file: m.onnx}\n"


@cache
def chips() -> Chips:
    return packaged_chips()


def targets(text: str) -> list[Target]:
    return read_recipes([("recipes/r.yaml", HEAD + text)], chips())


def graph(text: str) -> Graph:
    return targets(f"graphs: {{g: {{{text}}}}}\n")[0].graphs[0]


def calibration(text: str) -> Samples | None:
    return graph(f"precision: w8a8, calibration: {text}").calibration


def verify(text: str, more: str = "precision: qdq") -> Verify:
    return graph(f"{more}, verify: {text}").verify


def test_a_path_or_a_list_of_paths_is_files_in_their_order() -> None:
    assert calibration("calib/*.npz") == Samples(files=("recipes/calib/*.npz",))
    assert calibration("[b/*.npz, ../a/*.npy]") == Samples(files=("recipes/b/*.npz", "a/*.npy"))


def test_every_key_of_samples_is_read() -> None:
    raw = "{files: c/*.raw, inputs: {x: {dtype: float32, shape: [1, 3]}}, min_samples: 9}"
    assert calibration(raw) == Samples(
        files=("recipes/c/*.raw",), raw={"x": RawInput(dtype="float32", shape=(1, 3))}, at_least=9
    )
    assert calibration("{random: 8, may_be_constant: state}") == Samples(
        random=8, may_be_constant=("state",)
    )

    assert calibration(
        "{python: {file: f.py, function: all, needs: [d/*], requirements: r.txt}, max_samples: 64}"
    ) == Samples(
        python=PythonFeeds(
            file="recipes/f.py",
            function="all",
            needs=("recipes/d/*",),
            requirements="recipes/r.txt",
        ),
        at_most=64,
    )


def test_one_number_of_images_is_for_all_channels() -> None:
    text = "{files: c/*.jpg, images: {input: x, resize: [256, 300], crop: [224, 224], mean: 0.5,"
    text += " std: [0.1, 0.2, 0.3], layout: NHWC, colour: BGR}}"
    found = calibration(text)

    assert found is not None
    assert found.images == Images(
        input="x",
        resize=(256, 300),
        crop=(224, 224),
        mean=(0.5, 0.5, 0.5),
        std=(0.1, 0.2, 0.3),
        layout="NHWC",
        colour="BGR",
    )


def test_grey_images_have_one_channel() -> None:
    found = calibration("{files: c/*.jpg, images: {input: x, colour: L}}")

    assert found is not None
    assert found.images == Images(input="x", colour="L", mean=(0.0,), std=(1.0,))


def test_without_inputs_a_few_random_samples_are_run() -> None:
    assert graph("precision: qdq").verify.samples == Samples(random=2)
    assert verify("{samples: 7}").samples == Samples(random=7)
    assert verify("{inputs: {random: 3}}").samples == Samples(random=3)


def test_the_graphs_own_samples_stand_in_for_inputs() -> None:
    more = "precision: qdq, samples: s/*.npz"

    assert verify("{samples: 9}", more).samples == Samples(files=("recipes/s/*.npz",), at_most=9)
    assert graph(more).verify.samples == Samples(files=("recipes/s/*.npz",), at_most=4)


def test_inputs_of_verify_win_and_all_of_them_are_taken() -> None:
    more = "precision: qdq, samples: s/*.npz"

    assert verify("{inputs: v/*.npz}", more).samples == Samples(files=("recipes/v/*.npz",))
    assert verify("{inputs: {files: v/*.npz, max_samples: 9}, samples: 3}", more).samples == (
        Samples(files=("recipes/v/*.npz",), at_most=3)
    )


def test_every_bar_and_metric_is_read() -> None:
    text = """{inputs: v/*.npz, reference: r/*.npz, chips: [SM8550, arch>=79], min_sqnr_db: 25,
      max_abs_error: 0.02, max_rel_error: 0.1, min_cosine: 0.99, min_top1: 1, top_k: {k: 5, min: 1},
      metrics: {wer: {file: wer.py, function: words, needs: t/*.txt, max: 0.1}, map: {file: m.py,
      min: 0.4}}}"""

    assert verify(text) == Verify(
        samples=Samples(files=("recipes/v/*.npz",)),
        reference=("recipes/r/*.npz",),
        chips=("SM8550", "arch>=79"),
        bars=Bars(
            min_sqnr_db=25.0,
            max_abs_error=0.02,
            max_rel_error=0.1,
            min_cosine=0.99,
            min_top1=1.0,
            top_k=5,
            min_top_k=1.0,
        ),
        metrics=(
            Metric(
                name="wer",
                file="recipes/wer.py",
                function="words",
                needs=("recipes/t/*.txt",),
                at_most=0.1,
            ),
            Metric(name="map", file="recipes/m.py", at_least=0.4),
        ),
    )


def test_the_default_bar_is_the_precisions() -> None:
    bars = [
        graph(f"precision: {word}, calibration: {{random: 8}}").verify.bars.min_sqnr_db
        for word in ("fp32", "w8a8", "w8a16", "{method: entropy}", "auto")
    ]

    assert bars == [40.0, 15.0, 20.0, 15.0, 20.0]


def test_a_bar_of_the_recipes_own_replaces_the_default() -> None:
    assert verify("{max_abs_error: 0.1}").bars == Bars(max_abs_error=0.1)
    assert verify("{metrics: {wer: {file: w.py, max: 0.1}}}").bars == Bars()
    assert verify("{metrics: {wer: {file: w.py}}}").bars == Bars(min_sqnr_db=20.0)


def test_an_outputs_bars_stand_beside_the_graphs_and_win() -> None:
    found = verify("{min_sqnr_db: 25, outputs: {p: {max_abs_error: 0.02}, s: {min_sqnr_db: 9}}}")

    assert found.bars == Bars(min_sqnr_db=25.0)
    assert found.outputs == {
        "p": OutputBars(bars=Bars(min_sqnr_db=25.0, max_abs_error=0.02)),
        "s": OutputBars(bars=Bars(min_sqnr_db=9.0)),
    }


def test_the_default_holds_for_outputs_without_a_bar_alone() -> None:
    found = verify("{outputs: {p: {top_k: {k: 5, min: 0.9}}, n: {excused: it counts}}}")

    assert found.bars == Bars(min_sqnr_db=20.0)
    assert found.outputs == {
        "p": OutputBars(bars=Bars(top_k=5, min_top_k=0.9)),
        "n": OutputBars(excused="it counts"),
    }


def test_chips_may_be_one_word() -> None:
    assert verify("{chips: all}").chips == ("all",)
    assert verify("{min_sqnr_db: 9}").chips == ("generations",)


def test_paths_of_a_repos_defaults_are_relative_to_the_repo() -> None:
    settings = read_settings("defaults: {graph: {precision: w8a8, calibration: calib/*.npz}}\n")
    found = read_recipes([("recipes/r.yaml", HEAD)], chips(), settings)

    assert found[0].graphs[0].calibration == Samples(files=("calib/*.npz",))


def failures(text: str) -> dict[str, str | None]:
    return {
        f"{target.variant}@{target.chip.name}": failure.reason if failure else None
        for target in targets(text)
        for failure in [target.graphs[0].expect_failure]
    }


def test_a_known_failure_is_of_the_chips_that_its_patterns_match() -> None:
    text = "graphs: {g: {precision: qdq, expect_failure: {only: SM8350, reason: it hangs,"
    text += " issue: 7}}}\n"

    assert failures(text) == {"@SM8350": "it hangs", "@SM8550": None, "@SM8750": None}
    assert targets(text)[0].graphs[0].expect_failure == ExpectedFailure(
        reason="it hangs", issue="7"
    )


def test_a_known_failure_may_be_of_a_variant() -> None:
    text = "variants: {n: [5, 10]}\ngraphs: {g: {precision: qdq, inputs: {x: {shape: ['{n}']}},"
    text += " expect_failure: {only: [10, SM8350], reason: it hangs}}}\n"

    assert [key for key, reason in failures(text).items() if reason] == [
        "5@SM8350",
        "10@SM8350",
        "10@SM8550",
        "10@SM8750",
    ]


def test_a_known_failure_of_the_model_is_of_each_graph_that_has_none_of_its_own() -> None:
    text = "expect_failure: {only: arch<73, reason: too old}\n"
    text += "graphs: {a: {precision: qdq}, b: {expect_failure: {only: SM8750, reason: too new}}}\n"
    told = [
        [failure and failure.reason for g in target.graphs for failure in [g.expect_failure]]
        for target in targets(text)
    ]

    assert told == [["too old", None], [None, None], [None, "too new"]]


def test_a_known_failure_may_stand_under_only() -> None:
    text = "only: {SM8550: {expect_failure: {reason: it hangs}}}\n"

    assert failures(text) == {"@SM8350": None, "@SM8550": "it hangs", "@SM8750": None}


def test_chips_that_are_alike_share_the_very_same_graph() -> None:
    text = "graphs: {g: {precision: qdq, expect_failure: {only: arch>=73, reason: it hangs}}}\n"
    found = [target.graphs[0] for target in targets(text)]

    assert found[1] is found[2]
    assert found[0] is not found[1]


def test_fp32_on_the_sdk_has_the_bar_of_what_it_is_computed_in() -> None:
    def bar(toolchain: str, more: str = "") -> float | None:
        text = f"toolchain: {toolchain}\ngraphs: {{g: {{precision: fp32{more}}}}}\n"
        return targets(text)[0].graphs[0].verify.bars.min_sqnr_db

    assert bar("ort") == 40.0
    assert bar("qairt-2.40") == 30.0
    assert bar("qairt-2.40", ", verify: {min_sqnr_db: 40}") == 40.0
    assert bar("qairt-2.40", ", verify: {min_cosine: 0.9}") is None


def test_chips_of_one_toolchain_have_the_very_same_graph() -> None:
    found = targets("toolchain: qairt-2.40\ngraphs: {g: {precision: fp32}}\n")

    assert len({id(target.graphs[0]) for target in found}) == 1
