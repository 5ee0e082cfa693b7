"""Versions, local functions, and operators that nobody knows."""

from __future__ import annotations

import onnx
import pytest

from qnnbuild.work.run import WorkError
from qnnbuild.work.versions import (
    check_known,
    check_versions,
    complete_imports,
    inline_functions,
    raise_ir,
)
from tests.graphs import model, text

PLAIN = "g (float[4] x) => (float[4] y) { [r] y = Relu (x) }"


@pytest.mark.parametrize("opset", [7, 17, onnx.defs.onnx_opset_version()])
def test_these_opsets_are_fine(opset: int) -> None:
    made = model(PLAIN, opset)

    check_versions(made)
    assert made.opset_import[0].version == opset


@pytest.mark.parametrize(
    ("opset", "message"),
    [
        (6, "the model has opset 6, the oldest that works is 7"),
        (99, f"the model has opset 99, newest is {onnx.defs.onnx_opset_version()}"),
    ],
)
def test_an_opset_outside_is_refused(opset: int, message: str) -> None:
    with pytest.raises(WorkError) as caught:
        check_versions(model(PLAIN, opset))

    assert caught.value.message == message


def test_an_old_ir_is_raised_and_a_new_one_stays() -> None:
    old, new = model(PLAIN), model(PLAIN)
    old.ir_version, new.ir_version = 3, 10
    raise_ir(old)
    raise_ir(new)

    assert (old.ir_version, new.ir_version) == (8, 10)


def test_local_functions_are_inlined_and_their_domain_goes() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "local" : 1]>'
        " g (float[4] x) => (float[4] y) { y = local.twice (x) }"
        ' <domain: "local", opset_import: ["" : 17]> twice (a) => (o) { o = Add (a, a) }'
    )
    flat, had = inline_functions(made)

    assert had == ["local:twice"]
    assert text(flat) == ["y = Add(x, x)"]
    assert [opset.domain for opset in flat.opset_import] == [""]


def test_an_operator_that_nobody_knows_is_refused_with_its_node() -> None:
    made = model("g (float[4] x) => (float[4] y) { [r] y = Relou (x) }")

    with pytest.raises(WorkError) as caught:
        check_known(made)

    assert caught.value.message == "nobody knows the operator 'Relou'"
    assert caught.value.facts[0] == ("used by", "node 'r' (Relou)")


def test_a_domain_that_is_used_without_a_word_is_imported() -> None:
    made = model("g (float[4] x) => (float[4] y) { [n] y = com.microsoft.Gelu (x) }")
    complete_imports(made)

    assert [(o.domain, o.version) for o in made.opset_import] == [("", 17), ("com.microsoft", 1)]
