"""What counts of Qualcomm's SDK, and of the machine beside it, for each kind of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from qnnbuild.model.sdk_systems import CROSS
from qnnbuild.work.qairt_sdk import HOST

PYTHON_CODE = ("lib/python/**/*",)
COMPILES = (f"bin/{HOST}/qnn-model-lib-generator", "share/QNN/converter/**/*", "include/QNN/**/*")
CXX = (f"lib/{HOST}/libc++*.so*", f"lib/{HOST}/libunwind.so*")
"""The SDK's own, which its programs load rather than the machine's."""

CONVERTS = (*PYTHON_CODE, f"lib/{HOST}/libQnnCpu.so", *CXX)
"""Ranges of quantized tensors are measured on the CPU."""

COMPUTES = (f"lib/{HOST}/libQnnSystem.so", f"lib/{HOST}/libQnnHtpPrepare.so", *CXX)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What counts of an SDK for one kind of work. `needed` must be there, by exact names."""

    needed: tuple[str, ...]
    files: tuple[str, ...] = ()  # patterns of what counts beside
    python: bool = False
    programs: tuple[str, ...] = ()  # of this machine, outside of the SDK
    ndk: bool = False
    cross: str | None = None  # the system whose compiler is the user's own
    hexagon: bool = False


BUILDS_PACKAGES = Part(
    needed=(), files=("include/QNN/**/*",), programs=("clang++", "make"), hexagon=True
)
PARTS: Mapping[str, Part] = {
    "converter": Part(needed=(f"bin/{HOST}/qnn-onnx-converter",), files=CONVERTS, python=True),
    "dlc-converter": Part(needed=(f"bin/{HOST}/qairt-converter",), files=CONVERTS, python=True),
    "quantizer": Part(needed=(f"bin/{HOST}/qairt-quantizer",), files=CONVERTS, python=True),
    f"library/{HOST}": Part(
        needed=COMPILES[:1],
        files=COMPILES[1:],
        python=True,
        programs=("clang++", "make", "objcopy"),
    ),
    "library/aarch64-android": Part(
        needed=COMPILES[:1], files=COMPILES[1:], python=True, programs=("make",), ndk=True
    ),
    **{
        f"library/{system}": Part(
            needed=COMPILES[:1],
            files=COMPILES[1:],
            python=True,
            programs=("make",),
            cross=system,
        )
        for system in CROSS
    },
    "context": Part(
        needed=(
            f"bin/{HOST}/qnn-context-binary-generator",
            f"bin/{HOST}/qnn-context-binary-utility",
            f"lib/{HOST}/libQnnHtp.so",
            f"lib/{HOST}/libQnnHtpNetRunExtensions.so",
        ),
        files=COMPUTES,
    ),
    "verify": Part(
        needed=(
            f"bin/{HOST}/qnn-net-run",
            f"bin/{HOST}/qnn-context-binary-utility",
            f"lib/{HOST}/libQnnHtp.so",
            f"lib/{HOST}/libQnnHtpNetRunExtensions.so",
        ),
        files=COMPUTES,
    ),
    "dlc-library": Part(needed=(f"lib/{HOST}/libQnnModelDlc.so",)),
    "skeleton": Part(
        needed=(f"bin/{HOST}/qnn-op-package-generator",),
        files=(*PYTHON_CODE, "share/QNN/OpPackageGenerator/**/*"),
        python=True,
    ),
    "op-package": BUILDS_PACKAGES,
    "op-package/plain": replace(BUILDS_PACKAGES, hexagon=False),
    "op-package/aarch64-android": replace(BUILDS_PACKAGES, ndk=True),
}
