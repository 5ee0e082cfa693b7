"""Targets and what is known of their actions become cells."""

from __future__ import annotations

from typing import Any

from tests.reported import AUTO, FILES, FLOATS, QUANTIZATION, STALE, TRIED, VAD, Told, failed

CONTEXT = "context/vad/near/w8a8@SM8750"
VERDICT = "verdict/vad/near/w8a8@SM8750"
BUNDLE = "bundle/vad/w8a8@SM8750"


def graph(told: Told, row: str, chip: str) -> dict[str, Any]:
    return dict(told.cell(row, chip)["graphs"][0])


def model(told: Told, name: str) -> dict[str, Any]:
    (found,) = [one for one in told.json()["models"] if one["name"] == name]
    return dict(found)


def test_a_bundle_that_is_current_is_built() -> None:
    cell = Told.of(VAD).cell("vad/w8a8", "SM8750")

    assert (cell["state"], cell["why"], cell["failures"]) == ("built", [], [])
    assert (cell["bundle"], cell["folder"], cell["size"]) == (BUNDLE, "vad/w8a8/SM8750", 1000)


def test_a_cell_has_what_its_compile_left() -> None:
    compiled = graph(Told.of(VAD), "vad/w8a8", "SM8750")["compiled"]

    assert {name: compiled[name] for name in ("size", "seconds", "nodes", "cpu_share")} == {
        "size": 1000, "seconds": 1.5, "nodes": 12, "cpu_share": 0.125,
    }  # fmt: skip
    assert compiled["cpu_nodes"] == [{"node": "ceil", "operator": "Ceil", "reason": "no kernel"}]
    assert (compiled["digest"], compiled["sdk_build"]) == ("b" * 64, "v2.51.0")
    assert compiled["log"] == f"logs/{compiled['key'][:2]}/{compiled['key']}.log"


def test_a_cell_has_the_numbers_with_their_bars_and_inputs() -> None:
    told = Told.of(VAD)
    proof = model(told, "vad")["proofs"][graph(told, "vad/w8a8", "SM8750")["proof"]]

    assert (proof["chip"], proof["ran_on"], proof["sqnr_db"]) == ("SM8750", "HTP emulator", 31.5)
    assert proof["samples"] == {"digest": "c" * 64, "count": 8, "synthetic": True}
    assert proof["bars"][0]["holds"] is True
    assert proof["metrics"] == {"wer": {"wer": 0.05}}
    assert proof["excused"] == {"z": "a seed"}


def test_chips_of_one_generation_share_a_proof_and_say_whose_binary_it_was() -> None:
    told = Told.of(VAD.replace("SM8550, SM8750", "SM8550, QCS8550"))

    assert graph(told, "vad/w8a8", "QCS8550")["proof"] == "verdict/vad/near/w8a8@SM8550"
    assert len(model(told, "vad")["proofs"]) == 4


def test_a_cell_says_what_it_was_calibrated_with() -> None:
    told = Told.of(VAD)
    name = graph(told, "vad/w8a8", "SM8750")["calibration"]

    assert model(told, "vad")["calibrations"][name] == {
        "digest": "c" * 64, "count": 8, "synthetic": True,
    }  # fmt: skip


def test_an_op_trace_says_better_what_the_cpu_runs() -> None:
    told = Told.of(FLOATS)
    cells = {one["graph"]: one["compiled"] for one in told.cell("floats", "SM8750")["graphs"]}

    assert cells["one"]["cpu_nodes"][0]["reason"] == "no kernel, traced"
    assert cells["two"]["cpu_nodes"][0]["reason"] == "no kernel"


def test_what_failed_below_a_bundle_fails_its_cell_and_no_other() -> None:
    told = Told.of(VAD).be(CONTEXT, failed())

    assert told.cell("vad/w8a8", "SM8750")["state"] == "failed"
    assert told.cell("vad/w8a8", "SM8750")["failures"] == [CONTEXT]
    assert told.cell("vad/w8a8", "SM8550")["state"] == "built"
    assert model(told, "vad")["failures"][CONTEXT]["last_lines"] == [
        "loading", "error: no such operator",
    ]  # fmt: skip


def test_what_is_shared_fails_the_cells_of_all_chips() -> None:
    told = Told.of(VAD).be("prepare/vad/near/w8a8", failed())
    states = [told.cell("vad/w8a8", chip)["state"] for chip in ("SM7325", "SM8550", "SM8750")]

    assert states == ["failed", "failed", "failed"]
    assert told.cell("vad/w8a16", "SM8750")["state"] == "built"


def test_below_its_bar_the_numbers_are_told_without_a_verdict() -> None:
    told = Told.of(VAD).be(VERDICT, failed())
    proof = model(told, "vad")["proofs"][VERDICT]

    assert told.cell("vad/w8a8", "SM8750")["state"] == "failed"
    assert (proof["judged"], proof["sqnr_db"], proof["bars"]) == (False, 31.5, [])


