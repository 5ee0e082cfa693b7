from __future__ import annotations

import re
from dataclasses import replace

import pytest

from qnnbuild.errors import NothingMatches, QnnbuildError, RecipeError, Span
from qnnbuild.model.chips import (
    Chips,
    load_chips,
    packaged_chips,
    packaged_text,
    says_of_itself,
)
from qnnbuild.model.nearest import nearest
from qnnbuild.model.own_chips import ARCHS

CHIPS = packaged_chips()
AT = Span(file="recipes/a.yaml", line=3, column=9, end=15, text="chips: [SM8580]")


def said(error: QnnbuildError) -> list[tuple[str, str | None]]:
    return [(problem.message, problem.hint) for problem in error.problems]


def way_out(word: str) -> str | None:
    return CHIPS.no_chip(word).hint


def test_no_name_stands_twice_and_none_is_also_refused():
    names = [chip.name.casefold() for chip in CHIPS]
    names += [chip.name.casefold() for chip in CHIPS.refused]

    assert len(names) == len(set(names))


def test_no_soc_model_is_both_offered_and_refused():
    offered = {chip.soc_model for chip in CHIPS}

    assert [i for i in offered if CHIPS.refusal(i)] == []


def test_chips_that_share_a_soc_model_share_what_is_compiled():
    facts = {(c.soc_model, c.arch, c.vtcm_mb, c.hvx_threads, c.fp16) for c in CHIPS}

    assert len(facts) == len({chip.soc_model for chip in CHIPS})


def test_what_a_binary_calls_itself_is_a_row_too_but_for_two_names_of_the_sdk():
    told = {str(says_of_itself(chip)["soc_type"]) for chip in CHIPS}

    assert sorted(name for name in told if name not in CHIPS) == ["SA8255", "SA8295"]


def test_each_row_has_an_arch_that_exists_a_tag_and_its_sources():
    lacking = [c.name for c in CHIPS if c.arch not in ARCHS or not c.tags or not c.seen]

    assert lacking == []


def test_each_conflict_between_the_sources_is_decided_in_the_table():
    missing = [n for n in range(1, 20) if f"C{n}" not in packaged_text()]

    assert missing == []


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("SM8350", (30, 68, 4, False)),
        ("SM8475", (42, 69, 8, True)),
        ("QCS8550", (66, 73, 8, True)),
        ("SA7255P", (67, 75, 8, True)),
        ("QCS7790", (86, 73, 4, False)),
        ("SW6100", (96, 81, 4, False)),
        ("SM8735", (85, 73, 8, False)),
        ("SXR2250P", (53, 69, 8, True)),
        ("SXR1230P", (45, 73, 2, False)),
        ("SM8635", (68, 73, 4, False)),
        ("SC8340XP", (60, 73, 8, True)),
        ("SM8975", (103, 85, 12, True)),
    ],
)
def test_the_decided_facts(name: str, facts: tuple[int, int, int, bool]):
    chip = CHIPS[name]

    assert (chip.soc_model, chip.arch, chip.vtcm_mb, chip.fp16) == facts


def test_a_part_number_is_found_in_any_case_of_letters():
    assert CHIPS.named("sm8650") is CHIPS["SM8650"]


def test_an_alias_tells_the_name_of_the_chip_that_owns_its_soc_model():
    assert says_of_itself(CHIPS["QCM6490"]) == {
        "soc_type": "QCS6490",
        "soc_model": 93,
        "arch": 68,
        "vtcm_mb": 2,
        "hvx_threads": 4,
    }


def test_an_unknown_name_in_a_recipe_is_an_error_at_its_place():
    with pytest.raises(RecipeError) as caught:
        CHIPS.named("SM8580", AT)

    assert said(caught.value) == [
        ("no chip is named 'SM8580'", "did you mean 'SM8550'? all chips: qnnbuild chips")
    ]
    assert caught.value.problems[0].at is AT


