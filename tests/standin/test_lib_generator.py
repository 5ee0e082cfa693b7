"""qnn-model-lib-generator: real libraries, and how it fails."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.standin.lay_out import HOST, OLD, lay_out_ndk, turn
from tests.standin.lay_out_cross import lay_out_cross
from tests.standin.running import Sdk
from tests.standin.tools.cross import COMPILERS

ANDROID = "aarch64-android"


@pytest.fixture
def source(built: Sdk, tools: Sdk, tmp_path: Path) -> Sdk:
    """In an empty folder beside the converted model."""
    shutil.copytree(built.cwd / "out", tmp_path / "out")
    return tools._replace(cwd=tmp_path)


def generate(where: Sdk, *argv: object, cpp: str = "out/m.cpp"):
    return where.call("qnn-model-lib-generator", "-c", cpp, *argv)


def test_without_targets_both_are_built_with_what_the_system_has(source: Sdk):
    done = generate(source, "-b", "out/m.bin", "-o", "libs")

    machines = {
        path.parent.name: elf(path)["e_machine"] for path in source.cwd.glob("libs/*/libm.so")
    }
    assert done.rc == 0
    assert machines == {HOST: "EM_X86_64", ANDROID: "EM_AARCH64"}
    told = [line.partition("\t")[0].split()[-1] for line in done.out.splitlines() if "\t" in line]
    assert told == [HOST, ANDROID]


def test_the_log_is_the_one_that_is_known(source: Sdk):
    done = generate(source, "-b", "out/m.bin", "-o", "libs", "-t", HOST)

    lines = [line.partition(" -    INFO - qnn-model-lib-generator: ")[2] for line in tool(done.out)]
    folder = source.cwd
    assert lines[:6] == [
        f"Model cpp file path  : {folder}/out/m.cpp",
        f"Model bin file path  : {folder}/out/m.bin",
        f"Library target       : [['{HOST}']]",
        "Library name         : m",
        f"Output directory     : {folder}/libs",
        "Output library name  : m",
    ]
    make = 'export QNN_MODEL_LIB_NAME=libm.so && make CXX="clang++" -f Makefile.linux-x86_64'
    assert lines[6] == f"command : ['cd {folder}/tmp_{os.getpid()} && {make}']"
    assert lines[7] == "rc : 0"
    assert lines[-1] == f"Target: {HOST}\tLibrary: {folder}/libs/{HOST}/libm.so"


def test_the_version_stands_in_the_library(source: Sdk):
    assert generate(source, "-b", "out/m.bin", "-t", HOST).rc == 0

    data = (source.cwd / "model_libs" / HOST / "libm.so").read_bytes()

    assert b"\0qaisw-v2.40.0.251030114326_189385\0" in data
    assert b"\0QnnModel_composeGraphs\0" in data


@pytest.mark.parametrize(
    ("binary", "words", "name"),
    [
        ("encoder-10-seconds.bin", (), "libencoder-10-seconds.so"),
        (None, (), "libqnn_model.so"),
        ("m.bin", ("-l", "other"), "libother.so"),
    ],
)
def test_the_library_is_called_as_the_bin_is(source: Sdk, binary, words, name):
    if binary:
        (source.cwd / "out/m.bin").rename(source.cwd / "out" / binary)
        words = (*words, "-b", f"out/{binary}")

    assert generate(source, "-t", HOST, "-o", "libs", *words).rc == 0
    assert [path.name for path in (source.cwd / "libs" / HOST).iterdir()] == [name]


@pytest.mark.parametrize("name", ["calibrated", "a.sob"])
def test_android_cuts_lib_and_so_out_of_names(source: Sdk, name):
    words = ("-b", "out/m.bin", "-o", "libs", "-l", name, "-t", ANDROID)

    assert generate(source, *words).rc == 0
    short = name.replace("lib", "").replace(".so", "")
    assert [path.name for path in (source.cwd / "libs" / ANDROID).iterdir()] == [f"lib{short}.so"]


@pytest.mark.parametrize(
    ("flags", "revision", "aligned"),
    [
        ("", "26.2.11394342", 4096),
        ("-Wl,-z,max-page-size=16384", "26.2.11394342", 16384),
        ("", "29.0.14206865", 16384),
        ("-Wl,-z,max-page-size=4096", "29.0.14206865", 4096),
    ],
)
def test_pages_are_as_large_as_the_ndk_or_ldflags_say(source: Sdk, flags, revision, aligned):
    ndk = lay_out_ndk(source.cwd, revision)
    env = {**source.env, "PATH": f"{ndk}:{source.env['PATH']}", "LDFLAGS": flags}

    done = generate(
        source._replace(env=env), "-b", "out/m.bin", "-o", "libs", "-t", HOST, "-t", ANDROID
    )

    assert done.rc == 0
    assert alignments(source.cwd / "libs" / ANDROID / "libm.so") == {aligned}
    if flags:
        assert alignments(source.cwd / "libs" / HOST / "libm.so") == {aligned}


def test_missing_files_end_in_a_traceback_with_the_known_message(source: Sdk):
    no_cpp = generate(source, cpp="none.cpp")
    no_bin = generate(source, "-b", "none.bin")

    form = "FileNotFoundError: Unable to find the model {} file, invalid path: {}"
    assert (no_cpp.rc, no_bin.rc) == (1, 1)
    assert last(no_cpp.err) == form.format("source", source.cwd / "none.cpp")
    assert last(no_bin.err) == form.format("binary", source.cwd / "none.bin")


@pytest.mark.parametrize("words", ["", "-c"])
def test_no_source_is_a_mistake_in_the_arguments(source: Sdk, words):
    assert source.call("qnn-model-lib-generator", *words.split()).rc == 2


def test_a_source_that_does_not_compile_shows_what_the_compiler_said(source: Sdk):
    (source.cwd / "out/m.cpp").write_text("this is no C++\n")

    done = generate(source, "-b", "out/m.bin", "-t", HOST, "-o", "libs")

    assert done.rc == 1
    assert "-   ERROR - qnn-model-lib-generator: rc : 2" in done.out
    assert "error:" in done.out.partition("stderr : ")[2]
    assert last(done.err) == f"RuntimeError: Failed to compile model library for target: {HOST}"
    assert not (source.cwd / "libs").exists()


def test_its_scratch_folder_goes_after_success_and_stays_after_failure(source: Sdk):
    assert generate(source, "-b", "out/m.bin", "-t", HOST).rc == 0
    after_success = list(source.cwd.glob("tmp_*"))
    (source.cwd / "out/m.cpp").write_text("this is no C++\n")
    assert generate(source, "-b", "out/m.bin", "-t", HOST).rc == 1

    assert after_success == []
    assert len(list(source.cwd.glob("tmp_*/jni/m.cpp"))) == 1


@pytest.mark.parametrize("absent", ["clang++", "objcopy", "make", "ndk-build"])
def test_every_program_that_is_not_on_path_is_an_error(source: Sdk, absent):
    programs = source.cwd / "programs"
    programs.mkdir()
    for name in {"clang++", "objcopy", "make", "ndk-build", "mkdir", "g++", "cc"} - {absent}:
        if place := shutil.which(name, path=source.env["PATH"]):
            (programs / name).symlink_to(place)
    env = {**source.env, "PATH": str(programs)}
    target = ANDROID if absent == "ndk-build" else HOST

    done = generate(source._replace(env=env), "-b", "out/m.bin", "-t", target)

    assert done.rc == 1
    assert absent in done.out + done.err
    assert last(done.err).startswith("RuntimeError: ")


def test_the_first_target_that_fails_stops_all_and_the_earlier_library_stays(source: Sdk):
    targets = ("-t", HOST, "aarch64-ubuntu-gcc9.4")
    done = generate(source, "-b", "out/m.bin", "-o", "libs", *targets)

    assert done.rc == 1
    assert "aarch64-ubuntu-gcc9.4" in last(done.err)
    assert [path.name for path in (source.cwd / "libs").iterdir()] == [HOST]


def test_without_a_bin_the_library_is_made_and_only_its_user_finds_out(source: Sdk):
    done = generate(source, "-t", HOST, "-o", f"{source.cwd}/libs")
    used = source.generate("--binary_file", "m", model=f"libs/{HOST}/libqnn_model.so")

    assert done.rc == 0
    assert "WARNING" in done.out
    assert "No Binary File provided." in done.out
    assert used.rc == 1
    assert last(used.err) == "Initialization failure"
    assert "undefined symbol: _binary_obj_binary_w_raw_start" in used.out


def test_weights_over_the_linkers_limit_fail_as_over_2_gb(source: Sdk):
    turn(source.root, "link_limit", 1000)

    done = generate(source, "-b", "out/m.bin", "-t", HOST)

    assert done.rc == 1
    assert "relocation truncated to fit: R_X86_64_PC32 against" in done.out
    assert last(done.err) == f"RuntimeError: Failed to compile model library for target: {HOST}"


def test_a_source_of_another_version_is_compiled(source: Sdk):
    path = source.cwd / "out/m.cpp"
    path.write_text(path.read_text().replace(f"qaisw-v{OLD}", "qaisw-v2.31.0.250130"))

    assert generate(source, "-b", "out/m.bin", "-t", HOST).rc == 0


def elf(path: Path) -> ELFFile:
    return ELFFile(io.BytesIO(path.read_bytes()))


def alignments(path: Path) -> set[int]:
    segments = elf(path).iter_segments()
    return {segment["p_align"] for segment in segments if segment["p_type"] == "PT_LOAD"}


def tool(text: str) -> list[str]:
    return [line for line in text.splitlines() if "qnn-model-lib-generator: " in line]


def last(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize("system", COMPILERS)
def test_other_systems_are_built_for_by_a_compiler_that_a_variable_names(source: Sdk, system):
    names = lay_out_cross(source.cwd, system)
    words = ("-b", "out/m.bin", "-o", "libs", "-t", system)

    built = generate(source._replace(env={**source.env, **names}), *words)
    refused = generate(source, *words)

    made = source.cwd / "libs" / system / "libm.so"
    assert (built.rc, refused.rc) == (0, 1)
    assert elf(made)["e_machine"] == "EM_AARCH64"
    assert f"RuntimeError: Toolchain for target {system} is not set: {next(iter(names))}" in (
        refused.err
    )


def test_a_system_that_nobody_builds_for_is_refused(source: Sdk):
    done = generate(source, "-b", "out/m.bin", "-o", "libs", "-t", "windows-x86_64")

    assert done.rc == 1
    assert "windows-x86_64" in done.err
