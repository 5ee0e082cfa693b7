"""Options of the QNN execution provider → chips, and what a recipe says of a graph. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from qnnbuild.errors import did_you_mean
from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.recipe_text import Value
from qnnbuild.model.chips import Chips
from qnnbuild.text.nodes import MappingNode, ScalarNode
from qnnbuild.toolchains.ort_options import BY_NAME, Scope

OF_RUN = {"htp_performance_mode": "perf_mode", "rpc_control_latency": "rpc_control_latency"}


@dataclass(kw_only=True)
class Provider:
    chips: list[str] = field(default_factory=list)
    run: dict[str, Value] = field(default_factory=dict)
    options: dict[str, Value] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


def take_provider_options(node: MappingNode, chips: Chips) -> Provider:
    """Each option by the plugin's own table."""
    found = Provider()
    for key, entry in node.entries.items():
        value = entry.value.value if isinstance(entry.value, ScalarNode) else ""
        _take(found, Place(entry.key.span.file, entry.key.span.line), key, value, chips)
    return found


def _take(found: Provider, at: Place, key: str, value: str, chips: Chips) -> None:
    written, known = f"{key}: {value}", BY_NAME
    option = known.get(key)
    if key == "soc_model" and value.isdecimal() and value != "0":
        named = chips.by_soc_model(int(value))
        if named:
            found.chips.append(named[0].name)
            found.rows.append(carried(at, written, f"chips: {named[0].name}"))
        else:
            why = chips.refusal(int(value)) or "no chip has this number"
            found.rows.append(left(at, written, why, "qnnbuild chips"))
    elif key in OF_RUN:
        found.run[OF_RUN[key]] = int(value) if value.isdecimal() else value
        found.rows.append(carried(at, written, f"run.{OF_RUN[key]}"))
    elif option is None:
        near = did_you_mean(key, known, otherwise="docs/ort-options.md") or ""
        found.rows.append(left(at, written, "the plugin has no such option", near))
    elif value == option.default:
        found.rows.append(carried(at, written, "the default"))
    elif option.settable and option.scope is Scope.BYTES:
        found.options[key] = int(value) if value.isdecimal() else value
        found.rows.append(carried(at, written, f"options.ort.{key}"))
    elif option.scope is Scope.BUILD and option.said_by:
        found.rows.append(carried(at, written, option.said_by))
    else:
        found.rows.append(left(at, written, "no key of a recipe", option.said_by or "run:"))