def test_an_unknown_name_on_the_command_line_matches_nothing():
    with pytest.raises(NothingMatches):
        CHIPS.named("SM8580")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("8650", "did you mean 'SM8650'? all chips: qnnbuild chips"),
        ("57", "57 is the soc_model of 'SM8650': write the part number"),
        ("660", "660 is the kernel's id of 'SM8850': write the part number"),
        ("21", "21 is a soc_model that cannot be built for: its NPU is older than HTP v68"),
        ("SM8750-3-AC", "'SM8750-3-AC' is a form of 'SM8750': write that"),
        ("SA8295", "'SA8295' is what the SDK calls it: write 'SA8295P'"),
        ("57abc", "all chips: qnnbuild chips"),
        ("69.0", "all chips: qnnbuild chips"),
        ("010", "all chips: qnnbuild chips"),
        ("8e2", "all chips: qnnbuild chips"),
        ("", "all chips: qnnbuild chips"),
    ],
)
def test_what_is_no_part_number_gets_a_way_out(word: str, hint: str):
    assert way_out(word) == hint


def test_a_marketing_name_where_a_part_number_belongs_is_told_the_part_number():
    problem = CHIPS.no_chip("Snapdragon 8 Gen 3")

    assert problem.message == "'Snapdragon 8 Gen 3' is a marketing name, not a part number"
    assert problem.hint == "write 'SM8650'"


@pytest.mark.parametrize("word", ["SM8250", "sm8250", "SM8250-AC"])
def test_an_old_chip_is_refused_with_the_reason(word: str):
    message = f"'{word}' cannot be built for: its NPU is older than HTP v68"

    assert CHIPS.no_chip(word).message == message


def test_an_old_chip_is_refused_by_its_marketing_name_too():
    problem = CHIPS.no_chip("Snapdragon 865")

    assert problem.message == "'Snapdragon 865' cannot be built for: its NPU is older than HTP v68"
    assert problem.facts == (("part number", "SM8250"),)


@pytest.mark.parametrize(
    ("soc_model", "why"),
    [
        (2, "QNN's HTP library knows no NPU of it"),
        (12, "its NPU is older than HTP v68"),
        (63, "it is a data centre card with a QNN backend of its own"),
        (57, None),
        (9999, None),
    ],
)
def test_a_soc_model_is_refused_with_the_reason(soc_model: int, why: str | None):
    assert CHIPS.refusal(soc_model) == why


@pytest.mark.parametrize(
    "name",
    ["Snapdragon 8 Elite", "8 elite", "Qualcomm® Snapdragon™ 8 Elite Mobile Platform"],
)
def test_a_marketing_name_finds_the_chip(name: str):
    assert [chip.name for chip in CHIPS.by_marketing(name)] == ["SM8750"]


@pytest.mark.parametrize(
    ("soc_model", "name"),
    [
        ("SM8750", "SM8750"),
        ("SM8750P", "SM8750"),
        ("SM8750-3-AC", "SM8750"),
        ("sm8750-AB", "SM8750"),
        ("SM8850L", "SM8850L"),
        ("SM8475_2", "SM8475"),
        ("SM8650v2", "SM8650"),
        ("SXR2230P", "SXR2230P"),
        ("SC8380XP-1-AB", "SC8380XP"),
        ("SC8340XP-120", "SC8340XP-120"),
        ("SM8250", None),
        ("SM6450Q", None),  # not SM6450
        ("MT6989", None),
        ("", None),
    ],
)
def test_what_android_says_finds_the_chip(soc_model: str, name: str | None):
    chip = CHIPS.by_android(soc_model)

    assert (chip and chip.name) == name


def test_the_kernels_ids_are_not_qnns():
    assert [chip.name for chip in CHIPS.by_kernel_id(57)] == []
    assert [chip.name for chip in CHIPS.by_kernel_id(557)] == ["SM8650"]


def test_a_soc_model_gives_its_owner_first():
    assert [chip.name for chip in CHIPS.by_soc_model(67)] == ["SA8620P", "SA7255P"]


