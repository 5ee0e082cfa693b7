"""Where a real bundle comes from: the same papers in every folder, and what is told of a change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.small_repo import Done, SmallRepo
from tests.models import scale_model
from tests.signing import minisign_keys, pem_keys

pytestmark = pytest.mark.slow(seconds=30)

RECIPE = """\
model: tiny
license: MIT
chips: [SM8750]
source: {file: ../onnx/tiny.onnx}
bundle: {archives: {context: "tiny-{chip}"}}
"""
BUNDLE = "build/tiny/SM8750"
ARCHIVE = "build/archives/tiny-SM8750/tiny-SM8750.tar.bz2"
PAPERS = ("bom.cdx.json", "manifest.json", "provenance.intoto.json")


def tiny(root: Path) -> SmallRepo:
    repo = SmallRepo.make(root)
    repo.model("tiny", scale_model(size=64))
    repo.recipe("tiny", RECIPE)
    return repo


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("keys")
    made = {"pem": pem_keys(folder, "pem"), "minisign": minisign_keys(folder, "minisign")}
    return {**made, "another": pem_keys(folder, "another")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, keys: Any) -> SmallRepo:
    """Built with a key in the environment, so that it is signed."""
    repo = tiny(tmp_path_factory.mktemp("one"))
    done = repo.doit(env={"QNNBUILD_SIGNING_KEY": keys["pem"][0]})
    assert done.code == 0, done.out + done.err
    return repo


@pytest.fixture
def taken(built: SmallRepo, tmp_path: Path) -> Path:
    """What a user has: a folder without a repo around it."""
    shutil.copytree(built.root / BUNDLE, tmp_path / "SM8750")
    for path in (built.root / ARCHIVE).parent.glob("tiny-SM8750.tar.bz2*"):
        shutil.copy(path, tmp_path)
    return tmp_path


def verified(built: SmallRepo, folder: Path, *words: str) -> Done:
    return SmallRepo(folder, built.env).qnnbuild("verify-bundle", *words)


def test_two_folders_make_the_same_papers_whoever_signs(built: SmallRepo, tmp_path: Path) -> None:
    other = tiny(tmp_path / "another" / "place")
    done = other.doit()

    assert done.code == 0, done.out + done.err
    for folder in (BUNDLE, f"{ARCHIVE}/.."):
        ours = {p.name: p.read_bytes() for p in (built.root / folder).resolve().iterdir()}
        theirs = {p.name: p.read_bytes() for p in (other.root / folder).resolve().iterdir()}
        assert {name: ours[name] for name in theirs} == theirs
        assert {name.rpartition(".")[2] for name in ours.keys() - theirs.keys()} == {"jsonl"}
    assert b"place" not in b"".join((other.root / BUNDLE / name).read_bytes() for name in PAPERS)


def test_what_was_built_is_good_for_its_chip_and_signed(
    built: SmallRepo, taken: Path, keys: Any
) -> None:
    for what in ("SM8750", "tiny-SM8750.tar.bz2"):
        done = verified(
            built, taken, what, "--key", str(keys["pem"][1]), "--chip", "SM8750", "--json"
        )
        (told,) = json.loads(done.out)

        assert (done.code, done.err, told["problems"]) == (0, "", [])
        assert told["signature"].startswith("good: ")
        assert told["sdk_builds"][0].startswith("v")


def test_another_byte_in_any_file_is_told_by_its_name(built: SmallRepo, taken: Path) -> None:
    names = [path.name for path in (taken / "SM8750").iterdir() if path.suffix != ".jsonl"]
    for name in names:
        path = taken / "SM8750" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        done = verified(built, taken, "SM8750")
        path.write_bytes(whole)

        assert done.code == 5, name
        assert name in done.err
    assert len(names) == 8
    assert verified(built, taken, "SM8750").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--chip", "SM8650"), "it is not for SM8650, but for SM8750"),
        (("--sdk", "1.2"), "it is not by the SDK 1.2, but by v"),
    ],
)
def test_another_chip_or_sdk_is_told(
    built: SmallRepo, taken: Path, words: tuple[str, str], says: str
) -> None:
    done = verified(built, taken, "tiny-SM8750.tar.bz2", *words)

    assert done.code == 5
    assert says in done.err


def test_another_key_is_told(built: SmallRepo, taken: Path, keys: Any) -> None:
    for what in ("SM8750", "tiny-SM8750.tar.bz2"):
        done = verified(built, taken, what, "--key", str(keys["another"][1]))

        assert done.code == 5
        assert "has no good signature by this key" in done.err


def test_no_runtime_and_no_compiler_is_loaded_to_look(built: SmallRepo, taken: Path) -> None:
    heavy = ("onnx", "onnxruntime", "onnxruntime_qnn", "numpy", "yaml", "cyclonedx")
    code = (
        "import sys\nfrom qnnbuild.cli import main\n"
        f"assert main(['verify-bundle', {str(taken / 'SM8750')!r}]) == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = SmallRepo(taken, built.env).run([sys.executable, "-c", code])

    assert done.out.splitlines()[-1] == "[]", done.out + done.err


def test_a_key_stands_nowhere(built: SmallRepo, keys: Any) -> None:
    secret = keys["pem"][0].splitlines()[1].encode()
    files = [path for path in built.root.rglob("*") if path.is_file()]

    assert [path for path in files if secret in path.read_bytes()] == []


def test_a_signature_goes_with_what_it_is_of(built: SmallRepo, tmp_path: Path) -> None:
    repo = SmallRepo(tmp_path / "copy", built.env)
    shutil.copytree(built.root, repo.root)
    recipe = repo.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text().replace("license: MIT", "license: ISC"))

    done = repo.doit()
    left = list((repo.root / "build").rglob("*.jsonl"))
    cleaned = repo.doit("clean")

    assert (done.code, left, cleaned.code) == (0, [], 0)
    assert not (repo.root / "build").exists()


@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not on this machine")
def test_minisign_itself_and_we_take_each_others_signatures(built: SmallRepo, taken: Path) -> None:
    def minisign(*words: str) -> None:
        subprocess.run(["minisign", *words], cwd=taken, check=True, capture_output=True)

    repo = SmallRepo(built.root, built.env)
    minisign("-G", "-W", "-p", "their.pub", "-s", "their.key")
    signed = repo.qnnbuild("sign", env={"QNNBUILD_SIGNING_KEY": str(taken / "their.key")})
    ours = (built.root / f"{ARCHIVE}.minisig", built.root / BUNDLE / f"{PAPERS[2]}.minisig")
    for path in ours:
        minisign("-V", "-m", str(path).removesuffix(".minisig"), "-x", str(path), "-p", "their.pub")
        path.unlink()
    minisign("-S", "-m", "tiny-SM8750.tar.bz2", "-s", "their.key")
    done = verified(built, taken, "tiny-SM8750.tar.bz2", "--key", "their.pub")

    assert (signed.code, signed.err) == (0, "2 signed, 0 had a good signature\n")
    assert (done.code, done.err) == (0, "")
