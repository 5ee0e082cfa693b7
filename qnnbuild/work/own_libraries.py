"""Libraries of the user's own operators beside a model, and what a session is told of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import STANDARD, nodes

OPTION = "op_packages"
DOMAINS = "ORT_QNN_CUSTOM_OP_DOMAINS"
"""What the plugin reads when it is registered: domain:Op,Op;domain:Op."""


def own_option(params: Mapping[str, Any]) -> dict[str, str]:
    """The provider's option; nothing without operators of the user's own."""
    return {OPTION: params[OPTION]} if OPTION in params else {}


def put_libraries(run: Run, folder: Path) -> None:
    """Into the folder that the session is made in: the option names them by ./name."""
    if "packages" in run.inputs:
        for library in sorted(run.inputs["packages"].iterdir()):
            shutil.copyfile(library, folder / library.name)


def own_domains(params: Mapping[str, Any], model: Path) -> dict[str, str]:
    """The environment that makes ONNX Runtime load a model with such operators."""
    if OPTION not in params:
        return {}
    known = {entry.partition(":")[0] for entry in params[OPTION].split(",")}
    found: dict[str, list[str]] = {}
    for node in nodes(onnx.load(str(model), load_external_data=False)):
        if node.op_type in known and node.domain not in STANDARD:
            ops = found.setdefault(node.domain, [])
            ops += [] if node.op_type in ops else [node.op_type]
    return {DOMAINS: ";".join(f"{domain}:{','.join(ops)}" for domain, ops in found.items())}


def crashed_with(option: str, crash: str) -> WorkError:
    """A library is code of the user's in the compiler's process."""
    named = [entry.split(":")[:2] for entry in option.split(",")]
    return WorkError(
        f"the compiler crashed with packages of your own operators in it ({crash})",
        place=OPTION,
        facts=[(op, path.removeprefix("./")) for op, path in named],
        hint="build them with the SDK that the compiler is of: qnnbuild toolchains",
    )
