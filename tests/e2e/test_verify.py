"""verify on the real emulator: its numbers, and what it does not let pass."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.work.npz import read_npz
from qnnbuild.work.run import WorkError
from tests.e2e.verifying import Built, built, by_hand, judged, normal, numbers_of, verified
from tests.graphs import model
from tests.models import tiny_conv, tiny_qdq, two_branch, with_erf

WIDE = {"a": (1, 64), "b": (1, 64)}
PICTURE = {"x": (1, 3, 16, 16)}


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Built and verified; tests that damage something take a copy."""
    made = built(two_branch(), normal(WIDE), tmp_path_factory.mktemp("branches"))
    verified(made)
    return made


def copy_of(made: Built, folder: Path) -> Built:
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "verify")
    return Built(folder=folder, graph=made.graph, chip=made.chip)


def test_each_output_is_measured_over_all_samples_and_at_its_worst(branches: Built) -> None:
    numbers = branches.numbers

    assert list(numbers["outputs"]) == ["product", "sum"]
    assert numbers["samples"] == 2
    assert numbers["chip"] == {"soc_model": 69, "soc_type": "SM8750", "arch": 79}
    assert numbers["ran_on"] == {"host": "HTP emulator", "nodes": {"QNNExecutionProvider": 1}}
    assert numbers["compared_with"] == "the original"
    for output in numbers["outputs"].values():
        samples = output["samples"]
        assert 40 < output["all"]["sqnr_db"] < 70
        assert output["worst"]["sqnr_db"] == min(one["sqnr_db"] for one in samples.values())
        assert output["all"]["max_abs"] == max(one["max_abs"] for one in samples.values())


def test_a_plain_script_has_the_same_numbers(branches: Built) -> None:
    told = by_hand(
        branches.ctx, branches.folder / "samples", branches.out("reference", "reference")
    )

    assert told == numbers_of(branches.numbers)


def test_the_answers_are_kept_by_name(branches: Built) -> None:
    answers = read_npz(branches.out("verify", "outputs") / "000001.npz")

    assert {name: array.shape for name, array in answers.items()} == {
        "sum": (1, 64),
        "product": (1, 64),
    }


def test_a_binary_inside_the_ctx_onnx_has_the_same_numbers(branches: Built, tmp_path: Path) -> None:
    inside = built(two_branch(), normal(WIDE), tmp_path, embed=True)
    verified(inside)

    assert not inside.binary.exists()
    assert inside.numbers["outputs"] == branches.numbers["outputs"]


def test_a_second_run_has_the_same_bytes(branches: Built, tmp_path: Path) -> None:
    again = copy_of(branches, tmp_path / "again")
    verified(again)

    for file in ("outputs/000000.npz", "outputs/000001.npz", "numbers/numbers.json"):
        before = (branches.folder / "verify/out" / file).read_bytes()
        assert (again.folder / "verify/out" / file).read_bytes() == before


def test_bars_that_hold_are_told_and_others_are_an_error(branches: Built, tmp_path: Path) -> None:
    here = Built(folder=tmp_path, graph=branches.graph, chip=branches.chip)
    shutil.copytree(branches.folder / "verify", tmp_path / "verify")
    found = judged(here, {"min_sqnr_db": 30.0})

    with pytest.raises(WorkError) as caught:
        judged(here, {"min_sqnr_db": 80.0, "min_cosine": 0.9}, into="again")

    assert [bar["holds"] for bar in found["bars"]] == [True, True]
    assert caught.value.exit_code == 5
    assert caught.value.message.startswith("'net' on SM8750 is below its bar: product: SQNR ")
    assert [of for of, _ in caught.value.facts] == ["product", "sum"] * 2 + ["worst output"]
    assert caught.value.hint == (
        "qnnbuild debug verify/m/net@SM8750 lists its layers and finds the first bad one"
    )


def test_a_binary_that_was_swapped_is_found_by_its_digest(branches: Built, tmp_path: Path) -> None:
    here = copy_of(branches, tmp_path / "here")
    other = two_branch()
    other.graph.initializer[0].raw_data = (
        -2 * np.frombuffer(other.graph.initializer[0].raw_data, np.float32)
    ).tobytes()
    theirs = built(other, normal(WIDE), tmp_path / "other")
    shutil.copyfile(theirs.binary, here.binary)

    with pytest.raises(WorkError, match=r"net_ctx_qnn\.bin is not the file that was compiled"):
        verified(here)


def test_another_models_binary_is_found_by_its_numbers(branches: Built, tmp_path: Path) -> None:
    """Even when the facts beside it are its own."""
    here = copy_of(branches, tmp_path / "here")
    other = two_branch()
    other.graph.initializer[0].raw_data = (
        -2 * np.frombuffer(other.graph.initializer[0].raw_data, np.float32)
    ).tobytes()
    theirs = built(other, normal(WIDE), tmp_path / "other")
    for name in ("context", "facts"):
        shutil.rmtree(here.out("context", name))
        shutil.copytree(theirs.out("context", name), here.out("context", name))
    verified(here)

    with pytest.raises(WorkError, match=r"SQNR -?[0-9.]+ dB, at least 30 dB wanted"):
        judged(here, {"min_sqnr_db": 30.0})


