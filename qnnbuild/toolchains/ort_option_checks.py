"""What is wrong with the options of a recipe: value, version, chip, system, partners. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from qnnbuild.errors import Problem, Span, did_you_mean
from qnnbuild.model.nearest import nearest
from qnnbuild.model.recipe import Chip, ContextOptions, Graph, Scalar
from qnnbuild.toolchains.ort_options import (
    BY_NAME,
    Option,
    Partner,
    Since,
    option_data,
    settable,
)
from qnnbuild.toolchains.ort_versions import PLUGIN, Versions, installed

TOOLCHAIN = "ort"
DUMPED = {
    "op_trace": "enable_framework_op_trace",
    "qnn_graph": "dump_json_qnn_graph",
    "input_graph": "dump_qnn_ep_input_graph",
    "dlc": "dump_qnn_ir_dlc",
}
"""What `dumps:` lists → the option that says it."""

SWITCHED = {
    **dict.fromkeys(("yes", "on", "y", "true", "enable", "enabled"), "true"),
    **dict.fromkeys(("no", "off", "n", "false", "disable", "disabled"), "false"),
}
"""Words that are not taken for a switch → what is."""


def option_problems(
    graph: Graph, chip: Chip, context: ContextOptions, versions: Versions | None = None
) -> Iterator[Problem]:
    """Every mistake in `options.ort`, and what is said another way and too new for the tools.

    `versions` of the tools; None: those that are installed.
    """
    given = graph.options.get(TOOLCHAIN, {})
    stated = says(graph, context) if given or graph.dumps else {}
    for name, value in given.items():
        at = graph.places.get(f"options.{TOOLCHAIN}.{name}", graph.places.get("options"))
        option = BY_NAME.get(name)
        if option is None or not option.settable:
            yield _no_key(name, option, at)
            continue
        one = _Check(
            option=option, value=value, at=at, chip=chip, stated=stated, backend=graph.backend
        )
        yield from one.problems(versions)
    for dump in graph.dumps:
        if option := BY_NAME.get(DUMPED.get(dump, "")):
            at = graph.places.get(f"dumps.{dump}", graph.places.get("dumps"))
            one = _Check(
                option=option, value=1, at=at, chip=chip, stated=stated, backend=graph.backend
            )
            yield from one.too_old(versions, f"dumps: [{dump}]")


def says(graph: Graph, context: ContextOptions) -> Mapping[str, str]:
    """Options by name as the whole recipe says them, by options.ort or by keys of its own."""
    own = {
        name: spelling(BY_NAME[name], value)
        for name, value in graph.options.get(TOOLCHAIN, {}).items()
        if name in BY_NAME
    }
    return {
        **{option: "1" for dump, option in DUMPED.items() if dump in graph.dumps},
        "ep.context_enable": "1",
        "ep.context_embed_mode": "1" if context.embed else "0",
        "session.disable_cpu_ep_fallback": "0" if graph.cpu_fallback == "allow" else "1",
        "htp_bf16_enable": "1" if graph.precision == "bf16" else "0",
        **own,
    }


def usual(option: Option, stated: Mapping[str, str]) -> str:
    """What the plugin takes without the option, in this recipe."""
    if option.standing is not None and not all(_is_met(p, stated) for p in option.needs):
        return option.standing
    return option.default


def spelling(option: Option, value: Scalar) -> str:
    """The value as the plugin wants it."""
    if option.form == "switch" and isinstance(value, bool):
        return str(int(value))
    return _plain(value)


def wrong_value(option: Option, value: Scalar) -> str | None:
    """Why `value` is none, with all that would be; None when it is one."""
    if option.form == "switch":
        good = isinstance(value, bool) or str(value) in ("0", "1")
        return None if good else f"{value!r} is not on or off: 0, 1, true or false"
    if option.form == "choice":
        good = _plain(value) in option.values
        return None if good else f"{value!r} is none of {', '.join(option.values)}"
    if option.form == "number":
        return _wrong_number(option, value)
    return None if isinstance(value, str) and value.strip() else f"{value!r} is no text"


def _wrong_number(option: Option, value: Scalar) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"{value!r} is not a whole number"
    if value < option.low or (option.high is not None and value > option.high):
        high = "" if option.high is None else f" and at most {option.high}"
        return f"{value} is out of range: at least {option.low}{high}"
    return None


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One option that the toolchain knows, as a recipe sets it for one chip."""

    option: Option
    value: Scalar
    at: Span | None
    chip: Chip
    stated: Mapping[str, str]
    backend: str

    def problems(self, versions: Versions | None) -> Iterator[Problem]:
        """A value that is none says nothing of the rest."""
        option = self.option
        if wrong := wrong_value(option, self.value):
            hint = self._meant() or f"{option.name}: {option.about}"
            yield Problem(message=f"{option.name}: {wrong}", at=self.at, hint=hint)
            return
        yield from self._partners()
        if self.text == option.default:
            return
        yield from self._chip_limits()
        yield from self.too_old(versions, option.name)
        yield from self._elsewhere()

    @property
    def text(self) -> str:
        return spelling(self.option, self.value)

    def _meant(self) -> str | None:
        if self.option.form == "switch":
            word = SWITCHED.get(str(self.value).lower())
            return word and f"write {word}"
        return did_you_mean(str(self.value), self.option.values)

    def _partners(self) -> Iterator[Problem]:
        name = self.option.name
        for partner in self.option.needs:
            if self._counts(partner) and not _is_met(partner, self.stated):
                yield Problem(
                    message=f"{name}: {self.text} does nothing here: {partner.why}",
                    at=self.at,
                    facts=(self._fact(partner),),
                    hint=partner.hint,
                )
        for partner in self.option.excludes:
            if self._counts(partner) and self.stated.get(partner.name) in partner.values:
                yield Problem(
                    message=f"{name} cannot stand beside {_words(partner.name)}: {partner.why}",
                    at=self.at,
                    facts=(self._fact(partner),),
                    hint=partner.hint,
                )

    def _counts(self, partner: Partner) -> bool:
        """Whether this value of the option has to do with the other."""
        if partner.when:
            return self.text in partner.when
        return self.text != self.option.default

    def _fact(self, partner: Partner) -> tuple[str, str]:
        other = self.stated.get(partner.name, BY_NAME[partner.name].default)
        return partner.name, other or "not set"

    def _chip_limits(self) -> Iterator[Problem]:
        option, chip = self.option, self.chip
        limit = chip.vtcm_mb if option.chip_limit == "vtcm_mb" else None
        if limit is not None and int(self.value) > limit:
            yield Problem(
                message=f"{option.name}: {self.value} is more than {chip.name} has",
                at=self.at,
                facts=((chip.name, f"{limit} MB of VTCM"),),
                hint=f"{option.name}: {limit}, or leave it out: then all of it is used",
            )
        if option.min_arch is not None and chip.arch < option.min_arch:
            newer = f"arch>={option.min_arch}"
            yield Problem(
                message=f"{option.name} needs HTP v{option.min_arch}; {chip.name} has v{chip.arch}",
                at=self.at,
                hint=f'for the newer chips only: only: {{"{newer}": {{options: …}}}}',
            )

    def too_old(self, versions: Versions | None, said: str) -> Iterator[Problem]:
        """That the tools lack the option; `said` is how the recipe says it."""
        of_value = self.option.values_since.get(self.text, Since())
        for since, what in ((self.option.since, said), (of_value, f"{said}: {self.text}")):
            if not any(since.said):
                continue
            found = (versions or installed()).lacks(since)
            if found is not None:
                word, wanted, here = found
                yield Problem(
                    message=f"{what} needs {word} {wanted}; {here} is installed",
                    at=self.at,
                    hint=f"a newer package brings it: pip install -U {PLUGIN}, or leave it out",
                )

    def _elsewhere(self) -> Iterator[Problem]:
        """What this backend or the chip's system does not have."""
        option = self.option
        if option.backends and self.backend not in option.backends:
            yield Problem(
                message=f"{option.name} is for {_or(option.backends)}; the graph runs on "
                f"{self.backend}",
                at=self.at,
                hint="leave it out",
            )
            return
        here = systems_of(self.chip)
        if option.hosts and here and not set(option.hosts) & set(here):
            yield Problem(
                message=f"{option.name} works on {_or(option.hosts)} only; {self.chip.name} runs "
                f"{_or(here)}",
                at=self.at,
                facts=((self.chip.name, f"a chip of {_or(self.chip.tags)}"),),
                hint=f"for other chips only: only: {{{_tags_with(option)}: {{options: …}}}}",
            )


