"""Names and paths that are safe on every disk, whoever wrote them."""

from __future__ import annotations

import posixpath
import re

from qnnbuild.errors import RecipeError
from qnnbuild.text.nodes import ScalarNode

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
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


def _relative(node: ScalarNode) -> str:
    path = node.value
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
