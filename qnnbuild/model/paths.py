"""Names and paths that are safe on every disk, whoever wrote them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.text.letters import HOLDS, all_told, false_in, hidden_in, plain
from qnnbuild.text.nodes import ListNode, Node, ScalarNode

_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)
_DRIVE = re.compile(r"[A-Za-z]:([/\\]|$)")


def unsafe_name(name: str) -> str | None:
    """Why no file or folder may be called so, on one system or another."""
    if _DEVICE.fullmatch(name):
        return "is the name of a device on Windows"
    if ".." in name:
        return "holds '..'"
    if name.endswith("."):
        return "ends with a dot, which Windows drops"
    return None


def repo_path(node: ScalarNode) -> str:
    """A path relative to its file as one relative to the repo's root."""
    path = _relative(node)
    if any("**" in part and part != "**" for part in path.split("/")):
        raise RecipeError(
            f"'{node.value}' has ** beside other letters",
            at=node.span,
            hint="** stands for any number of folders: samples/**/*.npz",
        )
    folder = posixpath.dirname(node.span.file)
    joined = posixpath.normpath(posixpath.join(folder, path))
    outside = joined == ".." or joined.startswith("../")
    if outside or (joined.startswith("/") and not joined.startswith(folder + "/")):
        raise RecipeError(
            f"'{node.value}' leaves the repo",
            at=node.span,
            hint="paths are relative to the file that they stand in",
        )
    return joined


def member_path(node: ScalarNode) -> str:
    """A path inside a package, an archive or a command's folder."""
    path = _relative(node)
    if ".." in path.split("/"):
        raise RecipeError(f"'{node.value}' leaves its folder", at=node.span)
    return posixpath.normpath(path)


def check_letters(name: str, at: Span | None, *, of_file: bool = True) -> None:
    """Raises RecipeError for a name that nobody can read as what it is."""
    else_rename = "; a file that is called so wants another name" if of_file else ""
    if hidden := hidden_in(name):
        raise RecipeError(
            f"'{name}' holds a character that nobody sees",
            at=at,
            facts=[("it is", all_told(hidden))],
            hint=f"take it out{else_rename}",
        )
    if false := false_in(name):
        raise RecipeError(
            f"'{name}' has letters of another script among those that they pass for",
            at=at,
            facts=[(HOLDS, all_told(false))],
            hint=f"write each word in one script: '{plain(name)}'{else_rename}",
        )


def check_address(node: Node | None, problems: list[Problem]) -> None:
    """Whether people can read from where a file is; what is wrong with it goes to the problems."""
    assert isinstance(node, ScalarNode)
    try:
        check_letters(node.value, node.span, of_file=False)
    except RecipeError as error:
        problems.extend(error.problems)


def path_of(node: Node | None, problems: list[Problem]) -> str:
    """A path of the repo; what is wrong with it goes to the problems."""
    return _checked(repo_path, node, problems)


def member_of(node: Node | None, problems: list[Problem]) -> str:
    return _checked(member_path, node, problems)


def paths_of(node: Node | None, problems: list[Problem]) -> tuple[str, ...]:
    """Paths of the repo, each once."""
    found = [path_of(item, problems) for item in items_of(node)]
    return tuple(dict.fromkeys(found))


def items_of(node: Node | None) -> Iterable[Node]:
    """The items of a list; one value is its own list of one."""
    if node is None:
        return ()
    return node.items if isinstance(node, ListNode) else (node,)


def _checked(check: Callable[[ScalarNode], str], node: Node | None, problems: list[Problem]) -> str:
    assert isinstance(node, ScalarNode)
    try:
        return check(node)
    except RecipeError as error:
        problems.extend(error.problems)
        return node.value


def _relative(node: ScalarNode) -> str:
    path = node.value
    check_letters(path, node.span)
    if "\\" in path:
        raise RecipeError(
            f"'{path}' holds a backslash", at=node.span, hint="write / between folders"
        )
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        raise RecipeError(
            f"'{path}' is an absolute path",
            at=node.span,
            hint="recipes are shared: write a path relative to this file, inside the repo",
        )
    return path
