"""Run as a program: refuses some system calls, as containers do, and becomes another program."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2  # <sys/prctl.h>, <linux/seccomp.h>
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # <linux/bpf_common.h>
NUMBER, FIRST_ARGUMENT = 0, 16  # where they lie in the kernel's seccomp_data
PERSONALITY, PTRACE, PIDFD_OPEN = 135, 101, 434  # of x86-64


def refused(number: int, answer: int) -> list[tuple[int, int, int, int]]:
    return [(LOAD, 0, 0, NUMBER), (JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


FORBIDDEN = {
    # a container's usual filter: the question and the plain answer are allowed
    "personality": [
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_EQUAL, 0, 4, PERSONALITY),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF_EQUAL, 2, 0, 0),
        (JUMP_IF_EQUAL, 1, 0, 0xFFFFFFFF),
        (RETURN, 0, 0, EPERM),
    ],
    "ptrace": refused(PTRACE, EPERM),
    "pidfd_open": refused(PIDFD_OPEN, ENOSYS),
}


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def main() -> None:
    """argv: the calls to refuse, joined with commas, and the command line of the program."""
    names, argv = sys.argv[1].split(","), sys.argv[2:]
    steps = [step for name in names for step in FORBIDDEN[name]] + [(RETURN, 0, 0, ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code, len(code))
    program = Program(len(steps), ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((NO_NEW_PRIVS, 1, 0, 0, 0), (SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "the filter cannot be set")
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
