"""Definitions of operators of one's own, as Qualcomm's generator takes them."""

from __future__ import annotations

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.op_definition import Port, read_op_definitions
from tests.libraries import DEFINITION


def test_what_goes_in_and_out_is_read_with_the_types_that_the_backend_adds():
    read = read_op_definitions(DEFINITION.encode())
    one = read.operators["MyAdd"]

    assert (read.package, read.domain) == ("MyAddOpPackage", "example")
    assert one.inputs == (
        Port(name="a", types=("float_32",)),
        Port(name="b", mandatory=False, types=("float_32",)),
    )
    assert one.outputs == (Port(name="sum", types=("float_16",)),)
    assert one.parameters == (Port(name="scale", mandatory=False, types=("float_32",)),)


def test_supplements_of_another_backend_do_not_count():
    read = read_op_definitions(DEFINITION.replace('Backend="HTP"', 'Backend="CPU"').encode())

    assert read.operators["MyAdd"].outputs == (Port(name="sum"),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("</OpDefCollection>", "", "not XML: no element found: line 28, column 0"),
        ("OpDefCollection", "Ops", "it begins with <Ops>, not with <OpDefCollection>"),
        (' PackageName="MyAddOpPackage"', "", "OpDefCollection has no PackageName"),
        ("OpDef>", "Def>", "it defines no operator: no OpDefList with an OpDef"),
        ("<Name>MyAdd</Name>", "", "an operator has no Name"),
        ("<Name>sum</Name>", "", "MyAdd: one Output has no Name"),
        (
            "QNN_DATATYPE_FLOAT_32",
            "QNN_DATATYPE_FLOAT32",
            "MyAdd, Input b: 'QNN_DATATYPE_FLOAT32' is no data type of QNN's",
        ),
        (
            "<OpDefCollection",
            '<!DOCTYPE a [<!ENTITY b "b">]><OpDefCollection',
            "it defines a document type, which no definition of operators has",
        ),
    ],
)
def test_a_mistake_is_told(old: str, new: str, said: str):
    with pytest.raises(FormatError) as caught:
        read_op_definitions(DEFINITION.replace(old, new).encode())

    assert str(caught.value) == said
