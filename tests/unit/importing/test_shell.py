"""Shell scripts as they are read: what is known is filled, the rest stays a hole, nothing runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnnbuild.errors import QnnbuildError
from qnnbuild.importing.holes import shown
from qnnbuild.importing.scripts import Given
from qnnbuild.importing.shell import MOST_STEPS, Script, walk
from qnnbuild.importing.shell_words import MOST_ITEMS, MOST_LETTERS
from qnnbuild.importing.sources import Found, described, source_of
from qnnbuild.model.chips import packaged_chips


def commands(text: str, **values: str | tuple[str, ...]) -> list[str]:
    return [" ".join(map(shown, one.words)) for one in walk(text, "x.sh", values=values).commands]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x=1; f $x", ["f 1"]),
        ("f $x/${y}.c", ["f ${x}/${y}.c"]),
        ("f ${x:-7} ${x-8}", ["f 7 8"]),
        ("m=a.c; f ${m%.c} ${m%%.*} ${m#a.} ${m//a/b} \"$m\" 'm'", ["f a a c b.c a.c m"]),
        ("p=a/b/c.so; f ${p##*/}", ["f c.so"]),
        ('a=(x "y z"); f "${a[@]}"; g ${a[0]}', ["f x y z", "g x"]),
        ("f a \\\n  b # c", ["f a b"]),
        ("t='5 8'; for i in $t; do f; done", ["f"]),
        ("for i in 1; do f $i; done", ["f 1"]),
        ("for i in 1 2; do f m-$i; done", ["f m-${i}"]),
        ("for i in *; do f $i; done", ["f ${i}"]),
        ('g() { f "$1" $2; shift; f "$@"; }; g a b c', ["f a b", "f b c"]),
        ("read -r a b <<< '1 2'; f $b $a", ["f 2 1"]),
        ("read -ra a <<< '1 2'; f ${a[1]}", ["f 2"]),
        ("if [ $a = b ]; then f 1; else f 2; fi", ["f 1", "f 2"]),
        ("case $a in b) f 1;; *) f 2;; esac", ["f 1", "f 2"]),
        ("f $(rm -rf /) `x` | tee log && g", ["f ${$(rm_-rf_/)} ${`x`}", "tee log", "g"]),
        ("A=b f --x=y", ["f --x=y"]),
        ("export Q=/opt R; f $Q $R", ["f /opt ${R}"]),
    ],
)  # fmt: skip
def test_a_word_is_what_the_shell_would_make_of_it(text: str, words: list[str]) -> None:
    found = [one for one in commands(text) if not one.startswith("[")]

    assert found == words


def test_what_was_said_from_outside_counts_where_the_script_does_not_know_better() -> None:
    assert commands("t=$1; f $t", t="5") == ["f 5"]
    assert commands("t=8; f $t", t="5") == ["f 8"]


def test_a_loop_is_an_axis_and_another_loop_over_other_words_is_another() -> None:
    loop = "for {name} in {words}; do f ${name}; done;"
    loops = (("i", "1 2"), ("i", "3 4"), ("chip", "5 6"))
    text = " ".join(loop.format(name=name, words=words) for name, words in loops)
    script = walk(text, "x.sh")

    assert script.axes == {"i": ("1", "2"), "i_2": ("3", "4"), "chip_name": ("5", "6")}
    assert [shown(one.words[1]) for one in script.commands] == ["${i}", "${i_2}", "${chip_name}"]


def test_a_file_that_a_script_writes_is_known_with_its_line() -> None:
    text = 'm=a\ncat > x.json <<E\n{"n": "$m"}\nE\ncat <<\'E\' > y.json\n{"n": "$m"}\nE\n'
    files = walk(text, "x.sh").files

    assert {name: (body, at.line) for name, (body, at) in files.items()} == {
        "x.json": ('{"n": "a"}\n', 3),
        "y.json": ('{"n": "${m}"}\n', 6),
    }


@pytest.mark.parametrize(
    "text",
    [
        "f() { f; f; }; f",
        "f() { for i in 1 2 3; do f $i; done; }; f",
        "(" * 400 + "x" + ")" * 400,
        "x\n" * (MOST_STEPS + 1),
        "x=aa\n" + "x=$x$x\n" * 60,
        "x=aa\n" + 'x="$x$x"\n' * 60 + "f $x",
    ],
)
def test_what_goes_on_for_ever_is_refused(text: str) -> None:
    with pytest.raises(QnnbuildError, match="more than can be followed"):
        walk(text, "x.sh")


def test_what_grows_in_other_ways_stays_small() -> None:
    text = "a=(1 2 3)\n" + 'a=("${a[@]}" "${a[@]}")\n' * 40 + "x=aaaa\n" + "x=${x//a/aaaa}\n" * 40
    values = walk(text, "x.sh").values

    assert len(values["a"]) <= MOST_ITEMS
    assert len(values["x"]) <= MOST_LETTERS


def test_a_line_that_is_no_shell_is_told_and_the_rest_is_read() -> None:
    script = walk("if then ((\n\nqnn-onnx-converter --x\n", "x.sh")

    assert script.not_read


PIECES = st.sampled_from(
    (
        *("qnn-onnx-converter ", "--input_network ", "--act_bitwidth ", "16 ", "$x", "${", "}"),
        *("for i in 1 2; do ", "done;", "\n", "<<E\n", "E\n", "(", ")", "=", "\\", "\0", "ö"),
        *("'", '"', "`", "\ue000", "#"),
    )
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    assert isinstance(walked(text), Script)
    for name in ("x.sh", "x.yaml", "x.json"):
        found = migrated(name, text)
        assert found is None or len(found) == 3


def walked(text: str) -> Script:
    return walk(text, "x.sh")


def migrated(name: str, text: str) -> Found | None:
    """None where it is refused."""
    asked = Given(chips=packaged_chips())
    try:
        return described("m", [source_of(name, text.encode())], asked, ("SM8750",))
    except QnnbuildError as error:
        return None if error.problems[0].message else pytest.fail("a refusal without words")
