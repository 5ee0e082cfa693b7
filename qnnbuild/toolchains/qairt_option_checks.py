"""What is wrong with options.qairt of a recipe: name, value, version, chip. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from qnnbuild.errors import Problem, Span, did_you_mean
from qnnbuild.model.recipe import Chip, Graph
from qnnbuild.toolchains.qairt_options import HTP, SET_BY, Option, given, has, numbers
from qnnbuild.toolchains.qairt_routes import ROUTE, Sections, route_of, route_with, sections_of

PACKED = ("packed_masked_softmax_inputs", "packed_max_seq")
DECODE = "llm_decode_"
DECODE_SINCE = "2.48"
"""Performance profiles for language models; only the beginning of their names is documented."""

BELOW_ZERO = re.compile(
    r"-(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?)(?: -?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?))*"
)
"""One number, or several: the steps of a quantization."""


def option_problems(graph: Graph, chip: Chip, version: str) -> Iterator[Problem]:
    """Every mistake in the options, for an SDK of this version."""
    top = graph.options.get("qairt", {})
    route = route_of(graph)
    parts = sections_of(route)
    for section, value in top.items():
        at = graph.places.get(f"{SET_BY}.{section}", graph.places.get("options"))
        if section == ROUTE:
            continue
        if section not in parts:
            yield _no_section(section, at, route)
        elif not isinstance(value, Mapping):
            yield Problem(message=f"{SET_BY}.{section} wants a mapping, not '{value}'", at=at)
        else:
            for name, one in given(graph, section).items():
                place = graph.places.get(f"{SET_BY}.{section}.{name}", at)
                option = parts[section].get(name)
                if option is None:
                    yield _unknown(section, name, place, parts)
                else:
                    yield from _problems(option, one, place, chip, version)
    yield from _beside(graph)


def _problems(
    option: Option, value: Any, at: Span | None, chip: Chip, version: str
) -> Iterator[Problem]:
    name = option.name
    if option.said_by:
        yield Problem(message=f"{name} is not an option here", at=at, hint=option.said_by)
    elif wrong := wrong_value(option, value, version) or _an_option(option, value):
        yield Problem(message=f"{name}: {wrong}", at=at, hint=f"{name}: {option.about}")
    else:
        yield from _limits(option, value, at, chip, version)


def _limits(
    option: Option, value: Any, at: Span | None, chip: Chip, version: str
) -> Iterator[Problem]:
    name = option.name
    if not has(version, option.since):
        yield Problem(
            message=f"{name} came with {option.since}; the SDK is {version}",
            at=at,
            hint="leave it out, or take a newer SDK",
        )
    if option.until and has(version, option.until):
        yield Problem(
            message=f"{name} does nothing since {option.until}; the SDK is {version}",
            at=at,
            hint=f"leave it out: {option.about} in any case",
        )
    if option.min_arch is not None and chip.arch < option.min_arch:
        yield Problem(
            message=f"{name} needs HTP v{option.min_arch}; {chip.name} has v{chip.arch}",
            at=at,
            hint=f'for the newer chips only: only: {{"arch>={option.min_arch}": {{options: …}}}}',
        )
    if option.chip_limit == "vtcm_mb" and value > chip.vtcm_mb:
        yield Problem(
            message=f"{name}: {value} is more than {chip.name} has",
            at=at,
            facts=((chip.name, f"{chip.vtcm_mb} MB of VTCM"),),
            hint=f"{name}: {chip.vtcm_mb}, or leave it out: then all of it is used",
        )


def wrong_value(option: Option, value: Any, version: str = "") -> str | None:
    """Why `value` is none; None when it is one. A number in a text is refused by the SDK, too."""
    simple = {
        "switch": (isinstance(value, bool), "is not true or false"),
        "bit": (type(value) is int and value in (0, 1), "is not 0 or 1"),
        "mapping": (isinstance(value, Mapping), "is no mapping"),
        "mappings": (_are_mappings(value), "is no list of mappings"),
        "text": (isinstance(value, str) and bool(value.strip()), "is no text"),
    }
    if option.form in simple:
        good, why = simple[option.form]
        return None if good else f"{_said(value)} {why}"
    if option.form == "choice":
        return _wrong_choice(option, value, version)
    if option.form == "some" and value is True:
        return None
    lists = {"names": _wrong_names, "some": _wrong_names, "pairs": _wrong_pairs}
    return lists.get(option.form, _wrong_number)(option, value)


FILLED = re.compile(r"\{(?:(?:in|out)\.|sdk\}|python\})")
"""What stands for a folder in a tool's words until it runs."""


