"""Samples, references and answers as files: one .npz a sample, arrays by name."""

from __future__ import annotations

from pathlib import Path


def sample_name(index: int) -> str:
    """000000.npz, 000001.npz, …: sorted by name they are in order."""
    return f"{index:06}.npz"


def array_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npz"))
