"""Makes the zoo's samples: `python tools/zoo_samples.py recipes/samples`. Needs numpy and Pillow.

All of it is made up, so that nobody's pictures, voice or words are in this repo, but made like what
the models are for: printed lines, pictures with things in them, sound with the harmonics, formants
and pauses of speech, tokens as frequent as words. Values are rounded, so that files stay small.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

Array = np.ndarray[Any, np.dtype[Any]]

HZ = 16000
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480))
WORDS = (
    "Invoice 2024-118", "Main Street 42", "No smoking", "Total: 19.95", "Platform 7",
    "best before", "www.example.com", "Exit", "Room 301", "fragile", "10:45 Vienna",
    "Keep left", "Bakery & Cafe", "A4 80 g/m2", "push", "Terms apply",
)  # fmt: skip


def main(folder: Path) -> None:
    for name, samples in (
        ("lines-48x192", lines()),
        ("speech-mel-32", mel_windows()),
        ("speech-mel-120", mel_minutes()),
        ("speech-9s", {"speech": {"input_1": voice(1, 144160, bits=10)[None]}}),
        ("notes-2s", {"notes": {"serving_default_input_2:0": notes(43844)[None, :, None]}}),
        ("frames-16k", frames(512, 64, count=16)),
        ("frames-8k", frames(256, 32, count=4)),
        ("frames-sequence", sequence()),
        ("bytes", files()),
        ("tokens-64", tokens(64)),
        ("tokens-128", tokens(128)),
    ):
        for sample, arrays in dict(samples).items():
            write(folder / name / f"{sample}.npz", arrays)
    for number in range(12):
        path = folder / "pictures" / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(number).save(path, optimize=True)


def write(path: Path, arrays: Mapping[str, Array]) -> None:
    """A compressed .npz without dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            held = io.BytesIO()
            np.lib.format.write_array(held, np.ascontiguousarray(array))
            info = zipfile.ZipInfo(f"{name}.npy")
            archive.writestr(info, held.getvalue(), zipfile.ZIP_DEFLATED, 9)


def lines() -> Iterator[tuple[str, dict[str, Array]]]:
    """Printed lines on paper of some colour, every second one upside down."""
    for number, words in enumerate(WORDS):
        random = np.random.default_rng(number)
        paper, ink = random.integers(150, 256, 3), random.integers(0, 110, 3)
        image = Image.new("RGB", (192, 48), tuple(int(c) for c in paper))
        font = ImageFont.load_default(int(random.integers(18, 27)))
        at = (int(random.integers(2, 12)), int(random.integers(6, 16)))
        ImageDraw.Draw(image).text(at, words, fill=tuple(int(c) for c in ink), font=font)
        if number % 2:
            image = image.rotate(180)
        pixels = np.asarray(image, np.float32).transpose(2, 0, 1)[None]
        yield f"{number:02}", {"x": pixels / np.float32(127.5) - 1}


def picture(number: int) -> Image.Image:
    """A lit background with some things on it, soft as a lens draws them."""
    random = np.random.default_rng(100 + number)
    across, down = np.meshgrid(np.linspace(0, 1, 256), np.linspace(0, 1, 256))
    top, bottom, side = random.uniform(20, 235, (3, 3))
    ground = top + (bottom - top) * down[..., None] + (side - top) * 0.5 * across[..., None]
    image = Image.fromarray(np.clip(ground, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(int(random.integers(4, 14))):
        x, y, w, h = (int(v) for v in random.integers((0, 0, 20, 20), (220, 220, 140, 140)))
        colour = tuple(int(c) for c in random.integers(0, 256, 3))
        shape = draw.ellipse if random.random() < 0.6 else draw.rectangle
        shape((x, y, x + w, y + h), fill=colour)
    image = image.filter(ImageFilter.GaussianBlur(float(random.uniform(0.7, 3))))
    grain = random.normal(0, random.uniform(0, 4), (256, 256, 1))
    return Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8))


