"""Shell scripts of the SDK's three tools → the description of a recipe. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.converter_words import Converted
from qnnbuild.importing.described import DescribedGraph, DescribedModel, plain_name
from qnnbuild.importing.graph_of_words import Locate, Whereabouts, graph_of
from qnnbuild.importing.holes import holes_in, is_known, only_hole, shown, without_holes
from qnnbuild.importing.htp_files import Asked, Find, read_settings_file
from qnnbuild.importing.option_values import Read
from qnnbuild.importing.recipe_text import Value
from qnnbuild.importing.shell import MOST_STEPS, Command, walk
from qnnbuild.importing.tool_calls import USUAL_VERSION, Calls, Library, read_calls, stem_of
from qnnbuild.importing.workflow import Part
from qnnbuild.model.chips import Chips
from qnnbuild.model.sdk_systems import ANDROID, HOST
from qnnbuild.toolchains.qairt_options import EXTENSIONS, HTP, data, has

Shapes = Callable[[str], Mapping[str, Sequence[int | str]] | None]
"""An ONNX file by a path of the script → the shapes of its inputs; None when it is not at hand."""

_NUMBERED = re.compile(r"[0-9][0-9.]*[a-z]*")
DEFAULT_TARGETS = (HOST, ANDROID)
OF_SHERPA: Mapping[str, Read] = {"perf_profile": "burst", "rpc_control_latency": 200}
"""What sherpa-onnx's script always writes, beside the chip."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file as the user named it, in parts where it is a workflow."""

    file: str
    parts: Sequence[Part]
    whole: str


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the command line says, and how the disk is asked."""

    chips: Chips
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # --set
    wanted: Sequence[str] = ()  # --chips, as a recipe writes them
    locate: Locate = lambda _: None
    find: Find = lambda _: None
    shapes: Shapes = lambda _: None


@dataclass(kw_only=True)
class Walked:
    commands: list[Command] = field(default_factory=list)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, tuple[str, Place]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


def model_of(
    name: str, texts: Sequence[Text], given: Given, usual_chips: Sequence[str]
) -> tuple[DescribedModel | None, list[Row], str]:
    """The model, what became of each word, and the SDK's version ("" where nothing tells it).

    None where no converter is called.
    """
    first = _walk(texts, given, ())
    unrolled = list(_names_of_graphs(read_calls(first.commands), first, given))
    walked = _walk(texts, given, unrolled) if unrolled else first
    whole = "\n".join(text.whole for text in texts)
    return model_of_walked(name, walked, whole, given, usual_chips)


def model_of_walked(
    name: str, walked: Walked, whole: str, given: Given, usual_chips: Sequence[str]
) -> tuple[DescribedModel | None, list[Row], str]:
    """The same of commands that are known already. `whole` may tell a version of the SDK."""
    calls = read_calls(walked.commands, whole)
    rows = [*walked.rows, *calls.rows]
    if not calls.converted:
        return None, rows, calls.version
    axes = {axis: words for axis, words in walked.axes.items() if not _are_chips(words, given)}
    graphs = list(_graphs(calls, Whereabouts(axes=axes, locate=given.locate), rows))
    asked = _asked(calls, walked, given, rows)
    chips = _chips(asked, calls, walked, given, rows)
    if not chips:
        first = calls.converted[0].at
        rows.append(left(first, "chips", "nothing says for which chips it is", "--chips SM8750,…"))
    _set_options(graphs, calls, asked)
    rows += [_row_of(library) for library in calls.libraries]
    model = DescribedModel(
        name=name, chips=chips or list(usual_chips), graphs=[graph for _, graph in graphs]
    )
    text = model.text()
    model.variants = {axis: words for axis, words in axes.items() if f"{{{axis}}}" in text}
    if asked.shares_weights or any(len(one.stems) > 1 for one in calls.contexts):
        model.context["share_weights"] = "graphs"
    return model, rows, calls.version


def _walk(texts: Sequence[Text], given: Given, unrolled: Sequence[str]) -> Walked:
    walked, steps = Walked(), MOST_STEPS
    axes = {name: words for name, words in given.values.items() if len(words) > 1}
    singles = {name: words[0] for name, words in given.values.items() if len(words) == 1}
    for text in texts:
        for part in text.parts:
            outside = {**part.axes, **axes}
            set_here = {name: words for name, words in outside.items() if name not in unrolled}
            for chosen in _choices(outside, unrolled):
                script = walk(
                    part.text,
                    text.file,
                    first_line=part.first_line,
                    values={**part.values, **singles, **chosen},
                    axes=set_here,
                    unrolled=unrolled,
                    most_steps=steps,
                )
                steps -= script.steps
                walked.commands += script.commands
                walked.axes.update(script.axes)
                walked.files.update(script.files)
            walked.rows += [
                left(at, "a line", "it is no shell that is understood", "look at that line")
                for at in script.not_read[:1]
            ]
    return walked


def _choices(
    axes: Mapping[str, tuple[str, ...]], unrolled: Sequence[str]
) -> Iterator[dict[str, str]]:
    """Each word of the axes that are given from outside and name graphs."""
    outside = [name for name in unrolled if name in axes]
    if not outside:
        yield {}
        return
    name = outside[0]
    for word in axes[name]:
        for rest in _choices({k: v for k, v in axes.items() if k != name}, unrolled):
            yield {name: word, **rest}


def _names_of_graphs(calls: Calls, walked: Walked, given: Given) -> Iterator[str]:
    """Axes whose words are names of graphs: the whole stem, or part of it and no numbers."""
    for call in calls.converted:
        stem = stem_of(call.one("output_path"))
        for name in holes_in(stem):
            words = walked.axes.get(name, ())
            if not words or _are_chips(words, given):
                continue
            if only_hole(stem) == name or not all(map(_NUMBERED.fullmatch, words)):
                yield name


def _are_chips(words: Sequence[str], given: Given) -> bool:
    return all(given.chips.by_android(word) or given.chips.by_soc_type(word) for word in words)


def _graphs(
    calls: Calls, where: Whereabouts, rows: list[Row]
) -> Iterator[tuple[str, DescribedGraph]]:
    """Each with the stem of its files. The same call twice is one graph."""
    known: dict[str, Converted] = {}
    for call in calls.converted:
        stem = stem_of(call.one("output_path") or call.one("input_network"))
        name = plain_name(without_holes(stem).removesuffix(".onnx") or "model")
        same = known.get(name)
        if same is not None and (same.said, same.options) == (call.said, call.options):
            continue
        if same is not None:
            todo = "variants: or leave_out: says when which of the two counts"
            rows.append(left(call.at, name, f"converted otherwise at {same.at}", todo))
            continue
        known[name] = call
        graph, told = graph_of(call, name, where)
        rows += told
        yield stem, graph


def _asked(calls: Calls, walked: Walked, given: Given, rows: list[Row]) -> Asked:
    """Of all compiles together; what differs between them is told."""
    together = Asked()

    def find(path: str) -> tuple[str, Place] | None:
        return walked.files.get(path) or given.find(path)

    for settings, at in dict.fromkeys((one.settings, one.at) for one in calls.contexts):
        if not settings or (calls.generated and find(settings) is None):
            continue
        asked = read_settings_file(settings, at, find)
        rows += asked.rows
        together.soc_models += asked.soc_models
        sizes = {c.vtcm_mb for n in asked.soc_models for c in given.chips.by_soc_model(n)[:1]}
        if sizes == {asked.htp.get("vtcm_mb")}:
            del asked.htp["vtcm_mb"]  # all that the chip has: what is taken without a word
        together.shares_weights |= asked.shares_weights
        for had, new in ((together.htp, asked.htp), (together.extensions, asked.extensions)):
            for key, value in new.items():
                if had.setdefault(key, value) != value:
                    why = f"another compile has {had[key]}"
                    rows.append(left(at, f"{key}: {value}", why, "only: says it by chip or graph"))
    if calls.generated:
        together.htp = {**OF_SHERPA, **together.htp}
    gone = list(_out_of_date(together, calls))
    names = {row.what for row in gone}
    rows[:] = [row for row in rows if row.became.rpartition(".")[2] not in names] + gone
    return together


def _out_of_date(asked: Asked, calls: Calls) -> Iterator[Row]:
    """Keys that the SDK's version does not know any more, or not yet: they go."""
    version = calls.version or USUAL_VERSION
    for section, values in ((HTP, asked.htp), (EXTENSIONS, asked.extensions)):
        known = data().sections[section]
        for name in [name for name in values if name in known]:
            option = known[name]
            if option.until and has(version, option.until):
                del values[name]
                why = f"it does nothing since {option.until}: {option.about} in any case"
                yield left(calls.contexts[0].at, name, why, "nothing")
            elif not has(version, option.since):
                del values[name]
                why = f"it came with {option.since}; the SDK is {version}"
                yield left(calls.contexts[0].at, name, why, "a newer SDK")


