"""docs/operators.md, out of docs/atlas.json and the package's own data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.work import operators, plugin_fusions
from tools.atlas.assemble import ROOT, Row, fused_of, on_of, why_of
from tools.atlas.models import FORMS

PAGE = ROOT / "docs" / "operators.md"
SAME = 999
POOR_DB = 20.0


def page(atlas: Mapping[str, Any]) -> str:
    return "\n".join(_parts(atlas)) + "\n"


def _parts(atlas: Mapping[str, Any]) -> Iterator[str]:
    archs = sorted(atlas["chips"].values())
    rows = [row for row in atlas["cases"] if "fused" not in row]
    yield from _head(atlas, archs)
    yield from _counts(rows, archs)
    yield from _rates(atlas)
    yield from _wrong(rows, archs)
    yield from _differs(atlas["cases"], archs)
    yield from _poor(atlas["cases"])
    yield from _operators(rows, archs)
    yield from _fusions(atlas["cases"], archs)
    yield from _reasons(rows, archs)


def _head(atlas: Mapping[str, Any], archs: Sequence[int]) -> Iterator[str]:
    chips = ", ".join(f"{chip} (v{arch})" for chip, arch in atlas["chips"].items())
    tools = ", ".join(f"{name} {version}" for name, version in atlas["tools"].items())
    yield "# What the NPU takes"
    yield ""
    yield "One tiny model for each operator and fusion that the QNN execution provider documents, and one more for each"
    yield "condition that it names, compiled with the real plugin for one chip of each HTP generation. `make atlas` measures"
    yield "and writes this page; a test compares the page with `docs/atlas.json`, another compiles a few cases anew."
    yield ""
    yield f"- Tools: {tools}. Chips: {chips}; all of them have fp16."
    yield f"- {len(atlas['cases'])} cases × {len(archs)} generations. `qnnbuild check --operators` and prepare tell by these data what will"
    yield "  run on the CPU."
    yield "- What a case cannot show: other shapes, other attributes, and a device. Numbers are the emulator's."
    yield ""


def _plain(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Documented operator → its plain cases; where there is none, those of its variants."""
    documented = [name for name, row in operators.table().items() if row.documented]
    found: dict[str, list[Row]] = {}
    for name in documented:
        mine = [row for row in rows if row["name"] == name]
        found[name] = [row for row in mine if not row["variant"]] or mine
    return found


