"""Bundles of strangers, and the file of a gate that came with a repo."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

from fuzz.target import DEEP, ROOT, scratch

APART = b"\n\0\n"
"""Stands between a bundle's papers in one input."""

PAPERS = ("manifest.json", "provenance.intoto.json", "bom.cdx.json")


def _papers(data: bytes) -> None:
    """A folder in which all that is read as text is a stranger's."""
    folder = Path(scratch()) / "bundle"
    folder.mkdir(exist_ok=True)
    (folder / "notes.txt").write_bytes(b"notes")
    parts = data.split(APART)
    for number, name in enumerate(PAPERS):
        (folder / name).unlink(missing_ok=True)
        if number < len(parts):
            (folder / name).write_bytes(parts[number])
    _verified(folder)


def _archive(data: bytes) -> None:
    archive = Path(scratch()) / "bundle.tar.bz2"
    archive.write_bytes(data)
    _verified(archive)


def _verified(path: Path) -> None:
    from qnnbuild.engine.bundle_verify import verify
    from qnnbuild.text.render import terminal

    terminal(verify(path, chip="SM8750", sdk="2.40").problems)


def _paper_seeds() -> Iterator[bytes]:
    whole = (ROOT / "tests/golden/bundle/manifest.json").read_bytes()
    small = {
        "files": {"notes.txt": {"sha256": "0" * 64, "bytes": 5}},
        "model": "m",
        "chips": [{"name": "SM8750", "marketing": ["Elite"]}],
        "variants": [{"name": "a"}],
        "graphs": {"g": {"libraries": {"x": {"sdk_build": "v2.40.0"}}}},
    }
    statement = {
        "subject": [{"name": "notes.txt", "digest": {"sha256": "0" * 64}}],
        "predicate": {"buildDefinition": {"buildType": "x"}},
    }
    bom = {"components": [{"name": "notes.txt", "hashes": [{"content": "0" * 64}]}]}
    yield whole
    yield APART.join(json.dumps(one).encode() for one in (small, statement, bom))
    yield APART.join([whole, json.dumps(statement).encode(), json.dumps(bom).encode()])
    yield from DEEP


def _archive_seeds() -> Iterator[bytes]:
    import tarfile

    papers = next(iter(_paper_seeds()))
    for kind in ("w:bz2", "w:gz", "w"):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode=kind) as tar:
            for name, contents in {"m/manifest.json": papers[:3000], "m/notes.txt": b"n"}.items():
                member = tarfile.TarInfo(name)
                member.size = len(contents)
                tar.addfile(member, io.BytesIO(contents))
        yield made.getvalue()


def _gate(data: bytes) -> None:
    """Right digests as well: who writes the file can make these. Its mark is taken for right."""
    import zlib

    from qnnbuild.engine.gate_file import content_of, numbers_by_group
    from qnnbuild.engine.gate_stat import changed_of
    from qnnbuild.engine.glance import FORM, listed, parts_of, told_of

    body = data.removeprefix(FORM)
    for whole in (data, FORM + body + zlib.crc32(body).to_bytes(4, "little")):
        parts = parts_of(whole)
        if parts is None:
            continue
        try:
            listed(scratch(), told_of(parts.texts["world"])[1])
            changed = changed_of(parts.texts["paths"], parts.columns, scratch())
        except ValueError:
            continue
        content = content_of(parts)
        if content is not None:
            list(numbers_by_group(content.groups, changed))
        for group in content.groups if content is not None else ():
            list(group.rows()), group.names, group.actions, group.landed


def _gate_seeds() -> Iterator[bytes]:
    from qnnbuild.engine.gate_file import Content, Landed, Row, group_of, write

    file = Path(scratch()) / "seed"
    rows = {b"recipes/a.yaml": Row(1, 2, 3, 4), b"a.onnx": Row(-1, -1, -1, -1)}
    group = group_of(
        name="a",
        recipe="recipes/a.yaml",
        closed=True,
        saved_s=1.5,
        names=["x/a"],
        rows=rows,
        landed=[Landed(name="x/a", lands="a/A", key="0" * 64)],
    )
    ends = {"build/index.json": Row(5, 6, 7, 8)}
    write(file, Content("[]", {"recipes": ["a.yaml"]}, {"left_out": []}, [group], ends))
    yield file.read_bytes()[:-4]  # the target digests it
    write(file, Content("", {}, {}, [], {}))
    yield file.read_bytes()


SHIPPED = {
    "bundle-papers": (_papers, _paper_seeds),
    "bundle-archive": (_archive, _archive_seeds),
    "gate": (_gate, _gate_seeds),
}
