from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.chips import Chips, packaged_chips, says_of_itself
from qnnbuild.model.own_chips import with_own_chips

CHIPS = packaged_chips()


def own(*rows: str) -> Chips:
    return with_own_chips(CHIPS, "chips:\n" + "".join(f"- {row}\n" for row in rows))


def told(*rows: str) -> list[tuple[str, str, str | None]]:
    with pytest.raises(RecipeError) as caught:
        own(*rows)
    return [(str(p.at), p.message, p.hint) for p in caught.value.problems]


def test_both_places_of_a_name_that_stands_twice_are_told():
    with pytest.raises(RecipeError) as caught:
        own("{name: Ours, soc_model: 43}", "{name: OURS, soc_model: 57}")

    assert caught.value.problems[0].facts == (("first", "chips.yaml:2:10"),)


@pytest.mark.parametrize("name", ["S\u041c1", "\u212a1", "\u017f1", "SM1\u200b", "\uff331", "SM1."])
def test_a_name_with_other_letters_than_it_seems_to_have_is_none(name: str):
    assert told(f'{{name: "{name}", soc_model: 43}}') == [
        ("chips.yaml:2:10", "a chip's name is a letter, then letters, digits and - _ .", None)
    ]


def test_a_new_chip_stands_behind_those_of_the_table():
    row = "{name: SM9999, soc_model: 140, arch: 85, vtcm_mb: 8, fp16: true, tags: [ours]}"
    chips = own(row)

    assert [chip.name for chip in chips][-1] == "SM9999"
    assert chips["SM9999"].seen == "chips.yaml of the repo"
    assert len(chips) == len(CHIPS) + 1


def test_a_new_name_for_a_known_soc_model_has_that_chips_facts():
    chip = own("{name: OurPhone, soc_model: 43}")["OurPhone"]

    assert (chip.arch, chip.vtcm_mb, chip.hvx_threads, chip.fp16) == (73, 8, 4, True)
    assert says_of_itself(chip)["soc_type"] == "SM8550"


def test_tags_and_names_can_be_added_to_a_known_chip():
    chip = own("{name: SM8650, tags: [ours], marketing: [Our Phone]}")["SM8650"]

    assert chip.tags == ("phones", "ours")
    assert chip.marketing[-1] == "Our Phone"
    assert chip.seen == CHIPS["SM8650"].seen


def test_another_soc_model_for_a_known_chip_contradicts_the_table():
    assert told("{name: QCS8550, soc_model: 43}") == [
        (
            "chips.yaml:2:30",
            "the soc_model of 'QCS8550' contradicts the table",
            "to put a measured fact right, add 'overrides: true' to this chip",
        )
    ]


def test_a_new_name_cannot_give_a_known_soc_model_other_facts():
    assert told("{name: Ours, soc_model: 43, arch: 75, fp16: true}") == [
        (
            "chips.yaml:2:37",
            "the arch of 'Ours' contradicts the table",
            "to put a measured fact right, add 'overrides: true' to this chip",
        )
    ]


def test_an_override_takes_the_facts_of_the_soc_model_it_names():
    chip = own("{name: QCS8550, soc_model: 57, overrides: true}")["QCS8550"]

    assert (chip.soc_model, chip.arch) == (57, 75)
    assert says_of_itself(chip)["soc_type"] == "SM8650"
    assert chip.seen.endswith(". soc_model, arch, reads_back_as: chips.yaml of the repo")


def test_an_override_puts_one_measured_fact_right():
    chip = own("{name: SM8350, fp16: true, overrides: true}")["SM8350"]

    assert (chip.fp16, chip.soc_model, chip.vtcm_mb) == (True, 30, 4)


def test_a_refused_chip_stays_refused():
    row = "{name: SM8250, soc_model: 21, arch: 68, vtcm_mb: 4, fp16: false}"

    assert told(row) == [
        (
            "chips.yaml:2:10",
            "'SM8250' cannot be built for: its NPU is older than HTP v68",
            "if you have seen it work, add 'overrides: true' to this chip",
        )
    ]


def test_a_refused_soc_model_stays_refused_under_a_new_name():
    row = "{name: Ours, soc_model: 2, arch: 68, vtcm_mb: 4, fp16: false}"

    assert told(row) == [
        (
            "chips.yaml:2:27",
            "'2' cannot be built for: QNN's HTP library knows no NPU of it",
            "if you have seen it work, add 'overrides: true' to this chip",
        )
    ]


def test_who_has_seen_a_refused_chip_work_can_have_it():
    row = "{name: SM4450, soc_model: 59, arch: 68, vtcm_mb: 1, fp16: false, overrides: true}"

    assert own(row).named("SM4450").vtcm_mb == 1


def test_an_arch_that_no_chip_has_is_an_error():
    row = "{name: Ours, soc_model: 140, arch: 87, vtcm_mb: 8, fp16: true}"

    assert told(row) == [
        ("chips.yaml:2:38", "no chip has HTP arch 87", "known: 68, 69, 73, 75, 79, 81, 85")
    ]


def test_a_typo_is_one_error_with_a_hint_and_a_missing_key_is_named():
    assert told("{name: Ours, soc_model: 140, arch: 81, vtcmmb: 8, fp16: true}") == [
        ("chips.yaml:2:42", "a chip has no key 'vtcmmb'", "did you mean 'vtcm_mb'?"),
    ]
    assert told("{name: Ours, soc_model: 140, arch: 81}") == [
        ("chips.yaml:2:3", "Ours lacks vtcm_mb, fp16", None)
    ]


def test_a_name_that_stands_twice_or_in_other_letters_is_an_error():
    assert told("{name: Ours, soc_model: 43}", "{name: OURS, soc_model: 57}") == [
        ("chips.yaml:3:10", "'OURS' is written twice", None)
    ]
    assert told("{name: sm8650}") == [
        ("chips.yaml:2:10", "'sm8650' is written 'SM8650' in the table", None)
    ]


def test_only_chips_stand_in_a_repos_chips_yaml():
    with pytest.raises(RecipeError, match=r"chips\.yaml has no key 'refused'"):
        with_own_chips(CHIPS, "refused: []\n")


def test_an_empty_file_changes_nothing():
    assert with_own_chips(CHIPS, "").rows == CHIPS.rows
