"""The recipe reference: schemas and repairs as a page for people.

`python -m qnnbuild.report.recipe_reference > docs/recipe.md` writes it; a test compares it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, TypeAlias

from qnnbuild.work.repairs.catalogue import REPAIRS

Schema: TypeAlias = Mapping[str, Any]

RECIPE = "recipe.schema.json"
SETTINGS = "settings.schema.json"

HEAD = """\
# Recipe reference

Made from the data of the package by `python -m qnnbuild.report.recipe_reference`.
How they are written is [told](writing-recipes.md) part by part, what the words mean in the
[glossary](glossary.md).
"""

TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "null": "nothing",
}


def page() -> str:
    """The whole page, from what the package ships."""
    return "\n".join([reference(shipped()), repairs(REPAIRS)])


def reference(documents: Mapping[str, Schema]) -> str:
    """The keys. `documents` are the schemas by the file names that `$ref` uses."""
    page = Page(documents)
    return "\n".join([HEAD, page.part(RECIPE, "A recipe"), page.part(SETTINGS, "`qnnbuild.yaml`")])


class Page:
    """A section for each mapping with known keys, in the order in which they are met."""

    def __init__(self, documents: Mapping[str, Schema]) -> None:
        self.documents = documents
        self.sections: dict[str, Schema] = {}  # path → the keys told there
        self.waiting: list[tuple[str, Schema, str]] = []

    def part(self, name: str, title: str) -> str:
        """All of one schema that was not told before."""
        root = self.documents[name]
        lines = [f"## {title}", "", *_described(root), *self._table(root, name, "")]
        while self.waiting:
            path, schema, document = self.waiting.pop(0)
            lines += [f"### `{path}`", "", *_described(schema)]
            choices = [(c, d) for c, d in self._choices(schema, document) if "properties" in c]
            for choice, within in choices:
                lines += [f"With `{choice['required'][0]}`:", ""] if len(choices) > 1 else []
                lines += self._table(choice, within, path)
        return "\n".join(lines)

    def _table(self, schema: Schema, document: str, path: str) -> list[str]:
        lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
        for key, given in schema["properties"].items():
            value, within = self._resolved(given, document)
            here = f"{path}.{key}" if path else key
            default = f"`{_yaml(value['default'])}`" if "default" in value else ""
            if key in schema.get("required", ()):
                default = "must be given"
            cells = (f"`{key}`", self._form(value, within, here), default, _meaning(value))
            lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
        return [*lines, ""]

    def _form(self, schema: Schema, document: str, path: str) -> str:
        """What may be written, in words; mappings with known keys get a section of their own."""
        choices = list(self._choices(schema, document))
        if any("properties" in choice for choice, _ in choices):
            link = self._section(schema, document, path)
            plain = [self._plain(c, d, path) for c, d in choices if "properties" not in c]
            return " or ".join([*plain, link])
        return " or ".join(dict.fromkeys(self._plain(c, d, path) for c, d in choices))

    def _plain(self, schema: Schema, document: str, path: str) -> str:
        if "enum" in schema:
            return ", ".join(f"`{_yaml(value)}`" for value in schema["enum"])
        kinds = schema.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " or ".join(self._kind(kind, schema, document, path) for kind in kinds)

    def _kind(self, kind: str, schema: Schema, document: str, path: str) -> str:
        if kind == "array":
            items, within = self._resolved(schema.get("items", {}), document)
            return f"list of {self._form(items, within, path)}"
        if kind == "object":
            values, within = self._resolved(schema.get("additionalProperties", {}), document)
            return f"name: {self._form(values, within, f'{path}.NAME')}"
        return TYPES[kind] + _limits(schema)

    def _section(self, schema: Schema, document: str, path: str) -> str:
        """A link to the section about `schema`, which is asked for when it is met first."""
        choices = self._choices(schema, document)
        keys = next(choice["properties"] for choice, _ in choices if "properties" in choice)
        for there, known in self.sections.items():
            if _is_most_of(keys, known):
                without = ", ".join(f"`{key}`" for key in known if key not in keys)
                return _link(there) + (f" without {without}" if without else "")
        self.sections[path] = keys
        self.waiting.append((path, schema, document))
        return _link(path)

    def _choices(self, schema: Schema, document: str) -> Iterator[tuple[Schema, str]]:
        """The ways to write a value, without those that are there for editors only."""
        if "anyOf" not in schema:
            yield schema, document
            return
        for choice in schema["anyOf"]:
            if not choice.get("x-editor"):
                yield from self._choices(*self._resolved(choice, document))

    def _resolved(self, schema: Schema, document: str) -> tuple[Schema, str]:
        """`schema` with its reference followed; what stands beside the reference wins."""
        if "$ref" not in schema:
            return schema, document
        name, _, pointer = schema["$ref"].partition("#")
        document = name or document
        found: Any = self.documents[document]
        for word in pointer.strip("/").split("/"):
            found = found[word]
        followed, within = self._resolved(found, document)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**followed, **beside}, within


def repairs(known: Mapping[str, str]) -> str:
    lines = ["## Repairs", "", "General rewrites of a graph, by name.", ""]
    lines += ["| name | what it does |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {about} |" for name, about in known.items()), ""])


def _is_most_of(keys: Schema, known: Schema) -> bool:
    """Such a mapping is told by the other's section: what may differ in a graph, and a graph."""
    return len(known) <= len(keys) + 1 and all(known.get(key) == keys[key] for key in keys)


def _link(path: str) -> str:
    return f"[`{path}`](#{path.lower().replace('.', '')})"


def _described(schema: Schema) -> list[str]:
    text = schema.get("description")
    return [_sentence(text), ""] if text else []


def _meaning(schema: Schema) -> str:
    text: str = schema.get("description", "")
    examples = ", ".join(f"`{_yaml(value)}`" for value in schema.get("examples", ()))
    return f"{text} (e.g. {examples})" if examples else text


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _limits(schema: Schema) -> str:
    bounds = [
        (" from ", "minimum"),
        (" above ", "exclusiveMinimum"),
        (" to ", "maximum"),
    ]
    return "".join(word + f"{schema[key]}" for word, key in bounds if key in schema)


def _yaml(value: object) -> str:
    """One line of YAML: JSON without quotes where none are needed."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_yaml(k)}: {_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    text = value if isinstance(value, str) else json.dumps(value)
    needs_quotes = isinstance(value, str) and (text[:1] in "@>*{[&!%'\"" or ": " in text)
    return json.dumps(text, ensure_ascii=False) if needs_quotes else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def shipped() -> dict[str, Schema]:
    """The schemas of the package."""
    folder = files("qnnbuild.model")
    names = (RECIPE, SETTINGS)
    return {name: json.loads((folder / name).read_text(encoding="utf-8")) for name in names}


if __name__ == "__main__":
    sys.stdout.write(page())
