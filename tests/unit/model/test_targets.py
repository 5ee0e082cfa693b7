"""Recipes as written become targets as resolved."""

from __future__ import annotations

from functools import cache

from qnnbuild.errors import Problem
from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.recipe import (
    Bars,
    BundleOptions,
    ContextOptions,
    ExportSource,
    FileSource,
    Graph,
    HubSource,
    InputSpec,
    License,
    OutputSpec,
    PypiSource,
    RunOptions,
    Samples,
    Source,
    Target,
    UrlSource,
    Verify,
)
from qnnbuild.model.settings import Settings, read_settings
from qnnbuild.model.targets import read_good_recipes, read_recipes

SHA = "7e" * 32
HEAD = "model: m\nlicense: MIT\nchips: [SM8550, SM8750]\n"
FILE = "source: {file: m.onnx}\n"


@cache
def chips() -> Chips:
    return packaged_chips()


def targets(text: str, settings: Settings | None = None) -> list[Target]:
    return read_recipes([("recipes/r.yaml", text)], chips(), settings)


def only_graph(text: str) -> Graph:
    return targets(text)[0].graphs[0]


def source(text: str) -> Source:
    return only_graph(HEAD + "source: " + text).source


def messages(*texts: str) -> list[str]:
    files = [(f"recipes/{n}.yaml", text) for n, text in enumerate(texts)]
    return [said(problem) for problem in read_good_recipes(files, chips())[1]]


def said(problem: Problem) -> str:
    return f"{problem.at}: {problem.message}"


def test_the_smallest_recipe_is_one_target_a_chip() -> None:
    found = targets(
        "model: silero-vad\nlicense: MIT\nchips: [SM8550, SM8750]\n"
        f"source: {{pypi: silero-vad==6.2.1, member: silero_vad/data/x.onnx, sha256: {SHA}}}\n"
    )

    assert found == [
        Target(
            model="silero-vad",
            variant="",
            axes={},
            chip=chips()[chip],
            toolchain="ort",
            license=License(spdx="MIT"),
            graphs=(
                Graph(
                    name="silero-vad",
                    source=PypiSource(
                        pypi="silero-vad==6.2.1", member="silero_vad/data/x.onnx", sha256=SHA
                    ),
                    verify=Verify(samples=Samples(random=2), bars=Bars(min_sqnr_db=30.0)),
                ),
            ),
            context=ContextOptions(),
            bundle=BundleOptions(),
            recipe="recipes/r.yaml",
        )
        for chip in ("SM8550", "SM8750")
    ]


def test_every_kind_of_source_is_read() -> None:
    assert source("{file: ../onnx/m.onnx}") == FileSource(file="onnx/m.onnx")
    assert source(f"{{url: 'https://example.com/m.onnx', sha256: {SHA}}}") == UrlSource(
        url="https://example.com/m.onnx", sha256=SHA
    )
    assert source(
        f"{{url: 'https://example.com/m.zip', sha256: {SHA}, member: ./a/m.onnx}}"
    ) == UrlSource(url="https://example.com/m.zip", sha256=SHA, member="a/m.onnx")
    assert source(
        f"{{hub: org/name, revision: {'a1' * 20}, member: m.onnx, sha256: {SHA}}}"
    ) == HubSource(hub="org/name", revision="a1" * 20, member="m.onnx", sha256=SHA)
    assert source(
        "{export: {run: [python, export.py, --n, 3], needs: export.py, makes: [m.onnx],"
        " requirements: req.txt}}"
    ) == ExportSource(
        run=("python", "export.py", "--n", "3"),
        needs=("recipes/export.py",),
        makes="m.onnx",
        folder="recipes",
        requirements="recipes/req.txt",
    )


