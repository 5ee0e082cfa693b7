"""What a graph is called by Qualcomm's SDK: of its files, inside a context, and its library.

Three tools each make one of these names out of the stem of a file, and no two in the same way. The
HTP's settings count only for a graph that they name as the converter does; else they are passed
over in silence, and the binary is for another chip. So names are made here and nowhere else, from
graphs whose names leave no doubt: what the tools make of capitals, dots and leading digits is not
known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph
from qnnbuild.model.sdk_systems import System

PLAIN = re.compile(r"[a-z](?:[a-z0-9]|[-_](?![-_]))*")


@dataclass(frozen=True, kw_only=True)
class Names:
    stem: str  # of model.cpp, model.bin, model_net.json
    graph: str  # in the context binary

    @property
    def library(self) -> str:
        """Dashes stay in it, unlike in the graph's name."""
        return f"lib{self.stem}.so"


def names_of(graph: Graph) -> Names:
    stem = graph.in_binary or graph.name
    return Names(stem=stem, graph=stem.replace("-", "_"))


def name_problems(graph: Graph, systems: Sequence[System]) -> Iterator[Problem]:
    """A name of which the SDK's tools would make something else."""
    at = graph.places.get("graph")
    stem = names_of(graph).stem
    if PLAIN.fullmatch(graph.name) and not PLAIN.fullmatch(stem):
        variant = stem.removeprefix(f"{graph.name}-")
        yield Problem(
            message=f"the SDK's tools would give '{stem}' another name, which '{graph.name}' has "
            f"in a binary that variants share",
            at=at,
            facts=(("variant", variant),),
            hint="variants: small letters, digits, and single - or _; or "
            "context: {share_weights: graphs}",
        )
    elif not PLAIN.fullmatch(graph.name):
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", graph.name).lower()
        plain = re.sub(r"[-_]{2,}", "_", re.sub(r"[^a-z0-9_-]", "_", plain)).strip("_-")
        plain = plain if PLAIN.fullmatch(plain) else f"graph_{plain}"
        yield Problem(
            message=f"the SDK's tools would give the graph '{graph.name}' another name",
            at=at,
            hint="begin with a small letter; small letters, digits, and single - or _: "
            f"graphs: {{{plain}: …}}",
        )
    elif "lib" in stem:
        for system in systems:
            if system.cuts_lib:
                yield Problem(
                    message=f"the SDK's build for {system.name} takes 'lib' out of the name "
                    f"'{stem}'",
                    at=at,
                    hint="call the graph otherwise",
                )
