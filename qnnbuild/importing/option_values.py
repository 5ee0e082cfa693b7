"""Words of a command line → values as a recipe writes them, by the form of the option. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qnnbuild.toolchains.qairt_options import Option

Read = str | int | float | bool | list[str] | dict[str, str]


def option_of(known: Mapping[str, Option], name: str) -> Option | None:
    """By its name or an older one."""
    found = known.get(name)
    return found or next((one for one in known.values() if name in (*one.was, one.old)), None)


def value_of(option: Option, words: Sequence[str], before: Read | None) -> Read:
    """The value; `before` is that of an earlier time, for what may be said several times."""
    if option.form == "switch":
        return not words or words[0].lower() in ("true", "1")
    if option.form in ("names", "some"):
        return [*(before if isinstance(before, list) else []), *words]
    if option.form == "pairs":
        pairs = dict(zip(words[::2], words[1::2], strict=False))
        return {**(before if isinstance(before, dict) else {}), **pairs}
    text = " ".join(words)
    if option.form in ("number", "bit"):
        return _number(text, whole=True)
    return _number(text, whole=False) if option.form == "real" else text


def _number(text: str, *, whole: bool) -> Read:
    """The text itself when it is none: the option's check says so."""
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text
