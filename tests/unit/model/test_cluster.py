"""`executor:` of qnnbuild.yaml and its variable."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.cluster import Cluster, with_environment
from qnnbuild.model.settings import read_settings

FILE = Cluster(url="dask://lab:8786", wait_s=5.0, falls_back=True)


def test_a_text_is_an_address() -> None:
    found = read_settings("executor: dask://scheduler:8786\n").executor

    assert found == Cluster(url="dask://scheduler:8786")
    assert found is not None
    assert (found.address, found.scheduler_file) == ("tcp://scheduler:8786", None)


def test_a_mapping_says_more() -> None:
    text = "executor: {url: 'dask://lab:8786', wait: 5, fallback: local}\n"

    assert read_settings(text).executor == FILE


@pytest.mark.parametrize(
    ("url", "address", "file"),
    [
        ("dasks://lab:8786", "tls://lab:8786", None),
        ("dask:///shared/scheduler.json", "tcp://", "/shared/scheduler.json"),
    ],
)
def test_addresses_as_dask_writes_them(url: str, address: str, file: str | None) -> None:
    found = Cluster(url=url)

    assert (found.address, found.scheduler_file) == (address, file)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("scheduler:8786", "begins with no dask://"),
        ("tcp://scheduler:8786", "begins with no dask://"),
        ("dask://scheduler", "is no host with a port"),
        ("dask://scheduler:8786/x", "is no host with a port"),
        ("dask://scheduler:99999", "has no port that can be"),
        ("dask:///shared", "names neither a host nor a file"),
        ("dask://me@scheduler:8786", "holds more than a place"),
    ],
)
def test_what_is_no_address_is_told_at_its_place(url: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read_settings(f"executor: '{url}'\n")

    (problem,) = caught.value.problems
    assert problem.message == f"the address of the executor {message}"
    assert problem.at is not None
    assert (problem.at.line, problem.at.column) == (1, 11)


def test_the_variable_goes_before_the_file() -> None:
    found = with_environment(FILE, {"QNNBUILD_EXECUTOR": "dask://other:1"})

    assert found == Cluster(url="dask://other:1", wait_s=5.0, falls_back=True)
    assert with_environment(FILE, {}) == FILE
    assert with_environment(FILE, {"QNNBUILD_EXECUTOR": ""}) is None


def test_a_variable_that_is_no_address_is_told() -> None:
    with pytest.raises(RecipeError, match="begins with no dask://") as caught:
        with_environment(None, {"QNNBUILD_EXECUTOR": "lab:8786"})

    assert caught.value.problems[0].facts == (("QNNBUILD_EXECUTOR", "lab:8786"),)
