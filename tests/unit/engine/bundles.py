"""Bundles for tests of the build folder."""

from __future__ import annotations

import json
from typing import Any

from qnnbuild.actions.record import Tree
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.store import Store

LANDS = "m/10s/SM8750"


def manifest(*names: str, model: str = "m", chip: str = "SM8750", **more: Any) -> str:
    """As work.bundle writes it, cut to what is read here."""
    return json.dumps(
        {
            "model": model,
            "variants": [{"name": "10s", "axes": {"seconds": "10"}}],
            "chips": [{"name": chip}],
            "license": {"spdx": "MIT", "redistribute": True},
            "toolchain": {"name": "ort"},
            "graphs": {},
            "files": {name: {"sha256": "a" * 64, "bytes": 1} for name in names},
            **more,
        }
    )


def bundle(store: Store, **texts: str) -> Tree:
    """A tree of these files and a manifest that lists them; `__` is a slash and `_` a dot."""
    named = {name.replace("__", "/").replace("_", "."): text for name, text in texts.items()}
    named.setdefault("manifest.json", manifest(*named))
    files = {}
    with store.private() as private:
        for name, text in named.items():
            (private / "file").write_text(text)
            files[name] = store.add(private / "file")
    return Tree(files=files)


def there(folder: BuildFolder, lands: str = LANDS) -> dict[str, str]:
    top = folder.root / lands
    return {p.relative_to(top).as_posix(): p.read_text() for p in top.rglob("*") if p.is_file()}
