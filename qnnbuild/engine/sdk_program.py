"""Run by the SDK's own Python: says its version, and what it can import and load.

It stands alone and in the words of any Python 3, since that one may be the wrong one.
Arguments: names of modules, and paths of libraries that the converters load.
"""

import ctypes
import importlib
import json
import sys

PACKAGES = {"yaml": "pyyaml", "google.protobuf": "protobuf"}


def main(words: "list[str]") -> None:
    packages: dict[str, str] = {}
    failed: dict[str, str] = {}
    for word in words:
        try:
            if "/" in word:
                ctypes.CDLL(word)
            else:
                importlib.import_module(word)
                packages[word] = _version(PACKAGES.get(word, word))
        except Exception as error:  # noqa: BLE001 # a package may fail in any way when it begins
            failed[word] = f"{type(error).__name__}: {error}".splitlines()[0]
    said = {"version": list(sys.version_info[:2]), "packages": packages, "failed": failed}
    sys.stdout.write("\n" + json.dumps(said) + "\n")


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of no package"


if __name__ == "__main__":
    main(sys.argv[1:])
