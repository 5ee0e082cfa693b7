"""Files of other tools, out of which recipes are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.formats import onnx_seeds
from fuzz.target import ROOT, scratch
from fuzz.texts import packaged

if TYPE_CHECKING:
    from qnnbuild.importing.described import DescribedModel

MIGRATED = ROOT / "tests" / "golden" / "migrate"
USUAL = ["SM8750"]


def _migrated(ending: str) -> Callable[[bytes], None]:
    def reads(data: bytes) -> None:
        from qnnbuild.errors import RecipeError
        from qnnbuild.importing.scripts import Given
        from qnnbuild.importing.sources import described, source_of

        with suppress(RecipeError):
            source = source_of(f"any{ending}", data)
            model, rows, _ = described("any", [source], Given(chips=packaged()), USUAL)
            for row in rows:
                row.as_json(), str(row.at)
            _check_text(model)

    return reads


def _check_text(model: DescribedModel | None) -> None:
    """Whatever stood in the file, what is written is YAML and says nothing twice."""
    from qnnbuild.text.reader import read_nodes

    if model is not None:
        root, problems = read_nodes("any.yaml", model.text())
        if root is None or problems:
            raise AssertionError(problems)


def _scripts(*endings: str) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        for path in sorted(MIGRATED.iterdir()):
            if path.suffix in endings:
                yield path.read_bytes()
        if ".sh" in endings:
            yield b"for t in $(seq 1 9); do qnn-onnx-converter -i $t.onnx; done\n"
            yield b"for a in 1 2; do " * 40 + b"qnn-onnx-converter -i m.onnx; " + b"done; " * 40

    return seeds


def _init(data: bytes) -> None:
    """`qnnbuild init --from`, up to the text of the recipe."""
    from qnnbuild.errors import RecipeError
    from qnnbuild.importing.described import DescribedModel
    from qnnbuild.importing.onnx_graph import described
    from qnnbuild.importing.onnx_look import look
    from qnnbuild.importing.sizes import Sizes

    file = Path(scratch()) / "any.onnx"
    file.write_bytes(data)
    chip = packaged()[USUAL[0]]
    with suppress(RecipeError):
        looked = look(file, Sizes(shapes={}, dims={}, ask=None), [chip.arch])
        graph = described(looked, "any", "../any.onnx", [chip])
        _check_text(DescribedModel(name="any", chips=USUAL, graphs=[graph]))


WORDS = {
    "migrate-shell": (_migrated(".sh"), _scripts(".sh")),
    "migrate-workflow": (_migrated(".yaml"), _scripts(".yaml")),
    "migrate-olive": (_migrated(".json"), _scripts(".json")),
}
MODELS = {
    "init-from": (_init, onnx_seeds),
}
