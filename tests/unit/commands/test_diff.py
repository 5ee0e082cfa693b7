"""qnnbuild diff: two builds, what changed, what got worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.cli import main
from qnnbuild.report.page import page
from qnnbuild.work.on_cpu import accounted
from tests.reported import FAILED, VAD, Told, failed

CONTEXT = "context/vad/near/w8a8@SM8750"
NODE = {"node": "ceil", "operator": "Ceil", "reason": "no kernel"}


def manifest(
    *, chip: str = "SM8750", cpu: tuple[dict[str, str], ...] = (), **changed: Any
) -> dict[str, Any]:
    graph = {
        "precision": changed.get("precision", "w8a16"),
        "quantization": {"nodes": changed.get("nodes", {"16": 8})},
        "on_cpu": list(cpu),
        "context": {"cpu_share_of_multiply_adds": changed.get("share", 0.0)},
        "verified": {
            "outputs": {"y": {"sqnr_db": changed.get("sqnr", 31.5)}},
            "metrics": changed.get("metrics", {}),
        },
    }
    return {
        "manifest_version": 1,
        "model": "vad",
        "variants": [{"name": "", "axes": {}}],
        "chips": [{"name": chip}],
        "files": {"g_ctx_qnn.bin": {"bytes": changed.get("size", 1000)}},
        "graphs": {"g": graph},
    }


def written(folder: Path, *all_: dict[str, Any]) -> Path:
    chips = {}
    for one in all_:
        path = f"vad/{one['chips'][0]['name']}"
        chips[one["chips"][0]["name"]] = {"vad": {"": {"path": path}}}
        (folder / path).mkdir(parents=True)
        (folder / path / "manifest.json").write_text(json.dumps(one))
    (folder / "index.json").write_text(json.dumps({"index_version": 1, "chips": chips}))
    return folder


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changes(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[Any]]:
    code = main(["diff", *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    return code, [[c["what"], c["before"], c["after"], c["worse"]] for c in found["changes"]]


def test_equal_builds_have_no_change(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest())
    code = main(["diff", "a", "b"])

    assert (code, capsys.readouterr().out) == (0, "no change\n")


def test_more_work_on_the_cpu_is_an_error(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(cpu=(NODE,), share=0.25))
    code = main(["diff", "a", "b"])
    said = capsys.readouterr()

    assert code == 5
    assert said.out.splitlines() == [
        "bundle      graph  what                        before  after",
        "vad@SM8750  g      CPU nodes                   none    ceil (Ceil)  WORSE",
        "vad@SM8750  g      CPU share of multiply-adds  0       0.25         WORSE",
    ]
    assert "2 of 2 changes are for the worse: vad@SM8750 g: CPU nodes" in said.err


def test_a_node_that_an_op_trace_finds_on_the_cpu_is_a_rise(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = [{"node": "Erf_3", "operator": "Erf", "reason": None}]
    traced = [{"node": "/gelu/Erf", "operator": "Erf", "reason": "no", "runtime_name": "Erf_3"}]
    nodes, _ = accounted(left, traced)
    written(sides / "a", manifest())
    written(sides / "b", manifest(cpu=tuple(nodes)))
    code, found = changes(capsys, "a", "b")

    assert code == 5
    assert found == [["CPU nodes", [], ["/gelu/Erf (Erf)"], True]]


def test_less_work_on_the_cpu_is_none(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest(cpu=(NODE,), share=0.25))
    written(sides / "b", manifest())

    assert changes(capsys, "a", "b") == (
        0,
        [
            ["CPU nodes", ["ceil (Ceil)"], [], False],
            ["CPU share of multiply-adds", 0.25, 0.0, False],
        ],
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--fail-on", "sqnr<-1dB"], 5),
        (["--fail-on", "cpu,sqnr=1.5"], 5),
        (["--fail-on", "cpu", "--fail-on", "sqnr<-1.5dB"], 5),
        (["--fail-on", "sqnr<-3dB"], 0),
        (["--fail-on", "nothing"], 0),
    ],
)
def test_a_fall_of_sqnr_counts_when_it_is_asked_for(
    sides: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(sqnr=29.5))

    assert changes(capsys, "a", "b", *words) == (code, [["SQNR of y", 31.5, 29.5, code == 5]])


def test_precision_widths_and_sizes_are_told(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(precision="auto", nodes={"8": 6, "16": 2}, size=800))

    assert changes(capsys, "a", "b") == (
        0,
        [
            ["bytes", 1000, 800, False],
            ["precision", "w8a16", "auto", False],
            ["nodes by bits", {"16": 8}, {"8": 6, "16": 2}, False],
        ],
    )


def test_the_users_own_measures_are_told(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest(metrics={"wer": {"wer": 0.05, "words": 90}}))
    written(sides / "b", manifest(metrics={"wer": {"wer": 0.08, "words": 90}}))

    assert changes(capsys, "a", "b") == (0, [["wer: wer", 0.05, 0.08, False]])


def test_bundles_come_and_go(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(chip="SM8550"))
    code = main(["diff", "a", "b"])

    assert code == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "vad@SM8550  -      bundle  gone    there",
        "vad@SM8750  -      bundle  there   gone",
    ]


def test_an_index_and_a_manifest_stand_for_their_bundles(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(size=7))

    assert changes(capsys, "a/index.json", "b/vad/SM8750/manifest.json")[1] == [
        ["bytes", 1000, 7, False]
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "x.json is no bundle's manifest"),
        ("[]", "x.json is no bundle's manifest and no index"),
        ("{", "x.json is no JSON"),
    ],
)
def test_what_is_no_manifest_is_told(
    sides: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (sides / "x.json").write_text(text)
    code = main(["diff", "x.json", "x.json"])

    assert code == 2
    assert said in capsys.readouterr().err


def test_what_is_not_there_and_what_means_nothing_are_told(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sides / "empty").mkdir()

    assert main(["diff", "nowhere", "empty"]) == 3
    assert main(["diff", "empty", "empty"]) == 3
    assert main(["diff", "empty", "empty", "--fail-on", "sqnr"]) == 2
    assert "--fail-on: 'sqnr' says no bar" in capsys.readouterr().err


def test_libraries_are_compared_and_archives_are_not(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in an archive is compared as the bundle that it was packed from."""
    for number, side in enumerate(("before", "after")):
        written(sides / side, manifest())
        libraries = {**manifest(size=number), "chips": []}
        beside = {"archive": {"name": "a"}, "files": {"a.tar.bz2": {"bytes": number}}}
        for path, content in (("vad/libraries", libraries), ("archives/a", beside)):
            (sides / side / path).mkdir(parents=True)
            (sides / side / path / "manifest.json").write_text(json.dumps(content))
    index = json.loads((sides / "after/index.json").read_text())
    index["libraries"] = {"vad": {"": [{"path": "vad/libraries"}]}}
    (sides / "after/index.json").write_text(json.dumps(index))

    for after in ("after", "after/index.json"):
        assert main(["diff", "before", after]) == 0

        told = capsys.readouterr().out.splitlines()[1:]
        assert [line.split() for line in told] == [["vad@libraries", "-", "bytes", "0", "1"]]


