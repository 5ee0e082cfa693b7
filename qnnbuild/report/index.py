"""build/index.json: which bundle a device takes, by its part number. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

INDEX_VERSION = 1


def index(manifests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """From bundles' manifests by folder: chips → part number → model → variant → bundle.

    A part number is Android's ro.soc.model; the variant of a model without variants is "".
    `published` lists the folders that may be passed on. An app that finds no bundle runs the
    original on the CPU.
    """
    chips: dict[str, Any] = {}
    published = []
    for folder, manifest in sorted(manifests.items()):
        if not manifest:
            continue
        for chip in manifest["chips"]:
            models = chips.setdefault(chip["name"], {})
            variants = models.setdefault(manifest["model"], {})
            for variant in manifest["variants"]:
                variants[variant["name"]] = _bundle(folder, manifest, variant["name"])
        if manifest["license"]["redistribute"]:
            published.append(folder)
    return {"index_version": INDEX_VERSION, "chips": chips, "published": published}


def with_kept(
    new: Mapping[str, Any], before: Mapping[str, Any], keep: Collection[str]
) -> dict[str, Any]:
    """`new`, and of `before` the models in `keep` as they were."""
    chips = {number: dict(models) for number, models in new["chips"].items()}
    published = set(new["published"])
    for number, models in before["chips"].items():
        for model, variants in models.items():
            if model in keep:
                chips.setdefault(number, {}).setdefault(model, variants)
                published.update(b["path"] for b in variants.values() if b["redistribute"])
    return {"index_version": INDEX_VERSION, "chips": chips, "published": sorted(published)}


def _bundle(folder: str, manifest: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """One variant's part of a folder that others may be in too."""
    return {
        "path": folder,
        "license": manifest["license"]["spdx"],
        "redistribute": manifest["license"]["redistribute"],
        "toolchain": manifest["toolchain"]["name"],
        "graphs": {
            graph["graph"]: {"onnx": graph["onnx"], "precision": graph["precision"]}
            for graph in manifest["graphs"].values()
            if graph["variant"] == variant
        },
        "files": {name: file["sha256"] for name, file in manifest["files"].items()},
    }
