"""One target under libFuzzer: `python -m fuzz.one TARGET SEEDS FOUND SECONDS MEGABYTES SEED`."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris


def main() -> None:
    name, seeds, found, seconds, megabytes, chosen_by = sys.argv[1:7]
    # what is measured is our own code and the readers in Python that it stands on
    with atheris.instrument_imports(include=["qnnbuild", "yaml", "tarfile", "zipfile", "elftools"]):
        from fuzz.targets import targets

        target = targets()[name]
        for seed in target.seeds():  # imports, too, what the target reads with
            target.reads(seed[: target.most_bytes])
    options = (
        f"-max_total_time={seconds}",
        f"-seed={chosen_by}",
        f"-rss_limit_mb={megabytes}",
        f"-max_len={target.most_bytes}",
        f"-artifact_prefix={Path(found)}/",
        *("-timeout=120", "-print_final_stats=1", "-verbosity=1"),
    )
    atheris.Setup([sys.argv[0], *options, seeds], target.reads)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
