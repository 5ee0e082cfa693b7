"""The builder decides what is current and makes what is not. It is the only judge of both."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance
from qnnbuild.actions.key import key_of, key_parts
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Record, Tree
from qnnbuild.actions.why import changes
from qnnbuild.digest import Digest, Json, canonical, digest_bytes
from qnnbuild.engine.failures import Failures
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Changed, Inputs, digests, stage_artifacts
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.runner import Cancelled, Made, Runner
from qnnbuild.engine.state import Current, How, Outcome, Stale, State, Waits
from qnnbuild.engine.store import Store, on_disk
from qnnbuild.errors import QnnbuildError, StoreError

TRIES = 3
"""How often an action starts again because a source was edited while it was copied."""

PROVENANCE = "provenance.json"


@dataclass
class Memo:
    """What this build knows already. An action's entry is valid until it is made."""

    trees: dict[str, dict[str, Tree]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    parts: dict[str, dict[str, Json]] = field(default_factory=dict)
    found: dict[str, Digest] = field(default_factory=dict)


class Builder:
    def __init__(
        self,
        plan: Plan,
        *,
        store: Store,
        records: Records,
        inputs: Inputs,
        identity: Identity,
        runner: Runner,
        folder: BuildFolder,
        unseen: frozenset[str] = frozenset(),
        remote: RemoteStore | None = None,
    ) -> None:
        self.plan = plan
        self.store = store
        self.records = records
        self.inputs = inputs
        self.identity = identity
        self.runner = runner
        self.folder = folder
        self.failures = Failures(store)
        self.remote = remote or RemoteStore(store, records)
        self.unseen = unseen  # models that this build does not look at
        self._last = records.last()
        self._forgotten = records.forgotten()
        self._memo = Memo()
        self._lock = threading.RLock()
        self._keys: dict[Digest, threading.Lock] = {}

    # --- deciding ---------------------------------------------------------------------------

    def state(self, name: str) -> State:
        """How it stands with `name`; runs nothing. May raise what is wrong with a source."""
        with self._lock:
            found = self._memo.states.get(name)
            if found is None:
                found = self._memo.states[name] = self._state(self.plan[name])
            return found

    def _state(self, action: Action) -> State:
        decided = self._record_state(action.name)
        if not isinstance(decided, Current) or action.lands is None:
            return decided
        missing = self.folder.missing(action.lands, _only(decided.record))
        if missing:
            return Stale(reasons=missing, key=decided.record.key)
        return decided

    def _record_state(self, name: str) -> State:
        """The state by record alone, build/ left aside."""
        found = self._memo.states.get(f"record {name}")
        if found is None:
            found = self._memo.states[f"record {name}"] = self._decide(self.plan[name])
        return found

    def known(self, name: str) -> State:
        """The state by record alone, with a remote cache asked for what is not here."""
        with self._lock:
            state = self._record_state(name)
            if not isinstance(state, Stale) or name in self._forgotten:
                return state
            if self._found(self.plan[name], state.key, self.parts(name)) is None:
                return state
        self._settle(name)
        return self._record_state(name)

    def _decide(self, action: Action) -> State:
        waits = [n for n in action.needs() if not isinstance(self._record_state(n), Current)]
        if waits:
            return Waits(on=tuple(waits))
        parts = self.parts(action.name)
        key = key_of(parts)
        if action.name in self._forgotten:
            return Stale(reasons=("it was forgotten: doit forget",), key=key)
        record = self.records.get(key)
        if record is None:
            return Stale(reasons=self._reasons(action, parts), key=key)
        gone = self._gone(record)
        if gone:
            return Stale(reasons=gone, key=key)
        if self._last.get(action.name) != key:
            self._memo.found[action.name] = key
        return Current(record=record)

    def _reasons(self, action: Action, parts: Mapping[str, Json]) -> tuple[str, ...]:
        last = self._last.get(action.name)
        if last is None:
            return ("never built",)
        before = self.records.get(last)
        if before is None:
            return ("its last record is gone from the store",)
        return changes(action, before.parts, parts) or ("its record is gone from the store",)

    def _gone(self, record: Record) -> tuple[str, ...]:
        return tuple(
            f"the store's copy of {output}/{path} is missing or damaged"
            for output, tree in record.outputs.items()
            for path, (digest, size) in tree.files.items()
            if not self.store.whole(digest, size) and not self.remote.has(digest)
        )

    def parts(self, name: str) -> dict[str, Json]:
        """What the key of `name` is made of. Everything that it needs must be current."""
        with self._lock:
            found = self._memo.parts.get(name)
            if found is None:
                action = self.plan[name]
                trees = {n: self._tree(action, n) for n in action.inputs}
                found = key_parts(action, digests(trees), self.identity.of(action))
                self._memo.parts[name] = found
            return found

    def _tree(self, action: Action, name: str) -> Tree:
        trees = self._memo.trees.setdefault(action.name, {})
        if name not in trees:
            trees[name] = self._read(action, name, action.inputs[name])
        return trees[name]

    def _read(self, action: Action, name: str, source: Input) -> Tree:
        if isinstance(source, OutputOf):
            return self.record(source.action).outputs[source.output]
        if isinstance(source, Provenance):
            text = self.provenance(action)
            return Tree(files={PROVENANCE: (digest_bytes(text), len(text))})
        return self.inputs.tree(action, name)

    def record(self, name: str) -> Record:
        """The record of a current action."""
        state = self._record_state(name)
        if not isinstance(state, Current):
            raise StoreError(f"{name} is not current")
        return state.record

    def provenance(self, action: Action) -> bytes:
        """Keys, tools and digests of all that `action` stands on, as canonical JSON."""
        told: dict[str, Json] = {}
        for needed in self.plan.upto(action.needs()):
            record = self.record(needed.name)
            told[needed.name] = {
                "step": needed.step,
                "key": record.key,
                "tool": record.parts["tool"],
                "inputs": record.parts["inputs"],
                "outputs": {name: tree.digest for name, tree in record.outputs.items()},
            }
        return canonical(told)

    # --- making -----------------------------------------------------------------------------

    def make(self, name: str, *, force: bool = False) -> Outcome:
        """Bring `name` up to date; what it needs must be current. Raises what went wrong."""
        action = self.plan[name]
        with on_disk(f"{name} cannot be kept"):
            outcome = self._make_of_one_reading(action, force=force)
            if action.lands is not None:
                outcome = self._land(action, action.lands, outcome)
        self._settle(name)
        return outcome

    def _land(self, action: Action, lands: str, outcome: Outcome) -> Outcome:
        if not self.remote.bring(self.folder.lacks(lands, _only(outcome.record))):
            # the remote cache promised what it has no longer
            outcome = self._make_of_one_reading(action, force=False)
        mended = self.folder.put(lands, _only(outcome.record))
        if mended and outcome.how == "reused":
            outcome = replace(outcome, how="restored", saved_s=0.0)
        return outcome

    def _make_of_one_reading(self, action: Action, *, force: bool) -> Outcome:
        for _ in range(TRIES):
            try:
                return self._make(action, force=force)
            except Changed:
                self._settle(action.name)
        raise StoreError(f"the sources of {action.name} change all the time while they are read")

    def _make(self, action: Action, *, force: bool) -> Outcome:
        self._stop_here(action)
        with self._lock:
            parts = self.parts(action.name)
            key = key_of(parts)
            in_process = self._keys.setdefault(key, threading.Lock())
        # two names, one key: the second waits here and finds the record of the first
        with in_process, self.store.locked(key, partial(self._stop_here, action)):
            again = force or action.name in self._forgotten
            found = None if again else self._found(action, key, parts)
            return found or self._run(action, key, parts)

    def _found(self, action: Action, key: Digest, parts: dict[str, Json]) -> Outcome | None:
        """What was made before, here or by another machine."""
        how: How = "reused"
        record = self.records.get(key)
        if record is not None and not self._gone(record):
            self.records.set_last({action.name: key})
        else:
            record, how = self.remote.find(action, key, parts), "fetched"
            if record is None:
                return None
            self.records.put(record, action.name)
        self._last[action.name] = key
        return Outcome(name=action.name, how=how, record=record, saved_s=record.seconds)

    def _stop_here(self, action: Action) -> None:
        if self.runner.cancelled:
            raise Cancelled(f"{action.name} was stopped")

    def _run(self, action: Action, key: Digest, parts: dict[str, Json]) -> Outcome:
        before = self._before(action)
        record = self._ran(action, key).record(action, key, parts)
        self.records.put(record, action.name)
        self._forgotten.discard(action.name)
        self.records.keep_stats(self.store.stats.news())
        self.remote.share(record)
        self._last[action.name] = key
        same = before is not None and _digests(before) == _digests(record)
        how: How = "cut off" if same else "made"
        return Outcome(name=action.name, how=how, record=record, seconds=record.seconds)

    def _ran(self, action: Action, key: Digest) -> Made:
        try:
            made = self.runner.run(action, key, self.stages(action))
        except Cancelled:
            raise
        except QnnbuildError as error:
            self.failures.keep(key, error)
            raise
        self.failures.drop(key)
        return made

    def _before(self, action: Action) -> Record | None:
        last = self._last.get(action.name)
        return self.records.get(last) if last else None

    def stages(self, action: Action) -> dict[str, partial[None]]:
        """What fills the folder of each input; everything that `action` needs must be current."""
        stages = {}
        for name, source in action.inputs.items():
            tree = self._tree(action, name)
            if isinstance(source, OutputOf):
                self._bring(source.action, tree)
                stages[name] = partial(stage_artifacts, self.store, tree)
            elif isinstance(source, Provenance):
                text = self.provenance(action)
                if digest_bytes(text) != tree.files[PROVENANCE][0]:
                    raise Changed  # another build made something of it anew just now
                stages[name] = partial(_write, text)
            else:
                stages[name] = partial(self.inputs.stage, action, name, tree)
        return stages

    def _bring(self, name: str, tree: Tree) -> None:
        """Have what `name` made in the store; it is made here when nobody has it any more."""
        if self.remote.bring(tree.files.values()):
            return
        record = self._make_of_one_reading(self.plan[name], force=False).record
        self._settle(name)
        if tree not in record.outputs.values():
            raise Changed  # it came out differently, so what stands on it has another key

    def read(self, name: str, output: str, file: str) -> bytes:
        """The contents of a file that a current action made."""
        tree = self.record(name).outputs[output]
        self._bring(name, tree)
        return self.store.path(tree.files[file][0]).read_bytes()

    def _settle(self, name: str) -> None:
        """What was known of `name`, and of what stands on it, is to be found out again."""
        with self._lock:
            for known in (name, *self.plan.dependents(name)):
                self._memo.states.pop(known, None)
                self._memo.states.pop(f"record {known}", None)
                self._memo.parts.pop(known, None)
                self._memo.trees.pop(known, None)

    # --- around a build ---------------------------------------------------------------------

    def cancel(self) -> None:
        """Stop: what runs is ended, nothing new starts. Callable from a signal handler."""
        self.runner.cancelled = True
        self.remote.cancel()
        self.runner.workers.cancel()

    def forget(self, names: Iterable[str]) -> None:
        """The next build runs `names` again, whatever the store holds."""
        names = tuple(names)
        self.records.forget(names)
        self._forgotten = self.records.forgotten()
        for name in names:
            self._settle(name)

    def finish(self, failures: Sequence[Mapping[str, Any]] = ()) -> None:
        """Keep what this build learned; write build/index.json with `failures` that are known."""
        if self._memo.found:
            self.records.set_last(self._memo.found)
        self.records.keep_stats(self.store.stats.news())
        with on_disk("the index of the bundles cannot be written"):
            self.folder.finish(self._bundles(), failures=failures, keep=self.unseen)
        self.runner.workers.close()
        self.remote.finish()

    def _bundles(self) -> dict[str, Tree]:
        """Where it lands → its files, for every bundle that is current."""
        bundles = {}
        for action in self.plan:
            if action.lands is not None:
                try:
                    state = self._record_state(action.name)
                except QnnbuildError:  # told where it was asked for; the others are there
                    continue
                if isinstance(state, Current):
                    bundles[action.lands] = _only(state.record)
        return bundles

    def paths(self, name: str) -> tuple[list[Path], list[Path]]:
        """Of a current action: what it reads of the repo, and the files that must be there.

        Folders count as read where a new file in them would be an input.
        """
        action = self.plan[name]
        sources = [
            path
            for input_name, source in action.inputs.items()
            if not isinstance(source, OutputOf | Provenance)
            for path in self.inputs.watched(action, input_name)
        ]
        record = self.record(name)
        kept = [
            self.store.path(digest)
            for tree in record.outputs.values()
            for digest, _ in tree.files.values()
        ]
        if action.lands is not None:
            kept += [self.folder.root / action.lands / path for path in _only(record).files]
        return sources, kept


def _only(record: Record) -> Tree:
    (tree,) = record.outputs.values()
    return tree


def _digests(record: Record) -> dict[str, Digest]:
    return digests(record.outputs)


def _write(text: bytes, to: Path) -> None:
    (to / PROVENANCE).write_bytes(text)
