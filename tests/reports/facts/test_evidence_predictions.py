"""Stored predictions: read when asked, never trusted further than they fit the ledger, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.facts.evidence import Evidence
from reports.facts.predictions import Predictions
from reports.facts.results import Results
from reports.ledger import PREDICTIONS, Record
from reports.made_up import with_predictions
from reports.testing import changed, made_record
from tests.populations import Population, write
from trainables.arrays import arrays_in
from trainables.senteval.examples import Split
from trainables.senteval.folds import fold_numbers
from trainables.senteval.items import pair_groups
from trainables.senteval.tasks import GROUPS, kind_of

FILE = f"{PREDICTIONS}/kept.npz"
RECORD = made_record({}, "0" * 12, 0, predictions=FILE)
SCORES: dict[str, dict[str, Any]] = {
    "STS13": {"spearman_wmean": 55.0, "spearman_all": 50.0, "pearson_mean": 50.0},
    "MR": {"test_accuracy": 70.0, "dev_accuracy": 71.0},
    "MRPC": {"test_accuracy": 70.0, "test_f1": 70.0},
    "STSBenchmark": {"test_spearman_cosine": 60.0, "test_pearson_regressor": 65.0},
    "ImageCaptionRetrieval": {"test_recall": 40.0},
}
SMALL = Population(rows=("SBERT baseline", "3p3n-Augment"), seeds=2, items=40, tasks=GROUPS["sts"])

Kept = tuple[Record, dict[str, np.ndarray], Path]
"""A record, its predictions, and their file."""


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    scores, arrays = with_predictions(SCORES, RECORD.recipe_hash, RECORD.seed)
    write_arrays(tmp_path / FILE, arrays)
    return changed(RECORD, scores=scores), arrays, tmp_path / FILE


def write_arrays(path: Path, arrays: dict[str, Any]) -> Predictions:
    """Put them into a file of predictions; those of its study."""
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)
    return Predictions(path.parents[1])


def small_study(folder: Path) -> list[str]:
    """Two rows on disk: their hashes."""
    results = write(SMALL.study(1), folder)
    return [results.info.row_hashes[label] or "" for label in SMALL.rows or ()]


def test_every_number_that_predictions_tell_has_effects(kept: Kept):
    record, _, path = kept
    predictions = Predictions(path.parents[1])
    for task, numbers in SCORES.items():
        for number in numbers:
            pair = predictions.effects(record, task, number)
            has_items = not number.startswith("dev_") and task != "ImageCaptionRetrieval"
            assert (pair is not None) is has_items
            if pair is not None:
                effects, items = pair
                assert effects.dtype == np.float32
                assert effects.shape == (60,)
                assert 0 < float((effects**2).sum()) ** 0.5 < 15  # the standard error of a score of 60 items
                assert items == f"{task} made up {task}"
    assert predictions.problems == {}


def test_the_nested_tasks_are_widened(kept: Kept):
    """Ten folds that share training items: 1 + 10/9 times the variance."""
    record, arrays, path = kept
    predictions = Predictions(path.parents[1])
    for task, factor in (("MR", 1 + 10 / 9), ("MRPC", 1.0)):
        pair = predictions.effects(record, task, "test_accuracy")
        hits = arrays[task] == arrays[f"gold.{task}"]
        assert (pair[0] ** 2).sum() == pytest.approx(factor * 1e4 * hits.var(ddof=1) / 60, rel=1e-4)


def test_predictions_of_another_trial_are_not_used(kept: Kept):
    record, _, path = kept
    other_scores = {**record.scores, "MR": {**record.scores["MR"], "test_accuracy": 75.0}}
    other = changed(record, scores=other_scores)
    predictions = Predictions(path.parents[1])
    assert predictions.fits(other, "MR") is False
    assert predictions.effects(other, "MR", "test_accuracy") is None
    assert predictions.fits(other, "STS13") is True
    assert predictions.fits(other, "TREC") is None


def test_a_mean_over_unequal_folds_fits(tmp_path: Path):
    """The ledger has the mean over folds; 65 items in ten folds of 6 or 7 differ from it by a little."""
    hits = np.random.default_rng(0).permutation(np.arange(65) < 40).astype(int)
    folds = fold_numbers(np.ones(65), 10)
    mean = 100 * float(np.mean([hits[folds == fold].mean() for fold in range(10)]))
    assert mean != pytest.approx(100 * 40 / 65, abs=0.01)
    predictions = write_arrays(tmp_path / FILE, {"MR": hits, "gold.MR": np.ones(65, dtype=int)})
    assert predictions.fits(changed(RECORD, scores={"MR": {"test_accuracy": mean}}), "MR")
    assert not predictions.fits(changed(RECORD, scores={"MR": {"test_accuracy": mean - 2}}), "MR")


@pytest.mark.parametrize(
    "change",
    [
        {"MR": np.zeros(59)},
        {"MR": np.full(60, np.nan)},
        {"MR": np.zeros((60, 1))},
        {"parts.STS13": np.array([30, 31])},
        {"parts.STS13": np.array([61, -1])},
    ],
    ids=["too few", "no numbers", "two axes", "sizes", "a negative size"],
)
def test_arrays_that_do_not_fit_are_unknown(kept: Kept, change: dict[str, np.ndarray]):
    record, arrays, path = kept
    predictions = write_arrays(path, {**arrays, **change})
    task = next(iter(change)).split(".")[-1]
    assert predictions.effects(record, task, "test_accuracy" if task == "MR" else "spearman_all") is None
    assert f"no usable predictions of {task}" in predictions.problems[record.key]


def test_a_broken_file_is_unknown_and_named(kept: Kept):
    """In which ways files are broken: `tests/trainables/test_arrays.py`."""
    record, _, path = kept
    path.write_bytes(b"no archive")
    predictions = Predictions(path.parents[1])
    assert predictions.effects(record, "MR", "test_accuracy") is None
    assert path.name in predictions.problems[record.key]
    path.unlink()
    empty = Predictions(path.parents[1])
    assert empty.effects(record, "MR", "test_accuracy") is None
    assert empty.problems == {}


def test_answers_of_yes_and_no_are_numbers(kept: Kept):
    """Numpy does not subtract truth values, so that looking for one class in all answers raised a TypeError."""
    record, arrays, path = kept
    truths = {name: values.astype(bool) for name, values in arrays.items() if name in ("MR", "gold.MR")}
    predictions = write_arrays(path, {**arrays, **truths})
    answers = predictions.of_task(record, "MR")
    assert (np.ptp(answers.predicted), np.ptp(answers.gold)) == (1, 1)
    assert predictions.fits(record, "MR")
    assert predictions.effects(record, "MR", "test_accuracy") is not None


def test_a_development_cosine_is_kept_as_a_task_of_its_own(tmp_path: Path):
    chance = np.random.default_rng(1)
    gold, cosines = chance.normal(size=(2, 50))
    gold[:25] = cosines[:25]
    arrays = {"dev.STSBenchmark": cosines, "gold.dev.STSBenchmark": gold, "items.dev.STSBenchmark": np.array("abc")}
    predictions = write_arrays(tmp_path / FILE, arrays)
    value = predictions.recomputed(RECORD, "STSBenchmark")["dev_spearman_cosine"]
    record = changed(RECORD, scores={"STSBenchmark": {"dev_spearman_cosine": value}})
    pair = predictions.effects(record, "STSBenchmark", "dev_spearman_cosine")
    assert pair[1] == "dev.STSBenchmark abc"


def test_pairs_that_share_a_sentence_are_drawn_together(tmp_path: Path):
    hashes = small_study(tmp_path)

    def draws() -> tuple[int, list[str]]:
        evidence = Evidence.of(Results.load(tmp_path))
        comparison = evidence.compare(hashes[0], hashes[1], evidence.figures[0])
        assert comparison.basis == "seeds and items"
        sample = evidence.sample(hashes[0], evidence.figures[0])
        return sample.effects.shape[1], evidence.ungrouped

    assert draws() == (5 * 40, list(SMALL.tasks))
    for path in (tmp_path / PREDICTIONS).iterdir():
        arrays = arrays_in(path.read_bytes())
        write_arrays(path, {**arrays, **{f"groups.{task}": np.arange(40) // 4 for task in SMALL.tasks}})
    assert draws() == (5 * 10, [])


def test_a_pair_belongs_to_its_sentence_that_more_pairs_have():
    split = Split(["a man", "a man", "no one", "a dog", "b"], ["x", "y", "a man", "x", "c"], np.zeros(5))
    assert pair_groups([split]).tolist() == [0, 0, 0, 1, 2]
    assert pair_groups([split, split]).tolist() == [0, 0, 0, 1, 2] * 2
    assert pair_groups([Split(["alone"], None, np.zeros(1))]) is None


def test_other_items_do_not_pair(tmp_path: Path):
    results, others = SMALL.study(1), SMALL.study(2)
    kept = {record.key: record for record in others.records}
    augment = results.info.row_hashes["3p3n-Augment"]
    mixed = [kept[record.key] if record.recipe_hash == augment else record for record in results.records]
    for record in mixed:
        if record.recipe_hash == augment:
            results.predictions._read[record.key] = dict(others.predictions._of(record))
    mixture = Results(results.folder, results.info, results.space, mixed)
    vars(mixture)["predictions"] = results.predictions
    evidence = Evidence.of(mixture)
    comparison = evidence.compare(augment or "", results.info.row_hashes["SBERT baseline"] or "", evidence.figures[0])
    assert comparison.basis == "seeds only"


def test_a_file_is_computed_once_in_a_process_and_anew_where_its_content_changes(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
):
    record, arrays, path = kept
    kind, computed = type(kind_of("STS13")), []
    effects = kind.effects
    monkeypatch.setattr(kind, "effects", lambda *of: computed.append(of[2]) or effects(*of))

    def first(folder: Path) -> np.ndarray:
        return Predictions(folder).effects(record, "STS13", "spearman_all")[0]

    shift = {**arrays, "STS13": arrays["STS13"] * np.float32(1.001)}  # of the same ranks, and new to this process
    write_arrays(path, shift)
    assert first(path.parents[1]) is first(path.parents[1])
    assert computed == ["spearman_all"]
    reversed_gold = write_arrays(path, {**shift, "gold.STS13": shift["gold.STS13"][::-1]})
    assert reversed_gold.effects(record, "STS13", "spearman_all") is None