def _chips(asked: Asked, calls: Calls, walked: Walked, given: Given, rows: list[Row]) -> list[str]:
    if given.wanted:
        return list(given.wanted)
    found: list[str] = []
    for number in asked.soc_models:
        found += [chip.name for chip in given.chips.by_soc_model(number)[:1]]
        if not given.chips.by_soc_model(number):
            why = given.chips.refusal(number) or "no chip has this number"
            rows.append(left(calls.contexts[0].at, f"soc_model {number}", why, "qnnbuild chips"))
    for one in calls.generated:
        name = only_hole(one.chip)
        words = walked.axes.get(name, ()) if name else (one.chip,) if is_known(one.chip) else ()
        for word in words:
            chip = given.chips.by_android(word) or next(
                iter(given.chips.by_soc_type(word.upper())), None
            )
            if chip is None:
                rows.append(left(one.at, word, "no chip is named so", "qnnbuild chips"))
                continue
            found.append(chip.name)
            rows.append(carried(one.at, f"--soc {word}", f"chips: {chip.name}"))
        if not words:
            todo = f"--chips SM8750,… or --set {holes_in(one.chip)[0]}=SM8750,…"
            rows.append(left(one.at, f"--soc {shown(one.chip)}", "only a run knows it", todo))
    return list(dict.fromkeys(found))


