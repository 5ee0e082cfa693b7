"""Libraries for systems whose compiler is the user's own: a variable of the environment names it.

How the real tool says that a variable is missing is not known; that it wants one is.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.standin.tools.ndk_build import FLAGS, INCBIN, WEIGHTS

GNU = "usr/bin/aarch64-linux-gnu-g++"
YOCTO = "sysroots/x86_64/usr/bin/aarch64-oe-linux/aarch64-oe-linux-g++"
COMPILERS = {
    "aarch64-ubuntu-gcc9.4": (("QNN_AARCH64_UBUNTU_GCC_94",), GNU),
    "aarch64-oe-linux-gcc11.2": (("QNN_AARCH64_LINUX_OE_GCC_112",), YOCTO),
    "aarch64-oe-linux-gcc9.3": (("QNN_AARCH64_LINUX_OE_GCC_93",), YOCTO),
    "aarch64-qnx": (("QNX_HOST", "QNX_TARGET"), "usr/bin/q++"),
}


def command(target: str, scratch: Path, name: str, root: Path) -> tuple[str, Path]:
    """What a shell runs, and the library that it makes."""
    if target not in COMPILERS:
        raise RuntimeError(f"Unknown library target: {target}")
    variables, compiler = COMPILERS[target]
    for variable in variables:
        if not Path(os.environ.get(variable) or "/nowhere").is_dir():
            raise RuntimeError(f"Toolchain for target {target} is not set: {variable}")
    sources = [str(path.relative_to(scratch)) for path in sorted((scratch / "jni").glob("*.cpp"))]
    if (scratch / WEIGHTS).is_file():
        (scratch / "obj/weights.S").write_text(INCBIN.format(WEIGHTS), encoding="utf-8")
        sources.append("obj/weights.S")
    out = Path("libs") / target / f"lib{name}.so"
    (scratch / out).parent.mkdir(parents=True)
    words = [
        f'"${{{variables[0]}}}/{compiler}"',
        *FLAGS,
        "-Ijni",
        f"-I{root}/include/QNN",
        *sources,
    ]
    return f"cd {scratch} && {' '.join(words)} $LDFLAGS -o {out}", scratch / out
