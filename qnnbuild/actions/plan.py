"""The plan: the actions for what was asked, each once, in an order that works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.errors import NothingMatches, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Plan:
    actions: Mapping[str, Action] = field(default_factory=dict)

    @classmethod
    def of(cls, actions: Iterable[Action]) -> Plan:
        """Equal actions that share a name become one; what is needed comes first."""
        by_name: dict[str, Action] = {}
        for action in actions:
            known = by_name.setdefault(action.name, action)
            if known is not action and known != action:
                raise ValueError(f"two different actions are called {action.name}")
        ordered = _ordered(by_name)
        for action in ordered.values():
            _check_inputs(action, ordered)
        return cls(actions=ordered)

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions.values())

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, name: str) -> Action:
        return self.actions[name]

    def __contains__(self, name: str) -> bool:
        return name in self.actions

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The names of each model's actions."""
        groups: dict[str, list[str]] = {}
        for action in self:
            groups.setdefault(action.group, []).append(action.name)
        return {group: tuple(names) for group, names in groups.items()}

    @cached_property
    def _needed_by(self) -> Mapping[str, tuple[str, ...]]:
        needed_by: dict[str, list[str]] = {}
        for action in self:
            for need in action.needs():
                needed_by.setdefault(need, []).append(action.name)
        return {name: tuple(names) for name, names in needed_by.items()}

    def dependents(self, name: str) -> tuple[str, ...]:
        """Everything that stands on `name`, directly or not."""
        found: dict[str, None] = {}
        waiting = list(self._needed_by.get(name, ()))
        while waiting:
            one = waiting.pop()
            if one not in found:
                found[one] = None
                waiting.extend(self._needed_by.get(one, ()))
        return tuple(found)

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Names that `pattern` selects: a name, a model, or a pattern with `*`."""
        if pattern in self.actions:
            return (pattern,)
        if pattern in self.groups:
            return self.groups[pattern]
        names = tuple(name for name in self.actions if fnmatchcase(name, pattern))
        if not names:
            known = [*self.actions, *self.groups]
            raise NothingMatches(
                f"nothing is named '{pattern}'",
                hint=did_you_mean(pattern, known, otherwise="all names: qnnbuild plan"),
            )
        return names

    def upto(self, names: Iterable[str]) -> Plan:
        """The part of the plan that `names` need, themselves included."""
        wanted: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting.extend(self.actions[name].needs())
        order = sorted(wanted, key=self._places.__getitem__)
        return Plan(actions={name: self.actions[name] for name in order})

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.actions)}


def _check_inputs(action: Action, actions: Mapping[str, Action]) -> None:
    """What an action takes of another is what that one makes."""
    for source in action.inputs.values():
        if isinstance(source, OutputOf) and source.output not in actions[source.action].outputs:
            raise ValueError(f"{action.name} takes '{source.output}', which {source.action} lacks")


def _ordered(actions: Mapping[str, Action]) -> dict[str, Action]:
    done: dict[str, Action] = {}
    open_: set[str] = set()
    waiting = [(name, False) for name in reversed(list(actions))]
    while waiting:
        name, needs_are_done = waiting.pop()
        if name in done:
            continue
        if needs_are_done:
            open_.discard(name)
            done[name] = actions[name]
            continue
        if name in open_:
            raise ValueError(f"{name} needs itself")
        open_.add(name)
        waiting.append((name, True))
        for need in reversed(actions[name].needs()):
            if need not in actions:
                raise ValueError(f"{name} needs {need}, which is not in the plan")
            if need not in done:
                waiting.append((need, False))
    return done
