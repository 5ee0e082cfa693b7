"""Images become numbers as the recipe says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qnnbuild.work.run import WorkError
from tests.graphs import model
from tests.sampled import feeds, repo, report, run_collect

IMAGES: dict[str, Any] = {
    "input": "x",
    "resize": None,
    "crop": None,
    "mean": [0.0, 0.0, 0.0],
    "std": [1.0, 1.0, 1.0],
    "scale": 255.0,
    "layout": "NCHW",
    "colour": "RGB",
}
"""What the recipe's `images: {input: x}` becomes."""

PIXELS = np.asarray([[[255, 0, 51], [0, 102, 0]], [[0, 0, 0], [255, 255, 255]]], np.uint8)
"""Two rows of two pixels."""


def graph(shape: str, dtype: str = "float") -> Any:
    return model(f"g ({dtype}[{shape}] x) => ({dtype}[{shape}] y) {{ y = Identity (x) }}")


def picture(folder: Path, pixels: Any = PIXELS, name: str = "a.png", **options: Any) -> Path:
    path = repo(folder) / "calib" / name
    Image.fromarray(np.asarray(pixels, np.uint8)).save(path, **options)
    return path


def x_of(folder: Path, shape: str, dtype: str = "float", **images: Any) -> Any:
    run_collect(folder, graph(shape, dtype), images={**IMAGES, **images})
    (sample,) = feeds(folder)
    return sample["x"]


def test_channels_come_first_and_pixels_are_scaled(tmp_path: Path) -> None:
    picture(tmp_path)
    x = x_of(tmp_path, "1,3,2,2")

    assert x.dtype == np.float32
    assert (
        np.round(x, 6).tolist()
        == np.float32(
            np.asarray([[[[1, 0], [0, 1]], [[0, 0.4], [0, 1]], [[0.2, 0], [0, 1]]]])
        ).tolist()
    )
    assert report(tmp_path)["from"] == {"images": 1}
    assert report(tmp_path)["pre_processing"] == IMAGES


def test_channels_may_come_last_and_in_the_other_order(tmp_path: Path) -> None:
    picture(tmp_path)

    assert x_of(tmp_path, "1,2,2,3", layout="NHWC", colour="BGR", scale=51.0)[0, 0].tolist() == [
        [1, 0, 5],
        [0, 2, 0],
    ]


def test_mean_and_std_are_in_the_scale_of_the_scaled_pixels(tmp_path: Path) -> None:
    picture(tmp_path)
    x = x_of(tmp_path, "3,2,2", mean=[0.5, 0.4, 0.2], std=[0.5, 0.2, 0.1])

    assert x[:, 0, 0].tolist() == [1, -2, 0]
    assert x[:, 1, 1].tolist() == [1, 3, 8]


def test_grey_has_one_channel(tmp_path: Path) -> None:
    picture(tmp_path, [[0, 51], [102, 255]])
    x = x_of(tmp_path, "1,1,2,2", colour="L", mean=[0.0], std=[1.0], scale=51.0)

    assert x.tolist() == [[[[0, 1], [2, 5]]]]


def test_graphs_of_bytes_take_the_pixels_as_they_are(tmp_path: Path) -> None:
    picture(tmp_path)
    x = x_of(tmp_path, "1,2,2,3", "uint8", layout="NHWC", scale=1.0)

    assert x.tolist() == [PIXELS.tolist()]


def test_resizing_comes_before_cropping_from_the_middle(tmp_path: Path) -> None:
    wide = np.zeros((4, 8, 3), np.uint8)
    wide[:, 4:] = 255
    picture(tmp_path, wide)
    x = x_of(tmp_path, "1,3,2,2", resize=[4, 8], crop=[2, 2])

    assert x[0, 0].tolist() == [[0, 1], [0, 1]]


def test_a_picture_is_turned_as_its_camera_was(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    picture(tmp_path, exif=exif)

    assert x_of(tmp_path, "1,3,2,2")[0, 0].tolist() == [[1, 0], [0, 1]]


def refused(folder: Path, shape: str = "1,3,2,2", **images: Any) -> WorkError:
    with pytest.raises(WorkError) as caught:
        run_collect(folder, graph(shape), images={**IMAGES, **images} if images else IMAGES)
    return caught.value


def test_a_picture_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = picture(tmp_path, np.random.default_rng(0).integers(0, 255, (64, 64, 3)))
    path.write_bytes(path.read_bytes()[:2000])

    assert refused(tmp_path).message == "'calib/a.png' is not a whole image"


def test_what_is_no_picture_is_refused_without_naming_this_machine(tmp_path: Path) -> None:
    (repo(tmp_path) / "calib/a.jpg").write_text("no picture")

    error = refused(tmp_path)

    assert error.message == "'calib/a.jpg' is not a whole image"
    assert error.facts == (("Pillow says", "cannot identify image file 'calib/a.jpg'"),)


def test_deep_pixels_are_refused(tmp_path: Path) -> None:
    path = repo(tmp_path) / "calib/a.png"
    Image.fromarray(np.asarray([[0, 60000]], np.uint16)).save(path)

    assert refused(tmp_path).message == "'calib/a.png' has pixels of more than 8 bit (I;16)"


def test_a_crop_that_is_too_large_is_refused(tmp_path: Path) -> None:
    picture(tmp_path)

    error = refused(tmp_path, crop=[4, 2])

    assert error.message == "'calib/a.png' is smaller than what is to be cut out of it"
    assert error.place == "samples.images.crop"


def test_another_size_is_refused_by_the_graphs_shape(tmp_path: Path) -> None:
    picture(tmp_path)

    error = refused(tmp_path, "1,3,4,4")

    assert error.message == "'calib/a.png' has the shape [1, 3, 2, 2]"
    assert error.facts == (("wanted", "x: float32 [1, 3, 4, 4]"),)


def test_pictures_need_to_be_told_how(tmp_path: Path) -> None:
    picture(tmp_path)

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, graph("1,3,2,2"))

    assert caught.value.message == (
        "'calib/a.png' is an image, and nothing says how it becomes an input"
    )


def test_pictures_are_for_graphs_of_one_input(tmp_path: Path) -> None:
    picture(tmp_path)
    two = model("g (float[1,3,2,2] x, int64[1] n) => (float[1,3,2,2] y) { y = Relu (x) }")

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, two, images=IMAGES)

    assert caught.value.message == "images are one input, and the graph has 2"