def test_zeros_inside_a_binary_are_found(branches: Built, tmp_path: Path) -> None:
    here = copy_of(branches, tmp_path / "here")
    forge(here, zeroed(here.binary.read_bytes()))

    with pytest.raises(WorkError) as caught:
        verified_and_judged(here)

    assert caught.value.exit_code == 5


def test_a_binary_for_another_chip_is_found_in_the_binary(branches: Built, tmp_path: Path) -> None:
    theirs = built(two_branch(), normal(WIDE), tmp_path, chip="SM8550")
    here = Built(folder=tmp_path, graph=branches.graph, chip="SM8750")

    with pytest.raises(WorkError) as caught:
        verified(here)

    assert theirs.binary.exists()
    assert caught.value.message == "the binary is for another chip than the one asked for"
    assert ("arch", "73, asked for 79") in caught.value.facts


def test_an_overflow_of_fp16_is_found_by_its_numbers(tmp_path: Path) -> None:
    """Nothing of the file is beyond fp16; what is computed from it is."""
    squares = model(
        "g (float[1, 64] x) => (float[1, 64] y) {"
        " [big] b = Mul (x, k) [square] s = Mul (b, b) [small] y = Mul (s, d) }",
        k=np.full((1, 64), 300, np.float32),
        d=np.full((1, 64), 1e-3, np.float32),
    )
    made = built(squares, normal({"x": (1, 64)}), tmp_path)
    verified(made)

    with pytest.raises(WorkError, match=r"'net' on SM8750 is below its bar: y: "):
        judged(made, {"min_sqnr_db": 30.0})


def test_quantized_outputs_are_compared_by_what_they_mean(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    samples = [{"x": random.integers(0, 256, PICTURE["x"]).astype(np.uint8)} for _ in range(2)]
    made = built(tiny_qdq(), samples, tmp_path, precision="qdq")
    verified(made)

    assert made.numbers["outputs"]["y"]["kind"] == "quantized"
    assert made.numbers["outputs"]["y"]["all"]["sqnr_db"] > 30


def test_whole_numbers_are_compared_exactly(tmp_path: Path) -> None:
    best = tiny_conv()
    node = best.graph.node.add(op_type="ArgMax", name="best", input=["scores"], output=["best"])
    node.attribute.add(name="axis", type=2, i=-1)
    value = best.graph.output.add(name="best")
    value.type.tensor_type.elem_type = 7
    made = built(best, normal(PICTURE), tmp_path)
    verified(made)

    assert made.numbers["outputs"]["best"]["all"] == {
        "differing": 0,
        "elements": 2,
        "max_abs": 0.0,
    }
    assert [bar["what"] for bar in judged(made, {"min_sqnr_db": 30.0})["bars"]] == [
        "equal",
        "min_sqnr_db",
    ]


def test_nodes_on_the_cpu_are_counted_where_they_are_allowed(tmp_path: Path) -> None:
    made = built(with_erf(), normal({"x": (1, 64)}), tmp_path, cpu_fallback="allow")
    verified(made)

    with pytest.raises(WorkError, match=r"1 nodes of net_ctx\.onnx would run on the CPU"):
        verified(made, into="strict", cpu_fallback=False)
    assert made.numbers["ran_on"]["nodes"] == {
        "CPUExecutionProvider": 1,
        "QNNExecutionProvider": 2,
    }


def test_random_numbers_inside_cannot_be_compared(tmp_path: Path) -> None:
    noisy = model(
        "g (float[1, 64] x) => (float[1, 64] y) {"
        " r = RandomNormalLike (x) s = Add (x, r) y = Relu (s) }"
    )
    made = built(noisy, normal({"x": (1, 64)}), tmp_path, cpu_fallback="allow")
    run = verified(made)

    assert made.numbers["outputs"] == {}
    assert [notice.message for notice in run.warnings] == [
        ("the answers cannot be compared: it computes with random numbers (RandomNormalLike)")
    ]
    assert judged(made, {"min_sqnr_db": 30.0})["judged"] is False


def verified_and_judged(made: Built) -> None:
    verified(made)
    judged(made, {"min_sqnr_db": 30.0})


def zeroed(binary: bytes) -> bytes:
    """4 kB of zeros in the last third of the file, where the weights are."""
    at = len(binary) * 2 // 3 & ~4095
    return binary[:at] + bytes(4096) + binary[at + 4096 :]


def forge(made: Built, binary: bytes) -> None:
    """Put another binary in the place of the compiled one, facts and all."""
    made.binary.write_bytes(binary)
    path = made.out("context", "facts") / f"{made.graph.name}.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["files"][made.binary.name]["digest"] = digest_bytes(binary)
    path.write_text(json.dumps(facts), encoding="utf-8")
