"""on-device: a folder with all that runs one binary of Qualcomm's SDK on a phone, and judges it.

What only the phone can tell is asked there: the very binary that ships, the libraries of the very
SDK that compiled it, the inputs that the build's verify takes, and what the original answers.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qnnbuild import errors
from qnnbuild.digest import digest_file
from qnnbuild.formats.context_json import BorderTensor
from qnnbuild.work import arrays, bars, measures, npz, numbers, run_on_phone
from qnnbuild.work import run as running
from qnnbuild.work import verdict as judging
from qnnbuild.work.arrays import array_files
from qnnbuild.work.npz import read_npz
from qnnbuild.work.qairt_context import NOT_TAKEN
from qnnbuild.work.qairt_sdk import sdk_here
from qnnbuild.work.qairt_tensors import Border, inputs_of, outputs_of
from qnnbuild.work.reference import REFERENCE
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.verify_qairt import FAILED, by_name, facts_of, kept, shapes_of, write_inputs

PROGRAM = "run_on_phone.py"
JUDGE = (errors, arrays, bars, measures, npz, numbers, running, judging)
"""Modules of the build that compare and judge. They need numpy alone, and are part of the key."""

INPUT_LIST, OUTER, INNER = "input_list.txt", "htp_backend_extensions.json", "htp_config.json"
EXTENSIONS = "libQnnHtpNetRunExtensions.so"
SKIPPED = "__"


def folder(run: Run) -> None:
    """Inputs "context", "facts", "samples", "reference" (and "recorded", "packages") → "folder".

    `params`: what verify has; chip, files (of the SDK), folder (on the phone), device (what the HTP
    is told there), verdict (params of the verdict's work), model.
    """
    out = run.outputs["folder"]
    facts = facts_of(run, _binary(run))
    pushed = [*_sdk_files(run, out), *_packages(run, out)]
    shutil.copyfile(_binary(run), out / _binary(run).name)
    pushed.append(_binary(run).name)
    inputs, outputs = _borders(run, facts)
    pushed += _inputs(run, out, inputs)
    pushed += _settings(run, out, facts)
    _expected(run, out)
    _judge(out)
    told = _told(run, facts, outputs)
    told["command"] = _command(run, facts, pushed)
    told["files"] = {name: digest_file(out / name) for name in pushed}
    text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True)
    (out / "phone.json").write_text(text + "\n", encoding="utf-8")
    (out / "README.md").write_text(_readme(told), encoding="utf-8")


def _binary(run: Run) -> Path:
    told = run.inputs["facts"] / f"{run.params['stem']}.json"
    files: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))["files"]
    return run.inputs["context"] / next(name for name in files if name.endswith(".bin"))


def _sdk_files(run: Run, out: Path) -> list[str]:
    root = sdk_here().root
    names = []
    for name in run.params["files"]:
        path = out / Path(name).name
        shutil.copyfile(root / name, path)
        names.append(path.name)
    return names


def _packages(run: Run, out: Path) -> list[str]:
    """Libraries of the user's own operators, as they lie in a bundle."""
    names = set()
    for source in (folder for name, folder in run.inputs.items() if name.startswith("packages")):
        for path in (path for path in source.rglob("*") if path.is_file()):
            name = path.relative_to(source).as_posix()
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / name)
            names.add(name)
    return sorted(names)


def _borders(run: Run, facts: Mapping[str, Any]) -> tuple[list[Border], list[Border]]:
    sample = read_npz(array_files(run.inputs["samples"])[0])
    told = [
        [
            BorderTensor(
                name=one["name"],
                dtype=one["dtype"],
                shape=tuple(one["shape"]),
                scale=one.get("scale"),
                offset=one.get("offset"),
            )
            for one in facts[way]
        ]
        for way in ("inputs", "outputs")
    ]
    stays = kept(run.params)
    return (
        inputs_of(sample, told[0], by_name(facts["inputs"]), stays),
        outputs_of(shapes_of(run, _said(run)), told[1], by_name(facts["outputs"]), stays),
    )


def _said(run: Run) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(
        (run.inputs["reference"] / REFERENCE).read_text(encoding="utf-8")
    )
    return said


def _inputs(run: Run, out: Path, borders: list[Border]) -> list[str]:
    """Raw files, and the list with the places that they have on the phone."""
    samples = [read_npz(file) for file in array_files(run.inputs["samples"])]
    lines = write_inputs(out / "inputs", samples, borders, f"{run.params['folder']}/inputs")
    (out / INPUT_LIST).write_text("".join(lines), encoding="utf-8", newline="\n")
    files = sorted(path.name for path in (out / "inputs").iterdir())
    return [INPUT_LIST, *(f"inputs/{name}" for name in files)]


def _settings(run: Run, out: Path, facts: Mapping[str, Any]) -> list[str]:
    """How the HTP runs it: the recipe's own words for an app. None where it says nothing."""
    device = run.params["device"]
    around = dict(device.get("extensions", {}))
    for entry in around.get("graph_configs", ()):
        entry["graph_name"] = facts["graph"]
    if not device["htp"] and not around:
        return []
    outer = {
        "backend_extensions": {
            "shared_library_path": f"./{EXTENSIONS}",
            "config_file_path": f"{run.params['folder']}/{INNER}",
        },
        **around,
    }
    for name, said in ((INNER, device["htp"]), (OUTER, outer)):
        (out / name).write_text(json.dumps(said, indent=4) + "\n", encoding="utf-8")
    return [INNER, OUTER]


