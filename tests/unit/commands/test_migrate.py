"""qnnbuild migrate: files that are at hand, repos that are there, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from qnnbuild import cli
from qnnbuild.session import open_session
from qnnbuild.toolchains.qairt_options import HTP, given
from tests.graphs import model

SCRIPT = """\
qnn-onnx-converter --input_network ../models/$m.onnx --output_path $m.cpp --input_list list.txt \\
  --use_native_input_files --act_bitwidth 16 --bias_bitwidth 32
qnn-context-binary-generator --backend libQnnHtp.so --model lib$m.so --config_file htp.json
"""
SETTINGS = "toolchains: {qairt-2.45: {root: sdk, ndk: ndk}}\n"
OLIVE = {
    "input_model": {"type": "OnnxModel", "model_path": "../models/net.onnx"},
    "passes": {"f": {"type": "DynamicToFixedShape", "dim_param": ["batch"], "dim_value": [4]}},
}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repo with a model, a script, and what the script names."""
    (tmp_path / "models").mkdir()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "qnnbuild.yaml").write_text(SETTINGS)
    net = model("g (float[batch, 4] x) => (float[batch, 4] y) { y = Relu (x) }")
    onnx.save(net, tmp_path / "models" / "net.onnx")
    (tmp_path / "scripts" / "build.sh").write_text(SCRIPT)
    (tmp_path / "scripts" / "list.txt").write_text("x.raw\n")
    device = {"soc_model": 69, "cores": [{"perf_profile": "burst"}]}
    (tmp_path / "scripts" / "htp.json").write_text(
        json.dumps({"graphs": [{"vtcm_mb": 8, "O": 2}], "devices": [device]})
    )
    (tmp_path / "scripts" / "olive.json").write_text(json.dumps(OLIVE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def migrate(*words: str) -> int:
    return cli.main(["migrate", *words])


def test_files_of_the_repo_are_named_where_they_lie(repo: Path) -> None:
    code = migrate("scripts/build.sh", "--set", "m=net")
    text = (repo / "recipes" / "build.yaml").read_text()
    (target,) = open_session(repo).targets

    assert code == 0
    assert "source: {file: ../models/net.onnx}" in text
    assert "calibration: ../scripts/list.txt" in text
    assert "put the ONNX file there" not in text
    assert (target.chip.name, target.toolchain) == ("SM8750", "qairt-2.45")
    assert given(target.graphs[0], HTP) == {"O": 2, "perf_profile": "burst"}


def test_an_open_dimension_gets_its_size_where_the_model_is_at_hand(repo: Path) -> None:
    code = migrate("scripts/olive.json", "--chips", "SM8650")
    (target,) = open_session(repo).targets
    (graph,) = target.graphs

    assert code == 0
    assert (target.toolchain, graph.inputs["x"].shape) == ("ort", (4, 4))


def test_several_files_with_a_name_are_one_model(repo: Path) -> None:
    (repo / "scripts" / "more.sh").write_text(SCRIPT.replace("$m", "other"))
    code = migrate("scripts/build.sh", "scripts/more.sh", "--name", "both", "--set", "m=net")
    (target,) = open_session(repo).targets

    assert code == 0
    assert (target.model, [graph.name for graph in target.graphs]) == ("both", ["net", "other"])


def test_a_recipe_that_is_there_stays(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = [migrate("scripts/build.sh", "--set", "m=net", "--chips", chip) for chip in CHIPS]

    assert codes == [0, 2]
    assert "build.yaml is there already" in capsys.readouterr().err
    assert "chips: [SM8550]" in (repo / "recipes" / "build.yaml").read_text()


CHIPS = ("SM8550", "SM8650")


def test_mistakes_of_the_new_recipe_are_told_as_check_tells_them(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCRIPT.replace("--input_list list.txt", "").replace("--use_native_input_files", "")
    (repo / "scripts" / "build.sh").write_text(text)
    code = migrate("scripts/build.sh", "--set", "m=net", "--chips", "SM7325")

    assert code == 2
    assert "cannot be fp32 on SM7325: it has no fp16" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scripts/htp.json",), "it is no file of Olive"),
        (("scripts/list.txt",), "no call of qnn-onnx-converter and no model of Olive were found"),
        (("scripts",), "a folder, no script"),
        (("scripts/build.sh", "--set", "m"), "--set m: there is no '='"),
        (("scripts/build.sh", "scripts/olive.json", "--name", "x"), "a model of their own"),
    ],
)
def test_what_is_no_script_is_refused_and_nothing_is_written(
    words: tuple[str, ...], said: str, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = migrate(*words)

    assert code in (2, 3)
    assert said in capsys.readouterr().err
    assert not (repo / "recipes").exists()
