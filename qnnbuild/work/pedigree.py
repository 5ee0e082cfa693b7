"""What a bundle was made of and by what, out of its manifest, in the words that others read. Pure.

Sources get addresses (URLs, package URLs), tools their versions; digests are of the kind that they
are: `sha256` is of one file that anybody can fetch, `tree` is of several files as a folder of
qnnbuild's, the sha256 of canonical JSON of {relative name: sha256}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packageurl import PackageURL

Manifest = Mapping[str, Any]

SAID = re.compile(r"(?P<version>.*?) ?(?:sha256:(?P<tree>[0-9a-f]+))?")
CODE = "code:"


@dataclass(frozen=True, kw_only=True, order=True)
class Source:
    """Where one graph, or several, are from."""

    name: str  # for people
    uri: str = ""  # empty: nothing that others could fetch
    sha256: str = ""
    tree: str = ""


@dataclass(frozen=True, kw_only=True, order=True)
class Tool:
    """One tool as it was measured when it ran."""

    name: str  # "package:onnxruntime-qnn"
    version: str
    tree: str = ""

    @property
    def uri(self) -> str:
        kind, _, rest = self.name.partition(":")
        if kind == "package" and self.version:
            return PackageURL("pypi", name=rest, version=self.version).to_string()
        if kind == "qairt" and self.version:
            return PackageURL("generic", name="qairt", version=self.version).to_string()
        return ""


def sources(manifest: Manifest) -> list[Source]:
    """Each once, sorted."""
    return sorted({_source(graph["source"]) for graph in manifest["graphs"].values()})


def tools(manifest: Manifest) -> list[Tool]:
    """Of all actions that led here, each once, sorted; our own code is no tool."""
    found = {
        (name, said)
        for action in manifest["actions"].values()
        for name, said in action["tool"].items()
        if not name.startswith(CODE)
    }
    return sorted(_tool(name, said) for name, said in found)


def code(manifest: Manifest) -> dict[str, list[str]]:
    """Our own modules that ran → their digests: one, unless they changed between two actions."""
    found: dict[str, set[str]] = {}
    for action in manifest["actions"].values():
        for name, said in action["tool"].items():
            if name.startswith(CODE):
                found.setdefault(name.removeprefix(CODE), set()).add(said)
    return {name: sorted(said) for name, said in sorted(found.items())}


def sdk_builds(manifest: Manifest) -> list[str]:
    """As the binaries and libraries say."""
    return sorted(set(_sdk_builds(manifest)))


def _sdk_builds(manifest: Manifest) -> Iterator[str]:
    for graph in manifest["graphs"].values():
        told = [graph["context"], *graph.get("libraries", {}).values()]
        yield from (one["sdk_build"] for one in told if one.get("sdk_build"))


def _source(told: Mapping[str, Any]) -> Source:
    known = {"sha256": told.get("sha256") or "", "tree": told.get("digest", "")}
    inside = told.get("member") or None
    if "url" in told:
        name = f"{told['url']} {inside}" if inside else told["url"]
        return Source(name=name, uri=told["url"], **known)
    if "pypi" in told:
        package, _, version = told["pypi"].partition("==")
        purl = PackageURL("pypi", name=package, version=version or None, subpath=inside)
        return Source(name=told["pypi"], uri=purl.to_string(), **known)
    if "hub" in told:
        owner, _, name = told["hub"].rpartition("/")
        revision = told["revision"] or None
        purl = PackageURL("huggingface", owner or None, name, revision, subpath=inside)
        return Source(name=told["hub"], uri=purl.to_string(), **known)
    if "export" in told:
        return Source(name=f"export: {' '.join(told['export'])}", **known)
    return Source(name=told["file"], **known)


def _tool(name: str, said: str) -> Tool:
    found = SAID.fullmatch(said)
    if found is None:
        return Tool(name=name, version=said)
    return Tool(name=name, version=found["version"], tree=found["tree"] or "")