@pytest.mark.parametrize(
    ("words", "code"),
    [("nothing", 0), ("size>60%", 0), ("size>40%", 5), ("size=40", 5), ("size=0", 5)],
)
def test_growth_counts_when_it_is_asked_for(sides: Path, words: str, code: int) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(size=1500))

    assert main(["diff", "a", "b", "--fail-on", words]) == code


@pytest.mark.parametrize(("words", "code"), [("cpu", 0), ("gone", 5)])
def test_a_bundle_that_is_gone_counts_when_it_is_asked_for(
    sides: Path, words: str, code: int
) -> None:
    written(sides / "a", manifest(), manifest(chip="SM8550"))
    written(sides / "b", manifest())

    assert main(["diff", "a", "b", "--fail-on", words]) == code


def test_markdown_is_chip_by_chip_with_each_change_folded(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(cpu=(NODE,), size=1500))
    code = main(["diff", "a", "b", "--markdown"])
    lines = capsys.readouterr().out.splitlines()

    assert code == 5
    assert lines[0] == "<!-- qnnbuild diff -->"
    assert lines[3] == "2 changes, 1 for the worse: more on the CPU 1, bigger 1."
    assert [line for line in lines if line.startswith("#")] == [
        "### Builds: `a` → `b`", "### More on the CPU", "### Bigger",
    ]  # fmt: skip


def test_a_page_goes_where_it_is_asked_to(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(cpu=(NODE,)))
    code = main(["diff", "a", "b", "--html", "-o", "out/d.html"])
    said = capsys.readouterr()

    assert (code, said.out) == (5, "")
    assert "1 of 1 changes are for the worse" in said.err
    assert (sides / "out/d.html").read_text().startswith("<!doctype html>")


def test_data_has_both_sides_and_the_chips(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(sides / "a", manifest())
    written(sides / "b", manifest(size=1500))
    main(["diff", "a", "b", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert (found["before"], found["after"]["name"]) == (
        {"name": "a", "bundles": 1, "unbuilt": []}, "b",
    )  # fmt: skip
    assert found["chips"] == [
        {"chip": "SM8750", "worse": 0, "kinds": {"Bigger": 1}, "bytes": [1000, 1500],
         "compile_seconds": None, "sqnr_db": None},
    ]  # fmt: skip


def test_reports_beside_the_bundles_tell_what_fails(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, told in (("a", Told.of(VAD)), ("b", Told.of(VAD).be(CONTEXT, failed(FAILED)))):
        written(sides / name, manifest())
        (sides / name / "report.html").write_text(page(told.json()))
    code, found = changes(capsys, "a", "b", "--fail-on", "failed")

    assert (code, found) == (5, [["state", "built", "failed", True]])


def test_a_page_that_is_no_report_is_none(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        written(sides / name, manifest())
        (sides / name / "report.html").write_text("<p>Made by hand.</p>")

    assert changes(capsys, "a", "b") == (0, [])


def test_a_build_in_which_all_failed_is_its_report(
    sides: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, told in (("a", Told.of(VAD)), ("b", Told.of(VAD).be(CONTEXT, failed(FAILED)))):
        (sides / name).mkdir()
        (sides / name / "report.html").write_text(page(told.json()))

    assert changes(capsys, "a", "b") == (0, [["state", "built", "failed", False]])
