"""Times by node: shares, order, and whose names are told."""

from __future__ import annotations

from qnnbuild.formats.profile_csv import Layer
from qnnbuild.report.profile import names_of, profile_rows

LAYERS = (
    Layer(name="conv_token_1", unit="CYCLES", values=(10, 20), nodes=("conv_token_1",)),
    Layer(name="div_2", unit="CYCLES", values=(40, 50), nodes=("div", "erf")),
)


def test_the_most_expensive_comes_first_with_its_share_of_the_mean():
    rows = profile_rows(LAYERS)

    assert [(row.operator, row.mean, row.share) for row in rows] == [
        ("div_2", 45.0, 0.75),
        ("conv_token_1", 15.0, 0.25),
    ]
    assert rows[0].nodes == ("div", "erf")


def test_an_op_trace_gives_the_users_names():
    traced = {
        "nodes": [
            {"node": "stem/conv", "qnn": [{"name": "conv_token_1", "operator": "Conv2d"}]},
            {"node": "stem/pad", "qnn": [{"name": "conv_token_1", "operator": "Conv2d"}]},
        ]
    }
    rows = profile_rows(LAYERS, names_of(traced))

    assert [row.nodes for row in rows] == [("div", "erf"), ("stem/conv", "stem/pad")]


def test_layers_that_took_no_time_have_no_share():
    (row,) = profile_rows([Layer(name="a", unit="US", values=(0,))])

    assert row.share == 0.0
