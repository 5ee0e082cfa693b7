"""What a bundle of Qualcomm's SDK tells of how its graphs were made. Pure."""

from __future__ import annotations

import re

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_convert import command
from qnnbuild.toolchains.qairt_names import names_of

FOLDER = re.compile(r"\{(in|out)\.[^}]*\}/")


def sdk_part(graph: Graph) -> dict[str, Json]:
    """The graph's name inside of binary and library, and the converter's words."""
    return {"graph": names_of(graph).graph, "converter": [_plain(word) for word in command(graph)]}


def _plain(word: str) -> str:
    """Files by their names alone: folders are of no machine."""
    word = FOLDER.sub("", word)
    return word.removeprefix("{").removesuffix("}")
