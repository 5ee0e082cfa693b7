"""context for Qualcomm's SDK: libraries compiled for a chip, then read back.

What makes this tool dangerous is what it does without a word: settings in a file that it does not
find, or for a graph of another name, do not count, and it ends well with a binary for HTP v68. So
whatever was asked for is looked for in the binary.

No host runs a binary with shared weights: the HTP's library calls a function then that it has on a
device only, and dies. So each of the graphs is compiled alone, too: that is run, and it measures
what sharing saves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.formats.context_binary import (
    ContextFacts,
    may_be_context_binary,
    read_context_binary,
)
from qnnbuild.formats.context_json import BorderTensor, ReadContext, ReadGraph, read_context_json
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version
from qnnbuild.work.qairt_border import border
from qnnbuild.work.qairt_convert import sdk_name
from qnnbuild.work.qairt_dlcs import dlc_of, named, operators_of
from qnnbuild.work.qairt_sdk import HOST, Ended, Sdk, run_tool, sdk_here, version_of
from qnnbuild.work.run import Run, WorkError

GENERATOR = f"{{sdk}}/bin/{HOST}/qnn-context-binary-generator"
UTILITY = f"{{sdk}}/bin/{HOST}/qnn-context-binary-utility"
LIBRARIES = f"{{sdk}}/lib/{HOST}"
EXTENSIONS = "libQnnHtpNetRunExtensions.so"

FOLDER = Path("htp")
OUTER, INNER = "htp_backend_extensions.json", "htp_config.json"
OUTER_PATH = (FOLDER / OUTER).as_posix()
READ = Path("context.json")

LITTLE = 0.05
"""Two graphs without a weight in common save this much and less: what each binary has once."""

NOT_TAKEN = ("Unused Argument", "Invalid key:")
"""What it says of words and keys that it passes over."""

NOT_GOOD = 5


def context(run: Run) -> None:
    """Inputs "library", or "library-<stem>" of each, → outputs "context" and "facts".

    `params`: binary (its stem), members ([{stem, graph, reads_back, orders}]: orders are of
    dimensions that the recipe moves on the way into a DLC), htp (what its own file says),
    extensions (what stands around it), soc_model, arch. With `dlc` inputs are "model", or
    "model-<stem>" of each. Of several graphs each has its own two "alone", and they are in "alone"
    and "alone-facts", too.
    """
    sdk = sdk_here()
    run = named(run, version_of(sdk))
    members: Sequence[Mapping[str, Any]] = run.params["members"]
    asked = Asked(binary=run.params["binary"], members=members, said=run.params)
    alone = {
        member["stem"]: _compiled(
            run,
            sdk,
            Asked(binary=member["stem"], members=[member], said=member["alone"], out="alone"),
        )
        for member in members
        if "alone" in member
    }
    path = _compiled(run, sdk, asked, sizes={stem: p.stat().st_size for stem, p in alone.items()})
    if alone:
        _check_saving(run, path, alone)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One binary. `out` has it, and `<out>-facts` or "facts" what was read back of it."""

    binary: str
    members: Sequence[Mapping[str, Any]]
    said: Mapping[str, Any]  # htp and extensions
    out: str = "context"


def _compiled(run: Run, sdk: Sdk, asked: Asked, sizes: Mapping[str, int] | None = None) -> Path:
    """The binary, read back. `sizes` are those of its graphs' own binaries."""
    members = asked.members
    write_htp_files(sdk, asked.said["htp"], asked.said.get("extensions", {}))
    argv = [GENERATOR, *words(asked, _models(run, members))]
    argv += ["--op_packages", run.params["op_packages"]] if "op_packages" in run.params else []
    ended = run_tool(run, sdk, argv)
    path = run.outputs[asked.out] / f"{asked.binary}.bin"
    check_taken(ended)
    _check_there(ended, path)
    found = read_back(run, sdk, path)
    _check(run, members, found, ended, version_of(sdk))
    own = _own_reading(run, path)
    if own is not None and (wrong := [*_own_wrong(run.params, members, own, version_of(sdk))]):
        raise _not_applied(ended, wrong)
    told = run.outputs["facts" if asked.out == "context" else f"{asked.out}-facts"]
    for member in members:
        facts = _facts(run, member, found, path, asked.said["htp"])
        if sizes:
            facts["shared"] = _shared(member["stem"], path, sizes)
        text = json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True)
        (told / f"{member['stem']}.json").write_text(text + "\n", encoding="utf-8")
    return path


def words(asked: Asked, models: Sequence[str]) -> list[str]:
    """The generator's words, but for operators of one's own; `models` names what it loads."""
    out = ["--output_dir", f"{{out.{asked.out}}}", "--binary_file", asked.binary]
    return ["--backend", f"{LIBRARIES}/libQnnHtp.so", *models, *out, "--config_file", OUTER_PATH]


