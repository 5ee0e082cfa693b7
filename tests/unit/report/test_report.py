"""A report as a whole: when two are the same, and what one keeps of the one before."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.errors import Problem, Span
from qnnbuild.report.report import digest_of, report
from qnnbuild.report.told import with_kept
from tests.reported import FAILED, FLOATS, STALE, VAD, Told, failed

CONTEXT = "context/vad/near/w8a8@SM8750"


def digest(told: Told) -> str:
    return digest_of(told.subject, told.known)


def test_equal_states_have_equal_digests() -> None:
    assert digest(Told.of(VAD)) == digest(Told.of(VAD))


def test_each_thing_that_a_report_tells_of_changes_its_digest() -> None:
    plain = Told.of(VAD, FLOATS)
    later = replace(plain.subject, problems=(Problem(message="a list is no recipe"),))
    found = {
        digest(plain),
        digest(Told.of(VAD, FLOATS).be(CONTEXT, STALE)),
        digest(Told.of(VAD, FLOATS).be(CONTEXT, failed())),
        digest(Told.of(VAD, FLOATS).be(CONTEXT, failed(replace(FAILED, message="other")))),
        digest(Told.of(VAD, FLOATS.replace("owner/repo#7", "owner/repo#8"))),
        digest(plain.without("floats")),
        digest_of(later, plain.known),
    }

    assert len(found) == 7


def test_bad_recipes_are_told_with_their_place() -> None:
    told = Told.of(VAD)
    at = Span(file="recipes/x.yaml", line=3, column=5, text="  - it", end=7)
    wrong = (
        Problem(message="a list is no recipe", at=at, hint="mend it"),
        Problem(message="not so good", severity="warning"),
    )
    (found,) = report(replace(told.subject, problems=wrong), told.known).wrong

    assert (found.message, found.at, found.hint) == (
        "a list is no recipe", "recipes/x.yaml:3:5", "mend it",
    )  # fmt: skip


def test_models_that_were_not_looked_at_stay_as_they_were() -> None:
    told = Told.of(VAD, FLOATS)
    before = told.json()
    part = told.without("floats").json()
    found = with_kept(part, before, frozenset({"floats"}))

    assert [model["name"] for model in part["models"]] == ["vad"]
    assert found["models"] == before["models"]
    assert found["chips"] == before["chips"]


def test_a_model_whose_recipe_is_gone_is_not_kept() -> None:
    told = Told.of(VAD, FLOATS)
    found = with_kept(told.without("floats").json(), told.json(), frozenset())

    assert [model["name"] for model in found["models"]] == ["vad"]


def test_a_report_of_another_form_is_not_taken_over() -> None:
    told = Told.of(VAD, FLOATS)
    before = {**told.json(), "report_version": 0}

    assert [
        m["name"]
        for m in with_kept(told.without("vad").json(), before, frozenset({"vad"}))["models"]
    ] == ["floats"]
