"""One of Qualcomm's tools is run: where it is, its surroundings, and what is told when it fails.

The environment is what the SDK's envsetup.sh would make of an empty one. Nothing of it is in a key:
the SDK counts by what it is, wherever it lies.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qnnbuild.formats.sdk_yaml import sdk_version
from qnnbuild.work.of_machine import MachineError, kind_of
from qnnbuild.work.qairt_hints import hint_of, told_lines
from qnnbuild.work.run import Run, WorkError

VARIABLE = "QNNBUILD_SDK_"
"""Begins the name of the variable with the SDK's place: JSON with root, python, ndk and hexagon."""

HOST = "x86_64-linux-clang"
HOST_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Where clang++, make and objcopy are looked for in the end."""

LAST_LINES = 15
BEFORE = ("qnnbuild shell {action}", "./again")
"""A tool works among files that the action makes: so it is done first, in a folder like its own."""

USUAL_HINT = "the lines under 'by hand' repeat it, in a folder with its inputs"
TOLD = (
    *("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "QNN_SDK_ROOT", "LDFLAGS"),
    *("HEXAGON_SDK_ROOT", "ANDROID_NDK_ROOT"),
)
"""What of the environment a command by hand needs."""


@dataclass(frozen=True, kw_only=True)
class Sdk:
    root: Path
    python: Path
    ndk: Path | None
    hexagon: Path | None = None
    cross: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each further system the folders of a compiler, by the variables that name them."""

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        root = self.root
        libraries = [str(root / "lib" / HOST), *_python_library(self.python)]
        return {
            "PATH": search_path(root, self.python, self.ndk),
            "LD_LIBRARY_PATH": ":".join(libraries),
            "PYTHONPATH": f"{root}/lib/python/:{root}/benchmarks/QNN/",
            "QNN_SDK_ROOT": str(root),
            "QAIRT_SDK_ROOT": str(root),
            "SNPE_ROOT": str(root),
            **({"ANDROID_NDK_ROOT": str(self.ndk)} if self.ndk else {}),
            **({"HEXAGON_SDK_ROOT": str(self.hexagon)} if self.hexagon else {}),
            "HOME": str(Path("home").resolve()),
            "TMPDIR": str(Path("tmp").resolve()),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **(more or {}),
        }


def search_path(root: Path | None, python: Path | None, ndk: Path | None) -> str:
    """Where an action finds programs; what is measured of them is looked for here, too."""
    folders = [root and root / "bin" / HOST, python and python.parent, ndk]
    return ":".join([*(str(folder) for folder in folders if folder), *HOST_PATH])


def sdk_here(environ: Mapping[str, str] = os.environ) -> Sdk:
    """The SDK that the build gave this action."""
    told = next((value for name, value in environ.items() if name.startswith(VARIABLE)), None)
    if told is None:
        raise MachineError("this action was given no SDK", place="toolchain")
    given = json.loads(told)
    ndk, hexagon = given["ndk"], given.get("hexagon")
    return Sdk(
        root=Path(given["root"]),
        python=Path(given["python"]),
        ndk=Path(ndk) if ndk else None,
        hexagon=Path(hexagon) if hexagon else None,
        cross=given.get("cross", {}),
    )


def version_of(sdk: Sdk) -> str:
    return sdk_version((sdk.root / "sdk.yaml").read_text(encoding="utf-8", errors="replace"))


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a tool ended, and all that it said. `code` is negative for a signal."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    code: int
    lines: tuple[str, ...]
    told: tuple[str, ...] = TOLD  # what of `env` a command by hand needs

    def failure(
        self,
        message: str,
        *,
        facts: Sequence[tuple[str, str]] = (),
        hint: str | None = None,
        place: str = "graph",
        exit_code: int = 4,
    ) -> WorkError:
        """With the tool's own last lines, and what repeats it, to be pasted into a shell."""
        said = told_lines(self.lines)
        return kind_of(self.code, said)(
            message,
            place=place,
            facts=[
                *facts,
                *([("last lines", "\n".join(said[-LAST_LINES:]))] if said else []),
                ("by hand", "\n".join([*BEFORE, self.command])),
            ],
            hint=hint or hint_of(said) or USUAL_HINT,
            exit_code=exit_code,
        )

    @property
    def command(self) -> str:
        variables = [
            f"{name}={shlex.quote(self.env[name])}" for name in self.told if name in self.env
        ]
        return " ".join([*variables, shlex.join(self.argv)])

    @property
    def how(self) -> str:
        return f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


def run_tool(
    run: Run, sdk: Sdk, argv: Sequence[str], *, more: Mapping[str, str] | None = None
) -> Ended:
    """Run to the end, which must be exit code 0; its output goes to our own."""
    filled = tuple(_filled(word, run, sdk) for word in argv)
    env = sdk.environment(more)
    told = tuple(dict.fromkeys((*TOLD, *(more or {}))))
    name = _name(filled)
    try:
        code, lines = _run(filled, env)
    except OSError as error:
        raise Ended(argv=filled, env=env, code=127, lines=(), told=told).failure(
            f"{name} cannot be started: {error.strerror}",
            hint=f"chmod +x {filled[0]}" if isinstance(error, PermissionError) else None,
        ) from None
    ended = Ended(argv=filled, env=env, code=code, lines=tuple(lines), told=told)
    if ended.code:
        raise ended.failure(f"{name} failed with {ended.how}")
    return ended


def _run(argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, list[str]]:
    lines: list[str] = []
    with subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                sys.stdout.write(line)
                lines.append(line.rstrip())
        except BaseException:
            process.kill()  # else it would be waited for
            raise
    sys.stdout.flush()
    return process.returncode, lines


def _name(argv: Sequence[str]) -> str:
    tool = argv[1] if Path(argv[0]).name.startswith("python") and len(argv) > 1 else argv[0]
    return Path(tool).name


def _filled(word: str, run: Run, sdk: Sdk) -> str:
    for kind, folders in (("in", run.inputs), ("out", run.outputs)):
        for name, folder in folders.items():
            word = word.replace(f"{{{kind}.{name}}}", folder.as_posix())
    return word.replace("{sdk}", str(sdk.root)).replace("{python}", str(sdk.python))


def _python_library(python: Path) -> Iterator[str]:
    """Where libpython is, which the converters' own libraries load; /usr/lib is found anyway."""
    folder = python.resolve().parent.parent / "lib"
    if any(folder.glob("libpython3*.so*")) and folder != Path("/usr/lib"):
        yield str(folder)
