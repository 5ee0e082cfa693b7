"""Stands in for `gh`: keeps issues in the file that GH_ISSUES names, and what was asked of it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

MARKER = "<!-- qnnbuild diff -->"
FILE = Path(os.environ["GH_ISSUES"])


OPTIONS = (
    *("label", "state", "limit", "json", "title", "body-file", "comment", "description"),
    *("workflow", "branch", "status", "event", "jq", "name", "dir", "method", "field"),
)


def main() -> int:
    if os.environ.get("GH_TOKEN") != "opens":
        sys.stderr.write("HTTP 401: Bad credentials\n")
        return 4
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("verb")
    parser.add_argument("what", nargs="?")
    for name in OPTIONS:
        parser.add_argument(f"--{name}")
    for name in ("force", "paginate", "silent"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    if args.kind == "run":
        return _run(args)
    known: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else _nothing()
    known["asked"].append(f"{args.kind} {args.method or args.verb}")
    (_api if args.kind == "api" else _do)(args, known)
    FILE.write_text(json.dumps(known))
    return 0


def _run(args: argparse.Namespace) -> int:
    """GH_RUNS has a folder for each run that ended well, with its one artifact."""
    runs = Path(os.environ["GH_RUNS"])
    if args.verb == "list":
        assert args.status == "success"
        assert args.jq == ".[].databaseId"
        found = sorted(path.name for path in runs.iterdir())
        sys.stdout.write("".join(f"{name}\n" for name in found[-int(args.limit) :]))
        return 0
    shutil.copytree(runs / args.what, args.dir)
    return 0


def _nothing() -> dict[str, Any]:
    return {"asked": [], "labels": [], "issues": []}


OURS = (
    '.[] | select(.user.login == "github-actions[bot]" and '
    '(.body | startswith("<!-- qnnbuild diff -->"))) | .id'
)
BOT = {"login": "github-actions[bot]"}


def _api(args: argparse.Namespace, known: dict[str, Any]) -> None:
    """Comments of a pull request, in `known["comments"]`; the token is that of a workflow."""
    comments = known.setdefault("comments", [])
    if args.method is None:
        assert args.jq == OURS
        ours = [one for one in comments if one["user"] == BOT and one["body"].startswith(MARKER)]
        sys.stdout.write("".join(f"{one['id']}\n" for one in ours))
        return
    name, _, file = args.field.partition("=@")
    assert name == "body"
    assert args.silent
    body = Path(file).read_text()
    assert 0 < len(body) <= 65_536, "GitHub takes no comment that is empty or longer"
    if args.method == "PATCH":
        (one,) = [o for o in comments if args.verb == f"repos/me/zoo/issues/comments/{o['id']}"]
        one["body"] = body
        return
    assert (args.method, args.verb) == ("POST", "repos/me/zoo/issues/7/comments")
    comments.append({"id": len(comments) + 1, "user": BOT, "body": body})


def _do(args: argparse.Namespace, known: dict[str, Any]) -> None:
    issues = known["issues"]
    if args.kind == "label":
        known["labels"].append(args.what)
        return
    if args.verb == "list":
        names = args.json.split(",")
        ours = [one for one in issues if args.label in one["labels"]]
        sys.stdout.write(json.dumps([{name: one[name] for name in names} for one in ours[::-1]]))
        return
    if args.verb == "create":
        assert args.label in known["labels"], "GitHub refuses an issue with an unknown label"
        issues.append(
            {"number": len(issues) + 1, "state": "OPEN", "labels": [args.label], "comments": []}
        )
    issue = issues[int(args.what) - 1] if args.what else issues[-1]
    if args.verb in {"create", "edit"}:
        assert args.body_file == "-"
        issue["title"], issue["body"] = args.title, sys.stdin.read().replace("\n", "\r\n")
    issue["state"] = {"close": "CLOSED", "reopen": "OPEN"}.get(args.verb, issue["state"])
    issue["comments"] += [args.comment] if args.comment else []


if __name__ == "__main__":
    sys.exit(main())
