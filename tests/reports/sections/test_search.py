"""What the search found, fronts, losses, curves and figures: what every section must do, on tiny and on odd studies."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure
import pytest

from reports.document import markdown
from reports.facts.recipe_names import AS_IT_CAME, name_of
from reports.facts.results import Results
from reports.ledger import CURVES, Record, add_losses, trial_key
from reports.ledger.finals import FIRST_FRESH_SEED
from reports.plots import curve_lines
from reports.plots.courses import search_picture
from reports.plots.goals_front import Mark, pareto_picture
from reports.plots.outliers import limits
from reports.sections import SECTIONS, curves
from reports.testing import changed
from tests.reports.sections.test_sections import rewrite, study
from tests.synthetic_results import SPACES, add_finals, keeps_its_contract, make_results, section_text


def no_scores(folder: Path) -> None:
    """No record keeps a development score."""

    def lost(record: Any) -> Any:
        scores = {
            task: {name: value for name, value in numbers.items() if not name.startswith("dev_")}
            for task, numbers in record.scores.items()
        }
        return changed(record, scores=scores)

    rewrite(folder, lost)


@pytest.mark.parametrize("what", ["one recipe", "no development scores", "conditional"])
def test_a_search_keeps_the_contract(what: str, tmp_path: Path):
    """One explored recipe under one seed; without development scores; a space of conditional domains and two goals."""
    if what == "conditional":
        make_results(tmp_path, SPACES["contrastive_all"], explored=3, seeds=(1, 2), spread=1.0)
    else:
        study(tmp_path, "goals=('sts', 'transfer')", explored=1, rows=["SBERT baseline"])
    if what == "no development scores":
        no_scores(tmp_path)
    for name in ("explored", "pareto"):
        keeps_its_contract(SECTIONS[name], Results.load(tmp_path))


@pytest.mark.parametrize("name", ["scl_ablation", "declutr_projection"])
def test_figures_keep_the_contract(name: str, tmp_path: Path):
    space = SPACES[name]
    make_results(tmp_path, space, rows=[next(row.label for row in space.rows if row.needs is None)])
    for section in ("curves", "paper_figures"):
        keeps_its_contract(SECTIONS[section], Results.load(tmp_path))


def test_without_development_scores_nothing_is_ranked(tmp_path: Path):
    study(tmp_path, "tolerance=1.0", explored=3)
    no_scores(tmp_path)
    text = section_text(tmp_path, "explored")
    assert text == (
        "Optuna drew 3 recipes beyond the space's rows: 0 finished, 3 finished without a development score."
    )


def test_the_best_of_many_is_said_to_be_lucky(tmp_path: Path):
    """With several seeds by how much; it is never surely the best, and there is no verdict from the seeds that
    chose it, however large its gain."""
    study(tmp_path, "tolerance=1.0", explored=8, seeds=(1, 2, 3), spread=0.5, rows=["SBERT baseline"])
    text = section_text(tmp_path, "explored")
    assert "That is too high, since chance helped to choose the best of 8" in text
    assert re.search(
        r"expected to score \d+\.\d\d \(95 % \d+\.\d\d to \d+\.\d\d\), and with a probability above 99 % it", text
    )
    assert re.search(r"STS Avg\. \+1\.\d\d; [^:]*\*\*No verdict:\*\* the seeds", text)
    assert not re.search(r": (better|worse|undecided)", text)


def test_what_the_table_leaves_out_is_counted(tmp_path: Path) -> None:
    study(tmp_path, "tolerance=1.0", explored=12, rows=["SBERT baseline"])
    assert "The table has the 10 best of 12." in section_text(tmp_path, "explored")


def test_what_stopping_trials_early_saved_is_said(tmp_path: Path) -> None:
    """Of 12 explored trials 5 were stopped at the first rung, after a quarter of 480 steps."""
    info = make_results(tmp_path, explored=12)
    numbers = iter(range(12))

    def change(record: Record) -> Record:
        if record.recipe_hash not in info.explored:
            return record
        through = next(numbers) < 7
        rung = {"rung": 1, "step": 120, "seconds": 40.0, "tokens": 900, "scores": {"sts": 60.0}}
        steps = 480 if through else 120
        stopped = None if through else "stopped at rung 1"
        training = {**record.training, "rungs": [rung], "planned_steps": 480, "steps": steps, "seconds": steps / 3,
                    "stopped": stopped}  # fmt: skip
        cost = {"seconds": steps / 3 + 20 * through, "train_seconds": steps / 3, "evaluation_seconds": 20.0 * through}
        scores = record.scores if through else {}
        return changed(record, status="finished" if through else "pruned", scores=scores, training=training, cost=cost)

    rewrite(tmp_path, change)
    text = section_text(tmp_path, "explored")
    assert "7 finished, 5 stopped early. The 12 trials that could be stopped took" in text
    saved = 1 - (7 * 180 + 5 * 40) / (12 * 180)
    assert f"saved **{100 * saved:.0f} %**" in text


def with_losses(folder: Path) -> Results:
    """Two finalists and the base settings under five fresh seeds each, every trial with its losses."""
    make_results(folder, rows=["SBERT baseline"], explored=3, seeds=(0,))
    add_finals(folder, (3.0, 1.0))
    results = Results.load(folder)
    for record in [*results.records, *(record for records in results.finals.values() for record in records)]:
        add_losses(folder, record.key, 3, [(step, 4.0 / step) for step in (1, 2, 3)])
    return results


def test_every_seed_of_the_finals_has_a_line(tmp_path: Path, drawn: None) -> None:
    results = with_losses(tmp_path)
    finals = results.info.finals
    assert finals.base is not None
    (tmp_path / CURVES / f"{trial_key(finals.finalists[1], FIRST_FRESH_SEED)}.jsonl").unlink()
    section = section_text(tmp_path, "losses")
    assert "![Losses of the finals over steps](" in section
    picture = (tmp_path / "pictures" / "losses.svg").read_text()
    assert len(re.findall(r'<path d="M ([\d. ]+) *\nL ([\d. ]+) *\nL ([\d. ]+) *\n" clip-path', picture)) == 14
    assert all(name_of(results, recipe) in picture for recipe in (*finals.finalists, finals.base))
    assert AS_IT_CAME not in picture


def test_without_losses_and_without_finals_no_section_has_them(tmp_path: Path) -> None:
    with_losses(tmp_path / "bare")
    for file in (tmp_path / "bare" / CURVES).iterdir():
        file.unlink()
    assert section_text(tmp_path / "bare", "losses") == ""
    make_results(tmp_path / "rows", rows=["SBERT baseline"])
    assert section_text(tmp_path / "rows", "losses") == ""


class TestCurves:
    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            (
                ["allpalln-lambda0.3-SCL"],
                "the `SBERT baseline` row, which the others are set against, has not finished",
            ),
            (["SBERT baseline", "allpalln-lambda0.3-SCL"], "over test items only, since there is one seed"),
        ],
    )
    def test_what_is_missing_and_what_bars_are_of_is_said(self, tmp_path: Path, rows: list[str], words: str):
        make_results(tmp_path, rows=rows, predictions=True)
        assert words in section_text(tmp_path, "curves")

    def test_bars_are_those_of_the_gain(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Not a row's own spread, which says nothing of a difference."""
        make_results(tmp_path, seeds=(1, 2, 3), spread=0.5)
        results = Results.load(tmp_path)
        figure = drawn(monkeypatch, lambda: markdown(curves.write(results, tmp_path / "pictures")))
        assert "bars are 95 % intervals of the gain" in markdown(curves.write(results, tmp_path / "pictures"))
        (table, *_) = [
            paper for paper in results.space.tables if paper.curve == "objective.weight" and paper.topic == "STS"
        ]
        points = curve_lines._ours(results, table)
        cell = results.cell(table, table.rows[0][1], curve_lines.average_column(table).name)
        assert all(point.ends and point.ends[0] < point.y < point.ends[1] for point in points)
        assert points[0].ends[1] - points[0].y > cell.std
        assert len(figure.axes[0].containers) == len(points)


