"""The report's sections beyond the tables: heat maps, premises, figures, models of others."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.facts.quantity import Quantity, average_quantity
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.report import write_report
from reports.sections.paper_tables import made_of
from reports.sections.premise_counts import _count
from reports.testing import changed
from search_spaces import Figure, Space, load_space, spaces
from search_spaces.averages import describe
from tests.reports.test_report import cells
from tests.synthetic_results import make_results, section_text, table_lines
from trainables.errors import UserError
from trainables.recipe import Recipe

BASELINE, BEST = "SBERT baseline", "allpalln-lambda0.3-SCL"


def own_space(folder: Path, changes: str, base: str = "scl_ablation") -> Space:
    """A registered space with some fields changed, as a file of the results folder."""
    (folder / "space.py").write_text(
        "from dataclasses import replace\n"
        "from search_spaces import Figure, PremiseCount, spaces\n"
        f"SPACE = replace(spaces()[{base!r}], name='mine', {changes})\n"
    )
    return load_space(str(folder / "space.py"))


def study(folder: Path, changes: str, base: str = "scl_ablation", **options: Any) -> StudyInfo:
    """A made-up study of such a space."""
    info = make_results(folder, own_space(folder, changes, base), **options)
    info = dataclasses.replace(info, space_file="space.py")
    info.save(folder)
    return info


def rewrite(folder: Path, change: Any) -> None:
    """Every record as `change(record)` makes it. A recipe that it changes gets its new hash, also in `study.json`."""
    ledger, info = Ledger(folder / LEDGER), StudyInfo.load(folder)
    new: dict[str | None, str] = {}
    for record in ledger.read():
        changed = change(record)
        changed = dataclasses.replace(changed, recipe_hash=Recipe.from_flat(changed.recipe).hash)
        new[record.recipe_hash] = changed.recipe_hash
        ledger.path(record.recipe_hash, record.seed).unlink()
        ledger.write(changed)
    rows = {label: new.get(recipe_hash, recipe_hash) for label, recipe_hash in info.row_hashes.items()}
    explored = [new.get(recipe_hash, recipe_hash) for recipe_hash in info.explored]
    dataclasses.replace(info, row_hashes=rows, explored=explored).save(folder)


def untrain(folder: Path, label: str) -> None:
    """As if the row had been evaluated only."""
    row_hash = StudyInfo.load(folder).row_hashes[label]

    def change(record: Record) -> Record:
        recipe = dict(Recipe().preferring({**record.recipe, "optimisation.epochs": 0}).flat())
        return dataclasses.replace(record, recipe=recipe) if record.recipe_hash == row_hash else record

    rewrite(folder, change)


class TestHeatMap:
    @staticmethod
    def fill(folder: Path, sentences: list[str], source: str, labels: tuple[str, ...] = (BASELINE, BEST)) -> None:
        info = StudyInfo.load(folder)
        hashes = {info.row_hashes[label] for label in labels}
        size = len(sentences)

        def add(record: Record) -> Record:
            if record.recipe_hash not in hashes:
                return record
            path = f"predictions/{record.recipe_hash}-{record.seed}.npz"
            (folder / "predictions").mkdir(exist_ok=True)
            after = np.eye(size, dtype=np.float32)
            for anchor in range(0, size - 2, 3):
                after[anchor, anchor + 1] = after[anchor + 1, anchor] = 0.8 if anchor else 0.1
                after[anchor, anchor + 2] = after[anchor + 2, anchor] = 0.25
            maps = {"heat_map.before": np.ones((size, size), dtype=np.float32), "heat_map.after": after}
            np.savez(folder / path, **maps)  # type: ignore[arg-type]
            data = {**record.data_read, "heat_map": {"sentences": sentences}}
            return changed(record, data=data, predictions=path)

        rewrite(folder, add)
        evaluation = {**info.evaluation, "evaluation.heat_map": source}
        dataclasses.replace(info, evaluation=evaluation).save(folder)

    @pytest.mark.slow
    def test_topics(self, tmp_path: Path, drawn: None):
        make_results(tmp_path, rows=[BASELINE, BEST], seeds=(1, 2))
        self.fill(tmp_path, [f"sentence {n}" for n in range(12)], "topics")
        text = section_text(tmp_path, "heat_map")
        assert f"`{BASELINE}` and `{BEST}`" in text
        assert cells(text, "Mean cosine", "2 rows", "before training") == [*["1.00 ± 0.00"] * 3, "0.00 ± 0.00"]
        # (0.1 + 3 * 0.8) / 4 with what agrees; in the first topic what disagrees is closer
        means = [f"{mean} ± 0.00" for mean in ("0.62", "0.25", "0.00", "3.00")]
        assert cells(text, "Mean cosine", "2 rows", "after training") == means
        assert (tmp_path / "pictures/heat-map.svg").read_text().startswith("<?xml")

    def test_rows_that_did_not_train_are_left_out(self, tmp_path: Path):
        make_results(tmp_path, rows=[BASELINE, BEST], seeds=(1, 2))
        self.fill(tmp_path, [f"sentence {n}" for n in range(12)], "topics")
        untrain(tmp_path, BASELINE)
        text = section_text(tmp_path, "heat_map")
        assert BASELINE not in text
        assert BEST in text

    def test_a_persons_sentences(self, tmp_path: Path):
        make_results(tmp_path, rows=[BASELINE, BEST])
        self.fill(tmp_path, ["short", "x" * 90], "mine.txt", labels=(BEST,))
        text = section_text(tmp_path, "heat_map")
        assert "Cosines of 2 sentences" in text
        assert "Mean cosine" not in text
        assert f"- 2: {'x' * 90}" in text

    def test_gone(self, tmp_path: Path):
        make_results(tmp_path, rows=[BASELINE, BEST])
        self.fill(tmp_path, ["a", "b"], "mine.txt")
        for path in (tmp_path / "predictions").iterdir():
            path.unlink()
        assert "The stored cosines are gone" in section_text(tmp_path, "heat_map")

    @pytest.mark.parametrize("content", [b"not a zip", None])
    def test_bad_file(self, tmp_path: Path, content: bytes | None):
        make_results(tmp_path, rows=[BASELINE])
        self.fill(tmp_path, ["a", "b"], "mine.txt")
        path = next((tmp_path / "predictions").iterdir())
        if content is None:
            np.savez(path, **{"heat_map.after": np.zeros((3, 3))})  # type: ignore[arg-type]
        else:
            path.write_bytes(content)
        with pytest.raises(UserError, match=re.escape(path.name)):
            section_text(tmp_path, "heat_map")


class TestPremises:
    def test_ours_beside_published(self, tmp_path: Path):
        make_results(tmp_path, spaces()["supmpn_main"])
        counts = {
            "snli_dev.jsonl": [[1, 1, 3000], [2, 3, 10], [1, 2, 99], [5, 5, 4]],
            "SNLI_test.jsonl": [[1, 1, 500]],
            "scenes": [[3, 3, 8]],
        }
        corpus = {"source": "local", "fingerprint": "f", "premises": counts}
        rewrite(tmp_path, lambda record: changed(record, data={**record.data_read, "corpus": corpus}))
        text = section_text(tmp_path, "premise_counts")
        lines = table_lines(text)
        assert lines[2][:2] == ["SNLI", "exactly 1 entailment and exactly 1 contradiction"]
        assert lines[2][2:] == ["snli_dev.jsonl, SNLI_test.jsonl", "3,500", "139,299"]
        assert lines[3][3:] == ["10", "1,890"]
        assert lines[4][3:] == ["4", "7,956"]
        assert lines[5] == ["MNLI", "exactly 1 entailment and exactly 1 contradiction", "—", "—", "125,860"]
        assert ["—", "exactly 3 entailments and exactly 3 contradictions", "scenes", "8", "—"] in lines
        assert "the two do not compare" in text

    def test_nothing_counted(self, tmp_path: Path):
        make_results(tmp_path, spaces()["supmpn_main"])
        assert "No finished trial has counted its premises" in section_text(tmp_path, "premise_counts")

    @pytest.mark.parametrize(
        ("entailments", "contradictions", "expected"),
        [((1, 1), (1, 1), 7), ((2, 4), (2, 4), 3), ((5, None), (0, None), 11), ((5, 5), (1, 1), None)],
    )
    def test_ranges(self, entailments: Any, contradictions: Any, expected: int | None):
        counts = [[1, 1, 7], [2, 4, 3], [2, 5, 9], [5, 0, 11]]
        assert _count(counts, entailments, contradictions) == expected


class TestFigures:
    def test_distribution(self, tmp_path: Path, drawn: None):
        figure = "figures=(Figure('2', 'Caps', 'distribution', ('objective.positives', 'head.kind'), '2', 'Avg.'),)"
        study(tmp_path, figure, seeds=(1, 2), spread=0.5)
        text = section_text(tmp_path, "paper_figures")
        results = Results.load(tmp_path)
        paper = results.space.table("2")
        capped = ["3p3n-Augment", "3p3n-lambda0.5-SCL", "3all3n-lambda1.0-SCL", "3palln-lambda0.5-SCL"]
        scores = [results.cell(paper, label, "Avg.") for label in [*capped, "3palln-lambda1.0-SCL"]]
        ours = [cell.mean for cell in scores if cell]
        line = cells(text, "Figure 2. Caps", "`objective.positives`", "3")
        assert line == ["5", *(f"{v:.2f}" for v in (min(ours), sorted(ours)[2], max(ours), sum(ours) / 5))]
        assert cells(text, "Figure 2. Caps", "`objective.positives`", "none")[0] == "5"  # the baseline has no cap
        assert "Only one value of `head.kind` has finished" in text
        assert (tmp_path / "pictures/figure-2.svg").read_text().startswith("<?xml")

    @pytest.mark.parametrize("search", ["grid", "optuna"])
    def test_a_grid_is_drawn_and_a_search_is_not(self, tmp_path: Path, search: str):
        info = study(
            tmp_path, "figures=(Figure('2', 'F', 'distribution', ('pooling.mode',), '2', 'Avg.'),)", explored=20
        )
        dataclasses.replace(info, search=search).save(tmp_path)
        text = section_text(tmp_path, "paper_figures")
        assert ("of 31 recipes" in text) == (search == "grid")
        assert ("nothing is drawn" in text) == (search == "optuna")

    def test_lines_may_have_names_of_their_own_and_a_note(self, tmp_path: Path):
        names = "{'SCL': {'objective.name': 'scl'}}"
        keys = "('objective.weight', 'objective.positives', 'objective.name', 'objective.negatives')"
        study(tmp_path, f"figures=(Figure('3', 'Lines', 'lines', {keys}, '2', 'Avg.', 'A note.', lines={names}),)")
        text = section_text(tmp_path, "paper_figures")
        assert text.rstrip().endswith("A note.")
        assert "| SCL " in text
        assert "3, scl" not in text

    def test_nothing_is_drawn_over_one_value(self, tmp_path: Path, drawn: None):
        figure = "figures=(Figure('3', 'L', 'lines', ('objective.weight', 'objective.name'), '2', 'Avg.'),)"
        study(tmp_path, figure, rows=[BEST])
        text = section_text(tmp_path, "paper_figures")
        assert "Only one value of `objective.weight` has finished" in text
        assert "| scl" in text
        assert not (tmp_path / "pictures/figure-3.svg").exists()

    @pytest.mark.parametrize(
        ("figure", "reason"),
        [
            (("2", "t", "lines", ("objective.name", "head.kind"), "2", "Avg."), "run over a number"),
            (("2", "t", "lines", ("objective.weight",), "2", "Avg."), "need at least 2 keys"),
            (("2", "t", "bars", ("objective.weight",), "2", "Avg."), "kind must be"),
            (("2", "t", "distribution", ("head.kind", "head.kind"), "2", "Avg."), "has a key twice"),
        ],
    )
    def test_bad_figures(self, figure: Any, reason: str):
        with pytest.raises(UserError, match=reason):
            dataclasses.replace(spaces()["scl_ablation"], figures=(Figure(*figure),))


def test_reasons_that_differ_by_the_row_alone_are_one(tmp_path: Path):
    """Of other people's models, without the baseline."""
    info = make_results(tmp_path, spaces()["supmpn_main"])
    absent = [label for label, recipe_hash in info.row_hashes.items() if recipe_hash is None]
    missing = {label: f"no checkpoint is known; give one with `--evaluate '{label}=MODEL'`" for label in absent}
    dataclasses.replace(info, missing=missing).save(tmp_path)
    words = "0 of 26 rows of other people's models evaluated. The others: no checkpoint is known; give one with"
    assert f"{words} `--evaluate 'ROW=MODEL'`" in section_text(tmp_path, "sure")
    assert "--evaluate 'ROW=MODEL'" in section_text(tmp_path, "paper_tables")
    assert "**So compare rows with each other, not levels.**" in section_text(tmp_path, "setting")
    assert "| SimCSE-sup-BERT-base " not in section_text(tmp_path, "measured_counts").split("\n- ")[0]