def _shared(stem: str, path: Path, sizes: Mapping[str, int]) -> dict[str, Any]:
    size = path.stat().st_size
    return {
        "with": [other for other in sizes if other != stem],
        "binary": path.name,
        "bytes": size,
        "alone_bytes": dict(sizes),
        "saved_bytes": sum(sizes.values()) - size,
    }


def _check_saving(run: Run, path: Path, alone: Mapping[str, Path]) -> None:
    each = sum(one.stat().st_size for one in alone.values())
    saved = each - path.stat().st_size
    if saved < LITTLE * each:
        run.warn(
            f"sharing weights saves {saved} of {each} bytes: the graphs have hardly any in common",
            place="context.share_weights",
        )


def write_htp_files(
    sdk: Sdk, htp: Mapping[str, Any], around: Mapping[str, Any] | None = None
) -> None:
    """Two files: the HTP's own, and the one that names it, by absolute paths.

    A relative one is looked for from wherever the tool runs, and its absence told by nobody.
    """
    FOLDER.mkdir(exist_ok=True)
    inner = (FOLDER / INNER).resolve()
    inner.write_text(json.dumps(htp, indent=4) + "\n", encoding="utf-8")
    outer = {
        "backend_extensions": {
            "shared_library_path": str(sdk.root / "lib" / HOST / EXTENSIONS),
            "config_file_path": str(inner),
        },
        **(around or {}),
    }
    (FOLDER / OUTER).write_text(json.dumps(outer, indent=4) + "\n", encoding="utf-8")


