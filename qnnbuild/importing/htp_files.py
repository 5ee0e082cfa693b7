"""The JSON files of a compile for the HTP → chips and options: the toolchain's table, reversed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.holes import is_known, shown
from qnnbuild.importing.option_values import Read
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode
from qnnbuild.text.reader import read_nodes
from qnnbuild.toolchains.qairt_option_checks import wrong_value
from qnnbuild.toolchains.qairt_options import EXTENSIONS, HTP, SET_BY, Option, data

Find = Callable[[str], tuple[str, Place] | None]
"""A file's text by the path that a script has for it, and where the text begins."""

PARTS = ("graphs", "devices", "context", "groupContext", "memory")
AROUND = ("context_configs", "graph_configs", "profile_configs", "async_graph_execution_config")
CHIP_NUMBERS = ("soc_id", "soc_model")
NAMES = ("graph_names", "graph_name", "device_id", "dsp_arch", "cores")


@dataclass(kw_only=True)
class Asked:
    """What a compile was asked for."""

    soc_models: list[int] = field(default_factory=list)
    htp: dict[str, Read] = field(default_factory=dict)
    extensions: dict[str, Read] = field(default_factory=dict)
    shares_weights: bool = False
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A mapping of such a file, and what the table calls it."""

    node: MappingNode
    name: str
    section: str
    begins: Place  # of the whole text: a script may hold it

    def place(self, node: Node) -> Place:
        return Place(self.begins.file, self.begins.line + node.span.line - 1)


def read_settings_file(path: str, at: Place, find: Find) -> Asked:
    """Of --config_file, and of the file that it names."""
    asked = Asked()
    found = _tree(path, at, find, asked)
    if found is None:
        return asked
    root, begins = found
    around = root.mapping("backend_extensions")
    inner = around.get("config_file_path") if around else None
    for name in AROUND:
        for node in _mappings(root.get(name)):
            _take(asked, Part(node, name, EXTENSIONS, begins))
    if isinstance(inner, ScalarNode):
        found = _tree(inner.value, at, find, asked)
    if found is not None:
        _htp(asked, *found)
    return asked


def _tree(path: str, at: Place, find: Find, asked: Asked) -> tuple[MappingNode, Place] | None:
    found = find(path)
    if found is None:
        why = "the file is not at hand"
        if not is_known(path):
            why = "only a run knows which file it is"
        todo = "options: {qairt: {htp: …}} says what stands in it, chips: the chip"
        asked.rows.append(left(at, shown(path), why, todo))
        return None
    text, begins = found
    root, problems = read_nodes(begins.file, text.replace("\t", " "))
    if not isinstance(root, MappingNode):
        told = problems[0].message if problems else "it is no mapping"
        asked.rows.append(left(begins, path, f"it is no JSON: {told}", "mend the file"))
        return None
    return root, begins


def _htp(asked: Asked, root: MappingNode, begins: Place) -> None:
    for name in PARTS:
        for node in _mappings(root.get(name)):
            _take(asked, Part(node, name, HTP, begins))
            for cores in _mappings(node.get("cores")):
                _take(asked, Part(cores, "cores", HTP, begins))


def _mappings(node: Node | None) -> Iterator[MappingNode]:
    """A mapping, or each of a list of them."""
    for one in node.items if isinstance(node, ListNode) else [node]:
        if isinstance(one, MappingNode):
            yield one


def _take(asked: Asked, part: Part) -> None:
    known = {o.key: o for o in data().sections[part.section].values() if o.at == part.name}
    for key, entry in part.node.entries.items():
        at, written = part.place(entry.key), f"{part.name}.{key}"
        option = known.get(key)
        if key in CHIP_NUMBERS:
            _take_chip(asked, at, written, entry.value)
        elif key in NAMES:
            pass  # graphs and chips are named by the recipe's own keys
        elif key == "weight_sharing_enabled":
            asked.shares_weights = isinstance(entry.value, ScalarNode) and _is_true(entry.value)
        elif option is None:
            asked.rows.append(left(at, written, "the HTP has no such key there", _listed(known)))
        elif option.said_by:
            asked.rows.append(left(at, written, "no key of a recipe", option.said_by))
        else:
            values = asked.htp if part.section == HTP else asked.extensions
            asked.rows.append(_option_row(at, part, option, entry.value, values))


def _take_chip(asked: Asked, at: Place, written: str, node: Node) -> None:
    number = node.value if isinstance(node, ScalarNode) else ""
    if number.isdecimal():
        asked.soc_models.append(int(number))
        asked.rows.append(carried(at, f"{written}: {number}", "chips"))
    else:
        asked.rows.append(left(at, written, "only a run knows the number", "chips: names the chip"))


def _option_row(at: Place, part: Part, option: Option, node: Node, values: dict[str, Read]) -> Row:
    """Puts the option's value where it belongs, and says so."""
    value = _value(option, node)
    told = f"{part.name}.{option.key}: {shown(str(value))}"
    if value is None:
        return left(at, told, "it is no single value", f"{option.name}: {option.about}")
    if (wrong := wrong_value(option, value)) is not None:
        return left(at, told, shown(wrong), f"{option.name}: {option.about}")
    if str(value).lower() == option.default:
        return carried(at, told, "the default")
    values[option.name] = value
    unless = ", but for all that the chip has" if option.chip_limit else ""
    return carried(at, told, f"{SET_BY}.{part.section}.{option.name}{unless}")


def _value(option: Option, node: Node) -> Read | None:
    if not isinstance(node, ScalarNode):
        return None
    if option.form == "switch":
        return _is_true(node)
    if option.form in ("number", "bit"):
        return int(node.value) if node.value.lstrip("-").isdecimal() else node.value
    return node.value


def _is_true(node: ScalarNode) -> bool:
    return node.value.lower() in ("true", "1")


def _listed(known: Mapping[str, Option]) -> str:
    return f"keys there: {', '.join(known)}"
