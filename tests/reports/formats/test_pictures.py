"""Pictures: text as text, the same bytes for the same figure, and labels shown as they are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.importance import KeyCurve
from reports.plots import cosine_panels, courses, forest, goals_front, grid_panels, importance_panels
from reports.plots.canvas import Dot, make_figure, save
from reports.plots.forest import GainGroup, GainLine
from reports.plots.goals_front import Mark

pytestmark = pytest.mark.usefixtures("drawn")


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


def test_a_label_is_text_and_neither_a_formula_nor_an_element(tmp_path: Path):
    text = draw(tmp_path / "a.svg", "$\\frac{$ costs $5 <script>alert(1)</script>")
    assert ">$\\frac{$ costs $5 &lt;script&gt;alert(1)&lt;/script&gt;</text>" in text
    assert "sans-serif" in text
    assert "<script" not in text


LONG = "the nDCG@10 of the queries of a corpus that has a very long name, on its development part"
CURVE = KeyCurve("objective.temperature", (0.01, 0.1), (1.0, 2.0), (0.5, 1.5), (1.5, 2.5), ((0.02, 1.2),), log=True)
DRAWN: dict[str, Callable[[Path], object]] = {
    "search_course": lambda path: courses.search_picture([(60.0, 1.0), (90.0, 2.0)], 1.5, path, LONG),
    "importance_panels": lambda path: importance_panels.importance_picture(CURVE, LONG, path),
    "data_curve": lambda path: courses.data_picture(
        [Dot(100, 1.0, (0.5, 1.5)), Dot(200, 2.0, None)], {LONG: 1.2}, path, unit=LONG, figure=LONG
    ),
    "goals_front": lambda path: goals_front.pareto_picture([Mark(1.0, 2.0, True, 1, 0.5)], (LONG, LONG), path),
    "grid_panels": lambda path: grid_panels.distribution_picture({CURVE.key: {LONG[:36]: [1.0, 2.0]}}, LONG, path),
    "grid lines": lambda path: grid_panels.lines_picture({LONG: {LONG: [Dot(1, 2, None)]}}, CURVE.key, LONG, path),
    "step_lines": lambda path: courses.step_picture({LONG: [[(1, 0.1), (2, 0.2)]]}, path, LONG),
    "cosine_panels": lambda path: cosine_panels.heat_map_picture([(LONG, np.eye(2))] * 2, [LONG, LONG], path),
    "forest": lambda path: forest.forest_picture([GainGroup(LONG, [GainLine(LONG, 1.0, 0.5, 1.5)], {LONG: 1.2})], path),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_no_word_of_a_picture_is_cut_off(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """However long names are: what is drawn lies within the picture, and no number is a formula."""
    figures: list[Figure] = []
    savefig = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **more: (figures.append(self), savefig(self, *a, **more)))
    DRAWN[name](tmp_path / "a.svg")
    [figure] = figures
    assert "mathdefault" not in (tmp_path / "a.svg").read_text()
    figure.draw_without_rendering()
    wide, high = figure.get_size_inches()
    boxes = {"all that takes room": figure.get_tightbbox()}
    boxes |= {
        text.get_text(): text.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        for axis in figure.axes
        for text in axis.texts
    }
    for words, box in boxes.items():
        assert min(box.x0, box.y0, wide - box.x1, high - box.y1) > -0.01, (words, box)