def _models(run: Run, members: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is compiled: libraries, or DLCs, which one library of the SDK loads."""
    if run.params.get("dlc"):
        dlcs = ",".join(dlc_of(run, member["stem"]).as_posix() for member in members)
        return ["--model", f"{LIBRARIES}/libQnnModelDlc.so", "--dlc_path", dlcs]
    return ["--model", ",".join(_library(run, member["stem"]) for member in members)]


def _input_of(run: Run, stem: str) -> str:
    return "library" if "library" in run.inputs else f"library-{stem}"


def _library(run: Run, stem: str) -> str:
    """The only library for this host; its own name is the graph's, which the stem may go beyond."""
    folder = run.inputs[_input_of(run, stem)] / HOST
    files = [path for path in sorted(folder.iterdir()) if path.suffix == ".so"]
    if len(files) != 1:
        raise WorkError(f"{len(files)} libraries for {HOST} where one belongs")
    return files[0].as_posix()


def check_taken(ended: Ended, who: str = "the SDK's compiler") -> None:
    """No word and no key was passed over."""
    for line in ended.lines:
        if any(word in line for word in NOT_TAKEN):
            raise ended.failure(
                f"{who} passed over what it was told: {line.strip()}",
                place="options",
                exit_code=NOT_GOOD,
            )


def _check_there(ended: Ended, path: Path) -> None:
    if not path.is_file() or not path.stat().st_size:
        raise ended.failure(
            f"qnn-context-binary-generator ended well and wrote no {path.name}", exit_code=NOT_GOOD
        )


def read_back(run: Run, sdk: Sdk, path: Path) -> ReadContext:
    """What the SDK's own reader says of a binary."""
    READ.unlink(missing_ok=True)
    argv = [UTILITY, "--context_binary", path.as_posix(), "--json_file", READ.as_posix()]
    ended = run_tool(run, sdk, argv)
    if not READ.is_file():
        raise ended.failure("qnn-context-binary-utility ended well and wrote nothing", exit_code=5)
    try:
        return read_context_json(READ.read_text(encoding="utf-8"))
    except (FormatError, UnicodeDecodeError) as error:
        raise ended.failure(
            f"what the utility says of the binary cannot be read: {error}", exit_code=NOT_GOOD
        ) from None


def _own_reading(run: Run, path: Path) -> ContextFacts | None:
    """What our own reader finds; None for a form that it does not know.

    It knows the files of few versions, and the SDK's own utility has read this one: what it cannot
    read it only tells. What it can read counts.
    """
    data = memoryview(path.read_bytes())
    if not may_be_context_binary(data):
        return None
    try:
        return read_context_binary(data)
    except FormatError as error:
        run.warn(
            f"{path.name} cannot be read here ({error}): what the SDK's own utility says of it is "
            "checked alone",
            place="toolchain",
        )
        return None


def _own_wrong(
    params: Mapping[str, Any],
    members: Sequence[Mapping[str, Any]],
    own: ContextFacts,
    version: str,
) -> Iterator[tuple[str, str]]:
    """The binary's own bytes, where the utility may only say what it was told. None: not in it."""
    if own.arch not in (None, params["arch"]):
        yield "HTP in the file", f"v{own.arch}, asked for v{params['arch']}"
    wanted = sorted(member["graph"] for member in members)
    inside = sorted(graph.name for graph in own.graphs)
    if inside and inside != wanted:
        yield "graphs in the file", f"{', '.join(inside)}, asked for {', '.join(wanted)}"
    if own.sdk_build is not None and not same_version(version, own.sdk_build):
        yield "SDK in the file", f"{own.sdk_build}, asked for {version}"
    for name, found in (("O", _whole(own.settings.get("O"))), ("vtcm_mb", own.vtcm_mb)):
        asked = sorted({member["reads_back"][name] for member in members})
        if found is not None and asked != [found]:
            yield f"{name} in the file", f"{found:g}, asked for {', '.join(map(str, asked))}"


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _check(
    run: Run,
    members: Sequence[Mapping[str, Any]],
    found: ReadContext,
    ended: Ended,
    version: str,
) -> None:
    wrong = [*_graphs_wrong(members, found), *chip_wrong(run.params, found)]
    if not same_version(version, found.build):
        wrong.append(("SDK", f"{found.build}, asked for {version}"))
    if wrong:
        raise _not_applied(ended, wrong)


def _not_applied(ended: Ended, wrong: Sequence[tuple[str, str]]) -> WorkError:
    return ended.failure(
        "the binary is not what was asked for: settings did not count",
        facts=wrong,
        place="options.qairt",
        exit_code=NOT_GOOD,
    )


def chip_wrong(params: Mapping[str, Any], found: ReadContext) -> Iterator[tuple[str, str]]:
    """What of a chip is another one in the binary than in `params`."""
    if found.arch != params["arch"]:
        yield "HTP", f"{_v(found.arch)}, asked for v{params['arch']}"
    # some versions leave 0 there for a chip that was given
    if found.soc_model and found.soc_model != params["soc_model"]:
        yield "soc_model", f"{found.soc_model}, asked for {params['soc_model']}"


def _graphs_wrong(
    members: Sequence[Mapping[str, Any]], found: ReadContext
) -> Iterator[tuple[str, str]]:
    wanted = [member["graph"] for member in members]
    inside = [graph.name for graph in found.graphs]
    if sorted(wanted) != sorted(inside):
        yield "graphs", f"{', '.join(inside) or 'none'}, asked for {', '.join(wanted)}"
        return
    for member in members:
        graph = _graph_of(found, member["graph"])
        told = {
            "O": graph.optimization,
            "vtcm_mb": graph.vtcm_mb,
            "hvx_threads": graph.hvx_threads,
        }
        for name, asked in member["reads_back"].items():
            if told[name] != asked:
                yield f"{name} of {graph.name}", f"{told[name]}, asked for {asked}"


def _graph_of(found: ReadContext, name: str) -> ReadGraph:
    return next(graph for graph in found.graphs if graph.name == name)


def _v(arch: int | None) -> str:
    return "nothing" if arch is None else f"v{arch}"


def _facts(
    run: Run,
    member: Mapping[str, Any],
    found: ReadContext,
    path: Path,
    htp: Mapping[str, Any],
) -> dict[str, Any]:
    graph, net = _graph_of(found, member["graph"]), _net(run, member["stem"])
    orders = {one["name"]: one.get("order") for way in border(net).values() for one in way}
    for name, order in member.get("orders", {}).items():
        orders |= {name: order, sdk_name(name): order}
    return {
        "graph": member["graph"],
        "chip": {
            "soc_model": found.soc_model,
            "arch": found.arch,
            "vtcm_mb": graph.vtcm_mb,
            "hvx_threads": graph.hvx_threads,
        },
        "sdk_build": found.build,
        "core_api": found.core_api,
        "backend_api": found.backend_api,
        "blob_version": found.blob_version,
        "settings": {"O": graph.optimization, "spill_fill_bytes": graph.spill_fill_bytes},
        "options": htp,
        "embedded": False,
        "graphs_in_binary": [one.name for one in found.graphs],
        "nodes": _nodes(run, member["stem"], net),
        "cpu_nodes": [],
        "inputs": [_tensor(one, orders.get(one.name)) for one in graph.inputs],
        "outputs": [_tensor(one, orders.get(one.name)) for one in graph.outputs],
        "files": {path.name: {"digest": digest_file(path), "size": path.stat().st_size}},
    }


def _net(run: Run, stem: str) -> dict[str, Any]:
    """What the converter tells of the graph; nothing of a DLC, whose layouts the recipe tells."""
    if run.params.get("dlc"):
        return {}
    folder = run.inputs[_input_of(run, stem)]
    (path,) = folder.glob("*_net.json")
    net: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return net


def _nodes(run: Run, stem: str, net: Mapping[str, Any]) -> int:
    """How many the converter made."""
    if run.params.get("dlc"):
        return operators_of(run, stem)
    return len(net.get("graph", {}).get("nodes", {}))


def _tensor(one: BorderTensor, order: list[int] | None) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.name, "dtype": one.dtype, "shape": list(one.shape)}
    if one.scale is not None:
        told |= {"scale": one.scale, "offset": one.offset}
    return told | ({"order": order} if order is not None else {})
