"""skeleton: what qnn-op-package-generator makes of the definition of operators of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from qnnbuild.errors import did_you_mean
from qnnbuild.work.qairt_sdk import HOST, Ended, run_tool, sdk_here
from qnnbuild.work.run import Run, WorkError

TOOL = ("{python}", f"{{sdk}}/bin/{HOST}/qnn-op-package-generator")
OPS = "src/ops"
FOLDER = Path("generated")
CONVERTER = "_Converter_Op_Package"
CONVERTER_SOURCE = "ConverterOpPackage/ConverterOpPackage.cpp"


def skeleton(run: Run) -> None:
    """Input "xml" → output "skeleton": one folder, called like the package.

    With `converter` a second one, which makes what tells the SDK's converter shapes.
    `params`: xml (its path), ops (those that the recipe means to be in it), at (where it says so).
    """
    _check_is_here(run)
    argv = [*TOOL, "-p", f"{{in.xml}}/{run.params['xml']}", "-o", FOLDER.as_posix()]
    argv += ["--converter_op_package"] if run.params.get("converter") else []
    ended = run_tool(run, sdk_here(), argv)
    folder = package_folder(FOLDER, ended)
    made = sorted(path.stem for path in (folder / OPS).glob("*.cpp"))
    for op in run.params["ops"]:
        if op not in made:
            raise ended.failure(
                f"'{Path(run.params['xml']).name}' does not define the operator '{op}'",
                facts=[("it defines", ", ".join(made) or "nothing")],
                hint=did_you_mean(op, made),
                place=f"{run.params['at']}.xml",
                exit_code=2,
            )
    shutil.copytree(folder, run.outputs["skeleton"] / folder.name)
    if run.params.get("converter"):
        beside = folder.with_name(f"{folder.name}{CONVERTER}")
        if not (beside / CONVERTER_SOURCE).is_file():
            raise ended.failure(f"qnn-op-package-generator ended well and made no {beside.name}")
        shutil.copytree(beside, run.outputs["skeleton"] / beside.name)


def package_folder(parent: Path, ended: Ended | None = None) -> Path:
    """The only folder below `parent` that has sources of operators."""
    found = [path.parents[1] for path in _operators(parent)]
    if len(found) == 1:
        return found[0]
    message = f"qnn-op-package-generator ended well and made {len(found)} packages"
    raise ended.failure(message) if ended else WorkError(message)


def _operators(parent: Path) -> Iterator[Path]:
    yield from (path for path in sorted(parent.glob(f"*/{OPS}")) if path.is_dir())


def _check_is_here(run: Run) -> None:
    if not (run.inputs["xml"] / run.params["xml"]).is_file():
        raise WorkError(f"'{run.params['xml']}' is no file", place="op_packages", exit_code=2)
