"""`python -m fuzz [--seconds 60] [--seed N] [TARGET…]`: each target for so long, and a table.

Inputs that were found interesting are kept in .fuzz/ for the next time; what breaks a target is
left in .fuzz/found/, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import re
import secrets
import subprocess
import sys
from hashlib import sha256

from fuzz.target import ROOT
from fuzz.targets import targets

KEPT = ROOT / ".fuzz"
LARGEST_SEED = 2**31 - 1
"""libFuzzer's is a number of 32 bits, and with 0 it takes one of its own."""

STATS = {"runs": r"stat::number_of_executed_units:\s*(\d+)", "rss": r"stat::peak_rss_mb:\s*(\d+)"}
COVER = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help="all when none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--megabytes", type=int, default=1500, help="more memory is a finding")
    parser.add_argument("--seed", type=int, help="what is tried is chosen by it; another each time")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = secrets.randbelow(LARGEST_SEED)
    known = targets()
    if unknown := [name for name in args.target if name not in known]:
        parser.error(f"no target is called {unknown[0]}: {', '.join(known)}")
    print(f"seed {args.seed}\n", flush=True)
    print("| target | inputs | edges | features | corpus | MB | found |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    broken = [name for name in args.target or known if not fuzzed(name, args)]
    return bool(broken)


def fuzzed(name: str, args: argparse.Namespace) -> bool:
    """Run one target and print its row; False when something was found."""
    corpus, found = KEPT / name, KEPT / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    target = targets()[name]
    for seed in target.seeds():
        (corpus / sha256(seed).hexdigest()[:40]).write_bytes(seed[: target.most_bytes])
    argv = [sys.executable, "-m", "fuzz.one", name, str(corpus), str(found)]
    argv += [str(args.seconds), str(args.megabytes), str(args.seed % LARGEST_SEED + 1)]
    log = KEPT / f"{name}.log"
    with log.open("wb") as output:
        code = subprocess.run(argv, cwd=ROOT, stdout=output, stderr=output, check=False).returncode
    said = log.read_text(encoding="utf-8", errors="replace")
    runs, rss = (re.search(pattern, said) for pattern in STATS.values())
    last = COVER.findall(said)[-1:] or [("?", "?", "?")]
    verdict = "nothing" if code == 0 else f"exit code {code}: {log.relative_to(ROOT)}"
    numbers = [runs and runs[1], *last[0], rss and rss[1]]
    print(f"| {name} | {' | '.join(str(n or '?') for n in numbers)} | {verdict} |", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
