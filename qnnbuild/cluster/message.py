"""What travels between a build and a worker: JSON with digests in it, never contents of files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from qnnbuild.actions.action import (
    Action,
    Input,
    OutputOf,
    Provenance,
    SampleFiles,
    SourceFiles,
    SourceOnnx,
)
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest
from qnnbuild.engine.runner import Made
from qnnbuild.errors import BY_EXIT_CODE, Problem, QnnbuildError, Span, ToolError

KINDS: Mapping[str, type[Input]] = {
    kind.__name__: kind for kind in (SourceOnnx, SourceFiles, SampleFiles, OutputOf, Provenance)
}


@dataclass(frozen=True, kw_only=True)
class Way:
    """How files travel: a store that both sides see, or a remote cache.

    Of a store: its folder, and a file in it with its digest, by which a worker knows that it sees
    the same. Of a cache: what `remote_cache:` says, which holds no credentials.
    """

    kind: str  # "store" or "cache"
    store: str = ""
    proof: tuple[str, Digest] = ("", "")
    cache: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Around:
    """What all requests of one build have in common."""

    build: str  # its own name, new each time
    code: str  # the identity of the code that answers, as the build has it
    top: str  # the repo's folder
    way: Way
    sdks: tuple[Mapping[str, Any], ...] = ()  # as qnnbuild.yaml declares them
    brings: bool = False  # toolchains of its own, which are imported from the repo
    trusted: bool = True  # the repo
    starts_by: float | None = None  # nothing starts later, in seconds since 1970
    grace_s: float = 0.0  # so much later what runs is ended

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Around:
        way = {**data["way"], "proof": tuple(data["way"]["proof"])}
        return cls(**{**data, "way": Way(**way), "sdks": tuple(data["sdks"])})


@dataclass(frozen=True, kw_only=True)
class Request:
    """One action, with the digests of its inputs and what its tools measured to at the build."""

    around: Around
    action: Action
    key: Digest
    tool: Mapping[str, str]
    inputs: Mapping[str, Tree]

    def to_text(self) -> str:
        return json.dumps(
            {
                "around": self.around.to_json(),
                "action": _action_to_json(self.action),
                "key": self.key,
                "tool": dict(self.tool),
                "inputs": _trees_to_json(self.inputs),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Request:
        data = json.loads(text)
        return cls(
            around=Around.from_json(data["around"]),
            action=_action_of(data["action"]),
            key=data["key"],
            tool=data["tool"],
            inputs=_trees_of(data["inputs"]),
        )


UNBEGUN = "not begun"
CUT = "cut"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a request: exactly one of `made`, `error`, `gone`, `stopped` and `late`."""

    worker: str  # its name
    made: Made | None = None
    error: QnnbuildError | None = None
    gone: tuple[Digest, ...] = ()  # inputs that the worker cannot have
    stopped: bool = False  # as the worker saw it, the build wanted no answer any more
    late: str = ""  # the build's deadline was over: UNBEGUN, or CUT at the end of the grace
    log: str | None = None  # the log's end, where the build cannot see it

    def to_text(self) -> str:
        return json.dumps(
            {
                "worker": self.worker,
                "made": self.made and _made_to_json(self.made),
                "error": self.error and error_to_json(self.error),
                "gone": self.gone,
                "stopped": self.stopped,
                "late": self.late,
                "log": self.log,
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Answer:
        data = json.loads(text)
        return cls(
            worker=data["worker"],
            made=data["made"] and _made_of(data["made"]),
            error=data["error"] and error_of(data["error"]),
            gone=tuple(data["gone"]),
            stopped=data["stopped"],
            late=data["late"],
            log=data["log"],
        )


def error_to_json(error: QnnbuildError) -> dict[str, Any]:
    return {"exit_code": error.exit_code, "problems": [asdict(p) for p in error.problems]}


def error_of(data: Mapping[str, Any]) -> QnnbuildError:
    kind = BY_EXIT_CODE.get(data["exit_code"], ToolError)
    return kind.of([_problem_of(told) for told in data["problems"]])


def _problem_of(told: Mapping[str, Any]) -> Problem:
    at = Span(**told["at"]) if told["at"] else None
    facts = tuple((name, text) for name, text in told["facts"])
    return Problem(**{**told, "at": at, "facts": facts})


def _made_to_json(made: Made) -> dict[str, Any]:
    return {**asdict(made), "outputs": _trees_to_json(made.outputs)}


def _made_of(data: Mapping[str, Any]) -> Made:
    told = {**data, "outputs": _trees_of(data["outputs"]), "warnings": tuple(data["warnings"])}
    return Made(**told)


def _trees_to_json(trees: Mapping[str, Tree]) -> dict[str, Any]:
    return {name: dict(tree.files) for name, tree in trees.items()}


def _trees_of(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Tree]:
    return {
        name: Tree(files={path: (digest, size) for path, (digest, size) in files.items()})
        for name, files in data.items()
    }


def _action_to_json(action: Action) -> dict[str, Any]:
    inputs = {name: [type(i).__name__, asdict(i)] for name, i in action.inputs.items()}
    return {**asdict(action), "inputs": inputs}


def _action_of(data: Mapping[str, Any]) -> Action:
    inputs = {name: _input_of(kind, told) for name, (kind, told) in data["inputs"].items()}
    places = {name: Span(**told) for name, told in data["places"].items()}
    lists = {name: tuple(data[name]) for name in ("argv", "outputs", "tools", "passes")}
    return Action(**{**data, **lists, "inputs": inputs, "places": places})


def _input_of(kind: str, told: Mapping[str, Any]) -> Input:
    lists = {"patterns": tuple(told["patterns"])} if "patterns" in told else {}
    return KINDS[kind](**{**told, **lists})