def test_what_cut_embeddings_score(tmp_path: Path):
    """A column for each width, the largest first; a row that was not trained at it has a dash."""
    make_results(tmp_path, rows=[BASELINE, BEST], seeds=(1, 2))
    row_hash = StudyInfo.load(tmp_path).row_hashes[BEST]

    def cut(record: Record) -> Record:
        scores = {
            width: {task: {**numbers, "spearman_wmean": level + record.seed} for task, numbers in record.scores.items()}
            for width, level in (("8", 20.0), ("128", 30.0), ("16", 25.0))
        }
        changed_record = changed(record, data={**record.data_read, "widths": scores})
        return changed_record if record.recipe_hash == row_hash else record

    rewrite(tmp_path, cut)
    report = section_text(tmp_path, "widths")
    assert ["Row, by STS Avg.", "whole", "128", "16", "8"] in table_lines(report)
    assert cells(report, "deviations", BEST)[1:] == ["31.50 ± 0.71", "26.50 ± 0.71", "21.50 ± 0.71"]
    assert cells(report, "deviations", BASELINE)[1:] == ["—", "—", "—"]


GROUPS = {"source": "scenes", "pairs": 6000, "fingerprint": "abc", "layout": "groups", "anchors": 1503}
LABELS = "0 is entailment, 1 neutral, 2 contradiction"
NLI = {
    "source": "/data/nli/snli.jsonl", "pairs": 19666, "layout": "groups", "filled_positives": 0,
    "left_out_each_epoch": 3, "without_gold_label": 0, "splits": {"train": 5, "dev": 1},
    "premises": {"snli": [[1, 1, 1]]}, "fingerprint": "abc",
}  # fmt: skip
MIXED = {
    "layout": "mix", "source": "scenes,more.csv", "fingerprint": "both",
    "parts": [
        {"layout": "pairs", "source": "scenes", "fingerprint": "abc"},
        {"layout": "groups", "source": "/data/my/more.csv", "fingerprint": "def"},
    ],
}  # fmt: skip
CORPORA: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{**NLI, "filled_positives": 120}, NLI],
     ["laid out as `groups`, source: …/nli/snli.jsonl, 19,666 pairs, 0 to 120 filled positives, 3 left out each epoch, "
      "splits: (train: 5, dev: 1), fingerprint `abc`"]),
    ([{"source": "mine.csv", "fingerprint": "abc", "labels": LABELS}],
     [f"source: mine.csv, fingerprint `abc`, labels: {LABELS}"]),
    ([{"source": "scenes", "pairs": 6000, "fingerprint": "abc", "layout": "rows"},
      {**GROUPS, "filled_negatives": 108, "premises": {"s": [[1, 1, 1]]}}, {**GROUPS, "filled_negatives": 0}],
     ["source: scenes, 6,000 pairs, fingerprint `abc`",
      "laid out as `groups`, 1,503 anchors, 0 to 108 filled negatives",
      "laid out as `rows`"]),
    ([{**MIXED, "shares": [0.5, 0.5]}, {**MIXED, "shares": [0.9118, 0.0882]}],
     ["laid out as `mix`, fingerprint `both`, mixture: 50.0 % scenes as pairs (abc); 50.0 % …/my/more.csv as groups "
      "(def)",
      "laid out as `mix`, fingerprint `both`, mixture: 91.2 % scenes as pairs (abc); 8.8 % …/my/more.csv as groups "
      "(def)"]),
]  # fmt: skip
"""What trials read, and its lines: what is alike stands in one, each layout and each mixture in its own."""


