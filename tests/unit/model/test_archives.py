"""`bundle:` of recipes: what of it is filled at once, and what when chips and systems are known."""

from __future__ import annotations

from qnnbuild.model.recipe import ArchiveName, BundleOptions
from tests.unit.model.test_targets import FILE, messages, targets

HEAD = (
    "model: m\nlicense: MIT\nchips: [SM8550, SM8750]\nvariants: {seconds: [5, 10]}\n"
    "source: {file: '{seconds}.onnx'}\n"
)
NAMES = 'archives: {context: "m-{chip}-{seconds}", library: "m-{seconds}-{target}"}'


def bundles(text: str) -> list[BundleOptions]:
    return [target.bundle for target in targets(HEAD + text)]


def test_chips_and_systems_stay_open_in_names() -> None:
    first = bundles(f"bundle: {{{NAMES}}}\n")[0]

    assert first.context_archive == ArchiveName(name="m-{chip}-5", written="m-{chip}-{seconds}")
    assert first.library_archive == ArchiveName(name="m-5-{target}", written="m-{seconds}-{target}")


def test_info_is_of_the_variant_and_files_are_of_the_chip() -> None:
    found = bundles(
        'bundle: {info: {a: "{seconds}{chip}"}, files: "{chip}.txt", '
        'archives: {context: "m-{chip}-{seconds}"}}\n'
    )

    assert [one.info for one in found] == [{"a": "5{chip}"}] * 2 + [{"a": "10{chip}"}] * 2
    assert found[1].files == ("recipes/SM8750.txt",)


def test_libraries_of_the_sdk_go_along_only_where_somebody_says_so() -> None:
    told = ["{redistribute: true}", "{redistribute: false}"]
    told += ["{redistribute: true, systems: [aarch64-oe-linux-gcc11.2, aarch64-android]}"]

    found = [bundles(f"bundle: {{sdk_libraries: {one}}}\n")[0].sdk_libraries for one in told]

    assert found == [
        ("aarch64-android",),
        (),
        ("aarch64-oe-linux-gcc11.2", "aarch64-android"),
    ]
    assert targets(HEAD)[0].bundle.sdk_libraries == ()


def test_a_name_that_some_disks_do_not_take_is_told() -> None:
    text = HEAD + 'bundle: {archives: {context: "m-{chip}-{seconds}.."}}\n'

    assert messages(text)[0].endswith("holds '..'")


def test_an_axis_may_not_be_called_as_what_a_name_has_anyway() -> None:
    head = HEAD.replace("seconds", "target")

    assert "an axis may not be called 'target'" in messages(head + FILE[:0])[0]
