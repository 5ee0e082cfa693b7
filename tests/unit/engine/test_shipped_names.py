"""Names of files that go into a bundle, with every trick: some disk or some reader falls for it."""

from __future__ import annotations

import pytest

from qnnbuild.actions.action import Action, SourceFiles
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.shipped_names import check_shipped
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import RecipeError, Span

AT = Span(file="recipes/m.yaml", line=3, column=1)


def refused(*names: str) -> tuple[str, dict[str, str]]:
    with pytest.raises(RecipeError) as caught:
        check_shipped(names, AT)
    (problem,) = caught.value.problems
    assert problem.at == AT
    assert problem.hint
    return problem.message, dict(problem.facts)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("docs/con.txt", "'con.txt' is the name of a device on Windows"),
        ("com\u00b9.txt", "is the name of a device on Windows"),
        ("aux .h", "is the name of a device on Windows"),
        ("LPT1/a", "'LPT1' is the name of a device on Windows"),
        ("notes.", "'notes.' ends with a dot, which Windows drops"),
        ("notes ", "'notes ' ends with a space, which Windows drops"),
        ("a:b.txt", "'a:b.txt' holds :, which no file on Windows may"),
        ('why"?.txt', 'holds " ?, which no file on Windows may'),
        ("a\u200b.txt", "holds a character that nobody sees"),
        ("\u202etxt.a", "holds a character that nobody sees"),
        ("R\u0415ADME.md", "has letters of another script among those that they pass for"),
    ],
)
def test_a_name_that_some_disk_cannot_have_or_nobody_can_read_is_refused(name, says):
    message, _ = refused(name)

    assert says in message


@pytest.mark.parametrize(
    ("first", "second", "says", "holds"),
    [
        ("docs/A.txt", "docs/a.txt", "are one file on many disks", None),
        ("caf\u00e9", "cafe\u0301", "are one file on many disks",
         "U+00E9 LATIN SMALL LETTER E WITH ACUTE, U+0301 COMBINING ACUTE ACCENT"),
        ("\u0441\u043e\u0441\u043e", "coco", "look alike",
         "U+0441 CYRILLIC SMALL LETTER ES, U+043E CYRILLIC SMALL LETTER O"),
        ("\uff21\uff22", "ab", "look alike",
         "U+FF21 FULLWIDTH LATIN CAPITAL LETTER A, U+FF22 FULLWIDTH LATIN CAPITAL LETTER B"),
    ],
)  # fmt: skip
def test_two_names_that_are_one_for_somebody_are_both_told(first, second, says, holds):
    message, facts = refused("other", first, second)

    assert f"'{first}' and '{second}' " in message
    assert says in message
    assert facts == ({"it holds": holds} if holds else {})


def test_names_in_any_script_are_good(tmp_path):
    names = [
        "\u6a21\u578b.txt",
        "\u0434\u0430\u043d\u043d\u044b\u0435.md",
        "caf\u00e9.md",
        "a b.txt",
    ]
    (tmp_path / "docs").mkdir()
    for name in names:
        (tmp_path / "docs" / name).touch()
    inputs = Inputs(tmp_path, Stats(), Records(tmp_path / "records.db", "here"))

    found = inputs.files(action("bundle", "files"), "files")
    assert sorted(found) == sorted(f"docs/{name}" for name in names)


def action(step: str, name: str) -> Action:
    return Action(
        name=f"{step}/m", step=step, call="x:y", outputs=("o",),
        inputs={name: SourceFiles(patterns=("docs/*",))}, places={"files": AT},
    )  # fmt: skip


def test_what_ships_is_looked_at_and_what_only_is_read_is_not(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in ("A", "a"):
        (tmp_path / "docs" / name).touch()
    inputs = Inputs(tmp_path, Stats(), Records(tmp_path / "records.db", "here"))
    with pytest.raises(RecipeError, match="'docs/A' and 'docs/a' are one file on many disks"):
        inputs.files(action("bundle", "files"), "files")

    assert sorted(inputs.files(action("export", "needs"), "needs")) == ["docs/A", "docs/a"]


def test_a_file_whose_name_only_looks_like_the_wanted_one_is_told(tmp_path):
    (tmp_path / "cafe\u0301.txt").touch()
    wanted = Action(
        name="export/m", step="export", call="x:y", outputs=("o",),
        inputs={"needs": SourceFiles(patterns=("caf\u00e9.txt",))},
    )  # fmt: skip
    with pytest.raises(RecipeError) as caught:
        Inputs(tmp_path, Stats(), Records(tmp_path / "records.db", "here")).files(wanted, "needs")

    (problem,) = caught.value.problems
    assert problem.message == "no such file: caf\u00e9.txt"
    assert problem.hint == (
        "'cafe\u0301.txt' looks like it and has U+0065 LATIN SMALL LETTER E, U+0301 COMBINING "
        "ACUTE ACCENT, not U+00E9 LATIN SMALL LETTER E WITH ACUTE"
    )
