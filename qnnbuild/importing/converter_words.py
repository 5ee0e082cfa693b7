"""qnn-onnx-converter's words → what a recipe says of its graph: the toolchain's table, reversed.

What the table knows is carried over; for all else it says what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qnnbuild.errors import did_you_mean
from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.holes import shown
from qnnbuild.importing.option_values import Read, option_of, value_of
from qnnbuild.toolchains.qairt_option_checks import is_flag, wrong_value
from qnnbuild.toolchains.qairt_options import CONVERTER, SET_BY, data

SHORT = {"-i": "input_network", "-o": "output_path", "-d": "input_dim", "-l": "input_layout",
         "-b": "batch", "-s": "define_symbol"}  # fmt: skip
"""Flags of one letter, which the table has no need of."""

OWN = {
    "input_network": 1, "output_path": 1, "input_dim": 2, "input_dtype": 2, "input_layout": 2,
    "out_node": 1, "input_list": 1, "use_native_input_files": 0, "quantization_overrides": 1,
    "act_bitwidth": 1, "weights_bitwidth": 1, "bias_bitwidth": 1, "float_bitwidth": 1,
}  # fmt: skip
"""What a recipe says in words of its own → how many words follow the flag."""

KEPT = {"layout": "preserve_io_layout", "datatype": "preserve_io_datatype"}


@dataclass(kw_only=True)
class Converted:
    """One call of the converter. Texts may have holes."""

    at: Place
    said: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)  # of OWN: each time
    options: dict[str, Read] = field(default_factory=dict)  # of options.qairt.converter
    rows: list[Row] = field(default_factory=list)

    def one(self, name: str) -> str:
        """The last value of a flag with one word, "" when it was not given."""
        values = self.said.get(name)
        return values[-1][0] if values and values[-1] else ""


def read_converter(words: Sequence[str], at: Place) -> Converted:
    """The words behind the tool's own name."""
    found = Converted(at=at)
    for flag, values in grouped(words):
        _take(found, flag, values)
    return found


def grouped(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each flag with the words behind it; --flag=value is two words. Loose ones have none."""
    flag, values = "", list[str]()
    for word in words:
        if is_flag(word) and len(word) > 1:
            if flag or values:
                yield flag, tuple(values)
            begin, equals, value = word.partition("=")
            flag, values = begin, [value] if equals else []
        else:
            values.append(word)
    if flag or values:
        yield flag, tuple(values)


def _take(found: Converted, flag: str, values: tuple[str, ...]) -> None:
    written = shown(" ".join([flag, *values]).strip())
    known = data().sections[CONVERTER]
    name = SHORT.get(flag, flag.lstrip("-"))
    if name == "preserve_io" and values:
        name, values = KEPT.get(values[0], name), values[1:]
    option = option_of(known, name)
    if option is None:
        why = f"the converter has no flag {flag}" if flag else "a word that belongs to no flag"
        near = did_you_mean(flag.lstrip("-"), known, otherwise="see docs/qairt-options.md")
        found.rows.append(left(found.at, written, f"{why} that qnnbuild knows", near or ""))
    elif option.name in OWN:
        _take_own(found, option.name, values, written)
    elif option.said_by:
        found.rows.append(left(found.at, written, "no key of a recipe", option.said_by))
    else:
        before = found.options.get(option.name)
        value = value_of(option, values, before)
        if (wrong := wrong_value(option, value)) is not None:
            found.rows.append(left(found.at, written, wrong, f"{option.name}: {option.about}"))
            return
        found.options[option.name] = value
        found.rows.append(carried(found.at, written, f"{SET_BY}.{CONVERTER}.{option.name}"))


def _take_own(found: Converted, name: str, values: tuple[str, ...], written: str) -> None:
    wanted = OWN[name]
    if len(values) != wanted:
        some = "1 word" if wanted == 1 else f"{wanted} words"
        found.rows.append(left(found.at, written, f"--{name} takes {some}", "look at that line"))
        return
    found.said.setdefault(name, []).append(values)
