from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qnnbuild.actions.action import OutputOf, SampleFiles, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    Images,
    InputSpec,
    License,
    PythonFeeds,
    RawInput,
    Samples,
    Target,
    Verify,
)
from qnnbuild.steps.samples import calibrate, feeds, params, references, samples

PYTHON = PythonFeeds(file="r/feeds.py", needs=("r/wavs/*.wav",))


def graph(calibration: Samples | None = None, **values: Any) -> Graph:
    return Graph(name="g", source=FileSource(file="m.onnx"), calibration=calibration, **values)


def target(made: Graph) -> Target:
    return Target(
        model="m",
        variant="10",
        axes={"seconds": "10", "language": "zh"},
        chip=next(iter(packaged_chips())),
        toolchain="ort",
        license=License(spdx="MIT"),
        graphs=(made,),
        context=ContextOptions(),
        bundle=BundleOptions(),
    )


def calibrated(given: Samples, **values: Any) -> Any:
    made = graph(given, **values)
    return calibrate(target(made), made, prepared="prepare/m/g", name="calibrate/m/g")


def test_files_are_inputs_by_content_and_their_order_is_a_value() -> None:
    action = calibrated(Samples(files=("r/b/*.npz", "r/a")))

    assert action.inputs == {
        "model": OutputOf(action="prepare/m/g", output="model"),
        "files": SampleFiles(patterns=("r/b/*.npz", "r/a")),
    }
    assert action.params["patterns"] == ["r/b/*.npz", "r/a"]
    assert action.outputs == ("feeds", "report")
    assert action.tools == ("package:numpy",)


def test_all_that_the_recipe_says_is_a_value() -> None:
    given = Samples(
        files=("r",),
        raw={"x": RawInput(dtype="int8", shape=(1, 4))},
        at_least=3,
        at_most=9,
        may_be_constant=("x",),
    )

    assert params(graph(given), given, calibrates=True) == {
        "patterns": ["r"],
        "raw": {"x": {"dtype": "int8", "shape": [1, 4]}},
        "images": None,
        "random": None,
        "ranges": {},
        "at_least": 3,
        "at_most": 9,
        "may_be_constant": ["x"],
        "tell_random": False,
    }


def test_images_bring_pillow_into_the_key() -> None:
    action = calibrated(Samples(files=("r",), images=Images(input="x", crop=(2, 2))))

    assert action.tools == ("package:numpy", "package:pillow")
    assert action.params["images"]["crop"] == (2, 2)


def test_without_samples_random_ones_are_run_in_the_ranges_of_the_recipe() -> None:
    made = graph(inputs={"x": InputSpec(range=(0, 5)), "y": InputSpec()})
    action = samples(target(made), made, prepared="p", name="samples/m/g")

    assert action.step == "samples"
    assert action.params["random"] == 2
    assert action.params["ranges"] == {"x": [0, 5]}
    assert action.params["tell_random"] is False
    assert calibrated(Samples(random=4)).params["tell_random"] is True


def test_ranges_are_no_value_where_nothing_is_random() -> None:
    one = calibrated(Samples(files=("r",)))
    two = calibrated(Samples(files=("r",)), inputs={"x": InputSpec(range=(0, 5))})

    assert one.params == two.params


def test_the_same_files_for_both_are_one_piece_of_work() -> None:
    given = Samples(files=("r",))
    made = graph(given, verify=Verify(samples=given))
    one = calibrate(target(made), made, prepared="p", name="n")
    two = samples(target(made), made, prepared="p", name="n")

    assert (one.step, one.call, one.params) == (two.step, two.call, two.params)
    assert (one.inputs, one.outputs, one.tools) == (two.inputs, two.outputs, two.tools)


def test_python_is_an_action_of_its_own() -> None:
    made = graph(Samples(python=PYTHON, at_most=5), axes_used=("seconds",))
    assert made.calibration is not None

    action = feeds(target(made), made, made.calibration, "feeds/m/g/10")

    assert action.inputs == {"needs": SourceFiles(patterns=("r/feeds.py", "r/wavs/*.wav"))}
    assert action.params == {
        "file": "r/feeds.py",
        "function": "feeds",
        "axes": {"seconds": "10"},
        "at_most": 5,
    }
    assert action.tools == ("python", "packages")
    assert action.passes == ()


def test_python_with_requirements_has_an_environment() -> None:
    given = Samples(python=replace(PYTHON, requirements="r/req.txt"))
    made = graph(given)

    action = feeds(target(made), made, given, "feeds/m/g")

    assert action.inputs["requirements"] == SourceFiles(patterns=("r/req.txt",))
    assert action.tools == ("python", "package:numpy")
    assert "QNNBUILD_ENVS" in action.passes


def test_samples_of_files_have_no_python() -> None:
    made = graph(Samples(files=("r",)))

    with pytest.raises(ValueError, match="not from Python"):
        feeds(target(made), made, Samples(files=("r",)), "feeds/m/g")


def test_what_python_gave_is_an_input() -> None:
    made = graph(Samples(python=PYTHON))
    action = calibrate(target(made), made, prepared="p", feeds="feeds/m/g", name="n")

    assert action.inputs["feeds"] == OutputOf(action="feeds/m/g", output="feeds")
    assert action.params["random"] is None


def test_recorded_outputs_are_put_in_line_with_the_samples() -> None:
    made = graph(verify=Verify(reference=("refs/*.npz",)))
    action = references(target(made), made, prepared="p", samples="samples/m/g", name="n")

    assert action.inputs == {
        "model": OutputOf(action="p", output="model"),
        "files": SampleFiles(patterns=("refs/*.npz",)),
        "samples": OutputOf(action="samples/m/g", output="report"),
    }
    assert action.outputs == ("recorded", "report")


def at(line: int) -> Span:
    return Span(file="r.yaml", line=line, column=1)


def test_places_are_those_of_the_samples_in_question() -> None:
    places = {
        "graph": at(1),
        "calibration": at(2),
        "calibration.inputs.x": at(3),
        "verify": at(4),
        "verify.inputs": at(5),
    }
    made = graph(Samples(files=("r",)), places=places)
    one = calibrate(target(made), made, prepared="p", name="n")
    two = samples(target(made), made, prepared="p", name="n")

    assert [one.places[p] for p in ("samples", "files", "samples.inputs.x")] == [
        at(2),
        at(2),
        at(3),
    ]
    assert [two.places[p] for p in ("samples", "files")] == [at(5), at(5)]
    assert "samples.inputs.x" not in two.places


@pytest.mark.parametrize(
    ("places", "line"),
    [
        ({"calibration": at(2), "calibration.images": at(4)}, 4),
        ({"calibration": at(2)}, 2),
    ],
)
def test_a_missing_pillow_is_told_where_images_are_asked_for(
    places: dict[str, Span], line: int
) -> None:
    made = graph(Samples(files=("r",), images=Images(input="x")), places=places)
    action = calibrate(target(made), made, prepared="p", name="n")

    assert action.places["package:pillow"] == at(line)


def test_samples_that_the_export_made_are_an_input_by_content() -> None:
    made = graph(Samples(exported=("out/g/*.npz",)))

    action = calibrate(
        target(made), made, prepared="prepare/m/g", source="export/m", name="calibrate/m/g"
    )

    assert action.inputs["files"] == OutputOf(action="export/m", output="_also")
    assert action.params["patterns"] == ["out/g/*.npz"]
    assert action.params["random"] is None