def test_a_soc_type_gives_all_chips_whose_binaries_say_so():
    found = [chip.name for chip in CHIPS.by_soc_type("SC8380XP")]

    assert found == ["SC8380XP", "SC8340XP", "QCS7181", "QCS5121"]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("sm8650", ["SM8650"]),
        ("Snapdragon X Elite", ["SC8380XP"]),
        ("SM8550-AC", ["SM8550"]),
        ("618", ["SM8750"]),
        ("69", ["SM8750", "QCS8750"]),
        ("SA8255", ["SA8255P", "SA8650P", "SA8775P"]),
    ],
)
def test_any_word_for_a_chip_finds_it(word: str, names: list[str]):
    assert [chip.name for chip in CHIPS.look_up(word)] == names


def test_nearest_words_need_the_fewest_changes():
    assert nearest("SM8570", ["SM8350", "SM8550", "SM8750"]) == ("SM8550",)
    assert nearest("SM99", ["SM8550"]) == ()


def loaded(text: str) -> Chips:
    return load_chips(text, file="t.yaml")


def test_all_that_is_wrong_in_a_table_is_told_at_once():
    text = """\
chips:
- {name: SM1, soc_model: 010, arch: 68, vtcm_mb: 8, fp16: true}
- {name: SM2, soc_model: 3, arch: 68, vtcm_mb: 8, fp16: no}
- {name: SM3, soc_modle: 3, arch: 68, vtcm_mb: 8, fp16: true}
- {name: 8650, soc_model: 3, arch: 68, vtcm_mb: 8, fp16: true, arch: 69}
"""
    with pytest.raises(RecipeError) as caught:
        loaded(text)
    told = [f"{problem.at}: {problem.message}" for problem in caught.value.problems]

    assert told == [
        "t.yaml:2:26: this is a whole number",
        "t.yaml:3:57: this is true or false",
        "t.yaml:4:15: a chip has no key 'soc_modle'",
        "t.yaml:5:10: a chip's name is a letter, then letters, digits and - _ .",
        "t.yaml:5:64: 'arch' is written twice",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("chips:\n\t- x\n", "t.yaml:2:1: this is not YAML: "),
        ("chips: [\n", "t.yaml:2:1: this is not YAML: "),
        ("chips: *nowhere\n", "t.yaml:1:8: this is not YAML: "),
        ("chips: {a: 1}\n", "t.yaml:1:8: chips is a list"),
        ("- a\n", "t.yaml:1:1: a table of chips is a mapping of keys to values"),
    ],
)
def test_what_is_no_table_is_an_error_with_its_place(text: str, told: str):
    with pytest.raises(RecipeError) as caught:
        loaded(text)
    problem = caught.value.problems[0]

    assert f"{problem.at}: {problem.message}".startswith(told)


def test_a_bom_crlf_and_an_empty_file_are_no_trouble():
    row = "chips:\r\n- {name: SM1, soc_model: 1, arch: 68, vtcm_mb: 8, fp16: true}\r\n"

    assert [chip.name for chip in loaded("\ufeff" + row)] == ["SM1"]
    assert len(loaded("")) == 0


@pytest.mark.parametrize("word", ["8gen3", "8-gen-3", "Snapdragon8Gen3", "8 gen 3 mobile"])
def test_a_shops_name_is_found_however_it_is_spaced(word: str) -> None:
    assert [chip.name for chip in CHIPS.look_up(word)] == ["SM8650"]


def test_where_facts_are_from_is_told_in_full() -> None:
    facts, notes = CHIPS.where_from(CHIPS["SM8650"])

    assert facts.startswith("QnnTypes.h, ExecuTorch, ")
    assert notes == "chipwright gives 57 to QCS8550, which is 66"


def test_no_chip_tells_where_from_in_letters() -> None:
    """A word of a row that `sources` does not have would be told as it is."""
    letters = CHIPS.sources.keys() - set(CHIPS.sources.values())
    told = {chip.name: " ".join(CHIPS.where_from(chip)) for chip in CHIPS}
    words = {name: set(re.findall(r"[A-Za-z0-9]+", text)) for name, text in told.items()}
    found = {name for name in told if letters & words[name]}

    assert found == set()


def test_facts_of_the_repos_own_table_are_told_as_they_are() -> None:
    own = replace(CHIPS["SM8650"], seen="chips.yaml of the repo")

    assert CHIPS.where_from(own) == ("", "chips.yaml of the repo")
