"""What a report says of its boards: the first screen, the forest, the main table, and commands to type."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from reports.document import markdown
from reports.facts.boards import Standing
from reports.facts.evidence import Evidence
from reports.facts.findings import Findings
from reports.facts.more_seeds import SeedsWanted
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger
from reports.plots.forest import forest_picture, scale
from reports.sections.conclusions import best_set, conclusions
from reports.sections.glance import caption, of_board
from reports.sections.rows_in_full import board_table, how_to_read
from reports.sections.sure import best_model, extent_in_words, missing_trials, seeds_needed
from reports.sections.sure import write as short
from reports.testing import changed, make_study
from reports.words.comparisons import order_sentence, reason
from tests.boards import STEPS, board, standing
from tests.synthetic_results import make_results, section_text, table_lines

BASELINE = "SBERT baseline"
ABOVE = {"verdict": "above", "p_holm": 0.001}


BEST = {"in_best_set": True, **ABOVE}
FLAGGED = {"verdict": "no verdict", "blocked_by": (STEPS,), "in_best_set": None}
NONE = "no row is shown to be better or worse than `base`"
CONCLUSIONS: list[tuple[list[Standing], str, str]] = [
    ([standing("a", 63.0, **BEST), standing("b", 61.0, **ABOVE)],
     "2 of 2 rows are shown to be above `base`; `a` is the best row, +3.00 [+2.50, +3.50] points above `base`.",
     "`a` alone, of 3 rows."),
    ([standing("a", 63.0, **BEST), standing("b", 62.9, **BEST)],
     "2 of 2 rows are shown to be above `base`; the largest gain measured is `a`'s, +3.00 [+2.50, +3.50] points.",
     "`a` (+3.00 [+2.50, +3.50]), `b` (+2.90 [+2.40, +3.40]); 2 of 3 rows may be the best."),
    ([standing("a", 63.0, **BEST), standing("b", 64.0, seeds=1), standing("c", 62.0, seeds=1)],
     "1 of 3 rows is shown to be above `base` (2 with one seed); `a` is the best of the rows that can be judged, "
     "+3.00 [+2.50, +3.50] points above `base`. `b` measured higher (+4.00 on STS Avg.) but has one seed, so it is not "
     "judged: it may be better.",
     "`a` alone, of the 2 rows that can be judged."),
    ([standing("a", 60.1, in_best_set=True), standing("low", 50.0, verdict="below"), standing("b", 61.0, seeds=1)],
     "none of 3 rows is shown to be above `base` (1 below it, 1 undecided, 1 with one seed); the largest gain of a row "
     "that can be judged is `a`'s, +0.10 [-0.40, +0.60] points. `b` measured higher (+1.00 on STS Avg.) but has one "
     "seed, so it is not judged: it may be better.",
     "`a` alone, of the 3 rows that can be judged."),
    ([standing("a", 63.0, lost=(("STS12", -0.52),), **BEST), standing("b", 61.0)],
     "1 of 2 rows is shown to be above `base` (1 undecided); `a` is the best row, +3.00 [+2.50, +3.50] points above "
     "`base`, but it loses on STS12 (-0.52).",
     "`a` alone, of 3 rows."),
    ([standing("a", 60.2), standing("b", 59.9)],
     f"{NONE}: no difference is shown, corrected for how many are compared; the largest gain measured is `a`'s, "
     "+0.20 [-0.30, +0.70] points.",
     ""),
    ([standing("flagged", 66.0, **FLAGGED)],
     f"{NONE}: `flagged` has no verdict for the flag `steps`; the largest gain measured is `flagged`'s, +6.00 [+5.50, "
     "+6.50] points. `flagged` measured higher (+6.00 on STS Avg.) but is not judged for the flag `steps`: it may be "
     "better.",
     ""),
    ([standing("flagged", 66.0, **FLAGGED), standing("a", 63.0, **ABOVE)],
     "1 of 2 rows is shown to be above `base` (1 without a verdict for the flag `steps`); the largest gain of a row "
     "that can be judged is `a`'s, +3.00 [+2.50, +3.50] points. `flagged` measured higher (+6.00 on STS Avg.) but is "
     "not judged for the flag `steps`: it may be better.",
     ""),
    ([standing(f"row {n}", 62 - n / 10, verdict="below", in_best_set=True) for n in range(7)],
     "none of 7 rows is shown to be above `base` (7 below it); the largest gain measured is `row 0`'s, +2.00 [+1.50, "
     "+2.50] points.",
     "`row 0` (+2.00 [+1.50, +2.50]), `row 1` (+1.90 [+1.40, +2.40]), `row 2` (+1.80 [+1.30, +2.30]), `row 3` (+1.70 "
     "[+1.20, +2.20]), `row 4` (+1.60 [+1.10, +2.10]), 2 more rows (see Rows in full); 7 of 8 rows may be the best."),
]  # fmt: skip
"""Rows, what is concluded, and which may be the best."""


@pytest.mark.parametrize(("rows", "concluded", "best"), CONCLUSIONS)
def test_what_is_concluded(rows: list[Standing], concluded: str, best: str):
    assert " ".join(conclusions([board(*rows)])) == f"On **STS Avg.** {concluded}"
    assert best_set(board(*rows)) == (f"Best set on **STS Avg.**, at 95 %: {best}" if best else "")


def test_boards_share_what_holds_for_both():
    first = board(standing("a", 66.0, seeds=1))
    assert conclusions([first, dataclasses.replace(first, quantity=board(name="transfer Avg.").quantity)]) == [
        f"On **STS Avg.** and **transfer Avg.** {NONE}: each recipe has one seed, and how far another would move it is "
        "unknown. STS Avg.: the largest gain measured is `a`'s, +6.00 [+5.50, +6.50] points (over test items only). "
        "transfer Avg.: the largest gain measured is `a`'s, +6.00 [+5.50, +6.50] points (over test items only)."
    ]
    rows = [standing("a", 63.0, gain=None, in_best_set=True), standing("b", 61.0, gain=None)]
    alone = dataclasses.replace(board(), baseline=None, standings=tuple(rows))
    assert conclusions([alone]) == ["On **STS Avg.** `a` is the best row; its mean is 63.00."]


def test_the_tasks_that_an_average_lacks_are_named_once_no_trial_is_missing(tmp_path: Path) -> None:
    results = make_study(tmp_path)
    for record in results.records:
        scores = {task: own for task, own in record.scores.items() if task not in ("MR", "STS12", "STS13")}
        Ledger(tmp_path / LEDGER).write(changed(record, scores=scores))
    words = "No row has a figure that sums the study up: STS Avg. lacks STS12 and STS13; transfer Avg. lacks MR."
    assert words in section_text(tmp_path, "sure")
    (tmp_path / LEDGER / f"{results.records[0].key}.json").unlink()
    assert "No row has a figure that sums the study up yet." in section_text(tmp_path, "sure")


def test_one_judged_row_is_no_best_set_and_all_rows_are_said():
    """Of rows with one seed only a row that no seed changes can be judged: it is not the best for that."""
    rows = [standing("glove", 50.0, in_best_set=True), standing("a", 66.0, seeds=1), standing("base", 60.0, seeds=1)]
    shown = dataclasses.replace(board(), standings=tuple(rows))
    assert best_set(shown) == ""
    assert "best row" not in conclusions([shown])[0]
    every = tuple(standing(name, 60.1, in_best_set=True) for name in "ab")
    assert best_set(dataclasses.replace(board(), standings=every)) == (
        "Best set on **STS Avg.**: any of 2 rows may be the best."
    )


def test_a_reverse_order_is_called_so_and_few_rows_have_none():
    def sentence(*published: float) -> str:
        rows = [standing(f"row {n}", 60 + n, published=figure) for n, figure in enumerate(published)]
        return order_sentence(board(*rows))

    reverse = sentence(6, 5, 4, 3, 2, 1)
    assert "is the reverse of the paper's, more than chance would make it (0 of 15 pairs agree" in reverse
    assert sentence(1, 2, 3) == ""


class TestForest:
    def test_what_lies_far_off_does_not_squash_the_others(self):
        rows = [standing(f"row {n}", 60 + n / 10, published=n / 10) for n in range(12)]
        low, high = scale(of_board(board(*rows, standing("word vectors", 20.0, published=-35.0))).lines)
        assert -3 < low < high < 4
        low, _ = scale(of_board(board(*rows)).lines)
        assert low == pytest.approx(-0.5 - 0.06 * 2.1, abs=0.05)  # the whole interval of the lowest row

    def test_a_picture_of_everything_that_can_happen(self, tmp_path: Path, drawn: None):
        rows = [
            standing("proven", 63.0, published=2.0, **ABOVE),
            standing("open", 60.2, published=1.0),
            standing("no interval", 60.4, half=None),
            standing("flagged", 60.6, flags=(STEPS,), blocked_by=(STEPS,), verdict="no verdict"),
            standing("far off", 10.0, published=-45.0),
        ]
        path = forest_picture([of_board(board(*rows))], tmp_path / "forest.svg")
        picture = path.read_text()
        for words in (
            "⚠ flagged", "ours -50.00 [-50.50, -49.50], published -45.00", "published", "95 %, shown to differ",
            "95 %, not shown to differ", "points", "STS Avg.: rows, over base",
        ):  # fmt: skip
            assert f">{words}<" in picture
        assert "one seed" not in picture
        assert picture.index(">proven<") < picture.index(">⚠ flagged<") < picture.index(">open<")

    def test_one_seed_is_drawn_and_said(self, tmp_path: Path, drawn: None):
        shown = board(standing("a", 63.0, seeds=1))
        path = forest_picture([of_board(shown)], tmp_path / "forest.svg")
        picture = path.read_text()
        assert "one seed: 95 % over test" in picture
        assert "stroke-dasharray" in picture
        assert ">published<" not in picture
        assert "A hollow dot is one seed" in caption([of_board(shown)])
        assert "hollow" not in caption([of_board(board(standing("a", 63.0)))])
        assert forest_picture([of_board(board())], tmp_path / "forest.svg") is None  # nothing to draw

    def test_equal_gains_hide_neither(self, tmp_path: Path, drawn: None):
        """The published diamond lay unseen under our dot."""
        path = forest_picture([of_board(board(standing("a", 63.0, published=3.0)))], tmp_path / "forest.svg")
        heights = re.findall(r'<use [^>]*y="([0-9.]+)"[^>]*fill: (#0b5fa5|#d1600a|#8a8a8a)', path.read_text())
        ours, published = ([float(y) for y, color in heights if (color == "#d1600a") == own] for own in (False, True))
        assert min(published) > min(ours) + 3  # the row's marks, above those of the legend


def test_a_row_in_full(tmp_path: Path):
    rows = [
        standing("a", 63.0, wins=2, ties=0, losses=0, in_best_set=True, ranks=(1, 2), **ABOVE),
        standing("b", 62.0, in_best_set=True, ranks=(2, 2), flags=(STEPS,), blocked_by=(STEPS,), p_holm=0.0004),
    ]
    lines = table_lines(board_table(make_study(tmp_path), board(*rows)).markdown)
    assert lines[0] == [
        "row", "seeds", "mean", "gain [95 %]", "p (Holm)", "wins, ties, losses", "in best set", "rank", "flags",
    ]  # fmt: skip
    assert lines[2] == [
        "a", "3", "63.00 ± 0.00", "+3.00 [+2.50, +3.50]", "0.001", "2, 0, 0", "yes", "1 to 2", "",
    ]  # fmt: skip
    assert lines[3][4:] == ["<0.001", "—", "yes", "2", "⚠ **steps**"]
    assert lines[4][:4] == ["base", "3", "60.00 ± 0.00", "baseline"]
    assert "which does not mean that the two are equal" in how_to_read([board(*rows)])


class TestUnfinished:
    def study(self, folder: Path, **changes: Any) -> Results:
        """Four rows under three seeds, of which the last has one trial and the third none."""
        rows = [BASELINE, "3p3n-Augment", "3p3n-lambda0.5-SCL", "3palln-lambda0.5-SCL"]
        kept = {"rows": [rows[0], rows[1], rows[3], *changes.pop("more", [])], "seeds": (0, 1, 2), "spread": 0.1}
        info = make_results(folder, predictions=True, **{**kept, **changes})
        hashes = {label: info.row_hashes[label] for label in info.row_hashes if label in rows or "GloVe" in label}
        dataclasses.replace(info, row_hashes=hashes).save(folder)
        for seed in (1, 2):
            (folder / LEDGER / f"{hashes[rows[3]]}-{seed}.json").unlink(missing_ok=True)
        return Results.load(folder)

    def test_it_is_said_first(self, tmp_path: Path):
        """A row that no seed changes wants one trial."""
        results = self.study(tmp_path, more=["Avg. GloVe embeddings"], word_vectors=True)
        vectors = results.info.row_hashes["Avg. GloVe embeddings"]
        for seed in (1, 2):
            (tmp_path / LEDGER / f"{vectors}-{seed}.json").unlink()
        results = Results.load(tmp_path)
        text = markdown(missing_trials(results, Findings.of(results)))
        assert text.startswith(
            "**Unfinished: 8 of 13 trials.** `3p3n-lambda0.5-SCL`: none of 3 seeds; `3palln-lambda0.5-SCL`: 1 of 3 "
            "seeds. Continue with:\n\n```sh\npython study/run.py --space scl_ablation"
        )
        assert markdown(short(results, tmp_path / "pictures")).startswith(text)
        sentence = extent_in_words(results, Findings.of(results))[0]
        assert sentence.startswith("3 of 5 rows finished (the space has 19), 3 seeds each (1 where no seed matters).")

    def test_seeds_are_counted_from_the_studys_own(self, tmp_path: Path):
        """Of a row with one of three seeds, two more are those that the study lacks."""
        results = self.study(tmp_path)
        single = standing("3palln-lambda0.5-SCL", 61.0, seeds=1)
        open_one = board(single, more_seeds=SeedsWanted({single.name: 0}))
        text = markdown(seeds_needed(results, dataclasses.replace(Findings.of(results), boards=(open_one,))))
        assert "STS Avg.: finishing the study would settle the open gain" in text
        assert "--seeds" not in text
        evidence = Evidence.of(results)
        row, base = (results.info.row_hashes[label] or "" for label in ("3palln-lambda0.5-SCL", BASELINE))
        far = evidence.more_seeds(row, base, evidence.figures[0], -30.0, 0.05)
        assert far == 0


class TestFacts:
    def test_the_steps_are_those_of_all_recipes(self, tmp_path: Path):
        """Not of the rows alone: a search may choose how long a recipe trains."""
        chosen = make_results(tmp_path, explored=3).explored[1]
        (file,) = (tmp_path / LEDGER).glob(f"{chosen}-*.json")
        record = json.loads(file.read_text())
        record["training"]["steps"] = 900
        file.write_text(json.dumps(record))
        results = Results.load(tmp_path)
        assert extent_in_words(results, Findings.of(results))[-1].endswith(" for 90 to 900 steps.")

    def test_reasons_have_code_spans(self):
        assert reason("give one with `--evaluate 'A=B'` here") == "give one with `--evaluate 'A=B'` here"
        assert reason("a *star* and `a|b`") == "a \\*star\\* and `a|b`"
        assert reason("one ` alone") == "one \\` alone"

    def test_the_saved_model_says_what_chose_it(self, tmp_path: Path):
        results = make_study(tmp_path)
        [label, other] = results.asked_rows
        best = dataclasses.replace(results.of_row(label)[0], checkpoint="models/x")
        low = board(standing(label, 61.0), standing(other, 63.0, in_best_set=True, **ABOVE))
        sentence = best_model(results, [low], best)
        assert "the mean of STS (Spearman on the development part of STSBenchmark) and transfer" in sentence
        assert "It is not in the best set on **STS Avg.**" in sentence
        assert "chosen by data that this report ranks" not in sentence
        high = board(standing(label, 63.0, in_best_set=True, **ABOVE), standing(other, 61.0))
        dev = dataclasses.replace(high.quantity, weights={("STSBenchmark", "dev_spearman_cosine"): 1.0})
        sentence = best_model(results, [dataclasses.replace(high, quantity=dev)], best)
        assert "not in the best set" not in sentence
        assert "It was chosen by data that this report ranks rows by, so its own figure is likely too high." in sentence
        sentence = best_model(dataclasses.replace(results, records=[best]), [low], best)
        assert sentence == f"The model is row `{label}`, seed 0.", "of a single trial nothing was chosen"


def test_a_report_of_one_seed_says_what_more_seeds_would_do(tmp_path: Path):
    results = make_study(tmp_path / "results", seeds=1)
    short = section_text(results.folder, "sure")
    assert "no row is shown to be better or worse" in short
    assert re.search(r"```sh\npython study/run.py .*--seeds 3\n```", short)


def test_every_row_has_its_command_and_its_files(tmp_path: Path):
    results = make_study(tmp_path / "results")
    text = section_text(results.folder, "row_files")
    for label in results.asked_rows:
        assert f"### {label}" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (results.folder / target).is_file()
    assert text.count("[ledger]") == text.count("[predictions]") == 4
