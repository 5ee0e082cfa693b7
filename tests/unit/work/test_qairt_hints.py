"""What is told of a tool's last lines, and what helps."""

from __future__ import annotations

import pytest

from qnnbuild.work.qairt_hints import hint_of, told_lines
from qnnbuild.work.qairt_sdk import USUAL_HINT, Ended

TRACEBACK = """\
2026-11-30 10:00:00,001 -   ERROR - qnn-model-lib-generator: stderr : relocation truncated to fit

Traceback (most recent call last):
  File "/sdk/bin/tool", line 7, in <module>
    sys.exit(main(
             ^^^^^
RuntimeError: Failed to compile model library
  for a target""".splitlines()


def test_where_in_its_code_a_tool_ended_is_left_out() -> None:
    assert told_lines(TRACEBACK) == [TRACEBACK[0], *TRACEBACK[6:]]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("tool: error while loading shared libraries: libc++.so.1: cannot open", "libc++1"),
        ("ImportError: libpython3.10.so.1.0: cannot open shared object file", "Python 3.10"),
        ("ModuleNotFoundError: No module named 'libPyIrGraph310'", "Python 3.10"),
        ("ModuleNotFoundError: No module named 'qti.aisw'", "lib/python/qti is missing"),
        ("ModuleNotFoundError: No module named 'yaml'", "lacks 'yaml'"),
        ("/lib/libc.so.6: version `GLIBC_2.35' not found", "Ubuntu 22.04"),
        (
            'A single op, "q::ForceFormat_Crouton" (Op ID: 1), requires 0x2400000 bytes of TCM',
            "operator q::ForceFormat_Crouton is too large for the chip's VTCM",
        ),
        ("limit is 2097152 KB: memory usage too large", "a context holds 2 GB"),
        ("bash: line 1: ndk-build: command not found", "ndk: in qnnbuild.yaml"),
        ("/bin/sh: 1: ndk-build: not found", "ndk: in qnnbuild.yaml"),
        ("make: ndk-build: No such file or directory", "ndk: in qnnbuild.yaml"),
        ("bash: line 1: objcopy: command not found", "apt-get install clang make"),
        ("sh: 1: clang++: not found", "apt-get install clang make"),
        ("make: clang++: No such file or directory", "apt-get install clang make"),
        ("make[1]: /usr/bin/clang++: No such file or directory", "apt-get install clang make"),
        ("env: 'make': No such file or directory", "apt-get install clang make"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'make'", "apt-get install clang"),
        ("OSError: [Errno 28] No space left on device", "make room"),
    ],
)
def test_what_is_known_has_a_hint(line: str, hint: str) -> None:
    assert hint in (hint_of(["other", line, "more"]) or "")


def test_a_hint_is_looked_for_in_more_lines_than_are_shown() -> None:
    ended = Ended(argv=("t",), env={}, code=1, lines=(*TRACEBACK, *map(str, range(40))))

    error = ended.failure("t failed")

    assert dict(error.facts)["last lines"].splitlines()[0] == "25"
    assert error.hint is not None
    assert "precision: fp16 halves them" in error.hint
    assert ended.failure("t failed", hint="so").hint == "so"


def test_what_is_not_known_has_the_usual_hint() -> None:
    ended = Ended(argv=("t",), env={}, code=1, lines=("?",))

    assert ended.failure("t failed").hint == USUAL_HINT


@pytest.mark.parametrize(
    "line",
    [
        "sh: 1: cmake: not found",
        "make: m.cpp: No such file or directory",
        "make: *** No rule to make target 'all'",
    ],
)
def test_another_program_or_file_is_not_taken_for_one_of_them(line: str) -> None:
    assert hint_of([line]) is None
