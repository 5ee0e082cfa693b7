"""The site's tables of errors hold all that the golden files and the package tell."""

from __future__ import annotations

import re

from tools.errors_page import (
    FOLDERS,
    GOLDEN,
    Shown,
    cell,
    kinds,
    messages,
    read,
    tables,
)


def test_a_problem_is_read_with_the_line_and_the_way_out() -> None:
    text = (
        "a.yaml:6:38: error: unknown key 'file'\n    6 |   a: {file: c}\n      |       ^^^^\n"
        "  near: x\n  hint: did you mean 'files'?\nerror: no store\n"
    )

    assert list(read(text)) == [
        Shown(message="unknown key 'file'", line="  a: {file: c}", hint="did you mean 'files'?"),
        Shown(message="no store"),
    ]


def test_every_problem_of_the_golden_files_is_in_the_tables() -> None:
    page = tables()
    header = re.compile(r"^(?:\S+:\d+:\d+: )?error: (.+)$", re.MULTILINE)
    told = {
        message
        for folder in FOLDERS
        for path in (GOLDEN / folder).glob("*.txt")
        for message in header.findall(path.read_text(encoding="utf-8"))
    }

    assert len(told) > 200
    assert [message for message in sorted(told) if f"| {cell(message)} |" not in page] == []


def test_an_error_is_found_also_where_its_class_stands_on_another() -> None:
    assert {"RecipeError", "StoreError", "NoRoom", "MachineError"} <= kinds()
    assert "ValueError" not in kinds()


def test_every_area_of_the_package_tells_something() -> None:
    found = messages()

    assert [area for area, told in found.items() if not told] == []
