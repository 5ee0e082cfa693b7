"""Names the fake build to doit; like the real loader it imports it only when one is needed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.bridge.loader import Loader

if TYPE_CHECKING:
    from tests.e2e.fake_build import FakeSession


class FakeLoader(Loader):
    def open_session(
        self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> FakeSession:
        fake_build = import_module("fake_build")  # beside this file, on doit's path
        session: FakeSession = fake_build.FakeSession(root, recipes)
        return session
