"""qnnbuild doctor: what is missing on this machine, and the command that mends it."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from qnnbuild.cluster.examine import examine_cluster
from qnnbuild.commands.columns import print_json
from qnnbuild.engine.examine import examine
from qnnbuild.engine.examine_sdk import examine_sdk
from qnnbuild.engine.finding import Finding
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import NothingMatches, ToolError, did_you_mean
from qnnbuild.repo import find_root, open_sdks, settings_of, store_folder


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "toolchains", nargs="*", help="only what these need: qairt-2.40, as qnnbuild.yaml says"
    )
    parser.add_argument("--json", action="store_true", help="the findings as data")


def run(args: Namespace) -> int:
    if args.toolchains:
        findings = list(_of(args.toolchains))
    else:
        try:
            root = find_root()
        except NothingMatches:
            findings = list(examine())
        else:
            store = store_folder(root)
            findings = [
                *examine(root, store, open_sdks(Stats(), root)),
                *examine_cluster(settings_of(root), os.environ, root, store),
            ]
    if args.json:
        print_json(
            [{"what": f.what, "good": f.good, "found": f.found, "mend": f.mend} for f in findings]
        )
    else:
        _print(findings)
    return 0 if all(finding.good for finding in findings) else ToolError.exit_code


def _of(names: list[str]) -> Iterator[Finding]:
    sdks: Sdks = open_sdks(Stats(), find_root())
    for name in names:
        if name not in sdks.declared:
            there = ", ".join(sdks.declared) or "none"
            raise NothingMatches(
                f"no SDK is declared as '{name}'",
                hint=did_you_mean(name, sdks.declared, f"qnnbuild.yaml declares {there}"),
            )
    for name in dict.fromkeys(names):
        yield from examine_sdk(sdks, name)


def _print(findings: list[Finding]) -> None:
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{'ok ' if finding.good else 'BAD'}  {finding.what:<{width}}  {finding.found}")
        if finding.mend:
            print(f"     {'':<{width}}  mend: {finding.mend}")
    bad = sum(not finding.good for finding in findings)
    print(f"{bad} of {len(findings)} are bad" if bad else "all is well", file=sys.stderr)