def test_every_key_of_a_graph_is_read_in_its_type() -> None:
    text = """\
graphs:
  vad:
    inputs:
      x: {shape: [1, 93, 560], dtype: float32, layout: NTF, range: [-1, 1.5]}
      s: {shape: []}
    outputs: {prob: {dtype: float32}, state: }
    constants: {sr: 16000, flag: true, w: [0.5, 1]}
    cast: {float64: float32}
    repairs: [gelu, clip]
    simplify: false
    max_fold_mb: 0.5
    precision: fp32
    cpu_fallback: allow
    samples: samples/*.npz
    options: {ort: {vtcm_mb: 8, fast: true, ratio: 0.5, mode: burst, id: '8', no: no}}
    deadline: 60
"""

    assert only_graph(HEAD + FILE + text) == Graph(
        name="vad",
        source=FileSource(file="recipes/m.onnx"),
        inputs={
            "x": InputSpec(shape=(1, 93, 560), dtype="float32", layout="NTF", range=(-1.0, 1.5)),
            "s": InputSpec(shape=()),
        },
        outputs={"prob": OutputSpec(dtype="float32"), "state": OutputSpec()},
        constants={"sr": 16000, "flag": True, "w": (0.5, 1)},
        cast={"float64": "float32"},
        repairs=("gelu", "clip"),
        simplify=False,
        max_fold_bytes=512 * 1024,
        precision="fp32",
        cpu_fallback="allow",
        samples=("recipes/samples/*.npz",),
        verify=Verify(
            samples=Samples(files=("recipes/samples/*.npz",), at_most=4),
            bars=Bars(min_sqnr_db=40.0),
        ),
        options={
            "ort": {
                "vtcm_mb": 8,
                "fast": True,
                "ratio": 0.5,
                "mode": "burst",
                "id": "8",
                "no": "no",
            }
        },
        deadline_s=60.0,
    )


def test_versions_languages_and_dates_stay_the_text_that_was_written() -> None:
    text = "model: 2.40\nlicense: no\nchips: SM8550\ntoolchain: 2.40\ndescription: 2026-01-02\n"
    target = targets(text + f"source: {{pypi: a==1.10, member: 010, sha256: {SHA}}}\n")[0]

    assert (target.model, target.license.spdx, target.toolchain) == ("2.40", "no", "2.40")
    assert target.description == "2026-01-02"
    assert target.graphs[0].source == PypiSource(pypi="a==1.10", member="010", sha256=SHA)


def test_one_text_where_a_list_is_wanted_is_a_list_of_one() -> None:
    text = "model: m\nlicense: MIT\nchips: SM8550\nsource: {file: m.onnx}\n"
    graph = only_graph(text + "graphs: {m: {outputs: y, inputs: {x: {shape: 64}}}}\n")

    assert graph.outputs == {"y": OutputSpec()}
    assert graph.inputs == {"x": InputSpec(shape=(64,))}


def test_a_licence_may_name_its_text_and_forbid_to_publish() -> None:
    text = "model: m\nchips: SM8550\nsource: {file: m.onnx}\nlicense: "
    full = "{spdx: LicenseRef-x, redistribute: false, file: LICENSE.txt, member: a/LICENSE}\n"

    assert targets(text + full)[0].license == License(
        spdx="LicenseRef-x", redistribute=False, file="recipes/LICENSE.txt", member="a/LICENSE"
    )


def test_context_and_bundle_are_read() -> None:
    target = targets(HEAD + FILE + "context: {embed: true}\nbundle: {files: [a.txt, b/*.txt]}\n")[0]

    assert target.context == ContextOptions(embed=True)
    assert target.bundle == BundleOptions(files=("recipes/a.txt", "recipes/b/*.txt"))


def test_each_graph_may_have_a_source_of_its_own() -> None:
    text = HEAD + "source: {file: '{graph}.onnx'}\ngraphs: {a: , b: {source: {file: x.onnx}}}\n"

    assert [graph.source for graph in targets(text)[0].graphs] == [
        FileSource(file="recipes/a.onnx"),
        FileSource(file="recipes/x.onnx"),
    ]


def test_places_say_where_the_user_wrote_what() -> None:
    text = HEAD + FILE + "graphs:\n  vad:\n    inputs:\n      x: {shape: [1, 2]}\n"
    text += "    options:\n      ort:\n        vtcm_mb: 8\n    precision: fp16\n"
    target = targets(text)[0]
    places = target.graphs[0].places

    assert {name: f"{at.line}:{at.column}-{at.end}" for name, at in places.items()} == {
        "graph": "6:3-6",
        "inputs": "7:5-11",
        "inputs.x": "8:10-25",
        "inputs.x.shape": "8:11-24",
        "options": "9:5-12",
        "options.ort": "10:7-10",
        "options.ort.vtcm_mb": "11:9-19",
        "precision": "12:16-20",
        "source": "4:9-23",
        "source.file": "4:16-22",
    }
    assert str(target.places["chip"]) == "recipes/r.yaml:3:9"
    assert str(target.places["license"]) == "recipes/r.yaml:2:10"