def test_what_was_never_made_is_stale_and_says_where_a_build_would_begin() -> None:
    cell = Told.of(VAD).be(CONTEXT, STALE).cell("vad/w8a8", "SM8750")

    assert (cell["state"], cell["why"]) == ("stale", [f"{CONTEXT}: never built"])
    assert cell["graphs"][0]["compiled"] is None


def test_a_bundle_whose_files_are_gone_is_stale_and_keeps_its_numbers() -> None:
    cell = Told.of(VAD).be(BUNDLE, STALE).cell("vad/w8a8", "SM8750")

    assert (cell["state"], cell["size"]) == ("stale", None)
    assert cell["graphs"][0]["compiled"]["size"] == 1000


def test_a_known_failure_says_why_and_how() -> None:
    cell = Told.of(FLOATS).cell("floats", "SM8450")

    assert cell["state"] == "known"
    assert cell["known"] == [
        {
            "graph": "two",
            "reason": "values beyond fp16",
            "issue": "owner/repo#7",
            "step": "verdict",
            "how": "SQNR 0.6 dB, at least 20 dB wanted",
        }
    ]


def test_a_known_failure_that_was_not_run_is_not_known_yet() -> None:
    cell = Told.of(FLOATS).be("expect/floats/two@SM8450", STALE).cell("floats", "SM8450")

    assert (cell["state"], cell["known"][0]["how"]) == ("stale", None)


def test_a_known_failure_that_works_now_has_failed() -> None:
    told = Told.of(FLOATS).be("expect/floats/two@SM8450", failed())

    assert told.cell("floats", "SM8450")["state"] == "failed"


def test_chips_that_nobody_asks_for_and_that_cannot_work_say_why() -> None:
    told = Told.of(VAD, FLOATS)

    assert model(told, "floats")["rows"][0]["impossible"] == {
        "SM7325": "'one' cannot be fp16 on SM7325: SM7325 has no fp16"
    }
    assert model(told, "vad")["rows"][0]["impossible"] == {}


def test_chips_stand_in_the_order_of_their_generations() -> None:
    assert [chip["name"] for chip in Told.of(VAD, FLOATS).json()["chips"]] == [
        "SM7325", "SM8450", "SM8550", "SM8750",
    ]  # fmt: skip


def test_a_search_tells_its_tries_and_what_each_layer_costs() -> None:
    (search,) = model(Told.of(AUTO), "found")["searches"]

    assert (search["of"], search["bar_db"], search["holds"]) == ("net", 25.0, True)
    assert [(one["label"], one["holds"]) for one in search["tries"]] == [
        ("w8a8", False), ("w8a8, 1 lifted", True),
    ]  # fmt: skip
    assert [(one["layer"], one["sqnr_db"]) for one in search["layers"]] == [
        ("add", 3.2), ("tanh", 41.0),
    ]  # fmt: skip


def test_a_search_that_was_stopped_tells_the_tries_that_were_judged() -> None:
    told = Told.of(AUTO).be("convert/found/net+auto", STALE)
    judged = [a.name for a in told.subject.plan if a.step == "judge" and "verdict" in a.outputs]
    told.known.files = {(name, "verdict.json"): {"made": False} for name in judged}
    told.known.files[judged[0], "verdict.json"] = {**TRIED[0], "made": True}
    (search,) = model(told, "found")["searches"]

    assert [one["label"] for one in search["tries"]] == ["w8a8"]
    assert search["holds"] is False


def test_the_precision_of_a_search_is_what_it_found() -> None:
    found = graph(Told.of(AUTO), "found", "SM8750")

    assert (found["asked"], found["precision"]) == ("auto", "w8a8 + 1 in 16 bit")
    assert QUANTIZATION["search"]["word"] == "w8a8"


def test_a_search_says_what_it_was_calibrated_with() -> None:
    assert graph(Told.of(AUTO), "found", "SM8750")["calibration"] == "calibrate/found/net"


SHARED = """\
model: pair
license: MIT
chips: [SM8750]
context: {share_weights: true}
variants: {rows: [1, 2]}
graphs: {net: {source: {file: net.onnx}, inputs: {x: {shape: ["{rows}", 4]}}}}
"""


def test_each_variant_of_a_shared_binary_says_with_whom_and_what_that_saves() -> None:
    told = Told.of(SHARED)
    shared = {"with": ["net-1"], "alone_bytes": {"net-1": 900, "net-2": 1100}, "saved_bytes": 800}
    facts = {**FILES["facts"], "shared": shared}
    told.known.files["context/pair/net/1+2@SM8750", "net-2.json"] = facts
    cells = [told.cell(f"pair/{rows}", "SM8750") for rows in (1, 2)]

    assert [cell["folder"] for cell in cells] == ["pair/SM8750", "pair/SM8750"]
    assert [len(cell["graphs"]) for cell in cells] == [1, 1]
    assert cells[1]["graphs"][0]["compiled"]["sharing"] == {
        "others": ["net-1"], "saved": 800, "alone": 2000,
    }  # fmt: skip
