"""An action: one step with all its values filled in. Pure data; the engine gives it life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qnnbuild.digest import Json
from qnnbuild.errors import Span


@dataclass(frozen=True, kw_only=True)
class SourceOnnx:
    """An ONNX file of the repo together with the side files that it names.

    Staged as `model.onnx` beside its side files under the names that the ONNX file uses,
    so its own file name and folder never reach a key.
    """

    path: str  # relative to the repo's root


@dataclass(frozen=True, kw_only=True)
class SourceFiles:
    """Files of the repo that keep their relative paths. Patterns with `*` match sorted."""

    patterns: tuple[str, ...]  # relative to the repo's root


@dataclass(frozen=True, kw_only=True)
class SampleFiles(SourceFiles):
    """Files of samples: a folder stands for all files in it, an input_list brings its own along.

    An input_list is a .txt file; see formats/input_list.py.
    """


@dataclass(frozen=True, kw_only=True)
class OutputOf:
    """What another action of the plan makes."""

    action: str
    output: str


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What is known of all actions that this one needs, directly or not.

    Staged as `provenance.json`: action name → {"step", "key", "tool": {what: identity},
    "inputs": {name: digest}, "outputs": {name: digest}}. Only what the records of the same
    plan say goes in, so no dates, no folders of the machine and no timings. Its digest is the
    digest of that content. When an upstream key changes and its artifacts do not, this input
    changes all the same: the bundle tells another history then and is made again, which is cheap.
    """


Input = SourceOnnx | SourceFiles | OutputOf | Provenance


@dataclass(frozen=True, kw_only=True)
class Action:
    """Exactly one of `call` and `argv` is given.

    `call` is "package.module:function" and runs in a child of the warm server; the function
    gets a `qnnbuild.work.run.Run`. `argv` starts a program, with `{in.NAME}` and `{out.NAME}`
    for folders. Every input and output is a folder of one or more files.
    """

    name: str
    step: str
    call: str | None = None
    argv: tuple[str, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    inputs: Mapping[str, Input] = field(default_factory=dict)
    outputs: tuple[str, ...]
    tools: tuple[str, ...] = ()  # "package:onnx", measured by engine.identity
    env: Mapping[str, str] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    """Variables let through from outside, patterns with `*` allowed; never in the key."""
    deadline_s: float = 900.0
    places: Mapping[str, Span] = field(default_factory=dict)
    """Where the user said it: "source", "inputs.x"."""
    lands: str | None = None  # below build/: where the files of its one output are put
    group: str = ""  # the model
    about: str = ""  # one line for `doit list`

    def needs(self) -> tuple[str, ...]:
        """Names of the actions whose outputs this one takes, each once, in order."""
        names = [i.action for i in self.inputs.values() if isinstance(i, OutputOf)]
        return tuple(dict.fromkeys(names))
