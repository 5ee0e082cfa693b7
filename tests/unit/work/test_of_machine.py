"""What is this machine's trouble, and what a model's."""

from __future__ import annotations

import errno
import os

import pytest

from qnnbuild.work.of_machine import MachineError, is_of_machine, kind_of
from qnnbuild.work.run import WorkError

OF_MACHINE = [
    "qnn-net-run: error while loading shared libraries: libc++.so.1: cannot open it",
    "OSError: libpython3.10.so.1.0: cannot open shared object file: No such file or directory",
    "/lib/libc.so.6: version `GLIBC_2.34' not found (required by ./qnn-net-run)",
    "/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by ./qnn-net-run)",
    "ModuleNotFoundError: No module named 'yaml'",
    "/bin/sh: 1: clang++: not found",
    "bash: ndk-build: command not found",
    "make: clang++: No such file or directory",
    *(
        f"write failed: {os.strerror(number)}"
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE)
    ),
    "the compiler crashed on 'vad' for SM8750 (SIGKILL)",
]
OF_MODEL = [
    "Graph Finalize failure",
    "graph requires estimated allocation of 4096 MB",
    "err 1002",
    "Output node nothing is not in the model",
    "the compiler crashed on 'vad' for SM8750 (SIGSEGV)",
    "'y' is not found in the graph",
]


@pytest.mark.parametrize("line", OF_MACHINE)
def test_what_the_system_says_is_of_the_machine(line: str) -> None:
    assert kind_of(1, ["one", line]) is MachineError
    assert is_of_machine(WorkError(line))
    assert is_of_machine(WorkError("enc: it failed", facts=[("last lines", f"one\n{line}\ntwo")]))


@pytest.mark.parametrize("line", OF_MODEL)
def test_what_a_tool_says_of_a_model_is_not(line: str) -> None:
    assert kind_of(1, [line]) is WorkError
    assert not is_of_machine(WorkError(line, facts=[("by hand", "cd '/No space left on device'")]))


@pytest.mark.parametrize(
    ("code", "kind"),
    [(0, WorkError), (1, WorkError), (-11, WorkError), (-6, WorkError), (126, MachineError),
     (127, MachineError), (-9, MachineError), (-15, MachineError)],
)  # fmt: skip
def test_a_tool_that_did_not_start_or_was_killed_is_of_the_machine(
    code: int, kind: type[WorkError]
) -> None:
    assert kind_of(code, []) is kind