def _counts(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    plain = _plain(rows)
    yield "## How many compile"
    yield ""
    yield f"Of {len(plain)} documented operators, those that are taken whole in any form, and form by form of those that have it:"
    yield ""
    forms = ("f32", "f16", "i32", "a8", "a16")
    yield f"| generation | any | {' | '.join(forms)} |"
    yield f"|---|---|{'---|' * len(forms)}"
    for arch in archs:
        taken = sum(any(on_of(row, arch) == "npu" for row in mine) for mine in plain.values())
        cells = []
        for form in forms:
            has = [[r for r in mine if r["form"] == form] for mine in plain.values()]
            has = [mine for mine in has if mine]
            count = sum(any(on_of(row, arch) == "npu" for row in mine) for mine in has)
            cells.append(f"{count} of {len(has)}")
        yield f"| v{arch} | {taken} of {len(plain)} | {' | '.join(cells)} |"
    never = {
        name: {on_of(row, arch) for row in mine for arch in archs} for name, mine in plain.items()
    }
    folded = [name for name, on in never.items() if on == {"folded"}]
    none = [name for name, on in never.items() if on <= {"cpu", "fails"}]
    yield ""
    yield f"Never taken: {', '.join(map(_short, none))}. Gone before the plugin looks: {', '.join(map(_short, folded))}."
    yield "ConvInteger, MatMulInteger and DynamicQuantizeLinear are taken inside their patterns, see Fusions."
    yield ""


def _rates(atlas: Mapping[str, Any]) -> Iterator[str]:
    yield "## How good the prediction is"
    yield ""
    yield "“Falls to the CPU”: precision is how many of those foretold did, recall how many of those that did were foretold."
    yield ""
    yield "none: nothing fell and nothing was foretold. The prediction is made of the atlas, so its rate there says only that little"
    yield "is lost on the way; real models are those of this repo, compared node by node and fusion by fusion with an op trace."
    yield ""
    yield "| what | nodes or cases | on the CPU: precision | recall | fusions: precision | recall |"
    yield "|---|---|---|---|---|---|"
    for row in atlas.get("rates", ()):
        yield f"| {row['what']} | {row['of']} | {_of(row, 'cpu')} | {_of(row, 'fusions')} |"
    yield ""


def _of(row: Mapping[str, Any], kind: str) -> str:
    """ "95% (19 of 20) | 100% (19 of 19)"."""
    if kind not in row:
        return "|"
    hits, false_alarms, missed, _ = row[kind]
    parts = []
    for others in (false_alarms, missed):
        whole = hits + others
        parts.append(f"{hits / whole:.0%} ({hits} of {whole})" if whole else "none")
    return " | ".join(parts)


def _wrong(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    yield "## Where the documentation says otherwise, or too little"
    yield ""
    yield "**wrong**: it is listed and never taken, or the other way round. The rest it lists without naming the types or the"
    yield "condition. Only floats and quantized forms are here; of other types the documentation does not speak."
    yield ""
    yield "| operator | case | form | documentation | measured | why |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        wrong = [arch for arch in archs if is_wrong(row, arch)]
        if wrong and row["form"] in ("f32", "a8", "a16"):
            on = f"{on_of(row, wrong[-1])}{_where(wrong, archs)}"
            why = why_of(row, wrong[-1])
            said = _said(row, rows, archs)
            yield f"| {_short(row['name'])} | {row['variant']} | {row['form']} | {said} | {on} | {_cell(why)} |"
    yield ""


def _said(row: Row, rows: Sequence[Row], archs: Sequence[int]) -> str:
    if row["claim"] == "cpu":
        return "not on the HTP: **wrong**"
    if row["variant"] and row["name"] != "ai.onnx:Cast":
        return "listed, without this condition"
    plain = [one for one in rows if one["name"] == row["name"] and not one["variant"]]
    taken = any(on_of(one, arch) == "npu" for one in plain for arch in archs)
    return "listed, without types" if taken or row["variant"] else "listed: **wrong**"


def is_wrong(row: Row, arch: int) -> bool:
    on = on_of(row, arch)
    if row["claim"] == "npu":
        return on in ("cpu", "fails")
    return row["claim"] == "cpu" and on == "npu"


def _where(some: Sequence[int], archs: Sequence[int]) -> str:
    return "" if list(some) == list(archs) else f" on {', '.join(f'v{arch}' for arch in some)}"


def _differs(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    yield "## Where generations differ"
    yield ""
    differing = [row for row in rows if not isinstance(row["on"], str)]
    if not differing:
        yield "Nowhere. On a host the plugin asks one table for all chips whether it takes an operator. Its documentation says as"
        yield "much of `skip_backend_op_validation`: it turns down some that newer chips have, ScatterElements with a maximum for one."
        yield "So a refusal here is this compiler's, not always the chip's; what chips differ in is fp16, memory and threads."
    else:
        yield "| operator or fusion | case | form | taken by | why not |"
        yield "|---|---|---|---|---|"
    for row in differing:
        taken = [arch for arch in archs if on_of(row, arch) in ("npu", "folded")]
        other = next((arch for arch in archs if arch not in taken), archs[0])
        by = ", ".join(f"v{arch}" for arch in taken) or "none"
        yield f"| {_short(row['name'])} | {row['variant']} | {row['form']} | {by} | {_cell(why_of(row, other))} |"
    yield ""


def _poor(rows: Sequence[Row]) -> Iterator[str]:
    yield "## Taken, and other numbers"
    yield ""
    yield f"Below {POOR_DB:.0f} dB on the emulator, with its default options. Ties (TopK, comparisons) and casts of numbers that the"
    yield "type cannot hold are no faults; the others compile without a word and are wrong: a bar of `verify:` finds them."
    yield ""
    yield "| operator or fusion | case | form | dB |"
    yield "|---|---|---|---|"
    for row in rows:
        if row.get("quality", SAME) < POOR_DB:
            yield f"| {_short(row['name'])} | {row['variant']} | {row['form']} | {row['quality']:.1f} |"
    yield ""


def _operators(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    yield "## Operators"
    yield ""
    yield "✓ taken by all generations, v73… by these only, – by none, 💥 no session at all, ○ ONNX Runtime leaves no node of it,"
    yield "empty: not tried. The number is the emulator's quality in dB against the CPU, = the same numbers. “not” in the second"
    yield "column: the documentation says that it does not go."
    yield ""
    yield f"| operator | case | {' | '.join(FORMS)} |"
    yield f"|---|---|{'---|' * len(FORMS)}"
    for (name, variant), mine in _grouped(rows).items():
        cells = [_told(mine.get(form), archs) for form in FORMS]
        claims = {row["claim"] for row in mine.values()}
        case = f"{variant} (not)" if claims == {"cpu"} else variant
        yield f"| {_short(name)} | {case.strip()} | {' | '.join(cells)} |"
    yield ""


def _grouped(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["name"], row["variant"]), {})[row["form"]] = row
    return dict(sorted(found.items()))


def _told(row: Row | None, archs: Sequence[int]) -> str:
    if row is None:
        return ""
    on = {arch: on_of(row, arch) for arch in archs}
    if set(on.values()) == {"folded"}:
        return "○"
    taken = [arch for arch in archs if on[arch] in ("npu", "folded")]
    if not taken:
        return "💥" if set(on.values()) == {"fails"} else "–"
    mark = "✓" if len(taken) == len(archs) else " ".join(f"v{arch}" for arch in taken)
    return f"{mark} {_quality(row)}".strip()


def _quality(row: Row) -> str:
    quality = row.get("quality")
    if quality is None:
        return ""
    if quality >= SAME:
        return "="
    return f"**{quality:.0f}**" if quality < POOR_DB else f"{quality:.0f}"


def _fusions(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    yield "## Fusions"
    yield ""
    yield "What the plugin names in its trace; “by ONNX Runtime” are those that the graph has been rewritten by before."
    yield ""
    for fusion in plugin_fusions.table():
        mine = [row for row in rows if row["name"] == fusion.name and "fused" in row]
        listed = "" if fusion.documented else " (undocumented)"
        by = {"plugin": "", "onnxruntime": " — by ONNX Runtime", "nobody": " — never seen"}[
            fusion.by
        ]
        yield f"- **{fusion.name}**{listed}{by}: {fusion.pattern}. {fusion.note}".rstrip()
        for row in mine:
            if fusion.by == "onnxruntime" and row["form"] not in fusion.forms:
                continue
            seen = sorted({kind for arch in archs for kind in fused_of(row, arch)})
            what = ", ".join(seen) or "nothing is fused by the plugin"
            on = sorted({on_of(row, arch) for arch in archs})
            asked = row["variant"] or "as documented"
            yield f"  - {asked}, {row['form']}: {what}; {'/'.join(on)}"
    yield ""


def _reasons(rows: Sequence[Row], archs: Sequence[int]) -> Iterator[str]:
    yield "## Why not"
    yield ""
    yield "| operator | case | forms | the plugin says |"
    yield "|---|---|---|---|"
    for (name, variant), mine in _grouped(rows).items():
        by_why: dict[str, list[str]] = {}
        for form, row in mine.items():
            whys = [why_of(row, arch) for arch in archs if on_of(row, arch) in ("cpu", "fails")]
            if whys:
                by_why.setdefault(whys[-1], []).append(form)
        for why, forms in by_why.items():
            yield f"| {_short(name)} | {variant} | {' '.join(forms)} | {_cell(why)} |"


def _short(name: str) -> str:
    return name.removeprefix("ai.onnx:")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
