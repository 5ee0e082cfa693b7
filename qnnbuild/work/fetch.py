"""The code of fetch actions: out/model has model.onnx and its side files, all looked at.

With a "file" in the params it has that one file, which whoever takes it looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from qnnbuild.digest import Digest, digest_file
from qnnbuild.work.download import check_digest, download, is_page, shown
from qnnbuild.work.first_bytes import look
from qnnbuild.work.hub import HubPackage
from qnnbuild.work.license_text import read_license
from qnnbuild.work.onnx_files import check_side_files, read, side_files
from qnnbuild.work.packages import Package, missing_member, open_archive
from qnnbuild.work.pip import download_release
from qnnbuild.work.run import Run, WorkError

MODEL = "model.onnx"
LICENSE = "LICENSE.txt"


def fetch_file(run: Run) -> None:
    """A file of the repo: in/source is a real copy with its side files already."""
    source, out = run.inputs["source"], run.outputs["model"]
    if file := run.params.get("file"):
        _only_file(source).replace(out / file)
        return
    model = read(source / MODEL)
    check_side_files(model, source)
    for name in (MODEL, *side_files(model)):
        to = out / name
        to.parent.mkdir(parents=True, exist_ok=True)
        (source / name).replace(to)


def _only_file(source: Path) -> Path:
    files = sorted(path for path in source.rglob("*") if path.is_file())
    if len(files) != 1:
        raise WorkError(
            f"one file is wanted, the pattern matches {len(files)}",
            place="source.file",
            facts=[("they are", ", ".join(path.name for path in files[:4]))],
            exit_code=2,
        )
    return files[0]


def fetch_url(run: Run) -> None:
    """A file, or a member of an archive, from a server or the file system."""
    url, member, sha256 = run.params["url"], run.params["member"], run.params["sha256"]
    got = Path("download")
    download(url, got)
    if member is None:
        _take_file(run, got, shown(url))
        return
    title = PurePosixPath(shown(url)).name or shown(url)
    if is_page(got):
        raise WorkError(
            "the server sent a web page in place of the archive",
            place="source.url",
            facts=[("url", shown(url))],
            hint="the address leads to a page about it, or to a login: take the download link",
        )
    package = open_archive(got, title)
    whole = digest_file(got) == sha256  # a pinned archive pins all its members
    _take(run, package, None if whole else sha256, side_files_are_pinned=whole)


def fetch_pypi(run: Run) -> None:
    """A member of a release, as the user's pip finds it."""
    package = download_release(run.params["pypi"], Path("pypi"))
    _take(run, package, run.params["sha256"], side_files_are_pinned=True)


def fetch_hub(run: Run) -> None:
    """A file of a hub at a commit."""
    package = HubPackage(run.params["hub"], run.params["revision"], Path("hub"))
    _take(run, package, run.params["sha256"], side_files_are_pinned=True)


def _take_file(run: Run, got: Path, name: str) -> None:
    sha256, out = run.params["sha256"], run.outputs["model"]
    if file := run.params.get("file"):
        check_digest(got, sha256, name)
        got.replace(out / file)
        return
    look(got, shown=name, quoted=False)
    check_digest(got, sha256, name)
    if sides := side_files(read(got, shown=name)):
        raise WorkError(
            f"{name} keeps its weights in side files, which one URL cannot bring",
            place="source.url",
            facts=[("side file", side) for side in sides],
            hint="name an archive that has them all, and the ONNX in it with `member`",
        )
    got.replace(out / MODEL)


def _take(
    run: Run, package: Package, sha256: Digest | None, *, side_files_are_pinned: bool
) -> None:
    """Copy the member, its side files and the licence; `sha256` is the member's."""
    member, out = run.params["member"], run.outputs["model"]
    file = run.params.get("file")  # of what was made elsewhere: no ONNX file, and alone
    to = out / (file or MODEL)
    package.copy(member, to)
    name = f"{PurePosixPath(member).name} of {package.title}"
    if file is None:
        look(to, shown=name, quoted=False)
    if sha256 is not None:
        check_digest(to, sha256, name)
    if file is None:
        _take_sides(package, member, to, name, side_files_are_pinned=side_files_are_pinned)
    if (text := run.params.get("license_member")) is not None:
        _take_license(package, text, run.outputs["license"] / LICENSE)


def _take_sides(
    package: Package, member: str, to: Path, name: str, *, side_files_are_pinned: bool
) -> None:
    model = read(to, shown=name)
    sides = side_files(model)
    if sides and not side_files_are_pinned:
        raise WorkError(
            f"{name} keeps its weights in side files, which its own sha256 does not pin",
            place="source.sha256",
            facts=[("side file", side) for side in sides],
            hint=f"pin the whole archive: sha256: {digest_file(Path('download'))}",
        )
    for side in sides:
        _copy_side_file(package.copy, member, side, to.parent)
    check_side_files(model, to.parent)


def _copy_side_file(copy: Callable[[str, Path], None], member: str, side: str, out: Path) -> None:
    beside = PurePosixPath(member).parent / side
    try:
        copy(beside.as_posix(), out / side)
    except FileExistsError as error:
        raise WorkError(
            f"the model names a side file '{side}', which is the name of the model itself"
        ) from error


def _take_license(package: Package, member: str, to: Path) -> None:
    try:
        package.copy(member, to)
    except WorkError as error:
        if member in package.names():
            raise
        raise missing_member(package, member, place="license.member") from error
    text = read_license(to, member, place="license.member")
    to.write_text(text, encoding="utf-8", newline="\n")
