"""verdict: the numbers of what ships, held against the recipe's bars. Below them nothing ships."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.work.bars import Bar, judge_metric, judge_outputs
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
    bars = [*_judged(run.params, numbers, values)]
    found = {
        "judged": numbers["why_not"] is None or bool(numbers.get("recorded")) or bool(bars),
        "why_not": numbers["why_not"],
        "bars": [bar.as_json() for bar in bars],
        "outputs": _brief(numbers["outputs"]),
        "metrics": values,
        **{name: numbers[name] for name in CARRIED},
    }
    if "recorded" in numbers:
        found["recorded"] = _brief(numbers["recorded"])
    below = [bar for bar in bars if not bar.holds]
    if below:
        raise _not_good(run.params, numbers, bars, below)
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
    below: Sequence[Bar],
) -> WorkError:
    worst = _worst(numbers, below)
    facts = [(bar.of, _line(bar)) for bar in sorted(bars, key=lambda bar: bar.holds)]
    told = facts[:MOST_FACTS]
    if len(facts) > MOST_FACTS:
        told.append(("and", f"{len(facts) - MOST_FACTS} more bars, in numbers.json"))
    if worst is not None:
        told.append(("worst output", worst))
    return WorkError(
        f"'{params['graph']}' on {params['chip']} is below its bar: "
        f"{below[0].of}: {below[0].words()}",
        place=f"verify.{below[0].what}",
        facts=told,
        hint=f"qnnbuild debug {params['debug']} lists its layers and finds the first bad one",
        exit_code=5,
    )


def _line(bar: Bar) -> str:
    recorded = ", against the recorded answers" if bar.against == "recorded" else ""
    return f"{bar.words()}{recorded}: {'holds' if bar.holds else 'BELOW'}"


def _worst(numbers: Mapping[str, Any], below: Sequence[Bar]) -> str | None:
    """The output with the lowest SQNR of those that are below, and its worst sample."""
    outputs = {**numbers.get("recorded", {}), **numbers["outputs"]}
    names = {bar.of for bar in below} & outputs.keys()
    if not names:
        return None
    name = min(sorted(names), key=lambda n: outputs[n]["all"].get("sqnr_db", 0.0))
    worst = outputs[name]["worst"]
    told = ", ".join(form.format(worst[what]) for what, form in SHOWN.items() if what in worst)
    return f"{name}, sample {worst['sample']}: {told}"
