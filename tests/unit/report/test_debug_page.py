"""What `qnnbuild debug` found, as a page with pictures."""

from __future__ import annotations

from typing import Any

from qnnbuild.report.debug_page import _along, _losing, debug_page

EVIL = "</script><script>alert(1)</script>"


def layer(node: str, sqnr: float, lost: float | None, **more: Any) -> dict[str, Any]:
    return {
        "node": node, "operator": "Mul", "tensor": node, "is_output": False, "sqnr_db": sqnr,
        "lost_db": lost, "max_abs": 0.1, "peak": 3.0, "not_finite": 0, "remark": None, **more,
    }  # fmt: skip


def found(*layers: dict[str, Any]) -> dict[str, Any]:
    bad = next((n for n, one in enumerate(layers) if one["sqnr_db"] < 20), None)
    return {
        "bar_db": 20.0, "first_bad": bad, "layers": list(layers), "not_seen": [], "sample": "0",
        "shipped": {},
    }  # fmt: skip


THREE = found(layer("big", 60.0, None), layer("square", 12.5, 47.5), layer("small", 12.4, 0.1))


def test_accuracy_stands_in_the_graphs_order_with_its_bar() -> None:
    figure: Any = _along(THREE)
    (trace,) = figure.traces

    assert (trace["x"], trace["y"]) == ([1, 2, 3], [60.0, 12.5, 12.4])
    assert trace["marker"]["color"] == ["@good", "@bad", "@bad"]
    assert figure.layout["shapes"][0]["y0"] == 20.0
    assert "2 of 3 are below 20 dB, the worst is small (Mul) (12.4 dB)" in figure.about


def test_layers_that_lose_most_come_first() -> None:
    (figure,) = _losing(THREE["layers"])
    (trace,) = figure.traces

    assert (trace["y"], trace["x"]) == (["square (Mul)", "small (Mul)"], [47.5, 0.1])
    assert figure.about.endswith("the 2 that lose most: square (Mul) loses 47.5 dB.")


def test_where_nothing_is_lost_there_is_no_picture_of_it() -> None:
    assert list(_losing([layer("a", 60.0, None), layer("b", 60.0, 0.0)])) == []


def test_the_page_has_all_layers_and_the_words_of_the_command() -> None:
    text = debug_page("debug/net/net@SM8750", THREE, ["the first bad layer is square"])

    assert "<p>the first bad layer is square</p>" in text
    assert '<td class="number below">12.5</td>' in text
    assert text.count("<tr><th") == 1 + len(THREE["layers"])


def test_names_of_layers_are_never_html() -> None:
    text = debug_page(EVIL, found(layer(EVIL, 3.0, 9.0, remark=EVIL)), [EVIL])

    assert EVIL not in text
