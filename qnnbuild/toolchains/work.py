"""What a toolchain says about a piece of work. It says, it runs nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, ContextOptions, Graph


@dataclass(frozen=True, kw_only=True)
class Work:
    """The part of an action that a toolchain decides."""

    call: str | None = None
    argv: tuple[str, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    passes: tuple[str, ...] = ()  # variables of the build that the tools need and no key has
    takes_names: bool = True  # of a compile: the user's words for nodes


class Toolchain(Protocol):
    """One version of the tools. `tests/contract` holds every toolchain to the same demands."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> tuple[str, ...]:
        """Everything that gives the tools their identity: "package:onnxruntime-qnn"."""
        ...

    def problems(
        self, graph: Graph, chip: Chip, context: ContextOptions | None = None
    ) -> Iterable[Problem]:
        """What cannot work with these tools on this chip: precision, options, limits."""
        ...

    def searchable(self, graph: Graph, chip: Chip) -> Graph:
        """With `precision: auto` the graph without the words that the chip does not take.

        Any other graph as it is; so is one without a word that works, of which `problems` tells.
        """
        ...

    def packages(self, graph: Graph) -> Work:
        """Input "files" (libraries and definitions) → "here", "device" and "operators".

        "here" has what a compile loads, "device" what ships, "operators" what prepare must know.
        """
        ...

    def convert(self, graph: Graph) -> Work:
        """Inputs "model" (prepared) and, to quantize, "feeds" → "model" and what else it tells.

        Knows no chip.
        """
        ...

    def unquantized(self, graph: Graph) -> Work | None:
        """Inputs "model" (prepared) and "encodings" → "model", which `convert` takes in its place.

        For toolchains that convert first and quantize then; None where one work does both.
        """
        ...

    def lowered(self, graph: Graph) -> Work | None:
        """Input "model" (converted) → "model", which `context` takes in its place.

        For a compile that reads another format than what was converted; None where it reads that.
        """
        ...

    def verify(self, graph: Graph, chip: Chip, stem: str) -> Work:
        """Inputs "context" (as shipped), "facts" and "reference" → "outputs" and "numbers".

        Operators of the user's own bring "packages" (their "here") too, as they do to `context`.

        `stem` is the graph's in both.
        """
        ...

    @property
    def can_run(self) -> bool:
        """Whether the host can run what it compiles: without, there is no `verify`."""
        ...

    def libraries(self, graph: Graph) -> Mapping[str, Work]:
        """System → input "model" (converted) → "library", for toolchains that compile code.

        `context` takes the first one's output as "library" then, in the place of "model".
        """
        ...

    def context(self, graph: Graph, chip: Chip, context: ContextOptions) -> Work:
        """Inputs "model" (converted) and "names" → "context" (what ships), "facts" (read back).

        The graph's files are called by its name: `<name>_ctx.onnx`, `<name>.json`.
        """
        ...

    def sharing_problems(self, graphs: Sequence[Graph]) -> Iterable[Problem]:
        """What keeps `graphs` from sharing their weights in one binary."""
        ...

    def shared(self, graphs: Mapping[str, Graph], chip: Chip, context: ContextOptions) -> Work:
        """Graphs by stem that share their weights, in this order.

        Inputs "model-<stem>" and "names-<stem>" → "context", with one binary, and "facts". Where
        the host cannot run that, "alone" and "alone-facts" have the same of each graph alone.
        """
        ...

    def alike(self, graph: Graph) -> Hashable:
        """What of the graph must be the same for all chips of one binary, beside its model."""
        ...

    def multi(
        self, graphs: Sequence[Graph], chips: Sequence[Chip], context: ContextOptions
    ) -> Work:
        """One graph as it is for each of `chips`, compiled into one binary for all of them.

        Inputs "model" and "names" as for one chip, and "facts-<chip>" of each single binary.
        """
        ...
