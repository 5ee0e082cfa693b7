"""The ONNX files of one model, made by sherpa-onnx's own scripts at one commit.

    python export.py sense-voice 2024-07-17 10
    python export.py --pin sense-voice 2024-07-17 10

It leaves onnx/<graph>.onnx, tokens.txt, test_wavs/ and, for graphs that are quantized,
samples/<graph>/<number>.npz. Whatever it downloads must have its digest in pins/<family>.json.
--pin takes what comes and writes the digests down: look at what came, and commit the file. What
was written down before is not changed by it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from downloads import Downloads, Unpinned
from families import EXPORTS, Export
from samples import Samples

SHERPA = "k2-fsa/sherpa-onnx"
SHERPA_COMMIT = "634265c9b57642fdd158120148785c89aa281c4b"
ICEFALL = "k2-fsa/icefall"
ARCHIVE = "https://codeload.github.com/{repo}/tar.gz/{commit}"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pin", action="store_true", help="write down the digests of what comes")
    parser.add_argument("family", choices=sorted(EXPORTS))
    parser.add_argument("choices", nargs="+", help="as the recipe has them: release, length")
    args = parser.parse_args(argv)
    here = Path(__file__).resolve().parent
    downloads = Downloads(here / "pins" / f"{args.family}.json", pin=args.pin)
    try:
        made(EXPORTS[args.family](*args.choices), downloads, Path("work"), Path())
    except Unpinned as error:
        shown = " ".join([args.family, *args.choices])
        sys.stderr.write(f"{error}\npython export.py --pin {shown}  writes it down\n")
        return 1
    return 0


def made(export: Export, downloads: Downloads, work: Path, out: Path) -> None:
    """Run all of one export in `work`, and leave what it made in `out`."""
    for folder in (work, *(out / name for name in ("onnx", "samples", "test_wavs"))):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (work, out / "onnx", out / "test_wavs"):
        folder.mkdir(parents=True)
    env = {**os.environ, "HF_HOME": str(work.resolve() / "hub"), **export.env}
    folder = work.resolve() / "own"
    if export.folder:
        folder = _checkout(downloads, SHERPA, SHERPA_COMMIT, work) / export.folder
    if export.icefall:
        commit = downloads.commit(f"github.com/{ICEFALL}")
        icefall = _checkout(downloads, ICEFALL, commit, work)
        env["PYTHONPATH"] = str(icefall)
        env["ICEFALL"] = str(icefall)
    folder.mkdir(parents=True, exist_ok=True)
    for name, address in export.files.items():
        downloads.get(address, folder / name)
    for command in export.commands:
        _run(command, folder, env)
    for repo in export.hubs:
        downloads.check_commit(repo, _commit_of(work / "hub", repo))
    for graph, file in export.models.items():
        _take_model(folder, file, out / "onnx" / f"{graph}.onnx")
    _take_samples(export, folder, out, env)
    shutil.copy(folder / export.tokens, out / "tokens.txt")
    for wav in export.wavs:
        shutil.copy(folder / wav, out / "test_wavs" / wav)


def _checkout(downloads: Downloads, repo: str, commit: str, work: Path) -> Path:
    """A repository at one commit; its archive is pinned like any other file."""
    name = repo.rpartition("/")[2]
    archive = work / f"{name}.tar.gz"
    downloads.get(ARCHIVE.format(repo=repo, commit=commit), archive)
    with tarfile.open(archive) as opened:
        opened.extractall(work / name, filter="data")
    (top,) = (work / name).iterdir()
    return top.resolve()


def _run(command: tuple[str, ...], folder: Path, env: dict[str, str]) -> None:
    argv = [word.replace("{icefall}", env.get("ICEFALL", "")) for word in command]
    argv[:1] = [sys.executable] if argv[0] == "python" else argv[:1]
    sys.stderr.write(f"+ {' '.join(argv)}\n")
    subprocess.run(argv, cwd=folder, env=env, check=True)


def _commit_of(hub: Path, repo: str) -> str:
    """The commit that a library of the model hub has downloaded."""
    name = "models--" + repo.replace("/", "--")
    return (hub / "hub" / name / "refs" / "main").read_text(encoding="utf-8").strip()


def _take_model(folder: Path, file: str, out: Path) -> None:
    """The model, and beside it the files with its weights, under the names that it uses."""
    import onnx

    (path,) = sorted(folder.glob(file))
    model = onnx.load(path, load_external_data=False)
    named = {
        entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    for name in sorted(named):
        if (out.parent / name).exists():
            raise SystemExit(f"two graphs keep their weights in '{name}'")
        shutil.copy(path.parent / name, out.parent / name)
    shutil.copy(path, out)


def _take_samples(export: Export, folder: Path, out: Path, env: dict[str, str]) -> None:
    found = {
        graph: Samples(
            out / "onnx" / f"{graph}.onnx", out / "samples" / graph, export.orders.get(graph, {})
        )
        for graph in dict.fromkeys((*export.samples, *export.lists))
    }
    for wav in export.wavs:
        name = Path(wav).stem
        for command in export.each:
            _run(tuple(w.replace("{wav}", wav) for w in command), folder, env)
        for graph, files in export.samples.items():
            found[graph].add([folder / file.replace("{name}", name) for file in files])
        for graph, file in export.lists.items():
            if "{name}" in file:
                found[graph].add_list(folder / file.replace("{name}", name))
    for graph, file in export.lists.items():
        if "{name}" not in file:
            found[graph].add_list(folder / file)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
