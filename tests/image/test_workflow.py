"""The workflow that builds the image may do little, and what it runs does not float."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / ".github/workflows/sdk-image.yml").read_text(encoding="utf-8")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(TEXT)
    return found


def steps(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = workflow()["jobs"][name]["steps"]
    return found


def test_every_action_is_named_by_its_commit() -> None:
    used = re.findall(r"uses: (.+)", TEXT)

    assert len(used) >= 6
    assert [one for one in used if not PINNED.fullmatch(one)] == []


def test_it_may_read_the_repo_and_push_an_image_and_nothing_else() -> None:
    jobs = workflow()["jobs"]

    assert workflow()["permissions"] == {}
    assert jobs["lint"]["permissions"] == {"contents": "read"}
    assert jobs["build"]["permissions"] == {"contents": "read", "packages": "write"}
    assert TEXT.count("persist-credentials: false") == TEXT.count("actions/checkout@")


def test_a_pull_request_is_linted_and_never_sees_the_sdk() -> None:
    on = workflow()[True]  # YAML 1.1 reads the key on as true

    assert set(on) == {"workflow_dispatch", "push", "pull_request"}
    assert on["pull_request"] is None
    assert "if" not in workflow()["jobs"]["lint"]
    assert workflow()["jobs"]["build"]["if"] == (
        "github.event_name == 'workflow_dispatch' || "
        "(github.event_name == 'push' && vars.QAIRT_2_40_URL != '')"
    )
    assert "Dockerfile-2.40" in on["push"]["paths"]


def test_only_the_stage_without_the_sdk_is_kept_in_the_cache() -> None:
    builds = [step["with"] for step in steps("build") if "build-push" in step.get("uses", "")]

    assert [(one.get("target"), "cache-to" in one) for one in builds] == [
        ("tools", True),
        (None, False),
    ]
    assert "SDK_SHA256" not in str(builds[0])
    assert "SDK_SHA256=${{ vars.QAIRT_2_40_SHA256 }}" in builds[1]["build-args"]


def test_what_it_lints_with_is_what_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert steps("lint")[-1] == {"run": "make image"}
    assert re.search(r"^image: .*\n\t\$\(IMAGE_LINT\)\n\t.* tests/image$", makefile, re.MULTILINE)
    assert re.search(r"^lint: (?:.*\n\t)*.*\n\t\$\(IMAGE_LINT\)$", makefile, re.MULTILINE)
