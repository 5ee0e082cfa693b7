"""provenance.intoto.json: where a bundle comes from, as an in-toto statement with SLSA provenance.

A function of the manifest and of digests, so that whoever has the bundle can write it again and
compare. No invocation, no time and no machine: bundles are the same bytes wherever they are made,
and who made one is what a signature tells. docs/provenance.md defines the build type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from qnnbuild.work import pedigree

BUILD_TYPE = "pkg:generic/qnnbuild#bundle/v1"
"""Raised when the statement of the same manifest would be another one."""

BUILDER = "pkg:generic/qnnbuild"
PREDICATE = "https://slsa.dev/provenance/v1"
TREE = "qnnbuildTree"
"""The name of the digest of several files among those of in-toto, which are of one file."""

Manifest = Mapping[str, Any]


def statement(manifest: Manifest, subjects: Mapping[str, str]) -> str:
    """`subjects` are the files that it is about: name → sha256."""
    files = [
        ResourceDescriptor(name=name, digest={"sha256": digest}).pb
        for name, digest in sorted(subjects.items())
    ]
    made = Statement(files, PREDICATE, _predicate(manifest))
    made.validate()
    told = MessageToDict(made.pb)
    return json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _predicate(manifest: Manifest) -> dict[str, Any]:
    made = Provenance()
    made.build_definition.build_type = BUILD_TYPE
    made.build_definition.external_parameters.update(_external(manifest))
    made.build_definition.internal_parameters.update(_internal(manifest))
    made.build_definition.resolved_dependencies.extend(_dependencies(manifest))
    made.run_details.builder.id = BUILDER
    made.run_details.builder.version["qnnbuild"] = manifest["builder"]["version"]
    told: dict[str, Any] = MessageToDict(made)
    return told


def _external(manifest: Manifest) -> dict[str, Any]:
    """What the recipe asked for."""
    return {
        "recipe": {"digest": {"sha256": manifest["recipe"]["sha256"]}},
        "model": manifest["model"],
        "variants": [variant["name"] for variant in manifest["variants"]],
        "chips": [chip["name"] for chip in manifest["chips"]],
        "toolchain": manifest["toolchain"]["name"],
        "graphs": {
            stem: {name: graph[name] for name in ("graph", "variant", "precision")}
            for stem, graph in manifest["graphs"].items()
        },
        **({"archive": _told(manifest["archive"])} if "archive" in manifest else {}),
    }


def _told(archive: Mapping[str, str | None]) -> dict[str, str]:
    return {name: said for name, said in archive.items() if said is not None}


def _internal(manifest: Manifest) -> dict[str, Any]:
    """What followed from it: the key of each action, and the code that ran."""
    keys = {name: action["key"] for name, action in manifest["actions"].items()}
    return {"actions": keys, "code": pedigree.code(manifest)}


def _dependencies(manifest: Manifest) -> Iterator[Any]:
    for source in pedigree.sources(manifest):
        digest = {"sha256": source.sha256, TREE: source.tree}
        yield _resource(source.name, source.uri, digest, {"role": "source"})
    for tool in pedigree.tools(manifest):
        about = {"role": "tool", "version": tool.version}
        yield _resource(tool.name, tool.uri, {TREE: tool.tree}, about)
    for build in pedigree.sdk_builds(manifest):
        yield _resource("SDK", "", {}, {"role": "tool", "build": build})


def _resource(name: str, uri: str, digest: dict[str, str], about: dict[str, str]) -> Any:
    known = {algorithm: value for algorithm, value in digest.items() if value}
    about = {what: value for what, value in about.items() if value}
    return ResourceDescriptor(name=name, uri=uri, digest=known, annotations=about).pb
