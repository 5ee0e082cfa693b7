"""A plan of small recipes, and what a store would say of its actions, for tests of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Target
from qnnbuild.model.targets import read_recipes
from qnnbuild.planner import TOOLCHAINS, plan_of
from qnnbuild.report.report import Subject, report
from qnnbuild.report.standing import Failure, LastRun, Standing
from qnnbuild.report.told import as_json

VAD = """\
model: vad
license: MIT
source: {file: vad.onnx}
chips: [SM7325, SM8550, SM8750]
variants: {precision: [w8a8, w8a16]}
graphs:
  near:
    precision: "{precision}"
    calibration: {random: 8}
"""
FLOATS = """\
model: floats
license: {spdx: Apache-2.0, redistribute: false}
source: {file: "{graph}.onnx"}
chips: [SM8450, SM8550, SM8750]
graphs:
  one: {cpu_fallback: allow}
  two:
    expect_failure: {only: SM8450, reason: values beyond fp16, issue: owner/repo#7}
"""
AUTO = """\
model: found
license: MIT
source: {file: found.onnx}
chips: [SM8750]
graphs:
  net: {precision: auto, calibration: {random: 8}, verify: {min_sqnr_db: 25}}
"""

CPU_NODE = {"node": "ceil", "operator": "Ceil", "reason": "no kernel"}
BAR = {
    "what": "min_sqnr_db", "of": "y", "value": 31.5, "bar": 20.0, "holds": True,
    "against": "the original",
}  # fmt: skip
NUMBERS = {"sqnr_db": 31.5, "max_abs": 0.01, "cosine": 0.999, "kind": "float"}
RAN = {
    "ran_on": {"host": "HTP emulator", "nodes": {}},
    "compared_with": "the original",
    "why_not": None,
}
TRIED = [
    {"word": "w8a8", "holds": False, "sqnr_db": {"CPU": 3.1}, "lifted": [], "nodes": {"8": 9},
     "below": ["CPU: y: SQNR 3.1 dB, at least 26 dB wanted"]},
    {"word": "w8a8", "holds": True, "sqnr_db": {"CPU": 28.0, "HTP emulator": 27.5},
     "lifted": ["add"], "nodes": {"8": 7, "16": 2}, "below": []},
]  # fmt: skip
LAYERS = [
    {"layer": "add", "operator": "Add", "tensor": "a", "sqnr_db": 3.2, "lift": ["add"]},
    {"layer": "tanh", "operator": "Tanh", "tensor": "t", "sqnr_db": 41.0, "lift": ["tanh"]},
]
FILES: Mapping[str, Any] = {
    "facts": {
        "nodes": 12,
        "cpu_nodes": [CPU_NODE],
        "cpu_share_of_multiply_adds": 0.125,
        "sdk_build": "v2.51.0",
        "files": {
            "g_ctx.onnx": {"digest": "0" * 64, "size": 100},
            "g_ctx_qnn.bin": {"digest": "b" * 64, "size": 900},
        },
    },
    "verdict.json": {
        **RAN, "judged": True, "bars": [BAR], "outputs": {"y": NUMBERS, "z": {"sqnr_db": 1.0}},
        "excused": {"z": "a seed"},
        "metrics": {"wer": {"wer": 0.05}},
    },
    "numbers.json": {**RAN, "outputs": {"y": {"all": NUMBERS, "kind": "float"}}},
    "report.json": {"digest": "c" * 64, "count": 8, "synthetic": True},
    "manifest.json": {"graphs": {"one": {"on_cpu": [{**CPU_NODE, "reason": "no kernel, traced"}]}}},
    "failure.json": {"step": "verdict", "message": "SQNR 0.6 dB, at least 20 dB wanted"},
    "sensitivity.json": {"needed": True, "layers": LAYERS},
}  # fmt: skip
QUANTIZATION: Mapping[str, Any] = {"search": {**TRIED[-1], "tried": TRIED}}

FAILED = Failure(
    message="the tool stopped",
    exit_code=4,
    at="recipes/vad.yaml:6:3",
    last_lines=("loading", "error: no such operator"),
    log="logs/ab/abc.log",
    hint="look into the log",
)
STALE = Standing(kind="stale", why=("never built",), key="f" * 64)


@dataclass
class FakeKnown:
    """Everything is current but what `other` says, and what waits for that."""

    plan: Plan
    other: dict[str, Standing] = field(default_factory=dict)
    files: dict[tuple[str, str], Any] = field(default_factory=dict)  # (action, file) → contents
    known: dict[str, Standing] = field(default_factory=dict)
    run: LastRun | None = None

    def last_run(self) -> LastRun | None:
        return self.run

    def standing(self, name: str) -> Standing:
        if name not in self.known:
            self.known[name] = self.other.get(name) or self._standing(name)
        return self.known[name]

    def _standing(self, name: str) -> Standing:
        action = self.plan[name]
        waits = [need for need in action.needs() if self.standing(need).kind != "current"]
        if waits:
            return Standing(kind="waits", why=(f"for {', '.join(waits)}",))
        key = digest_bytes(name.encode())
        tree = Tree(files={"file": (key, 1000)})
        record = Record(
            key=key, name=name, step=action.step, parts={}, seconds=1.5,
            outputs=dict.fromkeys(action.outputs, tree), made="2026-01-02T03:04:05+00:00",
        )  # fmt: skip
        return Standing(kind="current", key=key, log=f"logs/{key[:2]}/{key}.log", record=record)

    def read(self, name: str, output: str, file: str) -> Any:
        if self.standing(name).kind != "current" or output not in self.plan[name].outputs:
            return None
        if (name, file) in self.files:
            return self.files[name, file]
        if file == "quantization.json":
            return QUANTIZATION if "+auto" in name else {}
        return FILES.get("facts" if output == "facts" else file)


def failed(failure: Failure = FAILED) -> Standing:
    return Standing(kind="failed", key="e" * 64, log=failure.log, failure=failure)


def targets_of(*recipes: str) -> list[Target]:
    files = [(f"recipes/{number}.yaml", text) for number, text in enumerate(recipes)]
    return read_recipes(files, packaged_chips())


@dataclass
class Told:
    """A report of recipes, as data."""

    subject: Subject
    known: FakeKnown

    @classmethod
    def of(cls, *recipes: str) -> Told:
        targets = targets_of(*recipes)
        toolchains = {toolchain.name: toolchain for toolchain in TOOLCHAINS}
        plan = plan_of(targets, toolchains)
        subject = Subject(plan=plan, targets=targets, toolchains=toolchains)
        return cls(subject, FakeKnown(plan))

    def be(self, name: str, standing: Standing) -> Told:
        assert name in self.subject.plan
        self.known.other[name] = standing
        self.known.known.clear()
        return self

    def without(self, *models: str) -> Told:
        """The same while `models` are not looked at."""
        left = [target for target in self.subject.targets if target.model not in models]
        plan = plan_of(left, self.subject.toolchains)
        subject = replace(self.subject, targets=left, plan=plan, unseen=frozenset(models))
        return Told(subject, replace(self.known, plan=plan, known={}))

    def json(self) -> dict[str, Any]:
        return as_json(report(self.subject, self.known))

    def cell(self, row: str, chip: str) -> dict[str, Any]:
        """Of MODEL or MODEL/VARIANT."""
        for model in self.json()["models"]:
            for one in model["rows"]:
                name = f"{model['name']}/{one['variant']}" if one["variant"] else model["name"]
                for cell in one["cells"]:
                    if (name, cell["chip"]) == (row, chip):
                        return dict(cell)
        raise AssertionError(f"there is no cell of {row} and {chip}")
