"""Keys, signatures, and what is said when one of them is not right."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import minisign
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_file
from qnnbuild.engine.bundle_verify import verify
from qnnbuild.engine.signatures import sign, sign_built
from qnnbuild.engine.signing_keys import KEY, PASSWORD, private_key, public_key
from qnnbuild.errors import NotGood, NothingMatches, NotTrusted, QnnbuildError, RecipeError
from qnnbuild.work.bundle import bundle
from tests.signing import minisign_keys, pem_keys
from tests.unit.work.test_bundle import staged


def recorded(folder: Path) -> dict[Path, Tree]:
    """What the store would say of the folder as it is."""
    ours = (path for path in folder.iterdir() if not path.name.endswith((".jsonl", ".minisig")))
    return {folder: Tree(files={path.name: (digest_file(path), 0) for path in ours})}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    bundle(staged({}))
    return tmp_path / "out/bundle"


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_a_statement_signed_by_a_pem_key_is_good_by_its_public_key_alone(
    made: Path, tmp_path: Path, kind: str
) -> None:
    key, public = pem_keys(tmp_path, "ours", kind)
    _, other = pem_keys(tmp_path, "another", kind)
    (signed,) = sign(recorded(made), {KEY: key})

    assert (signed.signature.name, signed.new) == ("provenance.intoto.jsonl", True)
    assert verify(made, key=public_key(public)).problems == []
    (problem,) = verify(made, key=public_key(other)).problems
    assert problem.message == "provenance.intoto.jsonl has no good signature by this key"


def test_an_envelope_is_what_the_standard_says(made: Path, tmp_path: Path) -> None:
    key, public = pem_keys(tmp_path, "ours")
    sign(recorded(made), {KEY: key})
    told = json.loads((made / "provenance.intoto.jsonl").read_text())
    payload = (made / "provenance.intoto.json").read_bytes()
    kind = told["payloadType"].encode()
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    loaded = load_pem_public_key(public.read_bytes())

    assert kind == b"application/vnd.in-toto+json"
    assert base64.b64decode(told["payload"]) == payload
    assert isinstance(loaded, Ed25519PublicKey)
    loaded.verify(base64.b64decode(told["signatures"][0]["sig"]), signed)


def test_minisign_signs_the_statement_itself(made: Path, tmp_path: Path) -> None:
    key, public = minisign_keys(tmp_path, "ours", "secret")
    _, other = minisign_keys(tmp_path, "another")
    (signed,) = sign(recorded(made), {KEY: key, PASSWORD: "secret"})

    assert signed.signature.name == "provenance.intoto.json.minisig"
    assert verify(made, key=public_key(public)).problems == []
    minisign.PublicKey.from_file(public).verify_file(made / "provenance.intoto.json")
    assert "not this key's signature" in verify(made, key=public_key(other)).problems[0].message


@pytest.mark.parametrize("make", [pem_keys, minisign_keys])
def test_a_good_signature_stays(made: Path, tmp_path: Path, make: Any) -> None:
    key, _ = make(tmp_path, "ours")

    first, second = (sign(recorded(made), {KEY: key})[0].new for _ in range(2))

    assert (first, second) == (True, False)


def test_a_signature_of_another_key_is_replaced(made: Path, tmp_path: Path) -> None:
    sign(recorded(made), {KEY: pem_keys(tmp_path, "before")[0]})
    key, public = pem_keys(tmp_path, "now")

    assert sign(recorded(made), {KEY: key})[0].new
    assert verify(made, key=public_key(public)).problems == []


def test_what_is_not_signed_is_told_where_a_key_is_given(made: Path, tmp_path: Path) -> None:
    for make, name in ((pem_keys, "jsonl"), (minisign_keys, "json.minisig")):
        (problem,) = verify(made, key=public_key(make(tmp_path, "k")[1])).problems

        assert problem.message.endswith(f"there is no provenance.intoto.{name}")


def test_a_signed_statement_of_another_bundle_is_told(made: Path, tmp_path: Path) -> None:
    key, public = pem_keys(tmp_path, "ours")
    sign(recorded(made), {KEY: key})
    statement = made / "provenance.intoto.json"
    statement.write_text(statement.read_text().replace("6.2.3", "6.2.4"))

    told = [problem.message for problem in verify(made, key=public_key(public)).problems]

    assert told[-1] == "provenance.intoto.jsonl signs another statement than provenance.intoto.json"


@pytest.mark.parametrize("name", ["run.py", "manifest.json", "provenance.intoto.json"])
def test_what_somebody_changed_is_not_signed(made: Path, tmp_path: Path, name: str) -> None:
    before = recorded(made)
    (made / name).write_text("another")

    with pytest.raises(NotGood, match=rf"{name} is not as it was built, so it is not signed"):
        sign(before, {KEY: pem_keys(tmp_path, "ours")[0]})

    assert list(made.glob("*.intoto.jsonl")) == []


def test_a_statement_that_is_true_of_changed_files_is_not_signed(
    made: Path, tmp_path: Path
) -> None:
    before = recorded(made)
    (made / "run.py").write_text("another")
    told = json.loads((made / "provenance.intoto.json").read_text())
    for subject in told["subject"]:
        if subject["name"] == "run.py":
            subject["digest"]["sha256"] = digest_file(made / "run.py")
    (made / "provenance.intoto.json").write_text(json.dumps(told))

    with pytest.raises(NotGood, match="is not as it was built, so it is not signed"):
        sign(before, {KEY: pem_keys(tmp_path, "ours")[0]})


def built(made: Path) -> dict[str, Tree]:
    (tree,) = recorded(made).values()
    return {made.name: tree, "not-built": tree}


def test_a_build_of_strangers_is_not_signed(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {KEY: pem_keys(tmp_path, "ours")[0], "QNNBUILD_TRUST": "no"}
    sign_built(made.parent, built(made), environment)

    assert "warning: nothing is signed: this repo is not trusted" in capsys.readouterr().err
    assert list(made.glob("*.intoto.jsonl")) == []
    with pytest.raises(NotTrusted):
        sign(recorded(made), environment)


def test_a_build_without_a_key_signs_nothing(made: Path) -> None:
    sign_built(made.parent, built(made), {})

    assert list(made.glob("*.intoto.jsonl")) == []


def test_a_build_with_a_key_signs_what_is_there(made: Path, tmp_path: Path) -> None:
    sign_built(made.parent, built(made), {KEY: pem_keys(tmp_path, "ours")[0]})

    assert (made / "provenance.intoto.jsonl").is_file()


def wrong(environment: dict[str, str]) -> QnnbuildError:
    with pytest.raises(QnnbuildError) as caught:
        private_key(environment)
    return caught.value


def test_no_key_is_told() -> None:
    error = wrong({})

    assert isinstance(error, NothingMatches)
    assert str(error) == f"there is no key to sign with: {KEY} is not set"


@pytest.mark.parametrize("make", [pem_keys, minisign_keys])
def test_a_locked_key_wants_its_password_and_no_other(tmp_path: Path, make: Any) -> None:
    key, _ = make(tmp_path, "ours", password="secret")

    assert str(wrong({KEY: key})) == f"the key is locked, and {PASSWORD} is not set"
    assert str(wrong({KEY: key, PASSWORD: "other"})) == f"{PASSWORD} does not open the key"
    private_key({KEY: key, PASSWORD: "secret"})


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(pem_keys(tmp_path, "ours")[0])

    private_key({KEY: str(path)})

    assert "cannot be read: No such file" in str(wrong({KEY: str(tmp_path / "none")}))
    assert "cannot be read: Is a directory" in str(wrong({KEY: str(tmp_path)}))


def test_what_is_no_key_is_told_and_never_shown(tmp_path: Path) -> None:
    key, public = pem_keys(tmp_path, "ours")
    cut = key[:60] + key[-30:]
    secret, _ = minisign_keys(tmp_path, "ours")
    for said in (cut, "two\nlines", secret[:80], public.read_text(), str(public)):
        error = wrong({KEY: said})

        assert isinstance(error, RecipeError)
        told = " ".join([str(error), str(error.problems)])
        assert not any(part in told for part in (key[30:50], secret[50:70]))


@pytest.mark.parametrize("text", ["nonsense", "untrusted comment: x\nRWS\n", "-----BEGIN X-----"])
def test_what_is_no_public_key_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.pub"
    path.write_text(text)

    with pytest.raises(RecipeError, match=r"key\.pub is no public key"):
        public_key(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"payload": 1}', '{"payload": "", "x": []}'])
def test_what_is_no_envelope_is_told(made: Path, tmp_path: Path, text: str) -> None:
    (made / "provenance.intoto.jsonl").write_text(text)
    (made / "provenance.intoto.json.minisig").write_text(text)
    _, pem = pem_keys(tmp_path, "ours")
    _, mini = minisign_keys(tmp_path, "ours")

    told = [verify(made, key=public_key(public)).problems[0].message for public in (pem, mini)]

    assert told == [
        "provenance.intoto.jsonl is no DSSE envelope",
        "provenance.intoto.json.minisig is no signature of minisign",
    ]