@pytest.mark.parametrize(("corpora", "lines"), CORPORA)
def test_training_corpora_in_words(tmp_path: Path, corpora: list[dict[str, Any]], lines: list[str]):
    labels = [BASELINE, "3p3n-Augment", BEST][: len(corpora)]
    hashes = make_results(tmp_path, rows=labels).row_hashes
    of_hash = {hashes[label]: corpus for label, corpus in zip(labels, corpora, strict=True)}
    rewrite(tmp_path, lambda record: changed(record, data={"corpus": of_hash[record.recipe_hash]}))
    text = section_text(tmp_path, "what_was_run").splitlines()
    shown = [line.strip("| ").split("|")[1].strip() for line in text if line.startswith("| training corpus")]
    if "shares" in corpora[0]:
        shown.sort()
    assert shown == lines


def test_recipes_with_other_data_are_no_change(tmp_path: Path):
    """A space may vary the corpus: only trials that asked for the same must have read the same."""
    make_results(tmp_path, rows=[BASELINE, BEST])

    def vary(record: Record) -> Record:
        share = 0.5 if record.recipe["objective.name"] == "scl" else 1.0
        corpus = {
            **record.data_read["corpus"],
            "fingerprint": f"f{share}",
            "filled_positives": 3,
            "premises": {"s": []},
        }
        return changed(record, recipe={**record.recipe, "corpus.limit": int(100 * share)}, data={"corpus": corpus})

    rewrite(tmp_path, vary)
    report = write_report(tmp_path).read_text()
    assert "training data differ" not in report
    assert {"f0.5", "f1.0"} <= set(re.findall(r"fingerprint `([^`]+)`", report))
    head = (tmp_path / "trials.csv").read_text().splitlines()[0].split(",")
    assert "data.corpus.filled_positives" in head
    assert "data.corpus.premises" not in head


def test_a_figure_that_is_no_papers_average_is_told_by_its_numbers() -> None:
    assert made_of(Quantity("heldout", {("STS12", "spearman_wmean"): 1.0})) == "`spearman_wmean` of STS12"
    assert made_of(average_quantity("liao_sts")) == describe("liao_sts")
