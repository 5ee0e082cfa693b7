"""What a file is by its first bytes, when it is not what its name says."""

from __future__ import annotations

from pathlib import Path

from qnnbuild.work.run import WorkError

_MAGIC: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"PK\x03\x04", "a zip archive", "name the file inside it with member:"),
    (0, b"\x1f\x8b", "a gzip file", "unpack it, or name the file inside it with member:"),
    (0, b"BZh", "a bzip2 file", "unpack it, or name the file inside it with member:"),
    (0, b"\xfd7zXZ\x00", "an xz file", "unpack it, or name the file inside it with member:"),
    (0, b"\x28\xb5\x2f\xfd", "a zstandard file", "unpack it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-zip archive", "unpack it first"),
    (257, b"ustar", "a tar archive", "name the file inside it with member:"),
    (4, b"TFL3", "a TensorFlow Lite model", "export the model as ONNX"),
    (4, b"ORTM", "a model in ORT's own format", "take the ONNX file it was made from"),
    (0, b"GGUF", "a GGUF model", "export the model as ONNX"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 (Keras) file", "export the model as ONNX"),
    (0, b"\x7fELF", "a shared library or program", "name the ONNX file"),
    (0, b"\x89PNG", "a picture", "name the ONNX file"),
    (0, b"%PDF", "a PDF document", "name the ONNX file"),
    *(
        (
            0,
            bytes((0x80, protocol)),
            "a Python pickle (a PyTorch checkpoint?)",
            "export the model as ONNX",
        )
        for protocol in range(2, 6)
    ),
)


def look(path: Path, *, shown: str | None = None, quoted: bool = True) -> None:
    """Raise a WorkError that says what `path` is, when its first bytes are not an ONNX file's.

    `shown` is the user's name for it. Says nothing about the rest of the file. What a recipe has
    made us fetch is not `quoted`: the log of a build is no way to read a page of our network.
    """
    name = shown or path.name
    if not path.exists():
        raise WorkError(f"'{name}' is not there", hint="check the path in the recipe")
    if path.is_dir():
        inside = sorted(p.relative_to(path).as_posix() for p in path.rglob("*.onnx"))[:5]
        raise WorkError(
            f"'{name}' is a folder, an ONNX file is wanted",
            facts=[("ONNX files in it", ", ".join(inside) or "none")],
        )
    if not path.is_file():
        raise WorkError(f"'{name}' is not a file")
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise WorkError(f"'{name}' is an empty file", hint="get it again: the download failed")
    _look_at_text(name, head, path.stat().st_size, quoted=quoted)
    for offset, magic, kind, hint in _MAGIC:
        if head[offset : offset + len(magic)] == magic:
            if magic == b"PK\x03\x04" and b"/data.pkl" in head:
                raise WorkError(
                    f"'{name}' is a PyTorch checkpoint, not an ONNX file",
                    hint="export the model as ONNX",
                )
            raise WorkError(f"'{name}' is {kind}, not an ONNX file", hint=hint)


def _look_at_text(name: str, head: bytes, size: int, *, quoted: bool) -> None:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"version https://git-lfs.github.com/spec/"):
        lines = text.decode(errors="replace").splitlines()
        said = dict(line.split(" ", 1) for line in lines if " " in line)
        raise WorkError(
            f"'{name}' is a Git LFS pointer, not the model",
            facts=[("size of the model", f"{said.get('size', '?')} bytes")],
            hint="run git lfs pull",
        )
    start = text[:64].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml", b"<!--")):
        raise WorkError(
            f"'{name}' is a web page, not an ONNX file",
            facts=[("it begins with", text[:60].decode(errors="replace"))] if quoted else [],
            hint="the address is that of a page about the file, or a login: take the download link",
        )
    if head.startswith(b"\x08") or not _is_text(head):
        return  # an ONNX file's first byte is the tag of ir_version
    shown = text[:60].decode(errors="replace").splitlines()
    if quoted and size < 512 and b"\n" not in text.strip():
        raise WorkError(
            f"'{name}' holds only the text '{shown[0] if shown else ''}', not a model",
            hint="a link was stored as a text file: put the real file there",
        )
    raise WorkError(
        f"'{name}' is a text file, not an ONNX file",
        facts=[("it begins with", shown[0] if shown else "")] if quoted else [],
    )


def _is_text(head: bytes) -> bool:
    """Whether all bytes could be text: no control characters but white space."""
    return not any(byte < 32 and byte not in b"\t\n\r\f" for byte in head) and _decodes(head)


def _decodes(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # cut inside the last character
    return True
