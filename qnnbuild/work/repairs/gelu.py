"""GELU written out with Erf: the plugin fuses only the form with its 0.5, but takes any Gelu."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.repairs.editing import Repair, View
from qnnbuild.work.versions import opset_of

MICROSOFT = "com.microsoft"


@dataclass(frozen=True, kw_only=True)
class _Found:
    erf: str  # the name of the Erf
    x: str
    end: NodeProto  # makes factor · x · (1 + erf(x/√2))
    factor: float


def apply(model: ModelProto) -> list[str]:
    changed: list[str] = []
    tried: set[str] = set()
    while True:
        view = View.of(model)
        found = next(
            (f for n in view.graph.node if (f := _find(view, n)) and n.name not in tried), None
        )
        if found is None:
            return changed
        tried.add(found.erf)
        changed.append(found.erf)
        _replace(model, view, found)


def _find(view: View, erf: NodeProto) -> _Found | None:
    if erf.op_type != "Erf":
        return None
    x = _argument(view, erf.input[0])
    added = view.only_reader(erf.output[0], "Add")
    one = view.other(added, erf.output[0]) if added is not None else None
    if x is None or added is None or one is None or view.number(one) != 1:
        return None
    factor, seen_x, current = 1.0, False, added
    while (step := view.only_reader(current.output[0], "Mul")) is not None:
        other = view.other(step, current.output[0])
        number = view.number(other) if other else None
        part = _part_of_x(view, other, x) if not seen_x and other else None
        if number is not None:
            factor *= number
        elif part is not None:
            factor, seen_x = factor * part, True
        else:
            break
        current = step
    return _Found(erf=erf.name, x=x, end=current, factor=factor) if seen_x else None


def _argument(view: View, name: str) -> str | None:
    """x, where `name` is x/√2 or x·0.7071."""
    scaled = view.maker(name, "Div", "Mul")
    if scaled is None:
        return None
    wanted = math.sqrt(2) if scaled.op_type == "Div" else math.sqrt(0.5)
    for x, factor in ((0, 1), (1, 0)):
        number = view.number(scaled.input[factor])
        is_division_by_x = scaled.op_type == "Div" and factor == 0
        if (
            number is not None
            and not is_division_by_x
            and math.isclose(number, wanted, rel_tol=1e-3)
        ):
            return str(scaled.input[x])
    return None


def _part_of_x(view: View, name: str, x: str) -> float | None:
    """c, where `name` is c·x."""
    if name == x:
        return 1.0
    scaled = view.maker(name, "Mul")
    other = view.other(scaled, x) if scaled is not None else None
    return view.number(other) if other else None


def _replace(model: ModelProto, view: View, found: _Found) -> None:
    """factor · x · (1 + erf(x/√2)) is 2 · factor · gelu(x)."""
    end = found.end
    domain = "" if opset_of(model) >= 20 else MICROSOFT
    if domain and not any(opset.domain == domain for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid(domain, 1))
    if math.isclose(2 * found.factor, 1):
        gelu = helper.make_node("Gelu", [found.x], [end.output[0]], name=end.name, domain=domain)
        view.replace(end, [gelu])
        return
    scale = np.asarray(2 * found.factor, _type_of(model, found.x))
    factor = view.store(f"{end.output[0]}_scale", scale)
    plain = view.free(f"{end.output[0]}_gelu")
    gelu = helper.make_node("Gelu", [found.x], [plain], name=f"{end.name}_gelu", domain=domain)
    scaled = helper.make_node("Mul", [plain, factor], [end.output[0]], name=end.name)
    view.replace(end, [gelu, scaled])


def _type_of(model: ModelProto, name: str) -> np.dtype[Any]:
    values = [*model.graph.value_info, *model.graph.input]
    elem_type = next((v.type.tensor_type.elem_type for v in values if v.name == name), 1)
    return np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))


REPAIR = Repair(name="gelu", apply=apply)