def systems_of(chip: Chip) -> tuple[str, ...]:
    """The systems that run on it, by its market; none: nobody tells."""
    table = option_data().hosts_of
    found = (host for tag in chip.tags for host in table.get(tag, ()))
    return tuple(dict.fromkeys(found))


def _tags_with(option: Option) -> str:
    """The tag of chips that run nothing else."""
    table = option_data().hosts_of
    return next(f'"@{tag}"' for tag, hosts in table.items() if set(hosts) <= set(option.hosts))


def _is_met(partner: Partner, stated: Mapping[str, str]) -> bool:
    default = BY_NAME[partner.name].default
    return stated.get(partner.name, default) in partner.values


def _no_key(name: str, option: Option | None, at: Span | None) -> Problem:
    """An option that nobody knows, or that is said another way."""
    if option is not None:
        return Problem(message=f"{name} is not an option here", at=at, hint=option.said_by)
    known = [one.name for one in settable()]
    near = did_you_mean(name, BY_NAME)
    meant = next(iter(nearest(name, BY_NAME)), None)
    if near and meant and (said := BY_NAME[meant].said_by):
        near = f"{near} {said}"
    return Problem(
        message=f"the toolchain {TOOLCHAIN} has no option '{name}'",
        at=at,
        hint=near or f"all options: {', '.join(known)}",
    )


def _words(name: str) -> str:
    """How a recipe calls an option."""
    option = BY_NAME[name]
    return name if option.settable else option.recipe


def _plain(value: Scalar) -> str:
    # true would otherwise be taken for the choice 1
    return str(value).lower() if isinstance(value, bool) else str(value)


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
