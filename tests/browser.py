"""One Chromium without a window for all tests of pages: the machine's own, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = next((path for name in NAMES if (path := shutil.which(name))), None)
MISSING = [
    *([] if FOUND else [f"a browser ({', '.join(NAMES)})"]),
    *([] if find_spec("playwright") else ["playwright"]),
]


@contextmanager
def browser() -> Iterator[Browser]:
    """Nothing of a page is fetched from anywhere: it has no network."""
    assert not MISSING, f"not on this machine: {', '.join(MISSING)}"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # containers lack what its sandbox needs, and the pages are our own
        found = playwright.chromium.launch(
            executable_path=FOUND, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield found
        finally:
            found.close()
