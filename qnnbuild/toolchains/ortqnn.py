"""The toolchain `ort`: ONNX Runtime and its QNN plugin, both from PyPI."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from qnnbuild.digest import Json
from qnnbuild.errors import Problem, Span, did_you_mean
from qnnbuild.model.chips import says_of_itself
from qnnbuild.model.recipe import Chip, ContextOptions, Graph, Quantization, Scalar
from qnnbuild.toolchains.ort_options import BY_NAME, ELSEWHERE, Option, Scope
from qnnbuild.toolchains.ort_precisions import precision_problems
from qnnbuild.toolchains.work import Work

NAME = "ort"
BY_CHIP: Mapping[str, Callable[[Chip], int]] = {"vtcm_mb": lambda chip: chip.vtcm_mb}
"""Options with a value for each chip of a binary for several, and what a chip without one has."""


class OrtQnn:
    """Float models go through as they are, QDQ models too; a session's creation is the compile."""

    name = NAME
    tools = ("package:onnxruntime", "package:onnxruntime-qnn")

    def problems(self, graph: Graph, chip: Chip) -> Iterable[Problem]:
        yield from precision_problems(graph, chip)
        for name, value in graph.options.get(NAME, {}).items():
            yield from _option_problems(name, value, graph, chip)

    def convert(self, graph: Graph) -> Work:
        """fp16 and fp32 are one work: the compiler chooses the arithmetic, by the chip.

        To quantize takes "feeds" too, and "encodings" where the recipe names a file of them.
        """
        if graph.quantization is not None and not graph.auto_from:
            return Work(
                call="qnnbuild.work.quantize_ort:quantize",
                params=_quantization(graph.quantization),
                outputs=("model", "quantization"),
                tools=("package:onnx", "package:onnxruntime", "package:numpy"),
            )
        return Work(
            call="qnnbuild.work.convert_ort:convert",
            params={"quantized": graph.precision == "qdq"},
            outputs=("model",),
            tools=("package:onnx",),
        )

    def context(self, graph: Graph, chip: Chip, context: ContextOptions) -> Work:
        return Work(
            call="qnnbuild.work.context_ort:context",
            params={
                "graph": graph.name,
                "soc_model": chip.soc_model,
                "options": dict(_compile_options(graph)),
                "cpu_fallback": graph.cpu_fallback == "allow",
                "embed": context.embed,
                "reads_back": _reads_back(graph, chip),
            },
            outputs=("context", "facts"),
            # numpy is loaded where compiles are forked from, and so part of the memory they find
            tools=(*self.tools, "package:numpy", "host"),
        )

    def alike(self, graph: Graph) -> Hashable:
        """All but the VTCM, of which each chip may have its own."""
        options = tuple(one for one in _compile_options(graph) if one[0] not in BY_CHIP)
        return options, graph.cpu_fallback

    def multi(
        self, graphs: Sequence[Graph], chips: Sequence[Chip], context: ContextOptions
    ) -> Work:
        first = graphs[0]
        return Work(
            call="qnnbuild.work.context_multi:context",
            params={
                "graph": first.name,
                "chips": [
                    {
                        "name": chip.name,
                        "soc_model": chip.soc_model,
                        "reads_back": _reads_back(graph, chip),
                    }
                    for graph, chip in zip(graphs, chips, strict=True)
                ],
                "options": _options_by_chip(graphs, chips),
                "cpu_fallback": first.cpu_fallback == "allow",
                "embed": context.embed,
            },
            outputs=("context", "facts"),
            tools=(*self.tools, "package:numpy", "host"),
        )

    def verify(self, graph: Graph, chip: Chip, stem: str) -> Work:
        """On the host's emulator; nothing of the compile's options counts any more."""
        return Work(
            call="qnnbuild.work.verify_ort:verify",
            params={
                "graph": graph.name,
                "stem": stem,
                "soc_model": chip.soc_model,
                "cpu_fallback": graph.cpu_fallback == "allow",
                "reads_back": _reads_back(graph, chip),
            },
            outputs=("outputs", "numbers"),
            tools=(*self.tools, "package:numpy"),
        )


def _quantization(wanted: Quantization) -> dict[str, Json]:
    """All that is asked for but the encodings, which are an input by their contents."""
    said: dict[str, Json] = asdict(wanted)
    del said["encodings"]
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in said.items()
    }


