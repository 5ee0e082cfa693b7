"""Every option of the data: good values pass; a bad one, a missing partner, a conflict, an old
version, a chip or a system without it are each refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from qnnbuild.errors import Problem, Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Chip, ContextOptions, FileSource, Graph, Scalar
from qnnbuild.toolchains.ort_option_checks import option_problems, systems_of
from qnnbuild.toolchains.ort_options import BY_NAME, Option, Partner, settable
from qnnbuild.toolchains.ort_versions import Versions

CHIPS = packaged_chips()
PHONE = CHIPS["SM8750"]
NEWEST = CHIPS["SC8480XP"]  # v81, of PCs, bf16
AT = Span(file="recipes/vad.yaml", line=9, column=12)
NEW = Versions(plugin="2.7.0", qairt="2.51.0", qnn_api="2.40.0")
OLD = Versions(plugin="1.0", qairt="2.10", qnn_api="2.1")
EMBEDDED = ContextOptions(embed=True)

SETTABLE = settable()
ELSEWHERE = [option for option in BY_NAME.values() if not option.settable]
OF_OTHERS = {"genie_log_level"}  # of a backend that no recipe compiles for


def name_of(option: Option) -> str:
    return option.name


def graph(
    options: Mapping[str, Scalar], *, fallback: str = "refuse", dumps: tuple[str, ...] = ()
) -> Graph:
    return Graph(
        name="vad",
        dumps=dumps,
        source=FileSource(file="vad.onnx"),
        cpu_fallback=fallback,
        options={"ort": options},
        places={f"options.ort.{name}": AT for name in options},
    )


def problems(
    options: Mapping[str, Scalar],
    chip: Chip = PHONE,
    *,
    fallback: str = "refuse",
    dumps: tuple[str, ...] = (),
    context: ContextOptions | None = None,
    versions: Versions = NEW,
) -> list[Problem]:
    wanted = graph(options, fallback=fallback, dumps=dumps)
    return list(option_problems(wanted, chip, context or ContextOptions(), versions))


def messages(options: Mapping[str, Scalar], chip: Chip = PHONE, **how: str) -> list[str]:
    return [problem.message for problem in problems(options, chip, **how)]  # type: ignore[arg-type]


def good_values(option: Option) -> Iterator[Scalar]:
    if option.form == "switch":
        yield from (0, 1, False, True)
    elif option.form == "choice":
        yield from (int(value) if value.isdecimal() else value for value in option.values)
    elif option.form == "number":
        yield from {max(option.low, 1), 2, min(option.high or 8, 8)}
    else:
        yield "a/file.csv"


def bad_values(option: Option) -> Iterator[Scalar]:
    if option.form == "switch":
        yield from (2, "fast", 0.5)
    elif option.form == "choice":
        yield from (9, "nonsense", 0.5, True)
    elif option.form == "number":
        yield from (option.low - 1, "abc", 1.5, True)
        if option.high is not None:
            yield option.high + 1
    else:
        yield from (7, "", True)


def with_partners(option: Option, value: Scalar) -> dict[str, Scalar]:
    """The option, and beside it what it needs of others that can be set."""
    needed = {p.name: p.values[0] for p in option.needs if BY_NAME[p.name].settable}
    return {**needed, option.name: value}


@pytest.mark.parametrize("option", SETTABLE, ids=name_of)
def test_each_good_value_passes_on_a_chip_and_system_that_have_it(option: Option):
    if option.name in OF_OTHERS:
        return
    fallback = "allow" if "session.disable_cpu_ep_fallback" in _names(option.needs) else "refuse"
    dumps = ("dlc",) if "dump_qnn_ir_dlc" in _names(option.needs) else ()
    for value in good_values(option):
        given = with_partners(option, value)
        assert problems(given, NEWEST, fallback=fallback, dumps=dumps) == []


@pytest.mark.parametrize("option", SETTABLE, ids=name_of)
def test_each_bad_value_is_refused_where_it_stands(option: Option):
    for value in bad_values(option):
        (problem,) = problems({option.name: value}, NEWEST)
        assert problem.message.startswith(f"{option.name}: {value!r} is "), problem.message
        assert problem.at == AT
        assert problem.hint


@pytest.mark.parametrize("option", ELSEWHERE, ids=name_of)
def test_an_option_that_is_said_another_way_is_refused_with_that_way(option: Option):
    (problem,) = problems({option.name: 1})

    assert (problem.message, problem.hint) == (
        f"{option.name} is not an option here",
        option.said_by,
    )
    assert problem.at == AT


@pytest.mark.parametrize(
    ("option", "partner"),
    [(option, partner) for option in SETTABLE for partner in option.needs],
    ids=lambda one: one.name,
)
def test_a_missing_partner_is_told_with_what_to_write(option: Option, partner: Partner):
    value = next(v for v in good_values(option) if _counts(option, partner, v))

    (problem,) = problems({option.name: value}, NEWEST)

    assert problem.message.startswith(f"{option.name}: ")
    assert problem.message.endswith(f"does nothing here: {partner.why}")
    assert problem.facts[0][0] == partner.name
    assert problem.hint == partner.hint


@pytest.mark.parametrize(
    ("option", "partner"),
    [(option, partner) for option in SETTABLE for partner in option.excludes],
    ids=lambda one: one.name,
)
def test_a_conflict_is_told_with_the_other(option: Option, partner: Partner):
    value = next(v for v in good_values(option) if _counts(option, partner, v))
    given: dict[str, Scalar] = {option.name: value}
    context = ContextOptions(embed=partner.name == "ep.context_embed_mode")
    if BY_NAME[partner.name].settable:
        given[partner.name] = partner.values[0]

    found = problems(given, NEWEST, context=context)

    assert partner.hint in [problem.hint for problem in found]
    assert any(problem.message.endswith(f": {partner.why}") for problem in found)


@pytest.mark.parametrize(
    "option", [option for option in SETTABLE if any(option.since.said)], ids=name_of
)
def test_a_plugin_without_the_option_is_told_with_both_versions(option: Option):
    value = next(
        v for v in good_values(option) if str(int(v) if v is True else v) != option.default
    )
    found = problems(with_partners(option, value), NEWEST, versions=OLD)

    assert any(" needs " in p.message and " is installed" in p.message for p in found)


def test_what_a_recipe_says_another_way_may_be_too_new_as_well():
    old = replace(NEW, plugin="2.3.0")

    (problem,) = problems({}, dumps=("qnn_graph", "op_trace"), versions=old)

    assert problem.message == "dumps: [op_trace] needs onnxruntime-qnn 2.4; 2.3.0 is installed"
    assert problems({}, dumps=("qnn_graph", "op_trace")) == []


def test_a_value_may_be_younger_than_its_option():
    old = replace(NEW, qairt="2.38.0")

    (problem,) = problems({"profiling_level": "optrace"}, versions=old)

    assert problem.message == "profiling_level: optrace needs QAIRT 2.39; 2.38.0 is installed"
    assert problems({"profiling_level": "basic"}, versions=old) == []


@pytest.mark.parametrize(
    "option",
    [o for o in SETTABLE if o.hosts and "android-arm64" not in o.hosts and o.name not in OF_OTHERS],
    ids=name_of,
)
def test_an_option_of_other_systems_is_refused_for_a_phone(option: Option):
    value = next(v for v in good_values(option) if str(int(v)) != option.default)

    (problem,) = problems({option.name: value})

    where = " or ".join(option.hosts)
    assert problem.message == f"{option.name} works on {where} only; SM8750 runs android-arm64"
    assert problem.facts == (("SM8750", "a chip of phones"),)


@pytest.mark.parametrize("option", [o for o in SETTABLE if o.min_arch is not None], ids=name_of)
def test_an_option_of_newer_chips_is_refused_on_each_older_one(option: Option):
    assert option.min_arch is not None
    for chip in CHIPS:
        found = messages({option.name: 1}, chip)
        too_old = f"{option.name} needs HTP v{option.min_arch}; {chip.name} has v{chip.arch}"
        assert found == ([too_old] if chip.arch < option.min_arch else [])
    assert messages({option.name: 0}, CHIPS["SM8550"]) == []


def test_a_chip_has_no_more_vtcm_than_it_has():
    for chip in CHIPS:
        assert messages({"vtcm_mb": chip.vtcm_mb}, chip) == []
        assert messages({"vtcm_mb": chip.vtcm_mb + 1}, chip) == [
            f"vtcm_mb: {chip.vtcm_mb + 1} is more than {chip.name} has"
        ]


def test_an_option_of_a_backend_that_is_not_compiled_for_is_refused():
    assert messages({"genie_log_level": "info"}, NEWEST) == [
        "genie_log_level is for genie; the graph runs on htp"
    ]


def test_a_default_that_is_written_out_asks_for_nothing():
    assert problems({"genie_log_level": "error", "extended_udma": 0}, versions=OLD) == []
    assert problems({"enable_vtcm_backup_buffer_sharing": 0}, context=EMBEDDED) == []


def test_an_unknown_option_is_told_with_the_nearest_one():
    (problem,) = problems({"vtcm_md": 4})

    assert problem.message == "the toolchain ort has no option 'vtcm_md'"
    assert problem.hint == "did you mean 'vtcm_mb'?"


def test_an_option_like_none_is_told_with_all_of_them():
    (problem,) = problems({"zzz": 4})

    assert problem.hint == f"all options: {', '.join(option.name for option in SETTABLE)}"


def test_a_mistyped_value_is_told_with_the_nearest_one():
    (problem,) = problems({"htp_performance_mode": "brust"})

    assert problem.hint == "did you mean 'burst'?"


@pytest.mark.parametrize(("word", "hint"), [("yes", "write true"), ("Off", "write false")])
def test_other_words_for_a_switch_are_told_as_true_and_false(word: str, hint: str):
    (problem,) = problems({"enable_htp_spill_fill_buffer": word})

    assert problem.hint == hint


def test_systems_come_from_a_chips_market():
    assert systems_of(PHONE) == ("android-arm64",)
    assert systems_of(replace(PHONE, tags=())) == ()
    assert problems({"disable_file_mapped_weights": 1}, replace(PHONE, tags=())) == []


def _counts(option: Option, partner: Partner, value: Scalar) -> bool:
    text = str(int(value)) if option.form == "switch" else str(value)
    return text in partner.when if partner.when else text != option.default


def _names(partners: tuple[Partner, ...]) -> set[str]:
    return {partner.name for partner in partners}
