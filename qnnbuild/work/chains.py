"""Conditions on a chain of nodes, by the names that plugin_fusions.json uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto

from qnnbuild.work.node_facts import DEQUANTIZE, NodeFacts, attribute


@dataclass(kw_only=True)
class Chain:
    """`nodes` grows by those that a condition finds beside the chain."""

    nodes: list[NodeProto]
    facts: NodeFacts
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self.length = len(self.nodes)

    @property
    def first(self) -> NodeProto:
        return self.nodes[0]

    def of(self, op_type: str) -> list[NodeProto]:
        return [node for node in self.nodes[: self.length] if node.op_type == op_type]


def single_number(node: NodeProto, facts: NodeFacts) -> float | None:
    """The one number among a node's two inputs, be it on either side."""
    for name in node.input[:2]:
        array = facts.constant(name)
        if array is None:
            maker = facts.makers.get(name)
            if maker is not None and maker.op_type == DEQUANTIZE:
                array = _dequantized(maker, facts)
        if array is not None and array.size == 1:
            return float(array.reshape(-1)[0])
    return None


def _dequantized(node: NodeProto, facts: NodeFacts) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    found = [facts.constant(name) for name in node.input]
    parts = [part.astype(np.float64) for part in found if part is not None]
    if len(parts) < len(found):
        return None
    whole, scale, *zero = parts
    return np.asarray((whole - zero[0] if zero else whole) * scale)


def _same_input(chain: Chain) -> bool:
    """The last node also reads what the first one reads."""
    return chain.first.input[0] in chain.nodes[chain.length - 1].input


def _gelu(chain: Chain) -> bool:
    """What is multiplied behind the Erf is the input, or half of it; the half may come first."""
    source = next((n for n in chain.first.input if not chain.facts.is_constant(n)), "")
    product = chain.of("Mul")[1 if chain.first.op_type == "Mul" else 0]
    for name in product.input:
        if name == source:
            return True
        half = chain.facts.makers.get(name)
        if half is not None and half.op_type == "Mul" and source in half.input:
            chain.nodes.append(half)
            return True
    halved = single_number(product, chain.facts)
    last = chain.facts.only_reader(product)
    is_half = halved is not None and abs(halved - 0.5) < 0.005
    if is_half and last is not None and last.op_type == "Mul" and source in last.input:
        chain.nodes.append(last)
        return True
    return _through_quantizers(chain, source, product)


def _through_quantizers(chain: Chain, source: str, product: NodeProto) -> bool:
    """The input is dequantized for each of its readers."""
    makers = chain.facts.makers
    ours = makers.get(source)
    return ours is not None and any(
        (maker := makers.get(name)) is not None
        and maker.op_type == DEQUANTIZE
        and maker.input[0] == ours.input[0]
        for name in product.input
    )


def _sixth_and_half(chain: Chain) -> bool:
    alpha = float(attribute(chain.first, "alpha", 0.2))
    beta = float(attribute(chain.first, "beta", 0.5))
    return abs(alpha - 1 / 6) < 1e-6 and abs(beta - 0.5) < 1e-6


def _centred(chain: Chain) -> bool:
    """The subtraction and the division read what they should; gamma and beta are constant."""
    mean, sub, div = chain.first, chain.of("Sub")[0], chain.of("Div")[0]
    scale, shift = chain.of("Mul")[0], chain.of("Add")[-1]
    constant = chain.facts.is_constant
    return (
        sub.input[0] == mean.input[0]
        and div.input[0] == sub.output[0]
        and any(constant(name) for name in scale.input)
        and any(constant(name) for name in shift.input)
    )


def _into_matrix(chain: Chain) -> bool:
    """A Reshape to two dimensions in front of a Gemm as it is by default, with stored weights."""
    reshape = chain.first
    gemm = chain.nodes[1]
    shape = chain.facts.shape(reshape.input[0])
    plain = all(attribute(gemm, name, default) == default for name, default in GEMM.items())
    return (
        plain
        and chain.facts.is_constant(gemm.input[1])
        and gemm.input[0] == reshape.output[0]
        and shape is not None
        and len(shape) <= 4
    )


GEMM: Mapping[str, float] = {"transA": 0, "transB": 0, "alpha": 1.0, "beta": 1.0}


def _ranks(chain: Chain) -> tuple[int, ...]:
    shapes = [chain.facts.shape(chain.first.input[0])]
    shapes += [chain.facts.shape(node.output[0]) for node in chain.nodes[: chain.length]]
    return tuple(len(shape) if shape is not None else 0 for shape in shapes)


SPACE_TO_DEPTH = ([0, 3, 5, 1, 2, 4], [0, 1, 3, 5, 2, 4])
LAID_OUT = ("Conv", "ConvTranspose", "AveragePool", "MaxPool", "GlobalAveragePool", "Resize")
"""With one of these ONNX Runtime asks the plugin a second time, and only then it looks at such
orders: seen with and without a Conv in front.
"""


