"""What kind of file it is: a script, a workflow of GitHub, settings of Olive. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from qnnbuild.errors import Problem, RecipeError
from qnnbuild.importing.carried import Row
from qnnbuild.importing.described import DescribedModel
from qnnbuild.importing.holes import cleaned
from qnnbuild.importing.olive import olive_model
from qnnbuild.importing.scripts import Given, Text, model_of
from qnnbuild.importing.workflow import Part, parts_of
from qnnbuild.text.decode import decode

SETTINGS, WORKFLOWS = (".json",), (".yaml", ".yml")
Found = tuple[DescribedModel | None, list[Row], str]
"""The model, what became of each word, and the version of the SDK."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file as the user named it."""

    file: str
    text: str

    @property
    def ending(self) -> str:
        return PurePath(self.file).suffix.lower()


def source_of(file: str, data: bytes) -> Source:
    """Raises RecipeError for what is no text."""
    text = decode(file, data)
    if isinstance(text, Problem):
        raise RecipeError.of([text])
    return Source(file=file, text=cleaned(text))


def described(
    name: str, sources: Sequence[Source], given: Given, usual_chips: Sequence[str]
) -> Found:
    """One model of all the sources. Settings of Olive are a model of their own."""
    settings = next((one for one in sources if one.ending in SETTINGS), None)
    if settings is None:
        return model_of(name, [_text(source) for source in sources], given, usual_chips)
    if len(sources) > 1:
        raise RecipeError(
            "settings of Olive are a model of their own",
            facts=[("file", settings.file)],
            hint="leave --name out, or migrate them one by one",
        )
    return olive_model(name, settings.file, settings.text, given, usual_chips)


def _text(source: Source) -> Text:
    if source.ending in WORKFLOWS:
        return Text(file=source.file, parts=parts_of(source.text, source.file), whole=source.text)
    part = Part(text=source.text, first_line=1)
    return Text(file=source.file, parts=[part], whole=source.text)
