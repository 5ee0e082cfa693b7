"""How long a part of the zoo takes on clusters of one worker and two, and on this machine alone.

    python bench/cluster.py [--models 2] [--rounds 3] [--pin] [NAME …]

Each round builds the same recipes cold, in a folder and a store of its own, four times: on one and
on two workers of a Dask scheduler (one thread each), with `doit -n 1` and with `doit -n 2`. Prints
medians and ratios, and ends with an error when one build's bytes differ from another's. Sources are
fetched once before, into a remote cache that is a folder: what is measured is work, not a network.

A compile and the emulator have threads of their own, so one worker takes more than one core. With
--pin each worker has one, as if it were a machine, and this machine alone is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PATIENCE_S = 120
MODELS = ("silero-vad", "magika", "dnsmos", "speech-embedding")
"""What is taken where no names are given; small, with several chips each."""


@contextmanager
def cluster(folder: Path, workers: int, *, pin: bool) -> Iterator[str]:
    """A scheduler with that many workers of one thread; its address as an executor."""
    folder.mkdir()
    file = folder / "scheduler.json"
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter"]
    running = [_started(folder / "scheduler.log", [*words, "--scheduler-file", str(file)])]
    try:
        _wait_for(file, '"address"')
        for number in range(workers):
            own = ["--name", f"w{number}", "--local-directory", str(folder / f"w{number}")]
            words = ["worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny"]
            log = folder / f"w{number}.log"
            words += ["--no-dashboard", "--memory-limit", "0", *own]
            running.append(_started(log, words, core=number if pin else None))
        for number in range(workers):
            _wait_for(folder / f"w{number}.log", "Registered to")
        yield f"dask://{file}"
    finally:
        for process in reversed(running):  # the scheduler last: workers hang when it leaves first
            process.terminate()
            process.wait()


def _started(log: Path, words: list[str], core: int | None = None) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    pinned = [] if core is None else ["taskset", "--cpu-list", str(core)]
    with log.open("wb") as out:
        command = [*pinned, str(BIN / "dask"), *words]
        return subprocess.Popen(command, env=env, stdout=out, stderr=out)


def _wait_for(file: Path, text: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not (file.exists() and text in file.read_text()):
        if time.monotonic() > end:
            sys.exit(f"{file} never said {text}")
        time.sleep(0.05)


class Part:
    """Some recipes of the zoo, built cold again and again."""

    def __init__(self, top: Path, names: list[str]) -> None:
        self.top = top
        self.names = names
        self.count = 0

    def build(
        self, executor: str, threads: int | None, *, fetch: bool = False
    ) -> tuple[float, str]:
        """Seconds of all that is not fetched, and a digest of build/."""
        self.count += 1
        root = self.top / f"{self.count:02}" / "repo"
        root.mkdir(parents=True)
        for name in ("recipes", "qnnbuild.yaml", "pyproject.toml", "dodo.py", "LICENSE"):
            source = REPO / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, root / name)
        env = {
            **os.environ,
            "PYTHONPATH": str(REPO),
            "QNNBUILD_EXECUTOR": "" if fetch else executor,
        }
        env |= {"QNNBUILD_STORE": str(root.parent / "store"), "NO_COLOR": "1"}
        env |= {"QNNBUILD_REMOTE_CACHE": f"file://{self.top}/sources"}
        env["QNNBUILD_REMOTE_CACHE_MODE"] = "read-write" if fetch else "read"
        words = [] if threads is None else ["-n", str(threads)]
        wanted = [f"fetch/{name}*" if fetch else name for name in self.names]
        began = time.monotonic()
        done = subprocess.run(
            [BIN / "doit", *words, *wanted], cwd=root, env=env, text=True, capture_output=True,
            check=False,
        )  # fmt: skip
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(f"the build failed:\n{done.stdout}{done.stderr}")
        digest = _digest(root / "build")
        shutil.rmtree(root.parent)
        return seconds, digest


def _digest(folder: Path) -> str:
    """Of all bundles; the report and the index of a build tell its times."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder:
            found.update(f"{path.relative_to(folder)}\n".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models of the zoo")
    parser.add_argument("--models", type=int, default=2, help="how many of the usual ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pin", action="store_true", help="a core for each worker")
    args = parser.parse_args()
    names = args.names or list(MODELS[: args.models])
    with tempfile.TemporaryDirectory() as top:
        _measure(Part(Path(top), names), Path(top), args.rounds, pin=args.pin)


def _measure(part: Part, top: Path, rounds: int, *, pin: bool) -> None:
    part.build("", 2, fetch=True)
    times: dict[str, list[float]] = {}
    digests = set()
    for number in range(rounds):
        for workers in (1, 2):
            with cluster(top / f"cluster-{number}-{workers}", workers, pin=pin) as executor:
                seconds, digest = part.build(executor, None)
            times.setdefault(f"{workers} workers", []).append(seconds)
            digests.add(digest)
        for threads in () if pin else (1, 2):
            seconds, digest = part.build("", threads)
            times.setdefault(f"doit -n {threads}", []).append(seconds)
            digests.add(digest)
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"{', '.join(part.names)}; medians of {rounds}")
    for name, median in medians.items():
        print(f"  {name:<10} {median:7.1f} s   each: {', '.join(f'{s:.1f}' for s in times[name])}")
    print(f"  2 workers / 1 worker: {medians['2 workers'] / medians['1 workers']:.2f}")
    if not pin:
        print(f"  doit -n 2 / -n 1:     {medians['doit -n 2'] / medians['doit -n 1']:.2f}")
    print(f"  the same bytes each time: {'yes' if len(digests) == 1 else 'NO'}")
    if len(digests) != 1:
        sys.exit(1)


if __name__ == "__main__":
    main()
