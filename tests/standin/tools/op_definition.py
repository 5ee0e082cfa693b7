"""The XML that defines the operators of a package, read as strictly as its schema is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.standin.tools.log import RefusedError

BACKENDS = ("CPU", "GPU", "DSP", "HTP", "LPAI")
GENERATED = ("CPU", "HTP")  # those that this generator has makefiles for
TYPES = {
    "BACKEND_SPECIFIC",
    *(f"QNN_DATATYPE_{kind}_{bits}" for kind in ("INT", "UINT") for bits in (8, 16, 32, 64)),
    *(f"QNN_DATATYPE_{k}FIXED_POINT_{bits}" for k in ("S", "U") for bits in (4, 8, 16, 32)),
    *(f"QNN_DATATYPE_{name}" for name in ("FLOAT_16", "FLOAT_32", "FLOAT_64", "BOOL_8", "STRING")),
}


class Package(NamedTuple):
    name: str
    backends: tuple[str, ...]
    operators: tuple[str, ...]
    path: Path


def read(path: Path) -> Package:
    try:
        root = ET.parse(path).getroot()
    except OSError as problem:
        raise RefusedError(f"Config file not found: {path}: {problem.strerror}") from problem
    except ET.ParseError as problem:
        raise RefusedError(f"Failed to parse {path}: {problem}") from problem
    if root.tag != "OpDefCollection":
        raise RefusedError(f"{path}: No matching global declaration for element '{root.tag}'")
    for name in ("PackageName", "Domain", "Version"):
        if not root.get(name):
            raise RefusedError(f"{path}: The attribute '{name}' is required but missing")
    operators = root.findall("OpDefList/OpDef")
    if not operators:
        raise RefusedError(f"{path}: Missing child element OpDef")
    names = [_operator(path, node) for node in operators]
    said = [word.text or "" for node in operators for word in node.findall("SupportedBackend")]
    said += [part.get("Backend", "") for part in root.findall("SupplementalOpDefList")]
    backends = tuple(dict.fromkeys(word.strip() for word in said))
    for word in backends:
        if word not in BACKENDS:
            raise RefusedError(f"{path}: '{word}' is not an element of the set {BACKENDS}")
    return Package(root.get("PackageName", ""), backends, tuple(names), path)


def known(paths: Sequence[str]) -> dict[str, str]:
    """Operator → package, of all the files."""
    found: dict[str, str] = {}
    for path in paths:
        package = read(Path(path))
        found |= dict.fromkeys(package.operators, package.name)
    return found


def _operator(path: Path, node: ET.Element) -> str:
    name = _text(path, node, "Name", "OpDef")
    for kind in ("Input", "Output"):
        if node.find(kind) is None:
            raise RefusedError(f"{path}: Element 'OpDef' ({name}): Missing child element {kind}")
    for kind in ("Input", "Output", "Parameter"):
        for tensor in node.findall(kind):
            where = f"{name}, {kind}"
            for part in ("Name", "Mandatory", "Shape/Rank"):
                _text(path, tensor, part, where)
            types = [(one.text or "").strip() for one in tensor.findall("Datatype")]
            if not types:
                raise RefusedError(f"{path}: Element '{where}': Missing child element Datatype")
            for word in types:
                if word not in TYPES:
                    raise RefusedError(f"{path}: '{word}' is not a valid value of Datatype")
    return name


def _text(path: Path, node: ET.Element, name: str, where: str) -> str:
    text = (node.findtext(name) or "").strip()
    if not text:
        raise RefusedError(f"{path}: Element '{where}': Missing child element {name}")
    return text
