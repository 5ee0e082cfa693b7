"""What ort_options.yaml says of each option's effect, against the real plugin.

An option of the bytes makes another binary, or another ctx.onnx, with every good value. One that
only matters at run time makes none, where the host's library takes it at all. What the
documentation says wrongly is seen again. All sessions are made once, in one program; each test
reads what came of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest

from qnnbuild.toolchains.ort_options import BY_NAME, Kind, Scope, of_kind
from tests.contract.option_cases import (
    ARCH,
    DUMPS,
    EFFICIENT,
    ERF,
    IGNORED,
    IR,
    LAZY,
    NO_BACKEND,
    NOT_HERE,
    OTHER_BYTES,
    REFUSED,
    REWIND,
    RUNS,
    SAME_BYTES,
    SAVER,
    SCATTER,
    STRICT_BORDERS,
    STRICT_ERF,
    STRICT_OFFLOAD,
    TOO_MUCH,
    UNCHECKED_SCATTER,
    Case,
    every_case,
)
from tests.models import tiny_conv, with_erf
from tests.option_models import (
    that_spills,
    with_float_blocks,
    with_float_borders,
    with_lstm,
    with_scatter_max,
)

pytestmark = pytest.mark.slow(seconds=20)

MODELS = {
    "conv": tiny_conv,
    "lstm": with_lstm,
    "spills": that_spills,
    "borders": with_float_borders,
    "blocks": with_float_blocks,
    "erf": with_erf,
    "scatter": with_scatter_max,
}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Made:
    folder: Path
    told: Mapping[str, Any]

    def log(self, case: Case) -> str:
        said = self.told[case.name]
        return COLOUR.sub("", f"{said['error']}\n{said['log']}")

    def ended_well(self, case: Case) -> bool:
        said = self.told[case.name]
        return not said["error"] and said["crash"] is None

    def files(self, case: Case, pattern: str = "m_ctx*") -> dict[str, bytes]:
        folder = self.folder / case.name
        return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("options")
    for name, make in MODELS.items():
        onnx.save(make(), str(folder / f"{name}.onnx"))
    (folder / "wanted.json").write_text(json.dumps([case.wanted() for case in every_case()]))
    script = Path(__file__).with_name("sessions_with_options.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=300)
    return Made(folder, json.loads((folder / "told.json").read_text()))


def test_every_option_is_seen_here_or_elsewhere_and_says_where():
    seen = {*OTHER_BYTES, *SAME_BYTES, *REFUSED, *RUNS, *DUMPS, *(by for by, _ in DUMPS.values())}
    seen |= {"ep.dynamic.workload_type", "htp_arch", "backend_type"}
    seen |= {"dump_qnn_ir_dlc_dir", "qnn_ir_backend_path"}  # beside dump_qnn_ir_dlc
    here = {
        n for n, o in BY_NAME.items() if o.tested.where == f"tests/contract/{Path(__file__).name}"
    }

    assert here - seen == set()
    assert all((Path(__file__).parents[2] / o.tested.where).exists() for o in BY_NAME.values())


def test_every_option_of_the_bytes_has_a_model_on_which_it_shows():
    of_bytes = {name for name, option in BY_NAME.items() if option.scope is Scope.BYTES}

    assert of_bytes == {*OTHER_BYTES, *NOT_HERE}


def test_every_option_of_the_run_alone_is_given_to_a_compile():
    of_runs = {o.name for o in of_kind(Kind.PROVIDER) if o.scope is Scope.RUN_TIME}

    assert of_runs == {*SAME_BYTES, *REFUSED} & of_runs


@pytest.mark.parametrize("name", OTHER_BYTES)
def test_each_good_value_of_an_option_of_the_bytes_makes_other_bytes(name: str, made: Made):
    sets = [made.files(case) for case in OTHER_BYTES[name]]
    plain = made.files(OTHER_BYTES[name][0].plain)

    assert plain
    assert len({str(sorted(found.items())) for found in [plain, *sets]}) == len(sets) + 1


@pytest.mark.parametrize("name", SAME_BYTES)
def test_an_option_of_the_run_changes_no_byte_of_what_is_compiled(name: str, made: Made):
    for case in SAME_BYTES[name]:
        assert made.ended_well(case), made.log(case)
        assert made.files(case) == made.files(case.plain)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_host_cannot_do_ends_the_session(name: str, made: Made):
    case, said = REFUSED[name]

    assert not made.ended_well(case)
    assert said in made.log(case)


@pytest.mark.parametrize("name", RUNS)
def test_an_option_of_the_run_reaches_the_runtime(name: str, made: Made):
    case, said = RUNS[name]

    assert made.ended_well(case), made.log(case)[-500:]
    assert said in made.log(case)


@pytest.mark.parametrize("folder", DUMPS)
def test_a_dump_is_written_into_its_folder(folder: str, made: Made):
    by, pattern = DUMPS[folder]

    assert made.files(Case(options={by: "1", folder: "d"}), f"d/{pattern}")


def test_the_name_that_the_documentation_has_for_perf_mode_is_passed_over(made: Made):
    assert made.ended_well(IGNORED)
    assert "nonsense" not in made.log(IGNORED)
    assert BY_NAME["qnn.perf_mode"].read_as == "qnn.htp_perf_mode"


def test_a_rewind_is_nothing_of_a_run(made: Made):
    assert made.ended_well(REWIND)
    assert "Genie Execution Not Set" in made.log(REFUSED["kvcache_rewind"][0])


def test_a_workload_type_is_checked_when_it_is_set(made: Made):
    assert made.ended_well(EFFICIENT)
    assert "Invalid EP Workload Type" in made.log(LAZY)


def test_beside_a_soc_model_the_arch_changes_the_metadata_alone(made: Made):
    with_arch, plain = made.files(ARCH), made.files(Case())

    assert with_arch["m_ctx_qnn.bin"] == plain["m_ctx_qnn.bin"]
    assert with_arch["m_ctx.onnx"] != plain["m_ctx.onnx"]


def test_the_plugin_itself_takes_more_vtcm_than_the_chip_has(made: Made):
    assert made.ended_well(TOO_MUCH)
    assert made.files(TOO_MUCH) != made.files(Case())


def test_the_plugin_itself_takes_a_backend_that_does_not_exist(made: Made):
    assert made.ended_well(NO_BACKEND)
    assert "Invalid backend type name: npu" in made.log(NO_BACKEND)
    assert made.files(NO_BACKEND) == made.files(Case())


def test_without_the_cpu_both_values_of_the_borders_option_are_one(made: Made):
    plain = made.files(STRICT_BORDERS)

    assert [made.files(case) for case in STRICT_OFFLOAD] == [plain, plain]
    assert BY_NAME["offload_graph_io_quantization"].standing == "0"


def test_a_node_for_the_cpu_ends_a_session_that_may_not_use_it(made: Made):
    assert made.ended_well(ERF)
    assert "fallback to CPU EP has been explicitly disabled" in made.log(STRICT_ERF)
    assert made.files(STRICT_ERF) == made.files(ERF)  # so its files are no proof of anything


def test_an_operator_that_the_host_does_not_know_comes_into_a_dlc_without_its_check(made: Made):
    assert "failed for node `scatter` of type `ScatterElements`" in made.log(SCATTER)
    assert not made.ended_well(SCATTER)
    assert made.ended_well(UNCHECKED_SCATTER)
    (dlc,) = made.files(UNCHECKED_SCATTER, "d/*.dlc").values()
    assert b"ScatterElements" in dlc or b"scatter" in dlc


def test_other_backends_write_their_files_without_a_context(made: Made):
    assert made.files(SAVER, "saver_output/*")
    assert made.files(IR, "*.dlc")
