"""Images as one input of a graph: turned upright, resized, cropped from the middle, scaled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qnnbuild.work.npz import Array
from qnnbuild.work.run import WorkError

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif")
EIGHT_BIT = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "LAB")
PLACE = "samples.images"
MOST_PIXELS = 1 << 27


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """model.recipe.Images, as it stands in an action's params."""

    input: str
    resize: tuple[int, int] | None
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: float
    layout: str
    colour: str


def recipe_of(said: Mapping[str, Any]) -> Recipe:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in said.items()
    }
    return Recipe(**values)


def pixels(path: Path, shown: str, recipe: Recipe, *, dimensions: int) -> Array:
    """Numbers of one image: (pixel / scale - mean) / std, in float32 unless all are whole.

    With a batch axis when the input has four dimensions.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings(), Image.open(path) as image:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            _check_depth(image, shown)
            colours = np.asarray(_framed(image, shown, recipe))
    except (
        OSError,
        SyntaxError,  # how Pillow tells a broken PNG
        ValueError,
        UnidentifiedImageError,
        Image.DecompressionBombWarning,
        Image.DecompressionBombError,
    ) as error:
        raise WorkError(
            f"'{shown}' is not a whole image",
            place="samples",
            facts=[("Pillow says", str(error).replace(str(path), shown))],
            exit_code=2,
        ) from None
    if colours.ndim == 2:
        colours = colours[:, :, np.newaxis]
    if recipe.colour == "BGR":
        colours = colours[:, :, ::-1]
    numbers = _scaled(colours, recipe)
    if recipe.layout == "NCHW":
        numbers = np.moveaxis(numbers, -1, 0)
    return np.ascontiguousarray(numbers[np.newaxis] if dimensions == 4 else numbers)


def _check_depth(image: Image.Image, shown: str) -> None:
    if image.mode not in EIGHT_BIT:
        raise WorkError(
            f"'{shown}' has pixels of more than 8 bit ({image.mode})",
            place="samples",
            hint="a Python file can read it: python: {file: feeds.py}",
            exit_code=2,
        )


def _framed(image: Image.Image, shown: str, recipe: Recipe) -> Image.Image:
    from PIL import Image, ImageOps

    framed = ImageOps.exif_transpose(image).convert("L" if recipe.colour == "L" else "RGB")
    if recipe.resize is not None:
        height, width = recipe.resize
        if height * width > MOST_PIXELS:
            raise WorkError(
                f"'{shown}' is to be made {height} × {width} pixels large",
                place=f"{PLACE}.resize",
                hint=f"an input of more than {MOST_PIXELS:,} pixels fits into no NPU",
                exit_code=2,
            )
        framed = framed.resize((width, height), Image.Resampling.BILINEAR)
    if recipe.crop is None:
        return framed
    height, width = recipe.crop
    if height > framed.height or width > framed.width:
        raise WorkError(
            f"'{shown}' is smaller than what is to be cut out of it",
            place=f"{PLACE}.crop",
            facts=[
                ("height × width", f"{framed.height} × {framed.width}"),
                ("crop", f"{height} × {width}"),
            ],
            hint="resize: to at least the size of crop:",
            exit_code=2,
        )
    left, top = (framed.width - width) // 2, (framed.height - height) // 2
    return framed.crop((left, top, left + width, top + height))


def _scaled(colours: Array, recipe: Recipe) -> Array:
    channels = colours.shape[-1]
    mean, std = (_per_channel(values, channels) for values in (recipe.mean, recipe.std))
    if recipe.scale == 1 and not mean.any() and np.all(std == 1):
        return colours  # graphs that take uint8 as it is
    numbers: Array = ((colours / recipe.scale - mean) / std).astype(np.float32)
    return numbers


def _per_channel(values: tuple[float, ...], channels: int) -> Array:
    if len(values) not in (1, channels) and len(set(values)) > 1:
        raise WorkError(
            f"mean and std are for {len(values)} channels, the images have {channels}",
            place=PLACE,
            exit_code=2,
        )
    return np.asarray(values if len(values) == channels else values[:1], np.float64)
