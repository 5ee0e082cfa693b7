"""The user's own command, run as the engine runs it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from tests.e2e.local import Said, run_entry
from tests.models import scale_bytes, scale_model, write_with_side_file

COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


def export(
    folder: Path,
    run: list[str],
    needs: Mapping[str, bytes] | None = None,
    *,
    makes: Mapping[str, str] | None = None,
    requirements: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Said:
    makes = makes or {"model": "m.onnx"}
    for name, data in (needs or {}).items():
        path = folder / "in" / "needs" / "recipes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if requirements is not None:
        (folder / "in" / "requirements").mkdir(parents=True)
        (folder / "in" / "requirements" / "req.txt").write_text(requirements)
    params: dict[str, Any] = {"run": run, "folder": "recipes", "makes": makes}
    inputs = (
        *(["needs"] if needs else []),
        *(["requirements"] if requirements is not None else []),
    )
    return run_entry(
        folder,
        "qnnbuild.work.export:export",
        params,
        inputs=inputs,
        outputs=tuple(makes),
        env=env,
    )


def test_the_command_runs_in_the_recipes_folder_with_its_files(tmp_path):
    needs = {"export.py": COPY.encode(), "weights/w.onnx": scale_bytes()}

    said = export(tmp_path / "run", ["python", "export.py", "weights/w.onnx", "m.onnx"], needs)

    assert said.message is None, said.log
    assert said.made() == ["model/model.onnx"]
    assert said.read("model/model.onnx") == scale_bytes()


def test_side_files_come_along_and_other_products_do_not(tmp_path):
    write_with_side_file(tmp_path / "m", side="w/m.data")
    needs = {"a/m.onnx": (tmp_path / "m/m.onnx").read_bytes(), "a/w/m.data": bytes(256)}
    copy = "import shutil; shutil.copytree('a', 'b'); open('b/notes.txt', 'w').close()"

    said = export(tmp_path / "run", ["python", "-c", copy], needs, makes={"model": "b/m.onnx"})

    assert said.message is None, said.log
    assert said.made() == ["model/model.onnx", "model/w/m.data"]


def test_one_run_makes_several_graphs(tmp_path):
    needs = {"e.onnx": scale_bytes(1.0), "d.onnx": scale_bytes(2.0)}

    said = export(
        tmp_path / "run",
        ["python", "-c", "print('nothing to do')"],
        needs,
        makes={"encoder": "e.onnx", "decoder": "d.onnx"},
    )

    assert said.read("encoder/model.onnx") == scale_bytes(1.0)
    assert said.read("decoder/model.onnx") == scale_bytes(2.0)


def test_the_command_has_a_fixed_environment(tmp_path):
    tell = "import os, sys; print('SEES', sorted(os.environ), os.listdir(os.environ['HOME']))"

    said = export(
        tmp_path / "run",
        ["python", "-c", tell],
        {"m.onnx": scale_bytes()},
        env={"PIP_INDEX_URL": "https://me:secret@example.org", "EDITOR": "ed"},
    )

    assert (
        "SEES ['HOME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED', "
        "'PYTHONNOUSERSITE', 'SOURCE_DATE_EPOCH', 'TMPDIR'] []"
    ) in said.log


def test_a_command_that_fails_is_told_with_its_last_lines(tmp_path):
    fails = (
        "import sys; print('loading', flush=True); "
        "print('no such layer: 7', file=sys.stderr); sys.exit(3)"
    )

    said = export(tmp_path / "run", ["python", "-c", fails])

    assert said.message == "the export command ended with exit code 3"
    assert said.place == "source"
    assert said.facts[1:] == [("says", "loading"), ("says", "no such layer: 7")]
    assert said.hint == "its whole output is in the log"


def test_a_file_that_is_not_in_needs_is_not_there(tmp_path):
    said = export(tmp_path / "run", ["python", "export.py"])

    assert said.message == "the export command ended with exit code 2"
    assert said.hint == "the command sees only the files in `needs`, below the recipe's folder"


def test_a_program_that_is_not_there_is_told(tmp_path):
    said = export(tmp_path / "run", ["no-such-exporter", "m"])

    assert said.message == (
        "the export command cannot start: No such file or directory: 'no-such-exporter'"
    )


def test_a_script_of_the_repo_can_be_run(tmp_path):
    script = b"#!/bin/sh\ncp w.onnx m.onnx\n"

    said = export(tmp_path / "run", ["./make.sh"], {"make.sh": script, "w.onnx": scale_bytes()})

    assert said.read("model/model.onnx") == scale_bytes()


def test_a_product_under_another_name_is_pointed_at(tmp_path):
    needs = {"w.onnx": scale_bytes()}

    said = export(
        tmp_path / "run",
        ["python", "-c", "import os; os.mkdir('out'); os.link('w.onnx', 'out/m.onnx')"],
        needs,
    )

    assert said.message == "the export command did not make 'm.onnx'"
    assert said.place == "source.makes"
    assert said.facts == [("made", "out/m.onnx")]
    assert said.hint == "did you mean 'out/m.onnx'?"


def test_a_product_that_is_no_onnx_is_told(tmp_path):
    write = "open('m.onnx', 'wb').write(b'PK\\x03\\x04 archive/data.pkl' + bytes(30))"

    said = export(tmp_path / "run", ["python", "-c", write])

    assert said.message == "'m.onnx' is a PyTorch checkpoint, not an ONNX file"


def test_remarks_that_name_a_folder_of_this_machine_are_dropped(tmp_path):
    remark = (
        "import os, onnx; m = onnx.load('w.onnx'); n = m.graph.node[0]; "
        "n.doc_string = os.getcwd() + '/net.py'; p = n.metadata_props.add(); p.key = 'from'; "
        "p.value = onnx.__file__; q = m.metadata_props.add(); q.key = 'rate'; q.value = '16000'; "
        "onnx.save(m, 'm.onnx')"
    )

    said = export(tmp_path / "run", ["python", "-c", remark], {"w.onnx": scale_bytes()})
    model = onnx.load_from_string(said.read("model/model.onnx"))

    expected = scale_model()
    onnx.helper.set_model_props(expected, {"rate": "16000"})
    assert said.warnings == []
    assert model == expected


def test_a_name_with_a_folder_of_this_machine_is_warned_of(tmp_path):
    rename = (
        "import os, onnx; m = onnx.load('w.onnx'); m.graph.node[0].name = os.getcwd(); "
        "onnx.save(m, 'm.onnx')"
    )

    said = export(tmp_path / "run", ["python", "-c", rename], {"w.onnx": scale_bytes()})

    assert said.warnings == [
        "'m.onnx' names a folder of this machine: another one will make other bytes"
    ]


# --- requirements ---------------------------------------------------------------------------


def make_wheel(folder: Path, name: str, needs: str = "") -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "WORD = 'from the wheel'\n")
        wheel.writestr(
            f"{info}/METADATA", metadata + (f"Requires-Dist: {needs}\n" if needs else "")
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def with_requirements(tmp_path: Path, run: str, requirements: str, code: str) -> Said:
    return export(
        tmp_path / run,
        ["python", "-c", code],
        {"m.onnx": scale_bytes()},
        requirements=requirements,
        env={
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(tmp_path / "links"),
            "PIP_USER": "1",
            "QNNBUILD_ENVS": str(tmp_path / "envs"),
        },
    )


def test_an_environment_has_what_is_listed_and_nothing_else_and_is_made_once(tmp_path):
    make_wheel(tmp_path / "links", "tiny")
    code = "import importlib.util as u, tiny; print('SEES', tiny.WORD, u.find_spec('onnx'))"

    one = with_requirements(tmp_path, "one", "tiny==1.0\n", code)
    two = with_requirements(tmp_path, "two", "# the same\ntiny==1.0", code)

    assert one.message is None, one.log
    assert "SEES from the wheel None" in one.log
    assert "Installing" in one.log
    assert "Installing" not in two.log
    assert "SEES from the wheel None" in two.log
    assert len([p for p in (tmp_path / "envs").iterdir() if p.is_dir()]) == 1


def test_no_requirements_at_all_is_an_environment_with_nothing(tmp_path):
    code = "import importlib.util as u; print('SEES', u.find_spec('numpy'))"

    said = with_requirements(tmp_path, "run", "", code)

    assert "SEES None" in said.log


def test_a_package_that_is_needed_and_not_listed_is_an_error(tmp_path):
    make_wheel(tmp_path / "links", "tiny", needs="small")

    said = with_requirements(tmp_path, "run", "tiny==1.0", "pass")

    assert said.message == "the requirements do not list all that they need"
    assert said.facts == [("pip check", "tiny 1.0 requires small, which is not installed.")]
    assert [p for p in (tmp_path / "envs").iterdir() if p.is_dir()] == []


def test_versions_that_do_not_fit_are_warned_of_each_time(tmp_path):
    make_wheel(tmp_path / "links", "tiny", needs="small>2")
    make_wheel(tmp_path / "links", "small")
    wanted = ["tiny 1.0 has requirement small>2, but you have small 1.0."]

    one = with_requirements(tmp_path, "one", "tiny==1.0\nsmall==1.0", "pass")
    two = with_requirements(tmp_path, "two", "tiny==1.0\nsmall==1.0", "pass")

    assert one.warnings == two.warnings == wanted


def test_a_package_that_the_index_does_not_have_is_told_in_pips_words(tmp_path):
    make_wheel(tmp_path / "links", "tiny")

    said = with_requirements(tmp_path, "run", "tiny==2.0", "pass")

    assert said.message == "pip cannot install the requirements"
    assert said.place == "source.requirements"
    assert ("pip", "No matching distribution found for tiny==2.0") in said.facts


def test_an_import_that_is_not_listed_gets_a_hint(tmp_path):
    said = with_requirements(tmp_path, "run", "", "import torch")

    assert said.message == "the export command ended with exit code 1"
    assert said.hint == ("name the packages that it imports in `requirements`, with their versions")


def test_an_environment_whose_python_is_gone_is_made_again(tmp_path):
    make_wheel(tmp_path / "links", "tiny")
    with_requirements(tmp_path, "one", "tiny==1.0", "import tiny")
    (folder,) = (p for p in (tmp_path / "envs").iterdir() if p.is_dir())
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").symlink_to(tmp_path / "gone")

    said = with_requirements(tmp_path, "two", "tiny==1.0", "import tiny")

    assert said.message is None, said.log
