"""verdict: the numbers of what ships, held against the recipe's bars. Below them nothing ships."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.work.bars import (
    Bar,
    check_names,
    excused,
    judge_metric,
    judge_outputs,
    place_of,
)
from qnnbuild.work.run import Run, WorkError

SHOWN = {
    "sqnr_db": "SQNR {:.1f} dB",
    "max_abs": "max abs error {:.3g}",
    "max_rel": "{:.2g} of the peak",
    "cosine": "cosine {:.5f}",
    "differing": "{:.0f} values differ",
}
MOST_FACTS = 24


def verdict(run: Run) -> None:
    """Inputs "numbers" and "values-METRIC" → output "verdict"."""
    numbers = _read(run, "numbers", "numbers.json")
    values = {name: _read(run, f"values-{name}", "values.json") for name in run.params["metrics"]}
    if numbers["why_not"] is None:
        check_names(run.params["bars"], numbers["outputs"] or numbers.get("recorded", {}))
    bars = [*_judged(run.params, numbers, values)]
    excuses = excused(run.params["bars"])
    compared = numbers["outputs"].keys() - excuses.keys()
    found = {
        "judged": bool(compared) or bool(numbers.get("recorded")) or bool(bars),
        "why_not": numbers["why_not"],
        "bars": [bar.as_json() for bar in bars],
        "excused": excuses,
        "outputs": _brief(numbers["outputs"]),
        "metrics": values,
        **{name: numbers[name] for name in CARRIED},
    }
    if "recorded" in numbers:
        found["recorded"] = _brief(numbers["recorded"])
    if not all(bar.holds for bar in bars):
        raise _not_good(run.params, numbers, sorted(bars, key=lambda bar: -bar.short_db))
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["verdict"] / "verdict.json").write_text(text + "\n", encoding="utf-8")


CARRIED = ("graph", "chip", "sdk_build", "ran_on", "binary", "samples", "compared_with")
"""What a verdict repeats of the numbers, so that it can be read alone."""


def _read(run: Run, name: str, file: str) -> Any:
    return json.loads((run.inputs[name] / file).read_text(encoding="utf-8"))


def _judged(
    params: Mapping[str, Any], numbers: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[Bar]:
    yield from judge_outputs(numbers["outputs"], params["bars"])
    if "recorded" in numbers:
        yield from judge_outputs(numbers["recorded"], params["bars"], against="recorded")
    for name, bars in params["metrics"].items():
        yield from judge_metric(name, values[name], bars)


def _brief(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers over all samples, and the name of the worst one."""
    return {
        name: {
            **numbers["all"],
            "kind": numbers["kind"],
            "worst_sample": numbers["worst"]["sample"],
        }
        for name, numbers in outputs.items()
    }


def _not_good(
    params: Mapping[str, Any],
    numbers: Mapping[str, Any],
    bars: Sequence[Bar],
) -> WorkError:
    """`bars` begin with the one that is furthest from holding."""
    first = bars[0]
    worst = _worst(numbers, first)
    facts = [(bar.of, _line(bar)) for bar in bars]
    told = facts[:MOST_FACTS]
    if len(facts) > MOST_FACTS:
        told.append(("and", f"{len(facts) - MOST_FACTS} more bars, in numbers.json"))
    if worst is not None:
        told.append(("worst output", worst))
    return WorkError(
        f"'{params['graph']}' on {params['chip']} is below its bar: {first.of}: {first.words()}",
        place=place_of(first, params["bars"]),
        facts=told,
        hint=_hint(params["debug"], first),
        exit_code=5,
    )


def _hint(verified: str | None, first: Bar) -> str:
    """Of a binary that was made elsewhere, or by Qualcomm's SDK, nobody sees the layers."""
    if first.what == "equal":
        return (
            "where rounding decides whole numbers, keep what stands before them with outputs:, or "
            f"write verify: {{outputs: {{{first.of}: {{excused: the reason}}}}}}"
        )
    if verified is None:
        return "it has fewer bits than its bar wants, or is of another file than the original"
    return f"qnnbuild debug {verified} lists its layers and finds the first bad one"


def _line(bar: Bar) -> str:
    recorded = ", against the recorded answers" if bar.against == "recorded" else ""
    return f"{bar.words()}{recorded}: {'holds' if bar.holds else 'BELOW'}"


def _worst(numbers: Mapping[str, Any], first: Bar) -> str | None:
    """The output that is furthest below its own bar, and its worst sample by that bar.

    None for a metric.
    """
    outputs = numbers["recorded"] if first.against == "recorded" else numbers["outputs"]
    if first.of not in outputs or first.what.startswith("at_"):
        return None
    sample, worst = _worst_sample(outputs[first.of], first.what)
    told = ", ".join(form.format(worst[what]) for what, form in SHOWN.items() if what in worst)
    return f"{first.of}, sample {sample}: {told}"


def _worst_sample(output: Mapping[str, Any], what: str) -> tuple[str, Mapping[str, Any]]:
    """Its name and numbers; the one with the lowest SQNR may not have the largest error."""
    worst = output["worst"]
    if what not in ("max_abs_error", "max_rel_error"):
        return worst["sample"], worst
    samples: Mapping[str, Mapping[str, Any]] = output["samples"]
    found = max(samples, key=lambda name: samples[name]["max_abs"], default=None)
    if found is None or samples[found]["max_abs"] <= worst["max_abs"]:
        return worst["sample"], worst
    return found, samples[found]
