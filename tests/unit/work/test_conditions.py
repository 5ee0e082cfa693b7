"""Conditions on nodes, one part each."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work.conditions import PARTS, Condition, holds
from qnnbuild.work.node_facts import NodeFacts
from qnnbuild.work.operators import table
from tests.graphs import inferred, model

POOL = "y = LpPool <kernel_shape = [2, 2], p = 3> (x)"


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ({"attribute": "p", "in": [1, 2]}, False),
        ({"attribute": "q", "in": [7], "default": 7}, True),
        ({"rank": [4]}, True),
        ({"rank": [5]}, False),
        ({"dtype": ["float32"]}, True),
        ({"dtype": ["int8"], "input": 0}, False),
        ({"last": [8, 8]}, True),
        ({"last": [2, 2]}, False),
        ({"constant": [0]}, False),
        ({"absent": [0]}, False),
        ({"absent": [1]}, True),
        ({"sized": True}, True),
        ({"inputs": 2}, False),
        ({"outputs": 1}, True),
        ({"form": ["f32"]}, True),
    ],
)
def test_each_part_looks_at_one_thing(condition: Condition, is_met: bool):
    made = inferred(model(f"g (float[1, 4, 8, 8] x) => (float[1, 4, 7, 7] y) {{ {POOL} }}"))
    facts = NodeFacts(made)

    assert holds(condition, made.graph.node[0], facts) is is_met


def test_stored_tensors_and_constant_nodes_are_constants():
    nodes = "k = Constant <value_float = 1.0> () y = Sum (x, k, w)"
    text = f"g (float[4] x) => (float[4] y) {{ {nodes} }}"
    made = inferred(model(text, w=np.zeros(4, np.float32)))
    facts = NodeFacts(made)

    assert holds({"constant": [1, 2]}, made.graph.node[1], facts)


def test_the_table_uses_known_parts_and_says_where_each_condition_is_from():
    for name, row in table().items():
        for need in row.needs:
            parts = set(need) - {"why", "from", "in", "default", "input", "when"}

            assert parts <= set(PARTS), name
            assert need["from"] in ("documentation", "measured"), name
