from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.limits import Limits, limits_of, with_environment
from qnnbuild.model.schemas import settings_schema
from qnnbuild.model.settings import read_settings
from qnnbuild.text.amounts import DURATION, SIZE

GB = 10**9


def test_a_file_says_what_a_build_may_take() -> None:
    settings = read_settings(
        "limits: {memory: 12 GB, deadline: 1 h 30 min, grace: 30, free_disk: 2 GB}\n"
    )

    assert settings.limits == Limits(
        memory=12 * GB, deadline_s=5400.0, grace_s=30.0, free_disk=2 * GB
    )
    assert read_settings("threads: 2\n").limits == Limits()


def test_what_is_off_is_not_watched() -> None:
    assert limits_of({"memory": "off", "free_disk": "off"}) == Limits(
        watches_memory=False, watches_disk=False
    )


def test_the_environment_goes_before_the_file() -> None:
    told = {"QNNBUILD_MEMORY": "1 GB", "QNNBUILD_DEADLINE": "2h", "QNNBUILD_FREE_DISK": "off"}
    limits = with_environment(Limits(memory=5, free_disk=7, grace_s=9.0), told)

    assert limits == Limits(memory=GB, deadline_s=7200.0, grace_s=9.0, watches_disk=False)


def test_the_environment_can_ask_for_what_the_file_put_off() -> None:
    told = {"QNNBUILD_MEMORY": "1 GB", "QNNBUILD_FREE_DISK": "", "QNNBUILD_GRACE": "0"}
    limits = with_environment(Limits(watches_memory=False, free_disk=7), told)

    assert limits == Limits(memory=GB, free_disk=7, grace_s=0.0)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("QNNBUILD_MEMORY", "much", "QNNBUILD_MEMORY: 'much' is no size"),
        ("QNNBUILD_FREE_DISK", "-1", "QNNBUILD_FREE_DISK: '-1' is no size"),
        ("QNNBUILD_DEADLINE", "off", "QNNBUILD_DEADLINE: 'off' is no duration"),
        ("QNNBUILD_GRACE", "soon", "QNNBUILD_GRACE: 'soon' is no duration"),
    ],
)
def test_a_variable_that_says_nothing_is_named(name: str, text: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        with_environment(Limits(), {name: text})

    assert str(caught.value) == message
    assert (caught.value.problems[0].hint or "").startswith("a number with a unit: ")


def test_mistakes_are_told_where_they_are() -> None:
    with pytest.raises(RecipeError) as caught:
        read_settings("limits:\n  memory: 12 XB\n  deadline: soon\n  grase: 3\n")

    assert [f"{p.at}: {p.message}" for p in caught.value.problems] == [
        "qnnbuild.yaml:2:11: '12 XB' is no size: write 12 GB, 500 MB, 1.5 GiB, or off",
        "qnnbuild.yaml:3:13: 'soon' is no duration: write 2 h, 90 min, 1 h 30 min",
        "qnnbuild.yaml:4:3: unknown key 'grase'",
    ]


def test_the_schema_takes_what_the_reader_reads() -> None:
    keys = settings_schema().rules["properties"]["limits"]["properties"]

    assert {name: rules["pattern"] for name, rules in keys.items()} == {
        "memory": f"^({SIZE}|off)$",
        "deadline": f"^{DURATION}$",
        "grace": f"^{DURATION}$",
        "free_disk": f"^({SIZE}|off)$",
    }
