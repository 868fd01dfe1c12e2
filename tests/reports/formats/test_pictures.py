"""Pictures: text as text, the same bytes for the same figure, and labels shown as they are written."""

from __future__ import annotations

from pathlib import Path

from reports.plots.canvas import make_figure, save


def draw(path: Path, label: str) -> str:
    figure, (axis,) = make_figure(1, height=2)
    axis.plot([1, 2], [3, 4], "o", label=label)
    axis.set_title(label)
    return save(figure, path).read_text()


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path):
    first, second = (draw(tmp_path / f"{name}.svg", "a row") for name in "ab")
    assert first == second
    assert first != draw(tmp_path / "c.svg", "another row")
    assert "<metadata" not in first


def test_text_is_text(tmp_path: Path):
    text = draw(tmp_path / "a.svg", "a row")
    assert ">a row</text>" in text
    assert "sans-serif" in text


def test_a_label_is_neither_a_formula_nor_an_element(tmp_path: Path):
    text = draw(tmp_path / "a.svg", "$\\frac{$ costs $5 <script>alert(1)</script>")
    assert "$\\frac{$ costs $5 &lt;script&gt;" in text
    assert "<script" not in text
