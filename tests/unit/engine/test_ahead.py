"""When a server is started before anything was asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qnnbuild.engine.ahead import make_ready
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.workers import Workers
from qnnbuild.model.remote_cache import RemoteCache
from tests.unit.engine.fake_world import CHAIN, CONTEXT, make_all


class Begun(Workers):
    """Starts no process."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[str]] = []

    def begin(self, soon: Sequence[str]) -> None:
        self.asked.append(soon)


def begun(builder: Builder, *names: str) -> list[Sequence[str]]:
    workers = builder.runner.workers = Begun()
    make_ready(builder, names or tuple(builder.plan.actions))
    return workers.asked


def test_where_nothing_was_built_the_server_starts_and_loads_what_is_called(world):
    assert begun(world.open(*CHAIN)) == [("fake",)]


def test_modules_come_in_the_order_of_the_work_and_once(world):
    other = replace(CONTEXT, call="other:work")

    assert begun(world.open(*CHAIN[:2], other)) == [("fake", "other")]


def test_a_build_of_nothing_starts_nothing(world):
    builder = world.open(*CHAIN)
    workers = builder.runner.workers = Begun()
    make_ready(builder, ())

    assert workers.asked == []


def test_where_something_was_built_all_may_be_there(world):
    make_all(world.open(*CHAIN))

    assert begun(world.open(*CHAIN)) == []


def test_what_a_remote_cache_may_have_is_waited_for(world):
    settings = RemoteCache(url="file:///x")
    builder = world.open(*CHAIN, remote=lambda s, r: RemoteStore(s, r, settings=settings))

    assert begun(builder) == []


def test_what_runs_elsewhere_needs_no_server_here(world):
    builder = world.open(*CHAIN)
    builder.executor = None

    assert begun(builder) == []


def test_heavy_tools_are_measured_meanwhile_and_what_is_missing_is_told_later(world, monkeypatch):
    tools = ("package:no-such-package", "package:pip", "python")
    builder = world.open(*CHAIN[:2], replace(CONTEXT, tools=tools))
    measured: list[str] = []
    monkeypatch.setattr(builder.identity, "_package", measured.append)
    monkeypatch.setattr("threading.Thread.start", lambda thread: thread.run())
    begun(builder)

    assert measured == ["no-such-package", "pip"]
