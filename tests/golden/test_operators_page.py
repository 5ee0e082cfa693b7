"""docs/operators.md and the package's own data are what docs/atlas.json says."""

from __future__ import annotations

from tests.conftest import Golden
from tools.atlas import assemble, table


def test_the_page_is_what_the_data_say(golden: Golden):
    golden(table.PAGE, table.page(assemble.read()))


def test_what_prediction_reads_is_what_was_measured(golden: Golden):
    golden(assemble.REFUSALS, assemble.lines(assemble.refusals_of(assemble.read())))


def test_every_documented_operator_has_a_case():
    from qnnbuild.work.operators import table as operators

    documented = {name for name, row in operators().items() if row.documented}
    measured = {row["name"] for row in assemble.read()["cases"]}

    assert documented - measured == set()


def test_every_documented_fusion_has_a_case_but_the_one_that_needs_a_package():
    from qnnbuild.work.plugin_fusions import table as fusions

    documented = {row.name for row in fusions() if row.documented}
    measured = {row["name"] for row in assemble.read()["cases"]}

    assert documented - measured == {"UDOQDQFusion"}