def voice(seed: int, count: int, *, bits: int = 16, hz: int = HZ) -> Array:
    """Syllables: harmonics of a gliding pitch under three formants, hisses between, pauses."""
    random = np.random.default_rng(seed)
    sound = random.normal(0, 0.002, count)
    pitch, at = random.uniform(90, 230), int(random.integers(0, hz // 10))
    while at < count:
        length = int(random.uniform(0.12, 0.3) * hz)
        time = np.arange(length) / hz
        glide = pitch * (1 + random.uniform(-0.15, 0.15) * time / time[-1])
        phase = 2 * np.pi * np.cumsum(glide) / hz
        vowel = np.array(VOWELS[random.integers(len(VOWELS))]) * random.uniform(0.9, 1.15)
        syllable = np.zeros(length)
        for k in range(1, int(min(4000, hz / 2) / pitch)):
            near = ((k * pitch - vowel) / (60, 90, 140)) ** 2
            syllable += np.sum((1, 0.5, 0.25) / (1 + near)) * np.sin(k * phase)
        syllable += np.diff(random.normal(0, 0.3, length + 1)) * (time < 0.05)
        syllable *= np.hanning(length) * random.uniform(0.05, 0.35) / np.abs(syllable).max()
        end = min(count, at + length)
        sound[at:end] += syllable[: end - at]
        at += int(length * random.choice((0.8, 1.0, 2.5), p=(0.5, 0.35, 0.15)))
    step = 2.0 ** (1 - bits)
    rounded: Array = (np.round(np.clip(sound, -1, 1) / step) * step).astype(np.float32)
    return rounded


def notes(count: int, hz: int = 22050) -> Array:
    """Plucked strings, two or three at a time."""
    random, sound = np.random.default_rng(7), np.zeros(count)
    for start in range(0, count, hz // 3):
        for note in random.choice((48, 52, 55, 60, 64, 67, 72), 3, replace=False):
            time = np.arange(count - start) / hz
            f = 440 * 2 ** ((note - 69) / 12)
            for k in range(1, 8):
                sound[start:] += np.sin(2 * np.pi * k * f * time) * np.exp(-2 * k * time) / k
    rounded: Array = (np.round(sound / np.abs(sound).max() * 0.7 * 512) / 512).astype(np.float32)
    return rounded


def decibels(sound: Array, bands: int, low: float, high: float, window: int) -> Array:
    """Mel bands in dB, a row for each 10 ms."""
    rows = np.lib.stride_tricks.sliding_window_view(sound, window)[:: HZ // 100]
    power = np.abs(np.fft.rfft(rows * np.hanning(window))) ** 2
    ends = 700 * (np.exp(np.linspace(*np.log1p(np.array((low, high)) / 700), bands + 2)) - 1)
    bins = np.fft.rfftfreq(window, 1 / HZ)
    rising = (bins - ends[:-2, None]) / np.diff(ends)[:-1, None]
    falling = (ends[2:, None] - bins) / np.diff(ends)[1:, None]
    mel = power @ np.clip(np.minimum(rising, falling), 0, None).T
    told: Array = 10 * np.log10(np.maximum(mel, 1e-10))
    return told


def mel_windows() -> Iterator[tuple[str, dict[str, Array]]]:
    """76 rows of 32 bands: a tenth of the decibels, plus 2."""
    for number in range(16):
        bands = decibels(voice(20 + number, HZ), 32, 60, 3800, 512)[:76]
        scaled = np.round((bands / 10 + 2) * 64) / 64
        yield f"{number:02}", {"input_1": scaled.astype(np.float32)[None, :, :, None]}


def mel_minutes() -> Iterator[tuple[str, dict[str, Array]]]:
    """900 rows of 120 bands, 80 dB below the loudest at most, scaled to [-1, 1]."""
    for number in range(6):
        bands = decibels(voice(40 + number, 144400), 120, 0, 8000, 320)[:900]
        scaled = (np.maximum(bands - bands.max(), -80) + 40) / 40
        yield f"{number:02}", {"input_1": (np.round(scaled * 64) / 64).astype(np.float32)[None]}


def frames(new: int, old: int, *, count: int) -> Iterator[tuple[str, dict[str, Array]]]:
    """A frame of speech behind the end of the last one; state as a cell may leave it."""
    hz = HZ * new // 512
    for number in range(count):
        sound = voice(3 + number // 4, hz * 2, hz=hz)
        start = (5 + 9 * (number % 4)) * new
        state = np.random.default_rng(number).normal(0, 0.3, (2, 1, 128)).clip(-1, 1)
        yield (
            f"{number:02}",
            {
                "input": sound[start - old : start + new][None],
                "state": (np.round(state * 256) / 256).astype(np.float32),
            },
        )


def sequence() -> Iterator[tuple[str, dict[str, Array]]]:
    """32 frames of one second and no more; the cell starts from nothing, or from something."""
    sound = voice(4, 2 * HZ)
    rows = np.stack([sound[512 * (n + 1) - 64 : 512 * (n + 2)] for n in range(32)])
    random = np.random.default_rng(4)
    h, c = (np.round(random.normal(0, 0.3, (1, 1, 128)) * 256) / 256 for _ in range(2))
    yield "second", {"input": rows, "h": h.astype(np.float32), "c": c.astype(np.float32)}


def files() -> Iterator[tuple[str, dict[str, Array]]]:
    """The two ends of a text, and of a file of two letters, where the values hardly vary."""
    text = Path(__file__).resolve().parents[1].joinpath("LICENSE").read_bytes()
    for name, content in (("text", text), ("two-letters", b"ab" * 1024)):
        ends = np.frombuffer(content[:1024] + content[-1024:], np.uint8)
        yield name, {"bytes": ends.astype(np.int32)[None]}


def tokens(most: int) -> Iterator[tuple[str, dict[str, Array]]]:
    """Sentences of many lengths whose tokens are as frequent as a vocabulary sorted by it says."""
    for number in range(16):
        random = np.random.default_rng(200 + number)
        length = most if number % 4 == 3 else int(random.integers(8, most))
        ids = np.zeros((1, most), np.int32)
        ids[0, :length] = 1996 + np.minimum(random.zipf(1.15, length), 26000)
        ids[0, 0], ids[0, length - 1] = 101, 102
        mask = (np.arange(most) < length).astype(np.int32)[None]
        yield f"{number:02}", {"input_ids": ids, "attention_mask": mask}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
