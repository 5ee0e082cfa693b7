"""Runs that end with 0 and a binary that is not the one that was asked for."""

from __future__ import annotations

import json

import pytest

from tests.standin.lay_out import NEW, lay_out, turn
from tests.standin.running import Sdk, configured, htp

DEFAULTS = (68, 0, 4, 0)
ASKED = (79, 3, 8, 4)


def asked(where: Sdk, *argv: object, name: str = "m") -> tuple[int, int, int, int]:
    """What comes of a run that must look well."""
    done = where.generate("--binary_file", name, *argv)
    assert (done.rc, done.err) == (0, "")
    assert "ERROR" not in done.out
    assert "WARNING" not in done.out
    return where.settings(f"ctx/{name}.bin")


def test_a_config_that_is_wrapped_and_bound_is_applied(built: Sdk):
    assert asked(built, "--config_file", configured(built, htp())) == ASKED


def test_no_config_is_arch_68_and_nothing_optimised(built: Sdk):
    assert asked(built) == DEFAULTS


def test_a_bare_config_without_its_wrapper_is_ignored(built: Sdk):
    configured(built, htp())

    assert asked(built, "--config_file", "htp.json") == DEFAULTS


def test_a_wrapper_without_a_path_is_ignored(built: Sdk):
    library = {"shared_library_path": "libQnnHtpNetRunExtensions.so"}
    (built.cwd / "ext.json").write_text(json.dumps({"backend_extensions": library}))

    assert asked(built, "--config_file", "ext.json") == DEFAULTS


@pytest.mark.parametrize("names", [["M"], ["m_quantized"], [], ["m.cpp"]])
def test_graph_names_that_do_not_match_bind_nothing(built: Sdk, names):
    assert asked(built, "--config_file", configured(built, htp(names))) == (79, 0, 4, 0)


def test_a_graph_entry_without_names_binds_nothing(built: Sdk):
    config = htp()
    del config["graphs"][0]["graph_names"]

    assert asked(built, "--config_file", configured(built, config)) == (79, 0, 4, 0)


def test_keys_that_are_unknown_or_in_the_wrong_place_are_ignored(built: Sdk):
    config = {
        "graphs": [{"graph_names": ["m"], "o": 3, "vtcm": 8, "dsp_arch": "v79"}],
        "devices": [{"arch": "v79", "vtcm_mb": 8}],
        "O": 3,
    }

    assert asked(built, "--config_file", configured(built, config)) == (68, 2, 4, 4)


def test_the_inner_path_is_relative_to_the_cwd_and_not_to_the_wrapper(built: Sdk):
    folder = built.cwd / "config"
    folder.mkdir()
    other = {**htp(), "devices": [{"dsp_arch": "v75"}]}
    (folder / "near.json").write_text(json.dumps(htp()))
    (built.cwd / "near.json").write_text(json.dumps(other))
    wrapped = {
        "shared_library_path": "libQnnHtpNetRunExtensions.so",
        "config_file_path": "near.json",
    }
    (folder / "ext.json").write_text(json.dumps({"backend_extensions": wrapped}))

    assert asked(built, "--config_file", "config/ext.json") == (75, 3, 8, 4)


def test_without_binary_file_nothing_is_written(built: Sdk):
    done = built.generate("--output_dir", "empty")

    assert (done.rc, done.err) == (0, "")
    assert list((built.cwd / "empty").iterdir()) == []


def test_a_newer_version_ignores_the_old_name_of_the_chip(built: Sdk, tmp_path):
    newer = built._replace(root=lay_out(tmp_path, NEW))
    config = htp()
    config["devices"] = [{"soc_id": 69}]
    outer = configured(built, config)

    assert asked(built, "--config_file", outer, name="old") == ASKED
    assert asked(newer, "--config_file", outer, name="new") == (68, 3, 8, 4)
    assert newer.read_back("ctx/new.bin")["socModel"] == 0


def test_the_chips_number_may_be_lost_while_all_else_is_right(built: Sdk, tools: Sdk):
    turn(tools.root, "soc_model_is_lost", True)

    assert asked(built, "--config_file", configured(built, htp())) == ASKED
    assert built.read_back()["socModel"] == 0


def test_bytes_may_differ_each_time(built: Sdk, tools: Sdk):
    same = [bytes_of(built, name) for name in ("same1", "same2")]
    turn(tools.root, "prepares_differ", True)
    other = [bytes_of(built, name) for name in ("other1", "other2")]

    assert same[0] == same[1]
    assert other[0] != other[1]


def test_vtcm_0_is_all_that_the_chip_has_and_only_where_it_is_known(built: Sdk):
    config = htp()
    config["graphs"][0]["vtcm_mb"] = 0
    known = asked(built, "--config_file", configured(built, config))
    config["devices"] = [{"dsp_arch": "v79"}]
    unknown = asked(built, "--config_file", configured(built, config))

    assert (known[2], unknown[2]) == (8, 4)


def bytes_of(where: Sdk, name: str) -> bytes:
    assert where.generate("--binary_file", name).rc == 0
    return (where.cwd / f"ctx/{name}.bin").read_bytes()
