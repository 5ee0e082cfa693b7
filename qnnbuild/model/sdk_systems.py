"""The systems that Qualcomm's SDK builds model libraries for, and what each asks of the host.

Which of them one version of the SDK builds for, only that SDK tells, so none is refused by version.
The names of the variables are those of the SDK's own environment checks; a repo may name others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOST = "x86_64-linux-clang"
"""Every graph gets a library for it: the compile for a chip loads that one."""

ANDROID = "aarch64-android"


@dataclass(frozen=True, kw_only=True)
class System:
    name: str
    machine: str = "arm64"  # as its libraries' ELF headers say it
    variables: tuple[str, ...] = ()  # name the folders of a cross compiler
    compilers: tuple[str, ...] = ()  # patterns of programs in those folders
    package: str | None = None  # of Ubuntu, that has such a compiler
    on_windows: bool = False
    cuts_lib: bool = False  # out of a library's name, wherever it stands

    @property
    def is_cross(self) -> bool:
        return bool(self.variables)


GNU = ("usr/bin/aarch64*", "bin/aarch64*")
"""Of Ubuntu's own packages in /, and of Arm's archives."""

YOCTO = (*GNU, "sysroots/*/usr/bin/aarch64*", "sysroots/*/usr/bin/*/aarch64*")

SYSTEMS: Mapping[str, System] = {
    system.name: system
    for system in (
        System(name=HOST, machine="x86-64"),
        # Android.mk cuts every "lib" out of the name, and ndk-build puts one before it again
        System(name=ANDROID, cuts_lib=True),
        System(
            name="aarch64-ubuntu-gcc9.4",
            variables=("QNN_AARCH64_UBUNTU_GCC_94",),
            compilers=GNU,
            package="g++-aarch64-linux-gnu",
        ),
        System(
            name="aarch64-oe-linux-gcc11.2",
            variables=("QNN_AARCH64_LINUX_OE_GCC_112",),
            compilers=YOCTO,
        ),
        System(
            name="aarch64-oe-linux-gcc9.3",
            variables=("QNN_AARCH64_LINUX_OE_GCC_93",),
            compilers=YOCTO,
        ),
        System(
            name="aarch64-qnx",
            variables=("QNX_HOST", "QNX_TARGET"),
            compilers=("usr/bin/q++", "usr/bin/qcc", "usr/bin/*aarch64*"),
        ),
        System(name="windows-x86_64", machine="x86-64", on_windows=True),
        System(name="windows-aarch64", on_windows=True),
    )
}
CROSS = tuple(name for name, system in SYSTEMS.items() if system.is_cross)


def declared_as(system: System) -> str:
    """How qnnbuild.yaml says where its compiler is."""
    if len(system.variables) == 1:
        return f"{system.name}: FOLDER"
    return f"{system.name}: {{{', '.join(f'{name}: FOLDER' for name in system.variables)}}}"
