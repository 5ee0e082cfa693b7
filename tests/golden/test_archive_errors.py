"""Names of archives that cannot be: one recipe a file, as `qnnbuild check` tells it beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.sdks import Sdk
from qnnbuild.model.settings import Settings
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.planner import TOOLCHAINS, plan_of, problems_of
from qnnbuild.text.render import terminal
from qnnbuild.toolchains.qairt import Qairt

FOLDER = Path(__file__).parent / "archives"
BAD = sorted(FOLDER.glob("*.yaml"))
KNOWN = (*TOOLCHAINS, Qairt(Sdk(name="qairt-2.40", root="sdk", ndk="ndk")))


def told(*paths: Path) -> str:
    texts = [(f"recipes/{path.name}", path.read_bytes()) for path in paths]
    targets, problems = read_good_recipes(texts, packaged_chips(), Settings())
    assert not problems
    return terminal(problems_of(targets, {one.name: one for one in KNOWN}))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_name_that_cannot_be_is_told_before_anything_runs(
    path: Path, golden: Callable[[Path, str], None]
) -> None:
    text = told(path)

    assert text
    golden(path.with_suffix(".txt"), text)


def test_two_models_have_no_archive_in_common(tmp_path: Path) -> None:
    """A word that nobody would call one by, so that the place is the second recipe."""
    paths = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for path in paths:
        path.write_text(
            f"model: {path.stem}\nlicense: MIT\nchips: [SM8750]\nsource: {{file: m.onnx}}\n"
            'bundle: {archives: {context: "name-{chip}"}}\n'
        )

    text = told(*paths)

    assert "recipes/two.yaml:5" in text
    assert "two archives would be called 'name-SM8750.tar.bz2'" in text
    assert "hint: put {model} in, or another word" in text


def test_every_message_belongs_to_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in BAD}


@pytest.mark.parametrize(
    "one_chip",
    [
        "options: {qairt: {htp: {O: 2}}}",
        "options: {qairt: {extensions: {context_priority: high}}}",
        "deadline: 1800",
        "verify: {min_cosine: 0.9}",
    ],
)
def test_what_no_library_is_made_from_divides_none(tmp_path: Path, one_chip: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(
        "model: m\nlicense: MIT\ntoolchain: qairt-2.40\nchips: [SM8450, SM8750]\n"
        "source: {file: m.onnx}\n"
        f"graphs: {{m: {{only: {{SM8750: {{{one_chip}}}}}}}}}\n"
        'bundle: {archives: {library: "m-{target}"}}\n'
    )
    targets, _ = read_good_recipes(
        [("recipes/m.yaml", path.read_bytes())], packaged_chips(), Settings()
    )
    plan = plan_of(targets, {one.name: one for one in KNOWN})

    assert told(path) == ""
    assert [action.name for action in plan if action.step in ("archive", "convert", "library")] == [
        "convert/m/m+fp16", "library/m/m/x86_64-linux-clang", "archive/m-linux-x64",
    ]  # fmt: skip


def test_what_chips_share_has_the_longest_of_their_deadlines(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(
        "model: m\nlicense: MIT\ntoolchain: qairt-2.40\nchips: [SM8450, SM8550, SM8750]\n"
        "source: {file: m.onnx}\n"
        "graphs: {m: {deadline: 60, only: {SM8550: {deadline: 1800}, SM8750: {deadline: 30}}}}\n"
    )
    targets, _ = read_good_recipes(
        [("recipes/m.yaml", path.read_bytes())], packaged_chips(), Settings()
    )
    plan = plan_of(targets, {one.name: one for one in KNOWN})

    assert not [action.name for action in plan if "~" in action.name]
    assert {plan[name].deadline_s for name in plan.actions if name.startswith("library/")} == {1800}
    assert {
        action.name.partition("@")[2]: action.deadline_s
        for action in plan
        if action.step == "context"
    } == {"SM8450": 60, "SM8550": 1800, "SM8750": 30}
