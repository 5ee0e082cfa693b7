"""feeds, calibrate and samples as actions of a plan, with the real engine and its processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.state import Current
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    PythonFeeds,
    Samples,
    Target,
    Verify,
)
from qnnbuild.steps.fetch import fetch
from qnnbuild.steps.prepare import prepare
from qnnbuild.steps.samples import calibrate, feeds, samples
from tests.sampled import ONE, X, save, save_raw

pytestmark = pytest.mark.long_file(seconds=20)

SOURCE = FileSource(file="m.onnx")
CALIBRATE, SAMPLES = "calibrate/m/g", "samples/m/g"
AT = Span(file="m.yaml", line=3, column=5)


@dataclass
class World:
    """A repo with one model, built anew each time as by a new run of the program."""

    root: Path
    workers: Workers
    opened: list[Builder] = field(default_factory=list)

    def build(self, given: Samples) -> dict[str, str]:
        """Name → how it went, for each action that was not current."""
        builder = self.open(given)
        hows: dict[str, str] = {}
        for action in builder.plan:
            if not isinstance(builder.state(action.name), Current):
                hows[action.name] = builder.make(action.name).how
        return hows

    def open(self, given: Samples) -> Builder:
        folder = self.root / ".qnnbuild"
        folder.mkdir(exist_ok=True)
        records = Records(folder / "records.db", "here")
        stats = Stats(records)
        store = Store(folder, stats)
        builder = Builder(
            Plan.of(actions(given)),
            store=store,
            records=records,
            inputs=Inputs(self.root, stats, records),
            identity=Identity(stats),
            runner=Runner(store, self.workers, os.environ),
            folder=BuildFolder(self.root / "build", store),
        )
        self.opened.append(builder)
        return builder

    def samples(self) -> dict[str, Any]:
        """The first number of each sample that calibrate made last."""
        builder = self.opened[-1]
        tree = builder.record(CALIBRATE).outputs["feeds"]
        found = {}
        for name, (digest, _) in tree.files.items():
            with np.load(builder.store.path(digest)) as data:
                found[name] = float(data["x"].ravel()[0])
        return found


def actions(given: Samples) -> list[Action]:
    graph = Graph(
        name="g",
        source=SOURCE,
        calibration=given,
        verify=Verify(samples=given),
        places={"graph": replace(AT, line=1), "calibration": AT},
    )
    target = Target(
        model="m",
        variant="",
        axes={},
        chip=next(iter(packaged_chips())),
        toolchain="ort",
        license=License(spdx="MIT"),
        graphs=(graph,),
        context=ContextOptions(),
        bundle=BundleOptions(),
    )
    first = fetch(SOURCE, name="fetch/m")
    prepared = prepare(target, graph, OutputOf(action="fetch/m", output="model"), "prepare/m/g")
    made = [first, prepared]
    python = None
    if given.python is not None:
        python = "feeds/m/g"
        made.append(feeds(target, graph, given, python))
    for step, name in ((calibrate, CALIBRATE), (samples, SAMPLES)):
        made.append(step(target, graph, prepared="prepare/m/g", feeds=python, name=name))
    return made


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(path=[str(Path(p).absolute()) for p in sys.path])
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path, workers: Workers) -> Iterator[World]:
    (tmp_path / "m.onnx").write_bytes(ONE.SerializeToString())
    made = World(root=tmp_path, workers=workers)
    yield made
    for builder in made.opened:
        builder.records.close()


FILES = Samples(files=("calib",))


def test_files_are_collected_once_for_both_and_again_when_one_changes(world: World) -> None:
    for number in (1, 2):
        save(world.root / f"calib/{number}.npz", x=number * X)

    first, second = world.build(FILES), world.build(FILES)
    save(world.root / "calib/2.npz", x=5 * X)
    third = world.build(FILES)
    save(world.root / "calib/3.npz", x=3 * X)
    fourth = world.build(FILES)

    # samples is never among them: calibrate has done its work
    assert first == {"fetch/m": "made", "prepare/m/g": "made", CALIBRATE: "made"}
    assert second == {}
    assert third == fourth == {CALIBRATE: "made"}
    assert world.samples() == {"000000.npz": 1, "000001.npz": 5, "000002.npz": 3}


def test_a_file_that_only_a_list_names_is_an_input(world: World) -> None:
    given = Samples(files=("calib/list.txt",))
    save_raw(world.root / "raw/a.raw", X)
    (world.root / "calib").mkdir()
    (world.root / "calib/list.txt").write_text("x:=../raw/a.raw\n")

    world.build(given)
    save_raw(world.root / "raw/a.raw", 2 * X)
    again = world.build(given)

    assert again[CALIBRATE] == "made"
    assert world.samples() == {"000000.npz": 2}


def test_the_users_python_runs_again_only_when_it_or_its_needs_change(world: World) -> None:
    given = Samples(python=PythonFeeds(file="r/feeds.py", needs=("r/scale.txt",)))
    (world.root / "r").mkdir()
    (world.root / "r/scale.txt").write_text("2")
    (world.root / "r/feeds.py").write_text(
        "import numpy as np\n"
        "def feeds():\n"
        "    scale = float(open('scale.txt').read())\n"
        "    yield {'x': scale * np.asarray([[1.0, -2.0, 3.0, 0.5]])}\n"
    )

    first, second = world.build(given), world.build(given)
    before = world.samples()
    (world.root / "r/scale.txt").write_text("3")
    third = world.build(given)

    assert first["feeds/m/g"] == "made"
    assert second == {}
    assert before == {"000000.npz": 2}
    assert third == {"feeds/m/g": "made", CALIBRATE: "made"}
    assert world.samples() == {"000000.npz": 3}


def test_what_is_wrong_is_told_at_its_place_in_the_recipe(world: World) -> None:
    save(world.root / "calib/a.npz", x=np.zeros_like(X))

    with pytest.raises(RecipeError) as caught:
        world.build(FILES)

    (problem,) = caught.value.problems
    assert problem.message == "'calib/a.npz' is all zero"
    assert problem.at == AT


def test_a_folder_that_is_not_there_is_told_at_its_place(world: World) -> None:
    with pytest.raises(RecipeError) as caught:
        world.build(FILES)

    (problem,) = caught.value.problems
    assert problem.message == "no such file: calib"
    assert problem.at == AT