def _rank_six_inside(chain: Chain) -> bool:
    """Into six dimensions and back; a size of one stays at its place."""
    before = chain.facts.shape(chain.nodes[0].output[0])
    after = chain.facts.shape(chain.nodes[1].output[0])
    ranks = _ranks(chain)
    if before is None or after is None or ranks[1] != 6 or ranks[2] != 6:
        return False
    order = attribute(chain.nodes[1], "perm", [])
    if list(order) in SPACE_TO_DEPTH and not chain.facts.has(LAID_OUT):
        return False
    return any(one == 1 and order[place] == place for place, one in enumerate(before))


def _depth_to_space(chain: Chain) -> bool:
    text = attribute(chain.nodes[1], "equation", "").replace(" ", "")
    before, _, after = text.partition("->")
    order = [before.find(letter) for letter in after]
    return order == [0, 5, 1, 3, 2, 4] and _ranks(chain) == (4, 6, 6, 4)


def _gathers_blocks(chain: Chain) -> bool:
    gather, transpose = chain.first, chain.nodes[1]
    index = chain.facts.constant(gather.input[1])
    shape = chain.facts.shape(gather.input[0])
    if index is None or index.ndim != 2 or shape is None or len(shape) != 5:
        return False
    flat = list(range(index.size))
    in_order = index.ravel().tolist() == flat or index.T.ravel().tolist() == flat
    order = attribute(transpose, "perm", [])[:3]
    return attribute(gather, "axis", 0) in (4, -1) and in_order and order == [0, 1, 2]


def _integer_product(chain: Chain) -> bool:
    """Quantized at run time, with stored weights; scales are multiplied beside the chain."""
    product, scaled = chain.first, next(iter(chain.of("Mul")))
    makers = chain.facts.makers
    quantizer = makers.get(product.input[0])
    if quantizer is None or quantizer.op_type != "DynamicQuantizeLinear":
        return False
    beside = next(
        (m for n in scaled.input if (m := makers.get(n)) is not None and m.op_type == "Mul"), None
    )
    if beside is None or not chain.facts.is_constant(product.input[1]):
        return False
    if chain.length > 3 and not any(chain.facts.is_constant(n) for n in chain.nodes[3].input):
        return False
    chain.nodes += [quantizer, beside]
    return quantizer.output[1] in beside.input


def _all_three_dequantized(chain: Chain) -> bool:
    quantizer, dequantizer = chain.first, chain.nodes[1]
    return list(dequantizer.input[:3]) == list(quantizer.output)


def _activation(chain: Chain) -> bool:
    """Its input is no stored weight."""
    return not chain.facts.is_constant(chain.first.input[0])


def _no_quantizer_before(chain: Chain) -> bool:
    maker = chain.facts.makers.get(chain.first.input[0])
    return maker is None or maker.op_type != DEQUANTIZE


def _quantized_before(chain: Chain) -> bool:
    """ONNX Runtime leaves such chains alone, and the plugin gets them."""
    return not _no_quantizer_before(chain)


def _can_convert(chain: Chain) -> bool:
    kinds = ("float32", "float16", "bool", "uint8")
    return chain.facts.dtype(chain.first.input[0]) in kinds


def _single_scales(chain: Chain) -> bool:
    return all(
        (scale := chain.facts.constant(node.input[1])) is not None and scale.size == 1
        for node in chain.nodes[: chain.length]
    )


def _scales_by_block(chain: Chain) -> bool:
    """The scale of the weights is made by a DequantizeLinear of its own."""
    maker = chain.facts.makers.get(chain.first.input[1])
    if maker is None or maker.op_type != DEQUANTIZE:
        return False
    chain.nodes.append(maker)
    return chain.facts.is_constant(chain.first.input[0])


def _becomes_channels_last(chain: Chain) -> bool:
    """To move the channels to the end moves no number: there is one of them, or one place."""
    shape = chain.facts.shape(chain.first.output[0])
    if shape is None or len(shape) < 3 or chain.facts.is_constant(chain.first.input[0]):
        return False
    chain.nodes.pop()  # what asks for the layout stays itself
    return shape[1] == 1 or all(size == 1 for size in shape[2:])


CONDITIONS: Mapping[str, Callable[[Chain], bool]] = {
    "same input": _same_input,
    "gelu": _gelu,
    "alpha 1/6, beta 1/2": _sixth_and_half,
    "centred": _centred,
    "into a matrix": _into_matrix,
    "rank 6 inside": _rank_six_inside,
    "depth to space": _depth_to_space,
    "gathers blocks": _gathers_blocks,
    "integer product": _integer_product,
    "all three dequantized": _all_three_dequantized,
    "an activation": _activation,
    "quantized before": _quantized_before,
    "no quantizer before": _no_quantizer_before,
    "can be converted": _can_convert,
    "single scales": _single_scales,
    "becomes channels last": _becomes_channels_last,
    "scales by block": _scales_by_block,
}
