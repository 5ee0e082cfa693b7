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
    `libraries` goes from model to variant to bundles that are for any chip, `archives` from names
    to bundles as single files. `published` lists the folders that may be passed on,
    `expected_failures` what `expected_failures` finds. An app that finds no bundle runs the
    original on the CPU.
    """
    chips: dict[str, Any] = {}
    libraries: dict[str, Any] = {}
    archives: dict[str, Any] = {}
    published = []
    for folder, manifest in sorted(manifests.items()):
        if not manifest:
            continue
        if "archive" in manifest:
            archives[manifest["archive"]["name"]] = _archive(folder, manifest)
        elif not manifest["chips"]:
            for variant in manifest["variants"]:
                of_model = libraries.setdefault(manifest["model"], {})
                of_model.setdefault(variant["name"], []).append(
                    _bundle(folder, manifest, variant["name"])
                )
        else:
            _for_chips(chips, folder, manifest)
        if manifest["license"]["redistribute"]:
            published.append(folder)
    return {
        "index_version": INDEX_VERSION,
        "chips": chips,
        "libraries": libraries,
        "archives": archives,
        "published": published,
        "expected_failures": list(failures),
    }


def _for_chips(chips: dict[str, Any], folder: str, manifest: Mapping[str, Any]) -> None:
    for chip in manifest["chips"]:
        variants = chips.setdefault(chip["name"], {}).setdefault(manifest["model"], {})
        for variant in manifest["variants"]:
            variants[variant["name"]] = _bundle(folder, manifest, variant["name"])


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
    libraries, archives = dict(new["libraries"]), dict(new["archives"])
    for model, of_model in before.get("libraries", {}).items():
        if model in keep:
            libraries.setdefault(model, of_model)
            several = [one for bundles in of_model.values() for one in bundles]
            published.update(one["path"] for one in several if one["redistribute"])
    for name, one in before.get("archives", {}).items():
        if one["model"] in keep:
            archives.setdefault(name, one)
            published.update([one["path"].rpartition("/")[0]] if one["redistribute"] else [])
    failures = [one for one in before.get("expected_failures", ()) if one["model"] in keep]
    failures = sorted(
        [*new["expected_failures"], *failures],
        key=lambda one: (one["model"], one["variant"], one["graph"], one["chip"]),
    )
    return {
        "index_version": INDEX_VERSION,
        "chips": chips,
        "libraries": libraries,
        "archives": dict(sorted(archives.items())),
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


def _archive(folder: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    ((file, facts),) = manifest["files"].items()
    return {
        "path": f"{folder}/{file}",
        "sha256": facts["sha256"],
        "bytes": facts["bytes"],
        "kind": manifest["archive"]["kind"],
        "target": manifest["archive"]["target"],
        "model": manifest["model"],
        "variants": [variant["name"] for variant in manifest["variants"]],
        "chips": [chip["name"] for chip in manifest["chips"]],
        "license": manifest["license"]["spdx"],
        "redistribute": manifest["license"]["redistribute"],
    }
