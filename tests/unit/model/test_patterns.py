from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.chips import load_chips, packaged_chips
from qnnbuild.model.patterns import check_only, matches, matches_chip, select

CHIPS = load_chips("""\
chips:
- {name: SM8350, soc_model: 30, arch: 68, vtcm_mb: 4, fp16: false, tags: [phones]}
- {name: SA8295P, soc_model: 39, arch: 68, vtcm_mb: 8, fp16: true, tags: [auto]}
- {name: SM7550, soc_model: 64, arch: 73, vtcm_mb: 2, fp16: false, tags: [phones]}
- {name: SM8650, soc_model: 57, arch: 75, vtcm_mb: 8, fp16: true, tags: [phones]}
- {name: SM8750, soc_model: 69, arch: 79, vtcm_mb: 8, fp16: true, tags: [phones]}
""")


def span(column: int) -> Span:
    return Span(file="r.yaml", line=2, column=column)


def taken(*patterns: str) -> list[str]:
    return [chip.name for chip in select([(text, None) for text in patterns], CHIPS)]


def wrong(*patterns: str) -> list[tuple[str, str | None]]:
    with pytest.raises(RecipeError) as caught:
        select([(text, None) for text in patterns], CHIPS)
    return [(problem.message, problem.hint) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("SM8650", ["SM8650"]),
        ("sm8650", ["SM8650"]),
        ("SM8*", ["SM8350", "SM8650", "SM8750"]),
        ("sm?550", ["SM7550"]),
        ("SM8[67]50", ["SM8650", "SM8750"]),
        ("@auto", ["SA8295P"]),
        ("@Auto", ["SA8295P"]),
        ("arch>=75", ["SM8650", "SM8750"]),
        ("arch >= v75", ["SM8650", "SM8750"]),
        ("arch==79", ["SM8750"]),
        ("arch!=68", ["SM7550", "SM8650", "SM8750"]),
        ("arch<73", ["SM8350", "SA8295P"]),
        ("vtcm>4", ["SA8295P", "SM8650", "SM8750"]),
        ("soc_model==57", ["SM8650"]),
        ("fp16", ["SA8295P", "SM8650", "SM8750"]),
        ("@phones & fp16", ["SM8650", "SM8750"]),
        ("@phones&vtcm<=4&arch>70", ["SM7550"]),
        ("@phones & !fp16", ["SM8350", "SM7550"]),
        ("*", ["SM8350", "SA8295P", "SM7550", "SM8650", "SM8750"]),
    ],
)
def test_a_pattern_takes_what_it_says(pattern: str, names: list[str]):
    assert taken(pattern) == names


def test_each_chip_is_taken_once_in_the_tables_order():
    assert taken("SM8750", "@phones", "SM8350") == ["SM8350", "SM7550", "SM8650", "SM8750"]


def test_a_negated_pattern_takes_away_wherever_it_stands():
    assert taken("!SM7*", "@phones") == ["SM8350", "SM8650", "SM8750"]


def test_a_negated_pattern_takes_away_what_matches_all_of_it():
    assert taken("*", "!@phones & fp16") == ["SM8350", "SA8295P", "SM7550"]


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("arch=>75", "'=>' is no comparison", "did you mean 'arch>=75'?"),
        ("arch=75", "'=' is no comparison", "did you mean 'arch==75'?"),
        ("arch>75x", "'75x' is not a whole number", "for example arch>75"),
        ("vtcm>=8MB", "'8MB' is not a whole number", "for example vtcm>=8"),
        ("arch>=", "'arch>=' lacks its number", "for example arch>=75"),
        ("arch", "'arch' wants a comparison", "for example arch>=75"),
        (
            "arhc>=75",
            "chips have no 'arhc' to compare",
            "did you mean 'arch'? facts to compare: arch, vtcm, hvx_threads, soc_model",
        ),
        (
            "@phoness",
            "no chip has the tag '@phoness'",
            "did you mean '@phones'? all tags: @auto @phones",
        ),
        ("fp61", "no chip is named 'fp61'", "did you mean 'fp16'?"),
        ("8650", "no chip is named '8650'", "did you mean 'SM8650'? all chips: qnnbuild chips"),
        ("SM86*0*1", "no chip matches 'SM86*0*1'", "all chips: qnnbuild chips"),
        ("arch==76", "no chip matches 'arch==76'", "all chips: qnnbuild chips"),
        ("!SM99*", "no chip matches '!SM99*'", "all chips: qnnbuild chips"),
        (
            "SM8650 &",
            "'SM8650 &' lacks a part",
            "a part number, SM8*, @tag, arch>=75, vtcm>=8, fp16; A & B for both, !A to leave out",
        ),
    ],
)
def test_a_mistake_is_an_error_with_a_way_out(pattern: str, message: str, hint: str):
    assert wrong(pattern) == [(message, hint)]


def test_a_comparison_that_matches_nothing_tells_what_there_is():
    with pytest.raises(RecipeError) as caught:
        select([("arch==76", None)], CHIPS)

    assert caught.value.problems[0].facts == (("arch", "68, 73, 75, 79"),)


def test_all_mistakes_of_a_list_are_told_each_at_its_place():
    with pytest.raises(RecipeError) as caught:
        select([("SM8580", span(9)), ("SM8650", span(17)), ("@phone", span(25))], CHIPS)
    problems = caught.value.problems

    assert [(p.message, p.at) for p in problems] == [
        ("no chip is named 'SM8580'", span(9)),
        ("no chip has the tag '@phone'", span(25)),
    ]


def test_a_list_that_only_takes_away_is_told_where_to_start():
    assert wrong("!SM8350") == [
        ("nothing here takes a chip", "put '*' in front to start from all chips")
    ]


def test_a_list_that_leaves_nothing_is_an_error():
    assert wrong("@auto", "!fp16") == [
        ("no chip is left", "'!…' takes away all that the rest takes")
    ]


def test_a_refused_chip_is_refused_with_the_reason():
    with pytest.raises(RecipeError, match="'SM8250' cannot be built for: its NPU is older"):
        select([("SM8250", None)], packaged_chips())


def test_one_pattern_can_be_asked_about_one_chip():
    chip = CHIPS["SM8650"]

    assert matches_chip("arch>=75", chip)
    assert not matches_chip("SM8350", chip)
    assert matches_chip("!SM8350", chip)


def test_a_key_under_only_is_for_a_chip_or_for_a_variant():
    chip = CHIPS["SM8650"]

    assert matches("SM86*", chip, "10s")
    assert matches("10s", chip, "10s")
    assert matches("1*", chip, "10s")
    assert not matches("5s", chip, "10s")


def test_a_key_under_only_must_match_a_chip_or_a_variant():
    assert check_only("10s", None, CHIPS, ["5s", "10s"]) is None
    assert check_only("@phones", None, CHIPS, ["5s", "10s"]) is None
    problem = check_only("15s", span(3), CHIPS, ["5s", "10s"])
    assert problem

    assert problem.message == "no chip is named '15s'"
    assert problem.at == span(3)
    assert problem.facts == (("variants", "5s, 10s"),)
