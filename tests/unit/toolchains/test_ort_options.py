"""The options as data: whole, about one another, and read only when one is asked for."""

from __future__ import annotations

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph
from qnnbuild.toolchains.ort_option_rows import option_of, read_option_data
from qnnbuild.toolchains.ort_options import (
    BY_NAME,
    Kind,
    Option,
    Options,
    Scope,
    of_kind,
    option_data,
    settable,
)
from qnnbuild.toolchains.ortqnn import OrtQnn, run_time_options

OPTIONS = tuple(BY_NAME.values())
HOSTS = {"linux-x64", "windows-x64", "windows-arm64", "linux-arm64", "android-arm64"}
BACKENDS = {"htp", "cpu", "gpu", "saver", "ir", "genie"}


def name_of(option: Option) -> str:
    return option.name


@pytest.mark.parametrize("option", OPTIONS, ids=name_of)
def test_every_option_is_whole(option: Option):
    assert option.about
    assert bool(option.values) == (option.form == "choice")
    if option.form == "choice" and option.default:
        assert option.default in option.values
    if option.form == "switch":
        assert option.default in ("0", "1")
    assert set(option.hosts) <= HOSTS
    assert set(option.backends) <= BACKENDS
    assert set(option.values_since) <= set(option.values)
    assert option.tested.how in ("host", "device")
    assert option.recipe
    assert not option.at_run or option.scope is Scope.BYTES


@pytest.mark.parametrize("option", OPTIONS, ids=name_of)
def test_partners_are_options_with_such_values_and_a_way_out(option: Option):
    for partner in (*option.needs, *option.excludes):
        other = BY_NAME[partner.name]
        assert partner.values
        assert partner.why
        assert partner.hint
        if other.form == "choice":
            assert set(partner.values) <= set(other.values)


def test_an_option_is_set_under_options_or_said_another_way():
    for option in OPTIONS:
        assert option.settable == (option.recipe == f"options.ort.{option.name}")
    assert all(option.kind is Kind.PROVIDER for option in settable())


def test_no_name_is_there_twice():
    assert len(BY_NAME) == len(option_data().options)


def test_each_kind_of_option_is_there():
    assert [len(of_kind(kind)) > 0 for kind in Kind] == [True] * 4
    assert {option.name for option in of_kind(Kind.DYNAMIC)} == {
        "kvcache_rewind",
        "ep.dynamic.workload_type",
        "ep.dynamic.qnn_htp_performance_mode",
    }


ROW = {
    "name": "speed",
    "kind": "provider",
    "form": "number",
    "default": "0",
    "scope": "bytes",
    "about": "how fast",
    "tested": {"how": "host", "where": "here"},
}


def test_a_row_becomes_an_option_with_the_types_of_its_fields():
    made = option_of({**ROW, "low": "3", "at_run": "true", "since": {"plugin": "2.4"}})

    assert (made.low, made.at_run, made.kind, made.scope) == (3, True, Kind.PROVIDER, Scope.BYTES)
    assert list(made.since.said) == [("plugin", "2.4")]
    assert made.recipe == "options.ort.speed"
    assert made.settable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sped": "1"}, "speed: no key sped"),
        ({"form": "wish"}, "speed: no form 'wish'"),
        ({"kind": "wish"}, "speed: 'wish' is not a valid Kind"),
        ({"about": ["a"]}, "speed: ['a'] is no text"),
        ({"hosts": "linux-x64"}, "speed: 'linux-x64' is no list"),
        ({"needs": [{"name": "a"}]}, "speed: values is missing"),
    ],
)
def test_a_wrong_row_is_told_by_its_name(change: dict[str, object], message: str):
    with pytest.raises(ValueError) as caught:
        option_of({**ROW, **change})

    assert str(caught.value) == message


def test_the_file_has_its_three_sections():
    with pytest.raises(ValueError, match="sections"):
        read_option_data("options: []\n")


def test_a_graph_without_options_reads_no_data(monkeypatch: pytest.MonkeyPatch):
    def read(_: Options) -> None:
        pytest.fail("a plan without options has no use for what they are")

    monkeypatch.setattr(Options, "_rows", read)
    plain, chip = Graph(name="vad", source=FileSource(file="vad.onnx")), packaged_chips()["SM8750"]

    assert list(OrtQnn().problems(plain, chip)) == []
    assert OrtQnn().context(plain, chip, ContextOptions()).params["options"] == {}
    assert run_time_options(plain) == {}
