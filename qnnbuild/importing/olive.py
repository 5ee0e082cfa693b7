"""Settings of Olive (JSON) → the description of a recipe, pass by pass. Pure.

Passes of the QNN plugin become a recipe of `ort`; those of Qualcomm's SDK become the command lines
that Olive would make of them, and are read as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from qnnbuild.errors import RecipeError
from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.described import (
    PLACEHOLDER_SAMPLES,
    DescribedGraph,
    DescribedInput,
    DescribedModel,
    plain_name,
)
from qnnbuild.importing.graph_of_words import Whereabouts, file_of
from qnnbuild.importing.olive_passes import Taken, quantization, texts, whole_numbers
from qnnbuild.importing.olive_provider import take_provider_options
from qnnbuild.importing.recipe_text import Remarked
from qnnbuild.importing.scripts import Given, Walked, model_of_walked
from qnnbuild.importing.shell import Command
from qnnbuild.importing.tool_calls import CONTEXT, CONVERTER, LIBRARY
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode
from qnnbuild.text.reader import read_nodes

DONE_BY_PREPARE = {
    "qnnpreprocess": "prepare",
    "onnxpeepholeoptimizer": "prepare: simplify",
    "onnxsimplify": "prepare: simplify",
    "onnxmodeloptimizer": "prepare: simplify",
    "addolivemetadata": "manifest.json",
    "onnxfloattofloat16": "precision: fp16",
}
NO_STEP = {
    "onnxconversion": "export the model as ONNX: source: {export: {run: […], makes: model.onnx}}",
    "onnxdynamicquantization": "the NPU wants ranges that are known before: precision: w8a16",
    "graphsurgeries": "do it when the model is exported, or cut it with outputs:",
    "orttransformersoptimization": "repairs: has general rewrites; docs/recipe.md",
    "splitmodel": "outputs: cuts a graph; several graphs are several ONNX files",
    "staticllm": "precision: genie and precision: compiled take what other tools made",
}
OTHER_KEYS = {
    "evaluators": "verify: {metrics: …} takes a measure of your own",
    "evaluator": "verify: judges what was built",
    "data_configs": "calibration: {python: {file: feeds.py}} takes a function that yields inputs",
    "search_strategy": "precision: auto looks for the cheapest precision that holds its bar",
    "auto_optimizer_config": "a recipe says what is made",
}
SILENT = ("passes", "input_model", "systems", "engine", "host", "target", "cache_dir", "output_dir",
          "evaluate_input_model", "pass_flows", "clean_cache", "log_severity_level", "output_name",
          "workflow_id", "no_artifacts", "ort_log_severity_level")  # fmt: skip


@dataclass(kw_only=True)
class Olive:
    """What was read so far."""

    graph: DescribedGraph
    given_as: str  # the settings
    file: str  # of the ONNX, as written
    rows: list[Row] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)  # of Qualcomm's SDK
    chips: list[str] = field(default_factory=list)
    context: dict[str, bool | str] = field(default_factory=dict)
    given: Given


def is_olive(node: Node | None) -> bool:
    return isinstance(node, MappingNode) and "input_model" in node


def olive_model(
    name: str, file: str, text: str, given: Given, usual_chips: Sequence[str]
) -> tuple[DescribedModel | None, list[Row], str]:
    """As scripts.model_of. Raises RecipeError for what is no JSON of Olive."""
    root, problems = read_nodes(file, text.replace("\t", " "))
    if not isinstance(root, MappingNode) or not is_olive(root):
        raise (
            RecipeError.of(problems)
            if problems
            else RecipeError(f"{file} has no input_model: it is no file of Olive")
        )
    graph = DescribedGraph(name=plain_name(name))
    olive = Olive(graph=graph, given_as=file, file="", given=given)
    _input_model(olive, root)
    for kind, one in _passes(root):
        _PASSES.get(kind, _other)(olive, one)
    _accelerators(olive, root)
    _other_keys(olive, root)
    if olive.commands:
        walked = Walked(commands=olive.commands)
        model, rows, version = model_of_walked(name, walked, "", given, usual_chips)
        return model, [*olive.rows, *rows], version
    return _of_ort(name, olive, given, usual_chips), olive.rows, ""


def _of_ort(name: str, olive: Olive, given: Given, usual_chips: Sequence[str]) -> DescribedModel:
    graph = olive.graph
    path, is_there = file_of(
        olive.file, Whereabouts(axes=(), locate=given.locate), "onnx", f"{graph.name}.onnx"
    )
    graph.source = {"file": path}
    if not is_there:
        graph.source = Remarked({"file": path}, f"put the ONNX file there: {olive.file}")
    graph.precision = graph.precision or "fp16"
    chips = list(given.wanted) or list(dict.fromkeys(olive.chips))
    if not chips:
        todo = "--chips SM8750,… says it"
        olive.rows.append(
            left(Place(olive.given_as, 1), "chips", "nothing says for which it is", todo)
        )
    return DescribedModel(
        name=name,
        toolchain="ort",
        chips=chips or list(usual_chips),
        graphs=[graph],
        context={**olive.context},
    )


def _body(node: MappingNode) -> MappingNode:
    """Older files have the keys of a pass or a model under "config"."""
    return node.mapping("config") or node


def _place(node: Node) -> Place:
    return Place(node.span.file, node.span.line)


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) else ""


def _input_model(olive: Olive, root: MappingNode) -> None:
    model = root.mapping("input_model")
    if model is None:
        return
    kind, path = _text(model.get("type")), _text(_body(model).get("model_path"))
    at = _place(model)
    olive.file = path or "model.onnx"
    if kind.lower() != "onnxmodel":
        olive.rows.append(left(at, f"input_model: {kind}", "a recipe begins with ONNX",
                               NO_STEP["onnxconversion"]))  # fmt: skip
    else:
        olive.rows.append(carried(at, f"input_model: {path}", f"graphs.{olive.graph.name}.source"))


def _passes(root: MappingNode) -> Iterator[tuple[str, MappingNode]]:
    """Kind in small letters and keys; a name may have a list of passes."""
    passes = root.mapping("passes")
    for entry in passes.entries.values() if passes else ():
        several = entry.value.items if isinstance(entry.value, ListNode) else (entry.value,)
        for one in several:
            if isinstance(one, MappingNode):
                yield _text(one.get("type")).lower(), one


def _other(olive: Olive, node: MappingNode) -> None:
    kind = _text(node.get("type")).lower()
    at, what = _place(node), f"pass {_text(node.get('type'))}"
    if kind in DONE_BY_PREPARE:
        olive.rows.append(carried(at, what, DONE_BY_PREPARE[kind]))
    else:
        todo = NO_STEP.get(kind, "see docs/recipe.md for what a recipe can say")
        olive.rows.append(left(at, what, "no step of a recipe", todo))


def _fixed_shape(olive: Olive, node: MappingNode) -> None:
    body, at = _body(node), _place(node)
    names, values = texts(body.get("dim_param")), whole_numbers(body.get("dim_value"))
    settled = dict(zip(names, values, strict=False))
    shapes = body.get("input_shape")
    inputs = texts(body.get("input_name"))
    given = shapes.items if isinstance(shapes, ListNode) else ()
    for name, shape in zip(inputs, given, strict=False):
        olive.graph.inputs[name] = DescribedInput(shape=list(whole_numbers(shape)))
        olive.rows.append(carried(at, f"input_shape of {name}", f"inputs.{name}.shape"))
    for name, had in (olive.given.shapes(olive.file) or {}).items() if settled else ():
        sizes = [settled.get(size, size) if isinstance(size, str) else size for size in had]
        if list(had) != sizes and all(isinstance(size, int) for size in sizes):
            olive.graph.inputs[name] = DescribedInput(shape=sizes)
            said = ", ".join(f"{k} = {v}" for k, v in settled.items())
            olive.rows.append(carried(at, said, f"inputs.{name}.shape"))
    if settled and not olive.graph.inputs:
        said = ", ".join(f"{key} = {value}" for key, value in settled.items())
        todo = "inputs: {x: {shape: […]}}, or qnnbuild init --from with --dim"
        olive.rows.append(left(at, said, "the ONNX file is not at hand to see whose it is", todo))


def _quantized(olive: Olive, node: MappingNode) -> None:
    at = _place(node)
    taken: Taken = quantization(_body(node), at)
    olive.rows += taken.rows
    if taken.precision is None:
        return
    olive.graph.precision = taken.precision
    olive.graph.calibration = Remarked({"random": 8}, PLACEHOLDER_SAMPLES)
    todo = OTHER_KEYS["data_configs"]
    olive.rows.append(left(at, "calibration data", "it is a function of Python", todo))


def _context(olive: Olive, node: MappingNode) -> None:
    body, at = _body(node), _place(node)
    for key, name in (("embed_context", "embed"), ("weight_sharing", "share_weights")):
        if _text(body.get(key)).lower() == "true":
            olive.context[name] = True if name == "embed" else "graphs"
            olive.rows.append(carried(at, f"{key}: true", f"context.{name}"))
    options = body.mapping("provider_options")
    if options is not None:
        _provider(olive, options)


def _provider(olive: Olive, options: MappingNode) -> None:
    found = take_provider_options(options, olive.given.chips)
    olive.rows += found.rows
    olive.chips += found.chips
    olive.graph.run.update(found.run)
    if found.options:
        olive.graph.options = {"ort": {**found.options}}


def _converter(olive: Olive, node: MappingNode) -> None:
    body = _body(node)
    words = [CONVERTER, "--input_network", olive.file, "--output_path", f"{olive.graph.name}.cpp"]
    for flag, key in (("--input_dim", "input_dim"), ("--out_node", "out_node")):
        for text in texts(body.get(key)):
            words += [flag, *text.split(None, 1)]
    words += _text(body.get("extra_args")).split()
    olive.commands.append(Command(words=tuple(words), at=_place(node)))


def _library(olive: Olive, node: MappingNode) -> None:
    targets = _text(_body(node).get("lib_targets")).split()
    words = [LIBRARY, "-c", f"{olive.graph.name}.cpp", *(["-t", *targets] if targets else [])]
    olive.commands.append(Command(words=tuple(words), at=_place(node)))


def _sdk_context(olive: Olive, node: MappingNode) -> None:
    body = _body(node)
    words = [CONTEXT, "--model", f"lib{olive.graph.name}.so"]
    if backend := _text(body.get("backend")):
        words += ["--backend", backend]
    words += _text(body.get("extra_args")).split()
    olive.commands.append(Command(words=tuple(words), at=_place(node)))


def _accelerators(olive: Olive, root: MappingNode) -> None:
    """Execution providers of the systems: names, or pairs of a name and its options."""
    systems = root.mapping("systems")
    for system in systems.entries.values() if systems else ():
        body = _body(system.value) if isinstance(system.value, MappingNode) else None
        listed = body.get("accelerators") if body else None
        for one in listed.items if isinstance(listed, ListNode) else ():
            providers = one.get("execution_providers") if isinstance(one, MappingNode) else None
            for provider in providers.items if isinstance(providers, ListNode) else ():
                _provider_of(olive, provider)


def _provider_of(olive: Olive, node: Node) -> None:
    options: Node | None = None
    name = _text(node)
    if isinstance(node, ListNode) and node.items:
        name, options = _text(node.items[0]), node.items[-1]
    elif isinstance(node, MappingNode):
        name = next(iter(node.entries), "")
        options = node.get(name)
    if name != "QNNExecutionProvider":
        todo = "recipes are for Qualcomm's NPU"
        olive.rows.append(left(_place(node), name, "not what a recipe builds for", todo))
    elif isinstance(options, MappingNode):
        _provider(olive, options)


def _other_keys(olive: Olive, root: MappingNode) -> None:
    for key, entry in root.entries.items():
        if key not in SILENT:
            todo = OTHER_KEYS.get(key, "see docs/recipe.md for what a recipe can say")
            olive.rows.append(left(_place(entry.key), key, "no key of a recipe", todo))


_PASSES: dict[str, Callable[[Olive, MappingNode], None]] = {
    "dynamictofixedshape": _fixed_shape,
    "onnxstaticquantization": _quantized,
    "onnxquantization": _quantized,
    "epcontextbinarygenerator": _context,
    "qnnconversion": _converter,
    "qnnmodellibgenerator": _library,
    "qnncontextbinarygenerator": _sdk_context,
}
