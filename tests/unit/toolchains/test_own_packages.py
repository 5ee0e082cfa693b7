"""Files of the packages of the user's own operators, by name, and who is told of them."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    ContextOptions,
    FileSource,
    Graph,
    MeasuredBy,
    OpPackage,
    Quantization,
    Samples,
)
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.own_packages import built_packages, file_here, on_device
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.qairt_op_packages import (
    converter_words,
    measuring_words,
    registered_here,
    registered_on_device,
)
from qnnbuild.toolchains.work import Work

SDK = Qairt(Sdk(name="qairt-2.40", root="sdk", ndk="ndk", hexagon="hexagon"))
ADD = OpPackage(op="MyAdd", interface="Provide", xml="udo/My.xml", sources=("udo/add.cpp",))
MUL = replace(ADD, op="MyMul", sources=("udo/mul.cpp", "udo/add.cpp"))
WHOLE = OpPackage(
    op="MyDiv",
    interface="Other",
    xml="udo/Div.xml",
    library="udo/x86/libDiv.so",
    on_device={"CPU": "udo/arm64/libDiv.so", "HTP": "udo/v79/libDiv.so"},
)
GRAPH = Graph(
    name="own", source=FileSource(file="m.onnx"), precision="fp16", op_packages=(ADD, MUL, WHOLE)
)


def test_operators_of_one_definition_are_one_package():
    (built,) = built_packages(GRAPH, "qairt-2.40")

    assert built.ops == ("MyAdd", "MyMul")
    assert built.sources == ("udo/add.cpp", "udo/mul.cpp")
    assert (built.toolchain, built.input) == ("qairt-2.40", "built-My")


def test_another_toolchain_may_build_it():
    named = replace(GRAPH, op_packages=(replace(ADD, built_with="qairt-2.49"),))

    assert [one.toolchain for one in built_packages(named, "ort")] == ["qairt-2.49"]


def test_a_built_library_is_called_as_the_sdk_calls_that_of_the_definition():
    assert (file_here(ADD), file_here(WHOLE)) == ("libQnnMy.so", "libDiv.so")
    assert on_device(ADD) == {
        "CPU": "op_packages/cpu/libQnnMy.so",
        "HTP": "op_packages/htp/libQnnMy.so",
    }
    assert on_device(WHOLE)["HTP"] == "op_packages/htp/libDiv.so"


def test_a_package_is_registered_once_however_many_operators_it_has():
    one = "{in.packages}/libQnnMy.so:Provide:CPU,{in.packages}/libDiv.so:Other:CPU"

    assert registered_here({"own": GRAPH}) == one
    assert registered_on_device(GRAPH) == (
        "./op_packages/cpu/libQnnMy.so:Provide:CPU,./op_packages/htp/libQnnMy.so:Provide:HTP,"
        "./op_packages/cpu/libDiv.so:Other:CPU,./op_packages/htp/libDiv.so:Other:HTP"
    )


def test_graphs_that_share_a_binary_register_what_they_have_in_common_once():
    graphs = {"a": replace(GRAPH, op_packages=(ADD,)), "b": replace(GRAPH, op_packages=(MUL,))}

    assert registered_here(graphs) == "{in.packages-a}/libQnnMy.so:Provide:CPU"


def test_the_converter_is_told_of_each_definition_once():
    assert list(converter_words(GRAPH)) == [
        "--op_package_config",
        "{in.definitions}/udo/My.xml",
        "{in.definitions}/udo/Div.xml",
    ]
    assert list(converter_words(replace(GRAPH, op_packages=()))) == []


def test_what_tells_shapes_comes_built_or_is_a_source():
    packages = (
        replace(ADD, converter="udo/shapes.cpp"),
        replace(WHOLE, converter="udo/libConverterOpPackage.so"),
    )

    assert list(converter_words(replace(GRAPH, op_packages=packages)))[-2:] == [
        "--converter_op_package_lib",
        "{in.converter}/udo/libConverterOpPackage.so,{in.converter-My}/libConverterOpPackage.so",
    ]


def test_what_measures_is_named_where_something_is_measured_only():
    by = MeasuredBy(interface="Cpu", xml="udo/Cpu.xml", sources=("udo/cpu.cpp",))
    packages = (
        replace(ADD, measured_by=by),
        replace(WHOLE, measured_by=MeasuredBy(interface="Whole", library="udo/libWhole.so")),
    )
    graph = replace(GRAPH, op_packages=packages)

    assert list(measuring_words(graph)) == []
    assert list(measuring_words(replace(graph, calibration=Samples(random=2)))) == [
        "--op_package_lib",
        "{in.measuring}/udo/libWhole.so:Whole,{in.measuring-Cpu}/libCpu.so:Cpu",
    ]


def test_over_a_dlc_the_converter_knows_shapes_and_the_quantizer_measures():
    by = MeasuredBy(interface="Whole", library="udo/libWhole.so")
    graph = replace(
        GRAPH,
        op_packages=(replace(WHOLE, measured_by=by, converter="udo/libConverterOpPackage.so"),),
        precision="w8a16",
        quantization=Quantization(weights=8, activations=16),
        calibration=Samples(random=2),
        options={"qairt": {"route": "dlc"}},
    )

    converts, measures = SDK.unquantized(graph), SDK.convert(graph)

    assert converts is not None
    assert "--op_package_config" in said(converts)
    assert "--converter_op_package_lib" in said(converts)
    assert "--op_package_lib {in.measuring}/udo/libWhole.so:Whole" in said(measures)
    assert "--op_package_config" not in said(measures)


def said(work: Work) -> str:
    words = work.params["argv"]
    assert isinstance(words, list)
    return " ".join(map(str, words))


def test_a_graph_without_packages_has_a_context_that_says_nothing_of_them():
    chip = packaged_chips()["SM8750"]
    works = [
        SDK.context(graph, chip, ContextOptions())
        for graph in (GRAPH, replace(GRAPH, op_packages=()))
    ]

    assert ["op_packages" in work.params for work in works] == [True, False]
