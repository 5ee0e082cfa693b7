"""The builder decides what is current and makes what is not. It is the only judge of both."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance
from qnnbuild.actions.key import key_of, key_parts
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Record, Tree
from qnnbuild.actions.why import changes
from qnnbuild.digest import Digest, Json, digest_bytes
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.failures import Failures
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Changed, Inputs, digests
from qnnbuild.engine.memo import Memo
from qnnbuild.engine.putting_back import PuttingBack
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.room import Room
from qnnbuild.engine.runner import Executor, Made, Runner, Stage
from qnnbuild.engine.staging import PROVENANCE, provenance_of, stages_of
from qnnbuild.engine.standing_files import paths_of
from qnnbuild.engine.state import Current, How, NotCurrent, Outcome, Stale, State, Waits
from qnnbuild.engine.store import Gone, Store, on_disk
from qnnbuild.engine.watcher import ANOTHER_BUILD, SAME_KEY
from qnnbuild.errors import QnnbuildError, StoreError

NEVER = "never built"
"""The reason of what has no record and no last key."""

TRIES = 3
"""How often an action starts again because a source was edited while it was copied."""


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
        self.executor: Executor = runner  # what builds; the runner is for looks, too
        self.folder = folder
        self.failures = Failures(store)
        self.remote = remote or RemoteStore(store, records)
        self.room = Room(store, folder.root, runner.turns.limits)
        self.putting_back: PuttingBack | None = None
        self.unseen = unseen  # models that this build does not look at
        self._last = records.last([action.name for action in plan] if unseen else None)
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
            return (NEVER,)
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
                trees = {n: self.tree(action, n) for n in action.inputs}
                found = key_parts(action, digests(trees), self.identity.of(action))
                self._memo.parts[name] = found
            return found

    def tree(self, action: Action, name: str) -> Tree:
        """What `action` takes as `name`; what that is made by must be current."""
        trees = self._memo.trees.setdefault(action.name, {})
        if name not in trees:
            trees[name] = self._read(action, name, action.inputs[name])
        return trees[name]

    def _read(self, action: Action, name: str, source: Input) -> Tree:
        if isinstance(source, OutputOf):
            return self.record(source.action).outputs[source.output]
        if isinstance(source, Provenance):
            text = provenance_of(self, action)
            return Tree(files={PROVENANCE: (digest_bytes(text), len(text))})
        return self.inputs.tree(action, name)

    def record(self, name: str) -> Record:
        """The record of a current action."""
        state = self._record_state(name)
        if not isinstance(state, Current):
            raise NotCurrent(f"{name} is not current")
        return state.record

    # --- making -----------------------------------------------------------------------------

    def make(self, name: str, *, force: bool = False) -> Outcome:
        """Bring `name` up to date, and what it needs that has gone. Raises what went wrong."""
        action = self.plan[name]
        with on_disk(f"{name} cannot be kept"):
            outcome = None if force else self._standing(action)
            outcome = outcome or self._make_of_one_reading(action, force=force)
            if action.lands is not None:
                outcome = self._land(action, action.lands, outcome)
        self._settle(name)
        return outcome

    def _standing(self, action: Action) -> Outcome | None:
        """Of a bundle that is current by its record, so that only build/ lacks it."""
        self._stop_here(action)
        with self._lock:
            state = self._record_state(action.name) if action.lands is not None else None
        if not isinstance(state, Current):
            return None
        record = state.record
        return Outcome(name=action.name, how="reused", record=record, saved_s=record.seconds)

    def _land(self, action: Action, lands: str, outcome: Outcome) -> Outcome:
        for _ in range(TRIES):
            tree = _only(outcome.record)
            # a remote cache may have promised what it has no longer, a disk changed a byte
            with suppress(Gone):
                mended = self._put(action.name, lands, tree) and outcome.how == "reused"
                return replace(outcome, how="restored", saved_s=0.0) if mended else outcome
            outcome = self._make_of_one_reading(action, force=False)
        raise StoreError(f"what {action.name} makes does not stay in the store")

    def _put(self, name: str, lands: str, tree: Tree) -> bool:
        """Whether anything had to be written. Raises Gone for what is nowhere to be had."""
        try:
            was_put = self.folder.put(lands, tree)
        except Gone:
            if not self.remote.bring(self.folder.lacks(lands, tree)):
                raise
            was_put = self.folder.put(lands, tree)
        back = self.putting_back  # asked afterwards: its thread may have done it in between
        return was_put or (back is not None and name in back.begun)

    def _make_of_one_reading(self, action: Action, *, force: bool) -> Outcome:
        told = StoreError(f"the sources of {action.name} change all the time while they are read")
        for _ in range(TRIES):
            try:
                return self._make(action, force=force)
            except Changed as changed:
                self._settle(action.name)
                told = changed.after_all or told
        raise told

    def _make(self, action: Action, *, force: bool) -> Outcome:
        self._stop_here(action)
        self._have_needed(action)
        with self._lock:
            parts = self.parts(action.name)
            key = key_of(parts)
            in_process = self._keys.setdefault(key, threading.Lock())
        waits = partial(self._waits, action, ANOTHER_BUILD)
        if in_process.locked():
            self._waits(action, SAME_KEY)
        # two names, one key: the second waits here and finds the record of the first
        with in_process, self.store.locked(key, waits):
            again = force or action.name in self._forgotten
            found = None if again else self._found(action, key, parts)
            return found or self._run(action, key, parts)

    def _have_needed(self, action: Action) -> None:
        """Make again what was current when it was looked at: a store is collected meanwhile."""
        for name in action.needs():
            with self._lock:
                state = self._record_state(name)
            if not isinstance(state, Current):
                self._make_of_one_reading(self.plan[name], force=False)
                self._settle(name)

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
        self.failures.drop(key)  # of a run before somebody else's was good
        return Outcome(name=action.name, how=how, record=record, saved_s=record.seconds)

    def _waits(self, action: Action, what_for: str) -> None:
        self.runner.turns.watcher.waits(action.name, what_for)
        self._stop_here(action)

    def _stop_here(self, action: Action) -> None:
        if self.executor.cancelled:
            raise Cancelled(f"{action.name} was stopped")
        self.runner.turns.build_time.check()

    def _run(self, action: Action, key: Digest, parts: dict[str, Json]) -> Outcome:
        before = self.before(action.name)
        made = self._ran(action, key)
        record = made.record(action, key, parts)
        self.records.put(record, action.name)
        self._forgotten.discard(action.name)
        self.records.keep_stats(self.store.stats.news())
        self.remote.share(record)
        self._last[action.name] = key
        same = before is not None and digests(before.outputs) == digests(record.outputs)
        how: How = "cut off" if same else "made"
        took, worker = record.seconds, made.worker
        return Outcome(name=action.name, how=how, record=record, seconds=took, worker=worker)

    def _ran(self, action: Action, key: Digest) -> Made:
        self.room.check(action, self)
        try:
            made = self.executor.run(action, key, stages_of(self, action, self.executor.reaches))
        except Cancelled:
            raise
        except QnnbuildError as error:
            self.failures.keep(key, error)
            raise
        self.failures.drop(key)
        return made

    def before(self, name: str) -> Record | None:
        """What `name` was made by last, in this checkout."""
        last = self._last.get(name)
        return self.records.get(last) if last else None

    def is_current(self, name: str) -> bool:
        """As far as it can be told now; what cannot be read does not run either."""
        try:
            return isinstance(self.state(name), Current)
        except QnnbuildError:
            return True

    def input_bytes(self, action: Action) -> int:
        return sum(self.tree(action, name).size for name in action.inputs)

    def stages(self, action: Action) -> dict[str, Stage]:
        """What fills the folder of each input; everything that `action` needs must be current."""
        return stages_of(self, action, lambda _: False)

    def bring(self, name: str, tree: Tree) -> None:
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
        self.bring(name, tree)
        return self.store.read(tree.files[file][0])

    def _settle(self, name: str) -> None:
        """What was known of `name`, and of what stands on it, is to be found out again."""
        with self._lock:
            self._memo.forget((name, *self.plan.dependents(name)))

    # --- around a build ---------------------------------------------------------------------

    def cancel(self) -> None:
        """Stop: what runs is ended, nothing new starts. Callable from a signal handler."""
        self.executor.cancel()
        self.remote.cancel()
        self.runner.cancel()

    def forget(self, names: Iterable[str]) -> None:
        """The next build runs `names` again, whatever the store holds."""
        names = tuple(names)
        self.records.forget(names)
        self._forgotten = self.records.forgotten()
        for name in names:
            self._settle(name)

    def finish(self, failures: Sequence[Mapping[str, Any]] = ()) -> None:
        """Keep what this build learned; write build/index.json with `failures` that are known."""
        if self.putting_back is not None:
            self.putting_back.end()
        if self._memo.found:
            self.records.set_last(self._memo.found)
        self.records.keep_stats(self.store.stats.news())
        with on_disk("the index of the bundles cannot be written"):
            self.folder.finish(self.bundles(), failures=failures, keep=self.unseen)
            self.folder.close()
        self.executor.close()
        self.remote.finish()

    def bundles(self) -> dict[str, Tree]:
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
        """Of a current action: what it reads of the repo, and the files that must be there."""
        return paths_of(self, name)


def _only(record: Record) -> Tree:
    (tree,) = record.outputs.values()
    return tree
