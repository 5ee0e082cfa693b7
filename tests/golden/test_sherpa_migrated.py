"""Command lines of all 13 families, printed as a shell script and migrated, give the same plan."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from qnnbuild import cli
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.session import Session, open_session
from qnnbuild.toolchains.qairt_convert import command
from qnnbuild.toolchains.qairt_htp import compile_part, run_part
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_options import LIBRARY, given

SHERPA = Path(__file__).parents[2] / "recipes" / "sherpa"
VERSION = "2.40"
FAMILIES = (
    *("sense-voice", "paraformer", "zipformer-ctc", "zipformer-transducer"),
    *("streaming-zipformer-transducer", "x-asr", "parakeet-ctc", "whisper", "parakeet-tdt-ctc"),
    *("parakeet-tdt", "nemotron-en", "nemotron-3.5", "moonshine"),
)
Networks = tuple[str, ...]


@cache
def session() -> Session:
    return open_session(SHERPA)


def chosen(family: str) -> dict[Networks, list[Target]]:
    """One variant for each set of networks that a family has, with all of its chips."""
    found: dict[Networks, list[Target]] = {}
    for target in session().targets:
        if target.model == family:
            networks = tuple(graph.name for graph in target.graphs)
            some = found.setdefault(networks, [])
            if not some or some[0].variant == target.variant:
                some.append(target)
    return found


CASES = [(family, networks) for family in FAMILIES for networks in chosen(family)]


def lines(targets: list[Target], folder: Path) -> Iterator[str]:
    """The three tools' command lines, as somebody has them in a script."""
    yield f"export QNN_SDK_ROOT=/opt/qairt/{VERSION}.0.251030"
    for graph in targets[0].graphs:
        stem = names_of(graph).stem
        words = [w.replace("{in.model}/model.onnx", f"onnx/{stem}.onnx") for w in command(graph)]
        words = [word.replace("{out.model}", "quant") for word in words]
        yield shlex.join(["qnn-onnx-converter", *words])
        library = "python3 $QNN_SDK_ROOT/bin/qnn-model-lib-generator"
        yield f"{library} -c {stem}.cpp -b {stem}.bin -o libs"
        for target in targets:
            yield context_line(graph, target, folder)


def context_line(graph: Graph, target: Target, folder: Path) -> str:
    stem, chip = names_of(graph).stem, target.chip.name
    htp = compile_part([graph], target.chip, VERSION)
    (cores,) = cast(list[dict[str, Json]], run_part(graph)["devices"])
    (device,) = cast(list[dict[str, Json]], htp["devices"])
    htp["devices"] = [{**device, **cores}]
    (folder / f"{stem}-{chip}.json").write_text(json.dumps(htp))
    around = {"backend_extensions": {"config_file_path": f"{stem}-{chip}.json"}}
    (folder / f"{stem}-{chip}-around.json").write_text(json.dumps(around))
    return (
        "qnn-context-binary-generator --backend libQnnHtp.so "
        f"--model libs/x86_64-linux-clang/lib{stem}.so --binary_file {stem} "
        f"--output_dir {chip} --config_file {stem}-{chip}-around.json"
    )


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Networks], Session]:
    found = {}
    for family, networks in CASES:
        folder = tmp_path_factory.mktemp("family")
        script = folder / f"{family}.sh"
        script.write_text("\n".join(lines(chosen(family)[networks], folder)) + "\n")
        code = cli.main(["migrate", str(script), "--to", str(folder / "repo"), "--json"])
        assert code == 0
        found[family, networks] = open_session(folder / "repo")
    return found


def converters(session: Session, target: Target) -> set[tuple[str, ...]]:
    """Of the plan's own actions, those that convert the target's graphs."""
    wanted = {command(graph) for graph in target.graphs}
    planned = {
        tuple(map(str, argv))
        for action in session.plan
        if action.step == "convert" and isinstance(argv := action.params.get("argv"), list)
    }
    assert wanted <= planned
    return wanted


@pytest.mark.parametrize(("family", "networks"), CASES)
def test_every_converter_is_called_as_before_flag_by_flag(
    family: str, networks: Networks, migrated: dict[tuple[str, Networks], Session]
) -> None:
    new = migrated[family, networks]
    old = chosen(family)[networks][0]

    assert converters(new, new.targets[0]) == converters(session(), old)


@pytest.mark.parametrize(("family", "networks"), CASES)
def test_every_chip_is_compiled_for_as_before(
    family: str, networks: Networks, migrated: dict[tuple[str, Networks], Session]
) -> None:
    new, old = migrated[family, networks].targets, chosen(family)[networks]

    assert {t.chip.soc_model: asked(t) for t in new} == {t.chip.soc_model: asked(t) for t in old}
    assert len(new) == len(old)


def asked(target: Target) -> list[object]:
    """What a compile is asked for, what only a device reads, and libraries, graph by graph."""
    return [
        [compile_part([graph], target.chip, VERSION), run_part(graph), given(graph, LIBRARY)]
        for graph in target.graphs
    ]
