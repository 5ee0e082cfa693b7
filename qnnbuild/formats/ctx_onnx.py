"""ctx.onnx files: ONNX models whose EPContext nodes stand for compiled graphs.

The attributes are ONNX Runtime's (EP context design). The form of `ep_compatibility_info` was read
off files that the plugin made: `v2:<backend>:<sdk>:<backend api>:<archs>:<soc_models>:<VTCMs>:<…>`.
"""

from __future__ import annotations

from dataclasses import dataclass

from qnnbuild.formats.context_binary import ContextFacts, read_context_binary
from qnnbuild.formats.dlc import DlcFacts, read_dlc
from qnnbuild.formats.onnx_file import NodeFacts, OnnxFacts, read_model
from qnnbuild.formats.zip_records import ZIP_MAGIC

EP_CONTEXT = "com.microsoft:EPContext"
COMPATIBILITY = "ep_compatibility_info."


@dataclass(frozen=True, kw_only=True)
class EpContextNode:
    name: str
    source: str  # the execution provider
    partition: str  # the graph's name in the binary
    main: bool  # False: the binary is another node's
    sdk_build: str | None
    multi_chip: bool
    file: str | None  # of the binary, relative to the ctx.onnx
    embedded: ContextFacts | DlcFacts | None


@dataclass(frozen=True, kw_only=True)
class CtxOnnxFacts:
    kind: str = "ctx.onnx"
    size: int
    onnx: OnnxFacts
    nodes: tuple[EpContextNode, ...]
    other_nodes: int  # these run on the CPU
    soc_models: tuple[int, ...]  # empty: not said
    compatibility: str | None


def as_ctx_onnx(data: memoryview) -> CtxOnnxFacts | OnnxFacts:
    """The facts of a ctx.onnx, or those of a plain ONNX when no node is an EPContext."""
    facts, nodes = read_model(data)
    contexts = tuple(_node(node) for node in nodes if node.op == EP_CONTEXT)
    if not contexts:
        return facts
    compatibility = next(
        (text for key, text in sorted(facts.metadata.items()) if key.startswith(COMPATIBILITY)),
        None,
    )
    return CtxOnnxFacts(
        size=facts.size,
        onnx=facts,
        nodes=contexts,
        other_nodes=len(nodes) - len(contexts),
        soc_models=_soc_models(compatibility),
        compatibility=compatibility,
    )


def _node(node: NodeFacts) -> EpContextNode:
    cache = node.attributes.get("ep_cache_context", "")
    embedded = node.attributes.get("embed_mode", 1) == 1
    holds = embedded and isinstance(cache, memoryview)
    return EpContextNode(
        name=node.name,
        source=_text(node, "source") or "",
        partition=_text(node, "partition_name") or "",
        main=node.attributes.get("main_context", 1) == 1,
        sdk_build=_text(node, "ep_sdk_version"),
        multi_chip=node.attributes.get("is_multi_soc_ep_context", 0) == 1,
        file=cache if isinstance(cache, str) and cache and not embedded else None,
        embedded=_binary(cache) if holds and isinstance(cache, memoryview) else None,
    )


def _binary(cache: memoryview) -> ContextFacts | DlcFacts:
    if bytes(cache[:4]) == ZIP_MAGIC:
        return read_dlc(cache)
    return read_context_binary(cache)


def _text(node: NodeFacts, name: str) -> str | None:
    value = node.attributes.get(name)
    return value if isinstance(value, str) else None


def _soc_models(compatibility: str | None) -> tuple[int, ...]:
    parts = (compatibility or "").split(":")
    if len(parts) < 6 or parts[0] != "v2":
        return ()
    numbers = [part for part in parts[5].split(",") if part.isascii() and part.isdigit()]
    return tuple(int(number[:9]) for number in numbers)
