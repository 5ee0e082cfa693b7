"""Nothing in Dockerfile-2.40 floats, and an image in which anything is missing is none."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from qnnbuild.model.settings import read_settings
from tests.image.dockerfile import BASE, arguments, complaints, lines

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile-2.40").read_text(encoding="utf-8")
LOCK = ROOT / "image" / "requirements-sdk-2.40.lock"
SDK = "SDK_SHA256"
PROVEN = {"numpy": "1.", "onnx": "1.17.0", "onnxruntime": "1.17.1"}


def test_nothing_floats() -> None:
    assert complaints(TEXT) == []


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        (r"FROM \S+:jammy\S+", "FROM ubuntu:22.04", "floating_bases: "),
        (r"@sha256:[0-9a-f]{64}", "", "floating_bases: "),
        (r"ARG APT_SNAPSHOT=\S+", "ARG APT_SNAPSHOT=20260101T000000Z", "the archive's day is bef"),
        (r"ARG APT_SNAPSHOT=\S+", "ARG APT_SNAPSHOT", "APT_SNAPSHOT is no day"),
        (r"https://snapshot\.ubuntu", "https://archive.ubuntu", "apt installs before it has"),
        (r"ca-certificates", "ca-certificates curl", "only the authorities"),
        (r"update \\\n && apt-get install", "upgrade", "floating_packages: "),
        (r"--no-install-recommends", "", "apt installs what is only recommended"),
        (r"--require-hashes", "", "floating_wheels: "),
        (r"--no-index", "", "floating_wheels: "),
        (r"-r /opt/requirements\.lock", "onnx", "floating_wheels: "),
        (r'fetch\.sh "\$NDK_URL" "\$NDK_SHA256" (\S+)', r'curl "$NDK_URL" -o \1', "curl"),
        (r"NDK_SHA256=[0-9a-f]+", "NDK_SHA256=4abb", "NDK_SHA256 is no digest"),
        (r":\?--build-arg SDK_SHA256=… is missing", "", "SDK_SHA256 is no digest"),
        (r"COPY image/fetch.sh", "ADD https://example.com/fetch.sh", "ADD https://"),
        (r'RUN fetch\.sh "\$NDK_URL"', "RUN wget -q x", "wget"),
        (r"(tar -xzf \S+ -C /opt)", r"\1 || true", "swallowed_failures: "),
        (r'"-euo", "pipefail", ', "", "SHELL does not end"),
    ],
)
def test_what_floats_is_found(was: str, becomes: str, said: str) -> None:
    changed = re.sub(was, becomes, TEXT)

    assert changed != TEXT
    assert any(said in one for one in complaints(changed))


def test_who_builds_it_says_where_the_sdk_is_and_what_digest_it_has() -> None:
    given = arguments(TEXT)

    assert {name for name, value in given.items() if value is None} == {"SDK_URL", SDK}
    assert re.fullmatch(r"2\.40\.0\.\d{6}", given["SDK_VERSION"] or "")
    assert len({line for line in TEXT.splitlines() if line.startswith("ARG SDK_VERSION=")}) == 1


def test_the_last_thing_that_is_done_is_to_ask_the_doctor_as_one_who_is_not_root() -> None:
    said = lines(TEXT)
    runs = [n for n, line in enumerate(said) if line.word == "RUN"]
    users = [line.rest for line in said[: runs[-1]] if line.word == "USER"]
    after = {line.word for line in said[runs[-1] + 1 :]}

    assert said[runs[-1]].rest == "qnnbuild doctor qairt-2.40"
    assert users == ["1000"]
    assert after == {"WORKDIR"}


def test_its_toolchain_is_declared_by_variables_that_the_image_sets() -> None:
    text = (ROOT / "image" / "qnnbuild.yaml").read_text(encoding="utf-8")
    sdk = read_settings(text).sdks["qairt-2.40"]
    used = {re.sub(r"\W", "", place or "") for place in (sdk.root, sdk.python, sdk.ndk)}
    env = " ".join(line.rest for line in lines(TEXT) if line.word == "ENV")

    assert used == {"QNN_SDK_ROOT", "QAIRT_PYTHON", "ANDROID_NDK_ROOT"}
    assert used <= set(re.findall(r"(\w+)=", env))
    assert (arguments(TEXT)["SDK_VERSION"] or "").startswith(sdk.version + ".")


def test_what_is_copied_is_there_and_reaches_the_build() -> None:
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        path
        for line in lines(TEXT)
        if line.word == "COPY" and not line.rest.startswith("--from")
        for path in line.rest.split()[:-1]
    ]

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert [path for path in copied if f"!{path.partition('/')[0]}" not in let_in] == []


def test_the_package_is_built_of_what_is_copied(tmp_path: Path) -> None:
    """As pip does it in the image: without the rest of the repo, and without a network."""
    for line in lines(TEXT):
        if line.word == "COPY" and line.rest.split()[-1].startswith("/opt/src"):
            for name in line.rest.split()[:-1]:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, tmp_path / name)
    program = "from hatchling.build import build_wheel; print(build_wheel('dist'))"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    with zipfile.ZipFile(tmp_path / "dist" / done.stdout.split()[-1]) as wheel:
        names = wheel.namelist()
    assert {"qnnbuild/cli.py", "qnnbuild/model/chips.yaml", "qnnbuild/py.typed"} <= set(names)
    assert [name for name in names if name.endswith("/entry_points.txt")] != []


def test_the_stage_that_others_may_read_in_a_cache_has_nothing_of_the_sdk() -> None:
    stages: dict[str, str] = {}
    alias = ""
    for line in lines(TEXT):
        if line.word == "FROM":
            base, _, alias = line.rest.partition(" AS ")
            stages[alias] = "" if BASE.fullmatch(base) else stages[base]
        stages[alias] += f"{line.word} {line.rest}\n"

    assert SDK not in stages["tools"]
    assert "--from=sdk" not in stages["tools"]
    assert "--from=sdk" in stages[""]


def test_the_lock_of_the_sdks_python_has_the_proven_versions_and_a_digest_for_each() -> None:
    text = LOCK.read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9.-]+)==(\S+) \\\n    --hash=sha256:", text, re.MULTILINE))
    loose = [line for line in text.splitlines() if not re.match(r"    --hash=|[^ ]+==", line)]

    assert loose == []
    assert len(pins) == len(re.findall(r"^\S", text, re.MULTILINE))
    assert {name: pins[name] for name in PROVEN if not pins[name].startswith(PROVEN[name])} == {}
    assert {"pyyaml", "protobuf", "pandas", "packaging"} <= set(pins)
