"""A Python that says it is 3.10, and what the SDK's tools import, with nothing in it."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGES = {
    "numpy": ("numpy", "1.26.4"),
    "onnx": ("onnx", "1.17.0"),
    "onnxruntime": ("onnxruntime", "1.17.1"),
    "yaml": ("pyyaml", "6.0.2"),
    "google/protobuf": ("protobuf", "4.25.9"),
    "pandas": ("pandas", "2.3.3"),
    "packaging": ("packaging", "26.4"),
}
IMPORTED = (
    "numpy 1.26.4, onnx 1.17.0, onnxruntime 1.17.1, yaml 6.0.2, google.protobuf 4.25.9, "
    "pandas 2.3.3, packaging 26.4"
)
OLDER = """\
#!{python} -IS
import sys

sys.version_info = (3, 10, 12, "final", 0)
assert sys.argv[1] == "-c"
text, sys.argv[1:3] = sys.argv[2], []
sys.path.insert(0, {packages!r})
exec(text, {{"__name__": "__main__"}})
"""


def older_python(folder: Path) -> None:
    """Packages with names and versions and nothing in them, and a Python that finds only those."""
    for module, (package, version) in PACKAGES.items():
        (folder / "packages" / module).mkdir(parents=True)
        (folder / "packages" / module / "__init__.py").touch()
        facts = folder / "packages" / f"{package}-{version}.dist-info" / "METADATA"
        facts.parent.mkdir()
        facts.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (folder / "bin").mkdir()
    program = folder / "bin" / "python"
    program.write_text(OLDER.format(python=sys.executable, packages=str(folder / "packages")))
    program.chmod(0o755)
