"""bom.cdx.json: a bundle's bill of materials, as a machine-learning BOM of CycloneDX 1.6. Pure.

The library knows everything but the model card, which is put into what it writes; and it always
writes a time and a random serial number, which cannot stand in a bundle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import (
    ExternalReference,
    ExternalReferenceType,
    HashAlgorithm,
    HashType,
    Property,
    XsUri,
)
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType, Pedigree
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from qnnbuild.work import pedigree
from qnnbuild.work.bom_model_card import model_card
from qnnbuild.work.statement import BUILDER

MODEL = "model"
"""The model's place in it; files are at `file:<name>`."""

Manifest = Mapping[str, Any]


def bom(manifest: Manifest, files: Mapping[str, str]) -> str:
    """`files` are name → sha256 of all that is in the bundle but what tells of its digest."""
    model = _model(manifest)
    components = [_file(name, digest) for name, digest in sorted(files.items())]
    made = Bom(components=components, serial_number=UUID(int=0), metadata=_about(manifest, model))
    made.register_dependency(model, components)
    told = json.loads(JsonV1Dot6(made).output_as_string())
    del told["metadata"]["timestamp"]
    told["metadata"]["component"]["modelCard"] = model_card(manifest)
    text = json.dumps({**told, "serialNumber": ""}, ensure_ascii=False, sort_keys=True)
    told["serialNumber"] = uuid5(uuid5(NAMESPACE_URL, BUILDER), text).urn
    return json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _about(manifest: Manifest, model: Component) -> BomMetaData:
    ours = Component(
        name="qnnbuild",
        type=ComponentType.APPLICATION,
        version=manifest["builder"]["version"],
        bom_ref="tool:qnnbuild",
    )
    tools = [ours, *map(_tool, pedigree.tools(manifest))]
    return BomMetaData(component=model, tools=ToolRepository(components=tools))


def _model(manifest: Manifest) -> Component:
    home = manifest["homepage"]
    link = [ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(home))] if home else []
    said = [Property(name=f"qnnbuild:{name}", value=value) for name, value in _said(manifest)]
    return Component(
        name=manifest["model"],
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=MODEL,
        description=manifest["description"].strip() or None,
        licenses=[LicenseFactory().make_from_string(manifest["license"]["spdx"])],
        external_references=link,
        pedigree=Pedigree(ancestors=[_source(one) for one in pedigree.sources(manifest)]),
        properties=said,
    )


def _said(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield from (("chip", chip["name"]) for chip in manifest["chips"])
    yield from (("htp", f"v{chip['arch']}") for chip in manifest["chips"])
    yield from (("variant", one["name"]) for one in manifest["variants"] if one["name"])
    yield from (("sdk_build", build) for build in pedigree.sdk_builds(manifest))
    yield "toolchain", manifest["toolchain"]["name"]
    yield "redistribute", "yes" if manifest["license"]["redistribute"] else "no"


def _source(source: pedigree.Source) -> Component:
    is_purl = source.uri.startswith("pkg:")
    link = [ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(source.uri))]
    return Component(
        name=source.name,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=f"source:{source.uri or source.name}:{source.tree}",
        purl=PackageURL.from_string(source.uri) if is_purl else None,
        external_references=link if source.uri and not is_purl else (),
        hashes=_sha256(source.sha256),
        properties=_tree(source.tree),
    )


def _tool(tool: pedigree.Tool) -> Component:
    return Component(
        name=tool.name.partition(":")[2] or tool.name,
        type=ComponentType.APPLICATION,
        version=tool.version or None,
        bom_ref=f"tool:{tool.name}:{tool.version}:{tool.tree}",
        purl=PackageURL.from_string(tool.uri) if tool.uri else None,
        properties=_tree(tool.tree),
    )


def _file(name: str, digest: str) -> Component:
    return Component(
        name=name, type=ComponentType.FILE, bom_ref=f"file:{name}", hashes=_sha256(digest)
    )


def _sha256(digest: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else []


def _tree(digest: str) -> list[Property]:
    return [Property(name="qnnbuild:tree_sha256", value=digest)] if digest else []