def _set_options(
    graphs: Sequence[tuple[str, DescribedGraph]],
    calls: Calls,
    asked: Asked,
) -> None:
    """What counts for libraries and compiles, graph by graph."""
    htp = dict(asked.htp)
    for stem, graph in graphs:
        targets = [
            target
            for library in calls.libraries
            if library.stem == stem
            for target in library.targets or DEFAULT_TARGETS
            if target != HOST
        ]
        parts: dict[str, Value] = {**_qairt(graph)}
        if targets:
            parts["library"] = {"targets": list(dict.fromkeys(targets))}
        if htp:
            parts["htp"] = htp
        if asked.extensions:
            parts["extensions"] = asked.extensions
        if parts:
            graph.options = {"qairt": parts}


def _qairt(graph: DescribedGraph) -> Mapping[str, Value]:
    found = graph.options.get("qairt", {})
    return found if isinstance(found, Mapping) else {}


def _row_of(library: Library) -> Row:
    targets = library.targets or DEFAULT_TARGETS
    what = f"-t {' '.join(map(shown, targets))}" if library.targets else "no -t"
    others = [target for target in targets if target != HOST]
    became = (
        f"options.qairt.library.targets: [{', '.join(others)}]"
        if others
        else "this host's, in any case"
    )
    return carried(library.at, what, became)
