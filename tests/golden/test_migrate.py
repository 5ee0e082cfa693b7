"""qnnbuild migrate: the recipe and the report of each example, whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild import cli

HERE = Path(__file__).parent / "migrate"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "sense-voice.sh": (),
    "paraformer.sh": ("--set", "t=5,8", "--set", "soc=SM8550,SM8750"),
    "whisper.yaml": ("--chips", "8 elite"),
    "shared.sh": (),
    "odd.sh": (),
    "olive-qnn-ep.json": (),
    "olive-sdk.json": ("--chips", "SM8650"),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_recipe_and_what_is_told(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[Path, str], None],
) -> None:
    shutil.copy(HERE / example, tmp_path)
    monkeypatch.chdir(tmp_path)
    code = cli.main(["migrate", example, "--to", "repo", *EXAMPLES[example]])
    said = capsys.readouterr()
    (recipe,) = (tmp_path / "repo" / "recipes").glob("*.yaml")
    text = "\n".join([recipe.read_text(), f"[{code}] {said.err}", said.out])

    golden(HERE / f"{example}.txt", text)


def test_as_data_every_row_says_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(HERE / "odd.sh", tmp_path)
    monkeypatch.chdir(tmp_path)
    cli.main(["migrate", "odd.sh", "--to", "repo", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert told["recipes"] == ["repo/recipes/odd.yaml"]
    assert {row["file"] for row in told["rows"]} == {"odd.sh"}
    assert all(row["todo"] for row in told["rows"] if row["state"] == "left")
