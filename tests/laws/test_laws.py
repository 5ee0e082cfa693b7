"""The laws of a build system ("Build systems à la carte"), on random plans and real doit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from qnnbuild.engine.workers import Workers
from tests.laws.counts import runs
from tests.laws.world import Node, World, contents, from_scratch, plans

pytestmark = pytest.mark.long_file(seconds=40)

laws = settings(
    max_examples=runs(12, 40),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

Nodes = tuple[Node, ...]
Sources = dict[str, str]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    import sys

    shared = Workers(path=sys.path)
    yield shared
    shared.close()


@contextmanager
def world(workers: Workers) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        yield World(Path(folder), workers)


@laws
@given(nodes=plans(), sources=contents)
def test_a_build_makes_what_computing_from_scratch_makes(
    workers: Workers, nodes: Nodes, sources: Sources
) -> None:
    with world(workers) as here:
        here.write(sources)
        here.build(nodes)

        assert here.made(nodes) == from_scratch(nodes, sources)


@laws
@given(nodes=plans(), sources=contents)
def test_a_second_run_runs_nothing(workers: Workers, nodes: Nodes, sources: Sources) -> None:
    with world(workers) as here:
        here.write(sources)
        here.build(nodes)

        assert here.build(nodes) == []


@laws
@given(nodes=plans(), before=contents, after=contents)
def test_an_incremental_build_equals_a_clean_one(
    workers: Workers, nodes: Nodes, before: Sources, after: Sources
) -> None:
    with world(workers) as here:
        here.write(before)
        here.build(nodes)
        here.write(after)
        here.build(nodes)

        assert here.made(nodes) == from_scratch(nodes, after)


@laws
@given(nodes=plans(), before=contents, after=contents)
def test_an_action_runs_only_if_a_direct_input_has_new_contents(
    workers: Workers, nodes: Nodes, before: Sources, after: Sources
) -> None:
    with world(workers) as here:
        here.write(before)
        here.build(nodes)
        here.write(after)
        ran = here.build(nodes)

        old, new = _taken(nodes, before), _taken(nodes, after)
        fresh = {work for work in new if work not in set(old)}
        assert sorted(ran) == sorted(salt for salt, _ in fresh)


def _taken(nodes: Nodes, sources: Sources) -> list[tuple[str, tuple[str, ...]]]:
    """Of each action its salt and the contents of what it takes, which is all that it depends on.

    Files that an action takes by pattern keep their names, so a name is part of the contents.
    """
    made = from_scratch(nodes, sources)
    return [
        (
            node.salt,
            tuple(
                t + sources[t] if isinstance(t, str) else made[f"step/{t[0]}"][t[1]]
                for t in node.takes
            ),
        )
        for node in nodes
    ]


@laws
@given(nodes=plans(), before=contents, after=contents)
def test_going_back_to_the_old_sources_runs_nothing(
    workers: Workers, nodes: Nodes, before: Sources, after: Sources
) -> None:
    with world(workers) as here:
        here.write(before)
        here.build(nodes)
        here.write(after)
        here.build(nodes)
        here.write(before)

        assert here.build(nodes) == []
        assert here.made(nodes) == from_scratch(nodes, before)


@laws
@given(nodes=plans(), sources=contents)
def test_threads_make_what_one_thread_makes(
    workers: Workers, nodes: Nodes, sources: Sources
) -> None:
    with world(workers) as one, world(workers) as many:
        one.write(sources)
        many.write(sources)
        ran = one.build(nodes)

        assert sorted(many.build(nodes, threads=4)) == sorted(ran)
        assert many.made(nodes) == one.made(nodes)


@laws
@given(nodes=plans(), sources=contents)
def test_equal_work_under_two_names_runs_once(
    workers: Workers, nodes: Nodes, sources: Sources
) -> None:
    with world(workers) as here:
        here.write(sources)
        ran = here.build(nodes, threads=4)

        assert len(ran) == len(set(_taken(nodes, sources)))