def run_time_options(graph: Graph) -> Mapping[str, str]:
    """What an app should set when it runs the binary. Never in a key."""
    return {
        name: _spelling(BY_NAME[name], value)
        for name, value in sorted(graph.options.get(NAME, {}).items())
        if BY_NAME[name].scope is Scope.RUN_TIME
    }


def _compile_options(graph: Graph) -> Iterator[tuple[str, str]]:
    """Options that change bytes; a default that is written out is none."""
    for name, value in sorted(graph.options.get(NAME, {}).items()):
        option = BY_NAME[name]
        text = _spelling(option, value)
        if option.scope is Scope.BYTES and text != option.default:
            yield name, text
    if graph.precision == "bf16":
        yield "htp_bf16_enable", "1"


def _options_by_chip(graphs: Sequence[Graph], chips: Sequence[Chip]) -> dict[str, Json]:
    """The options that all have, and a list of values for those of which each may have its own.

    The plugin knows no word for "not set" in such a list.
    """
    each = [dict(_compile_options(graph)) for graph in graphs]
    options: dict[str, Json] = {k: v for k, v in each[0].items() if k not in BY_CHIP}
    for name, otherwise in BY_CHIP.items():
        if any(name in own for own in each):
            values = [
                own.get(name, str(otherwise(chip))) for own, chip in zip(each, chips, strict=True)
            ]
            options[name] = ",".join(values)
    return options


def _reads_back(graph: Graph, chip: Chip) -> dict[str, Json]:
    """What the binary must say of itself."""
    told: dict[str, Json] = dict(says_of_itself(chip))
    del told["soc_model"]
    if "vtcm_mb" in graph.options.get(NAME, {}):
        told["vtcm_mb"] = int(graph.options[NAME]["vtcm_mb"])
    return told


def _option_problems(name: str, value: Scalar, graph: Graph, chip: Chip) -> Iterator[Problem]:
    at = graph.places.get(f"options.{NAME}.{name}", graph.places.get("options", None))
    option = BY_NAME.get(name)
    if option is None:
        yield _unknown(name, at)
        return
    wrong = _wrong_value(option, value)
    if wrong:
        yield Problem(message=f"{name}: {wrong}", at=at, hint=f"{name}: {option.about}")
        return
    limit = _chip_limit(option, chip)
    if limit is not None and int(value) > limit:
        yield Problem(
            message=f"{name}: {value} is more than {chip.name} has",
            at=at,
            facts=((chip.name, f"{limit} MB of VTCM"),),
            hint=f"{name}: {limit}, or leave it out: then all of it is used",
        )
    on = _spelling(option, value) != option.default
    if option.min_arch is not None and on and chip.arch < option.min_arch:
        yield Problem(
            message=f"{name} needs HTP v{option.min_arch}; {chip.name} has v{chip.arch}",
            at=at,
            hint=f'for the newer chips only: only: {{"arch>={option.min_arch}": {{options: …}}}}',
        )


def _unknown(name: str, at: Span | None) -> Problem:
    if name in ELSEWHERE:
        return Problem(message=f"{name} is not an option here", at=at, hint=ELSEWHERE[name])
    known = ", ".join(BY_NAME)
    return Problem(
        message=f"the toolchain {NAME} has no option '{name}'",
        at=at,
        hint=did_you_mean(name, BY_NAME, otherwise=f"all options: {known}"),
    )


def _wrong_value(option: Option, value: Scalar) -> str | None:
    """Why `value` is none, with all that would be; None when it is one."""
    if option.kind == "switch":
        good = isinstance(value, bool) or str(value) in ("0", "1")
        return None if good else f"{value!r} is not on or off: 0, 1, true or false"
    if option.kind == "choice":
        text = _plain(value)
        return None if text in option.values else f"{value!r} is none of {_listed(option.values)}"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"{value!r} is not a whole number"
    if value < option.low or (option.high is not None and value > option.high):
        high = "" if option.high is None else f" and at most {option.high}"
        return f"{value} is out of range: at least {option.low}{high}"
    return None


def _chip_limit(option: Option, chip: Chip) -> int | None:
    return chip.vtcm_mb if option.chip_limit == "vtcm_mb" else None


def _spelling(option: Option, value: Scalar) -> str:
    """The value as the plugin wants it."""
    return str(int(value)) if option.kind == "switch" else _plain(value)


def _plain(value: Scalar) -> str:
    # true would otherwise be taken for the choice 1
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values)