def _command(run: Run, facts: Mapping[str, Any], pushed: list[str]) -> str:
    """Several graphs of one binary each want a list, or the word for none."""
    folder = run.params["folder"]
    folders = [folder, *sorted({f"{folder}/{Path(n).parent}" for n in pushed if _is_own(n)})]
    names = facts["graphs_in_binary"]
    lists = [INPUT_LIST if name == facts["graph"] else SKIPPED for name in names]
    argv = ["./qnn-net-run", "--backend", "./libQnnHtp.so"]
    argv += ["--retrieve_context", f"./{_binary(run).name}"]
    argv += ["--input_list", ",".join(lists), "--output_dir", "results"]
    argv += ["--config_file", OUTER] if OUTER in pushed else []
    argv += ["--use_native_input_files", "--use_native_output_files"]
    if packages := run.params["device"].get("op_packages"):
        argv += ["--op_packages", packages]
    found = {"LD_LIBRARY_PATH": ":".join(folders), "ADSP_LIBRARY_PATH": ";".join(folders)}
    marks = {"LD_LIBRARY_PATH": ":", "ADSP_LIBRARY_PATH": ";"}
    exports = [
        f'export {name}="{value}${{{name}:+{marks[name]}${name}}}"' for name, value in found.items()
    ]
    return " && ".join([f"cd {folder}", *exports, shlex.join(argv)]) + '; echo "ended with $?"'


def _is_own(name: str) -> bool:
    return "/" in name and not name.startswith("inputs/")


def _expected(run: Run, out: Path) -> None:
    for given, name in (("reference", "expected"), ("recorded", "recorded")):
        files = array_files(run.inputs[given]) if given in run.inputs else []
        for file in files:
            (out / name).mkdir(exist_ok=True)
            shutil.copyfile(file, out / name / file.name)


def _judge(out: Path) -> None:
    judge = out / "judge"
    for module in JUDGE:
        path = judge.joinpath(*module.__name__.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        shutil.copyfile(str(module.__file__), path)
    (judge / "qnnbuild" / "__init__.py").touch()
    shutil.copyfile(run_on_phone.__file__, out / PROGRAM)


def _told(run: Run, facts: Mapping[str, Any], outputs: list[Border]) -> dict[str, Any]:
    """phone.json: what the program has to know."""
    said, params = _said(run), run.params
    files = array_files(run.inputs["reference"])
    known = read_npz(files[0]) if files else {}
    skel = next((Path(n).name for n in params["files"] if "Skel" in n), None)
    if skel is None:
        raise WorkError(f"the SDK has no skel for HTP v{params['arch']}", place="toolchain")
    return {
        "model": params["model"],
        "graph": params["graph"],
        "inner": facts["graph"],
        "chip": params["chip"],
        "folder": params["folder"],
        "skel": skel,
        "failures": [*FAILED, *NOT_TAKEN],
        "samples": len(array_files(run.inputs["samples"])),
        "verdict": params["verdict"],
        "numbers": {
            "graph": params["graph"],
            "chip": {"soc_model": params["soc_model"], "soc_type": None, "arch": params["arch"]},
            "sdk_build": facts["sdk_build"],
            "binary": {name: told["digest"] for name, told in facts["files"].items()},
            "samples": len(array_files(run.inputs["samples"])),
            "compared_with": said["compared_with"],
            "why_not": said["why_not"],
        },
        "outputs": [
            {
                **facts_of_tensor(border),
                "kind": said["outputs"][border.name],
                "as": _as(said["outputs"][border.name], known.get(border.name)),
            }
            for border in outputs
        ],
    }


def facts_of_tensor(border: Border) -> dict[str, Any]:
    tensor = border.tensor
    return {
        "name": border.name,
        "tensor": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "scale": tensor.scale,
        "offset": tensor.offset,
        "order": list(border.order),
    }


def _as(kind: Mapping[str, Any], known: Any) -> str | None:
    """The original's type of a whole number: int64 is int32 in the binary."""
    return known.dtype.name if kind["kind"] == "exact" and known is not None else None


def _readme(told: Mapping[str, Any]) -> str:
    return f"""\
# {told["model"]}: {told["graph"]} on a phone with {told["chip"]}

    python run_on_phone.py

It pushes {len(told["files"])} files to `{told["folder"]}` with adb, runs them there with
`qnn-net-run`, and compares the answers with those of the original model, which are in
`expected/`, by the measures and bars of the build, which are in `judge/`. It tells the verdict and
ends with 0 when all bars hold, with 1 when one does not, and with 3 when there is no bar that it
could be held against. It needs Python 3.11, numpy and adb; `--help` tells
more. By hand, once the files are there:

    adb shell {shlex.quote(told["command"])}

**Not to be passed on.** `qnn-net-run` and the libraries `lib*.so` are parts of Qualcomm's SDK
({told["numbers"]["sdk_build"]}), whose licence decides who may have them. They are here for your
own phone, and this folder is in no list of what is published.
"""