def test_defaults_of_the_repo_stand_below_what_the_recipe_says() -> None:
    settings = read_settings(
        "defaults:\n  license: MIT\n  chips: [SM8550]\n  context: {embed: true}\n"
        "  bundle: {files: [NOTICE]}\n"
        "  graph: {precision: fp32, options: {ort: {a: 1, b: 1}}}\n"
    )
    text = "model: m\nlicense: BSD-2-Clause\n" + FILE + "graphs: {g: {options: {ort: {b: 2}}}}\n"
    (target,) = targets(text, settings)

    assert target.license == License(spdx="BSD-2-Clause")
    assert target.chip.name == "SM8550"
    assert target.context == ContextOptions(embed=True)
    assert target.bundle == BundleOptions(files=("NOTICE",))
    assert target.graphs[0].precision == "fp32"
    assert target.graphs[0].options == {"ort": {"a": 1, "b": 2}}


def test_how_a_graph_runs_has_defaults_and_differs_by_chip_and_variant() -> None:
    settings = read_settings("defaults: {graph: {run: {perf_mode: balanced}}}\n")
    text = HEAD + FILE + "variants: {latency: [100, 200]}\ngraphs:\n  g:\n"
    text += "    run: {rpc_control_latency: '{latency}', workload_type: Efficient}\n"
    text += (
        "    only: {SM8750: {run: {perf_mode: burst}}, '200': {run: {workload_type: Default}}}\n"
    )
    found = {
        f"{target.variant}@{target.chip.name}": target.graphs[0].run
        for target in targets(text, settings)
    }

    assert found == {
        "100@SM8550": RunOptions(
            perf_mode="balanced", rpc_control_latency=100, workload_type="Efficient"
        ),
        "100@SM8750": RunOptions(
            perf_mode="burst", rpc_control_latency=100, workload_type="Efficient"
        ),
        "200@SM8550": RunOptions(
            perf_mode="balanced", rpc_control_latency=200, workload_type="Default"
        ),
        "200@SM8750": RunOptions(
            perf_mode="burst", rpc_control_latency=200, workload_type="Default"
        ),
    }


def test_an_axis_that_only_says_how_to_run_makes_no_other_graph() -> None:
    text = HEAD + FILE + "variants: {mode: [burst, balanced]}\n"
    text += "graphs: {g: {run: {perf_mode: '{mode}'}}}\n"

    assert {target.graphs[0].axes_used for target in targets(text)} == {()}


def test_a_changed_comment_changes_no_target() -> None:
    assert targets("# one\n" + HEAD + FILE) == targets("# two\n\n" + HEAD + "# three\n" + FILE)


def test_good_recipes_survive_bad_ones() -> None:
    good = HEAD.replace("model: m", "model: good") + FILE
    files = [("recipes/bad.yaml", HEAD), ("recipes/good.yaml", good)]
    found, problems = read_good_recipes(files, chips())

    assert [target.model for target in found] == ["good", "good"]
    assert [said(problem) for problem in problems] == ["recipes/bad.yaml:1:1: 'source' is missing"]


def test_two_recipes_may_not_share_a_models_name_in_any_case_of_letters() -> None:
    other = HEAD.replace("model: m", "model: M") + FILE

    assert messages(HEAD + FILE, other) == ["recipes/1.yaml:1:8: a model is called 'm' already"]


def test_problems_stand_in_the_order_of_the_file_each_once() -> None:
    text = "model: ''\nchips: [SM8550]\nlicense: MIT\nfoo: 1\nsource: {file: '{x}{x}.onnx'}\n"

    assert messages(text) == [
        "recipes/0.yaml:1:8: '' is no safe file name: letters, digits, and . _ - behind the first",
        "recipes/0.yaml:4:1: unknown key 'foo'",
        "recipes/0.yaml:5:16: {x} has no value",
    ]