def drawn(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], object]) -> matplotlib.figure.Figure:
    """The first figure that is saved."""
    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr("reports.plots.canvas.svg", lambda figure: (kept.append(figure), b"")[1])
    draw()
    return kept[0]


class TestPictures:
    def test_a_far_point_does_not_squash_the_others(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        course = [*zip((90.0, 100.0, 130.0, 200.0, 240.0, 250.0), (60.0, 60.5, 61.0, 31.0, 60.2, 60.7), strict=True)]
        figure = drawn(monkeypatch, lambda: search_picture(course, 60.8, tmp_path / "a.svg", "score"))
        (axis,) = figure.axes
        assert axis.get_xlabel().startswith("minutes ")
        assert max(axis.lines[0].get_xdata()) == 250 / 60
        low, high = axis.get_ylim()
        assert 59 < low < high < 62
        assert [text.get_text() for text in axis.texts] == ["31.0"]

    def test_limits(self):
        assert limits([1.0, 2.0, 3.0, 4.0]) == (1.0, 4.0)
        assert limits([1.0, 2.0, 100.0]) == (1.0, 100.0)  # of three none is far
        assert limits([1.0, 2.0, 3.0, 100.0]) == (1.0, 3.0)
        assert limits([float(n) for n in range(20)] + [500.0, -90.0]) == (0.0, 19.0)
        assert limits([5.0, 5.0, 5.0, 5.0]) == (5.0, 5.0)

    @pytest.mark.parametrize("known", [True, False])
    def test_a_legend_names_what_is_drawn(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: bool):
        ends = {"x_ends": (59.0, 61.0), "y_ends": (69.0, 71.0)} if known else {}
        marks = [
            Mark(60, 70, True, 1, 0.9 if known else None, **ends),
            Mark(59, 69, True, None, 0.1 if known else None),
        ]
        path = tmp_path / "a.svg"
        figure = drawn(monkeypatch, lambda: pareto_picture(marks, ("STS", "transfer"), path))
        named = {text.get_text() for text in figure.legends[0].get_texts()}
        intervals = {"95 % interval over seeds", "fuller: more probably on the front"}
        assert named == {"measured front", "row of the space"} | (intervals if known else set())
