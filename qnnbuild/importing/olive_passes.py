"""Keys of Olive's static quantization → a precision. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.recipe_text import Value
from qnnbuild.model.precisions import WORDS
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

_BITS = re.compile(r"q?u?int([0-9]+)", re.IGNORECASE)
METHODS = {"minmax": "minmax", "entropy": "entropy", "percentile": "percentile"}
MADE_ANYWAY = ("type", "quant_mode", "quant_preprocess", "quant_format", "prepare_qnn_config",
               "prepare_qdq_config", "user_script", "data_config", "data_dir", "batch_size",
               "dataloader_func", "weight_type", "precision", "activation_type")  # fmt: skip


@dataclass(kw_only=True)
class Taken:
    precision: Value | None = None
    rows: list[Row] = field(default_factory=list)


def quantization(body: MappingNode, at: Place) -> Taken:
    """The precision that the keys mean; None where it is none that an NPU takes."""
    taken = Taken()
    if _text(body, "quant_mode").lower() == "dynamic":
        todo = "precision: w8a16, with calibration"
        taken.rows.append(left(at, "quant_mode: dynamic", "the NPU wants known ranges", todo))
        return taken
    weights = _bits(_text(body, "precision") or _text(body, "weight_type") or "QInt8")
    activations = _bits(_text(body, "activation_type") or "QInt8")
    word = f"w{weights}a{activations}"
    if word not in WORDS:
        todo = f"one of {', '.join(name for name in WORDS if 'a' in name)}"
        taken.rows.append(left(at, word, "no precision of a recipe", todo))
        return taken
    said: dict[str, Value] = {}
    for key, entry in body.entries.items():
        if key not in MADE_ANYWAY:
            _take(said, taken.rows, key, entry.value)
    taken.precision = {"weights": weights, "activations": activations, **said} if said else word
    written = f"weights {weights} bits, activations {activations}"
    taken.rows.append(carried(at, written, f"precision: {word}"))
    return taken


def _take(said: dict[str, Value], rows: list[Row], key: str, node: Node) -> None:
    at = Place(node.span.file, node.span.line)
    text = node.value if isinstance(node, ScalarNode) else ""
    if key == "per_channel":
        if text.lower() != "true":
            said["per_channel"] = False
    elif key == "calibrate_method" and text.lower() in METHODS:
        if text.lower() != "minmax":
            said["method"] = METHODS[text.lower()]
    elif key == "nodes_to_exclude" and texts(node):
        said["float"] = {**_mapping(said.get("float")), "nodes": texts(node)}
    elif key == "op_types_to_exclude" and texts(node):
        said["float"] = {**_mapping(said.get("float")), "operators": texts(node)}
    elif key in ("WeightSymmetric", "ActivationSymmetric"):
        name = "weights" if key.startswith("Weight") else "activations"
        if (text.lower() == "true") != (name == "weights"):  # else it is so without a word
            said["symmetric"] = {**_mapping(said.get("symmetric")), name: text.lower() == "true"}
    else:
        if text.lower() not in ("", "null", "false"):
            why = "no key of a precision"
            rows.append(left(at, f"{key}: {text}", why, "docs/recipe.md has all of precision:"))
        return
    rows.append(carried(at, f"{key}: {text or ', '.join(texts(node))}", "precision"))


def _mapping(value: Value | None) -> dict[str, Value]:
    return dict(value) if isinstance(value, dict) else {}


def texts(node: Node | None) -> list[str]:
    """A list of texts; one text is its own list."""
    if isinstance(node, ScalarNode):
        return [] if node.empty else [node.value]
    items = node.items if isinstance(node, ListNode) else ()
    return [item.value for item in items if isinstance(item, ScalarNode)]


def whole_numbers(node: Node | None) -> list[int]:
    return [int(text) for text in texts(node) if text.isdecimal()]


def _text(body: MappingNode, key: str) -> str:
    node = body.get(key)
    return node.value if isinstance(node, ScalarNode) and not node.empty else ""


def _bits(text: str) -> int:
    found = _BITS.fullmatch(text)
    return int(found[1]) if found else 0
