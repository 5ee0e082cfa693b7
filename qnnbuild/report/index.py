"""build/index.json: which bundle a device takes, by its part number. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from qnnbuild.model.recipe import Target

INDEX_VERSION = 1
"""Raised when a reader of the form before would be misled; what is only added leaves it."""


def index(
    manifests: Mapping[str, Mapping[str, Any]], failures: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """From bundles' manifests by folder: chips → part number → model → variant → bundle.

    A part number is Android's ro.soc.model; the variant of a model without variants is "".
    `published` lists the folders that may be passed on, `expected_failures` what
    `expected_failures` finds. An app that finds no bundle runs the original on the CPU.
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
    return {
        "index_version": INDEX_VERSION,
        "chips": chips,
        "published": published,
        "expected_failures": list(failures),
    }


def expected_failures(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """The graphs that recipes know to fail on a chip, where there is no bundle."""
    return [
        {
            "model": target.model,
            "variant": target.variant,
            "graph": graph.name,
            "chip": target.chip.name,
            "reason": graph.expect_failure.reason,
            "issue": graph.expect_failure.issue,
        }
        for target in targets
        for graph in target.graphs
        if graph.expect_failure is not None
    ]


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
    failures = [one for one in before.get("expected_failures", ()) if one["model"] in keep]
    failures = sorted(
        [*new["expected_failures"], *failures],
        key=lambda one: (one["model"], one["variant"], one["graph"], one["chip"]),
    )
    return {
        "index_version": INDEX_VERSION,
        "chips": chips,
        "published": sorted(published),
        "expected_failures": failures,
    }


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
