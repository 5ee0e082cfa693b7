"""The SDK's folder: its files, its environment, and what the loader needs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from qnnbuild.formats.elf_file import read_elf
from tests.standin import lay_out
from tests.standin.lay_out import HOST, NEW, OLD, turn
from tests.standin.running import Sdk, sdk

COMPILED = sorted(lay_out.COMPILED_TOOLS)
FIVE = ("QNN_SDK_ROOT", "SNPE_ROOT", "QAIRT_SDK_ROOT", "LD_LIBRARY_PATH", "PYTHONPATH")


@pytest.mark.parametrize(("version", "short"), [(OLD, "2.40.0"), (NEW, "2.49.0")])
def test_sdk_yaml_says_the_version_as_onnx_runtime_reads_it(tmp_path, version, short):
    root = lay_out.lay_out(tmp_path, version)

    text = (root / "sdk.yaml").read_text()
    found = re.search(r"(^|\n)version: ([0-9]+\.[0-9]+\.[0-9]+)", text)
    assert root == tmp_path / "qairt" / version
    assert found is not None
    assert found.group(2) == short


def test_the_tools_are_programs_without_a_suffix(made: Sdk):
    tools = {path.name: os.access(path, os.X_OK) for path in (made.root / "bin" / HOST).iterdir()}

    tools.pop("clang++", None)  # there where the system has none
    assert tools == dict.fromkeys([*lay_out.PYTHON_TOOLS, *lay_out.COMPILED_TOOLS], True)


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        (f"{HOST}/libQnnHtp.so", "x86-64"),
        ("aarch64-android/libQnnHtpV79Stub.so", "arm64"),
        ("../bin/aarch64-android/qnn-net-run", "arm64"),
        ("hexagon-v81/unsigned/libQnnHtpV81Skel.so", "Hexagon"),
    ],
)
def test_the_libraries_are_elf_files_of_their_machine(made: Sdk, name, machine):
    data = (made.root / "lib" / name).read_bytes()

    assert read_elf(data).machine == machine
    assert b"qaisw-v2.40.0.251030114326_189385" in data


def test_a_system_without_clang_builds_with_the_compiler_that_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(lay_out, "SYSTEM_PATH", str(tmp_path))
    if missing := lay_out.missing_programs():
        pytest.skip(f"not on this machine: {missing}")
    tools = sdk(tmp_path)

    assert (tools.root / "bin" / HOST / "clang++").read_text().startswith("#!/bin/sh\nexec /")
    assert tools.convert().rc == 0
    assert tools.library().rc == 0


@pytest.mark.parametrize("tool", COMPILED)
def test_a_compiled_tool_does_not_start_without_its_libraries(tools: Sdk, tool):
    env = {name: value for name, value in tools.env.items() if name != "LD_LIBRARY_PATH"}

    refused = tools.run(tool, "--version", env=env)
    turn(tools.root, "system_has_libcxx", True)
    started = tools.run(tool, "--version", env=env)

    assert refused.rc == 127
    assert "error while loading shared libraries: libc++.so.1" in refused.err
    assert started.rc == 0
    assert "QNN SDK v2.40.0.251030114326_189385" in started.out


def test_envsetup_sets_what_environment_does(made: Sdk):
    script = f"source '{made.root}/bin/envsetup.sh' > log && env -0"
    base = {"PATH": os.environ["PATH"]}
    pairs = [pair.partition("=") for pair in bash(script, made.cwd, base).stdout.split("\0")]
    found = {name: value for name, _, value in pairs if name in (*FIVE, "PATH")}

    wanted = lay_out.environment(made.root, base)
    assert found == {name: wanted[name] for name in (*FIVE, "PATH")}
    assert (made.cwd / "log").read_text().startswith("[INFO] AISW SDK environment set\n")


@pytest.mark.parametrize(
    ("command", "rc", "text"),
    [
        ("bin/envsetup.sh", 1, "[ERROR] This file should be run with 'source'"),
        ("source bin/envsetup.sh -x", 1, "See -h for help."),
        ("source bin/envsetup.sh -h", 0, "Usage: source envsetup.sh"),
        ("bin/check-linux-dependency.sh", 0, "Done!!"),
        ("bin/envcheck -n", 0, "[WARNING] Found ndk-build at "),
        ("bin/envcheck -c", 0, "[INFO] Found clang++ at "),
        ("bin/check-python-dependency", 0, "[INFO] Found onnx "),
    ],
)
def test_the_scripts_say_what_real_ones_say(made: Sdk, command, rc, text):
    done = bash(command, made.root, made.env)

    if "clang++" in text and lay_out.missing_programs():
        pytest.skip("no compiler on this machine")
    assert (done.returncode, text in done.stdout) == (rc, True)


def bash(script: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
