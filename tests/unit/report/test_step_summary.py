"""What came of a build, as GitHub shows it below a step."""

from __future__ import annotations

from qnnbuild.report.step_summary import MOST_ROWS, Came, chip_of, step_summary
from tests.reported import VAD, Told

HEAD = """\
| model | chip | made | reused | fetched | failed | time | size | SQNR |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def came(name: str, how: str = "made", *, model: str = "vad", seconds: float = 0.0) -> Came:
    return Came(name=name, model=model, how=how, seconds=seconds)


def test_each_model_has_a_row_for_each_chip_and_one_for_all() -> None:
    text = step_summary(
        [
            came("fetch/vad", "reused"),
            came("convert/vad/near/w8a8", seconds=1.25),
            came("context/vad/near/w8a8@SM8550", "fetched", seconds=0.5),
            came("verdict/vad/near/w8a8@SM8550", "cut off", seconds=2.0),
        ],
        "made 2, fetched 1, reused 1; took 4 s\n",
        Told.of(VAD).json(),
    )

    assert text == (
        "made 2, fetched 1, reused 1; took 4 s\n\n"
        + HEAD
        + "| `vad` | all | 1 | 1 |  |  | 1.2 s |  |  |\n"
        + "| `vad` | `SM8550` | 1 |  | 1 |  | 2.5 s | 1 kB | 31.5 dB |\n"
    )


def test_what_failed_stands_first_and_is_told_with_its_place() -> None:
    failed = Came(
        name="context/vad@SM8750", model="vad", how="failed", at="recipes/vad.yaml:6:3",
        said="no such\noperator | `x` @somebody",
    )  # fmt: skip
    text = step_summary(
        [came("fetch/abc", model="abc"), failed, came("bundle/vad@SM8750", "not built")],
        "made 1, failed 1, not built 1; took 1 s",
        None,
    )

    assert text == (
        "made 1, failed 1, not built 1; took 1 s\n\n"
        + HEAD
        + "| `vad` | `SM8750` |  |  |  | 2 |  |  |  |\n"
        + "| `abc` | all | 1 |  |  |  |  |  |  |\n"
        + "\n### Failed\n\n"
        + "- `context/vad@SM8750`: `recipes/vad.yaml:6:3`: "
        + "`` no such operator | `x` @somebody ``\n"
    )


def test_a_build_of_nothing_has_its_line_only() -> None:
    assert step_summary([], "nothing to do: reused 917; took 1.8 s\n", None) == (
        "nothing to do: reused 917; took 1.8 s\n"
    )


def test_rows_and_failures_that_are_too_many_are_counted() -> None:
    many = [
        Came(name=f"fetch/m{n}", model=f"m{n}", how="failed", said="x" * 9_000)
        for n in range(MOST_ROWS + 7)
    ]
    text = step_summary(many, "failed 1,007; took 1 s", None)

    assert "\n… and 7 more rows.\n" in text
    assert text.endswith("\n- … and 957 more\n")
    assert len(text.encode()) < 200_000


def test_the_chip_of_an_action_is_in_its_name() -> None:
    assert [chip_of(n) for n in ("fetch/m", "context/m@A", "bundle/m@A+B")] == ["", "A", "A+B"]