def _an_option(option: Option, value: Any) -> str | None:
    """Why a tool would take the value, or a part of it, for something else than it is."""
    words: list[str] = []
    if option.form == "text":
        words = [str(value)]
    elif option.form in ("names", "some") and isinstance(value, list):
        words = [str(word) for word in value]
    elif option.form == "pairs":
        words = [str(word) for pair in value.items() for word in pair]
    for word in words:
        if is_flag(word):
            return f"'{word}' would be an option of the tool"
        if FILLED.search(word):
            return f"'{word}' would become a folder of this machine"
    return None


def is_flag(word: str) -> bool:
    """Numbers below zero are none."""
    return word.lstrip().startswith("-") and not BELOW_ZERO.fullmatch(word)


def _are_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _wrong_number(option: Option, value: Any) -> str | None:
    kinds = int if option.form == "number" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
        return f"{_said(value)} is not a {'whole ' if option.form == 'number' else ''}number"
    if value < option.low or (option.high is not None and value > option.high):
        high = "" if option.high is None else f" and at most {option.high:g}"
        return f"{value} is out of range: at least {option.low:g}{high}"
    return None


def _wrong_choice(option: Option, value: Any, version: str) -> str | None:
    text = str(value)
    if text in option.values:
        return None
    if option.name == "perf_profile" and text.startswith(DECODE):
        if not version or numbers(version) >= numbers(DECODE_SINCE):
            return None
        return f"'{text}' came with {DECODE_SINCE}; the SDK is {version}"
    return f"{_said(value)} is none of {', '.join(option.values)}"


def _wrong_names(option: Option, value: Any) -> str | None:
    if not (isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
        return f"{_said(value)} is no list of names"
    for one in value:
        if option.values and one not in option.values:
            return f"'{one}' is none of {', '.join(option.values)}"
    return None


def _wrong_pairs(option: Option, value: Any) -> str | None:
    if not (isinstance(value, Mapping) and value):
        return f"{_said(value)} is no mapping"
    for name, one in value.items():
        if option.values and str(one) not in option.values:
            return f"{name}: '{one}' is none of {', '.join(option.values)}"
    return None


def _beside(graph: Graph) -> Iterator[Problem]:
    """Options that exclude, or need, what the recipe says elsewhere."""
    converter = given(graph, "converter")
    quantization = graph.quantization
    encodings = quantization is not None and quantization.encodings is not None
    at = f"{SET_BY}.converter."
    if converter.get("ignore_encodings") is True and encodings:
        yield Problem(
            message="ignore_encodings cannot stand beside encodings",
            at=graph.places.get(f"{at}ignore_encodings"),
            hint="leave one of the two out",
        )
    if converter.get("float_fallback") is True and not (encodings and graph.calibration is None):
        yield Problem(
            message="float_fallback wants encodings and no calibration",
            at=graph.places.get(f"{at}float_fallback"),
            hint="leave it out, or leave 'calibration' out and say precision: {encodings: …}",
        )
    for name in PACKED:
        if name in converter and converter.get("apply_masked_softmax") != "compressed":
            yield Problem(
                message=f"{name} counts with apply_masked_softmax: compressed only",
                at=graph.places.get(f"{at}{name}"),
                hint="apply_masked_softmax: compressed",
            )
    custom = given(graph, HTP)
    if "custom" in custom and custom.get("perf_profile") != "custom":
        yield Problem(
            message="custom voltage corners count with perf_profile: custom only",
            at=graph.places.get(f"{SET_BY}.{HTP}.custom"),
            hint="perf_profile: custom",
        )


def _unknown(section: str, name: str, at: Span | None, parts: Sections) -> Problem:
    known = parts[section]
    renamed = next((one for one in known.values() if name in (*one.was, one.old)), None)
    if renamed is not None:
        way = renamed.said_by or f"write {renamed.name}"
        return Problem(message=f"{name} is called {renamed.name}", at=at, hint=way)
    elsewhere = next((other for other in parts if name in parts[other]), None)
    settable = [one.name for one in known.values() if not one.said_by]
    otherwise = f"all options: {', '.join(settable)}"
    hint = f"it stands under {SET_BY}.{elsewhere}" if elsewhere else None
    return Problem(
        message=f"{SET_BY}.{section} has no option '{name}'",
        at=at,
        hint=hint or did_you_mean(name, known) or otherwise,
    )


def _no_section(section: str, at: Span | None, route: str) -> Problem:
    parts = sections_of(route)
    if (other := route_with(section)) is not None:
        return Problem(
            message=f"with route: {route} there is no part '{section}'",
            at=at,
            hint=f"route: {other} has one; parts here: {', '.join(parts)}",
        )
    elsewhere = next((one for one in parts if section in parts[one]), None)
    hint = f"it stands under {SET_BY}.{elsewhere}" if elsewhere else None
    known = (ROUTE, *parts)
    return Problem(
        message=f"{SET_BY} has no part '{section}'",
        at=at,
        hint=hint or did_you_mean(section, known, otherwise=f"parts: {', '.join(parts)}"),
    )


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
