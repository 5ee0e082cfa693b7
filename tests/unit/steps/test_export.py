from __future__ import annotations

import pytest

from qnnbuild.actions.action import SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.recipe import ExportSource, FileSource, Graph
from qnnbuild.steps.export import export, export_output, together


def source(makes: str = "m.onnx", **values) -> ExportSource:
    given = {"run": ("python", "export.py"), "needs": ("r/export.py",), "folder": "r", **values}
    return ExportSource(makes=makes, **given)


ENCODER = Graph(name="encoder", source=source("encoder.onnx"))
DECODER = Graph(name="decoder", source=source("decoder.onnx"))
OTHER = Graph(name="other", source=source("other.onnx", run=("python", "export.py", "other")))
FILE = Graph(name="file", source=FileSource(file="m.onnx"))


def test_graphs_of_one_command_are_together_and_files_are_left_out():
    assert together([ENCODER, FILE, OTHER, DECODER]) == ((ENCODER, DECODER), (OTHER,))


def test_one_command_that_makes_two_graphs_is_one_action_with_two_outputs():
    action = export([ENCODER, DECODER], name="export/m")

    assert action.outputs == ("encoder", "decoder")
    assert action.params["makes"] == {"encoder": "encoder.onnx", "decoder": "decoder.onnx"}


def test_one_file_is_the_output_model_so_that_the_graphs_name_is_not_in_the_key():
    action = export([OTHER], name="export/m")

    assert action.outputs == ("model",)
    assert export_output(OTHER, [OTHER]) == "model"


def test_two_graphs_with_one_file_share_the_output():
    again = Graph(name="again", source=ENCODER.source)
    graphs = [ENCODER, again, DECODER]

    assert export(graphs, name="export/m").outputs == ("encoder", "decoder")
    assert [export_output(graph, graphs) for graph in graphs] == ["encoder", "encoder", "decoder"]


def test_graphs_of_different_commands_are_no_action():
    with pytest.raises(ValueError, match="not made by one command"):
        export([ENCODER, OTHER], name="export/m")


def test_needs_and_requirements_are_inputs_by_content():
    graph = Graph(name="m", source=source(requirements="r/req.txt"))

    action = export([graph], name="export/m")

    assert action.inputs == {
        "needs": SourceFiles(patterns=("r/export.py",)),
        "requirements": SourceFiles(patterns=("r/req.txt",)),
    }
    assert action.tools == ("python", "package:onnx", "package:protobuf")
    assert "QNNBUILD_ENVS" in action.passes


def test_without_requirements_all_packages_are_in_the_key_and_nothing_is_let_through():
    action = export([OTHER], name="export/m")

    assert action.tools == ("python", "packages")
    assert action.passes == ()


def test_the_place_of_the_source_is_kept():
    at = Span(file="x.yaml", line=1, column=1)

    assert export([Graph(name="m", source=source(span=at))], name="e").places == {"source": at}


def test_what_stands_below_export_is_the_sources_and_the_inputs_are_called_after_it():
    lines = {"source.export.needs": 4, "source.export.requirements": 5, "source.export.makes": 6}
    at = {place: Span(file="x.yaml", line=line, column=5) for place, line in lines.items()}
    action = export([Graph(name="m", source=source(), places=at)], name="e")
    found = {place: span.line for place, span in action.places.items()}

    assert found == {
        **lines,
        "needs": 4,
        "source.needs": 4,
        "requirements": 5,
        "source.requirements": 5,
        "source.makes": 6,
    }


def test_the_longest_deadline_of_its_graphs_counts_for_an_export():
    graphs = [Graph(name=n, source=source(), deadline_s=s) for n, s in (("a", 60), ("b", 9000))]

    assert export(graphs, name="e").deadline_s == 9000
    assert export(graphs[:1], name="e").deadline_s == 3600


def test_more_files_of_the_command_are_one_more_output_and_in_the_key_only_where_asked_for():
    more = Graph(name="other", source=source("other.onnx", also=("tokens.txt", "raw/*")))

    action = export([ENCODER, more], name="export/m")

    assert action.outputs == ("encoder", "other", "_also")
    assert action.params["also"] == ["raw/*", "tokens.txt"]
    assert "also" not in export([ENCODER], name="export/m").params


def test_graphs_of_one_command_may_ask_for_different_files():
    more = Graph(name="other", source=source("other.onnx", also=("tokens.txt",)))

    assert together([ENCODER, more]) == ((ENCODER, more),)
