"""A study's finals are trials of its ledger that nothing but its answer sees."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

from reports.facts import looks
from reports.facts.best_model import ranking
from reports.facts.results import Results
from reports.ledger import LEDGER, Finals, Ledger, fresh_seeds, is_fresh
from reports.ledger.option_values import MAX_COUNT
from reports.live.folder import Folder
from reports.report import write_report
from reports.testing import changed, make_study
from trainables.recipe import Recipe

BEST = {"STSBenchmark": {"dev_spearman_cosine": 99.0}}


def after_the_answer(folder: Path) -> str:
    """What a report says besides, but for what all trials cost."""
    return (
        write_report(folder)
        .read_text(encoding="utf-8")
        .partition("## How sure that is")[2]
        .partition("## What was run")[0]
    )


def test_fresh_seeds_are_none_that_a_person_may_ask_for() -> None:
    assert not any(is_fresh(seed) for seed in range(MAX_COUNT + 1))
    assert all(map(is_fresh, fresh_seeds(5)))
    assert [*fresh_seeds(3)] == [*fresh_seeds(5)][:3]


def test_what_was_known_before_the_finals_stays_as_it_was(tmp_path: Path) -> None:
    before = make_study(tmp_path)
    text = after_the_answer(tmp_path)
    row, other = before.labels
    untrained = Recipe.from_flat(before.info.base).preferring({"optimisation.epochs": 0})
    record = changed(before.recipes[row][0], scores=BEST, predictions=None)
    ledger = Ledger(tmp_path / LEDGER)
    for seed in fresh_seeds(2):
        ledger.write(dataclasses.replace(record, seed=seed))
    ledger.write(
        dataclasses.replace(record, recipe=dict(untrained.flat()), recipe_hash=untrained.hash, seed=fresh_seeds(1)[0])
    )
    dataclasses.replace(before.info, finals=Finals(1, 2, [row], other, untrained.hash)).save(tmp_path)

    after = Results.load(tmp_path)
    assert {name: [trial.seed for trial in records] for name, records in after.finals.items()} == {
        row: [*fresh_seeds(2)],
        untrained.hash: [fresh_seeds(1)[0]],
    }
    assert after.recipes == before.recipes
    assert all(looks.trials_digest(after, each) == looks.trials_digest(before, each) for each in looks.FAMILIES)
    assert [recipe.values for recipe in ranking(after)] == [recipe.values for recipe in ranking(before)]
    assert Folder(tmp_path).view().best[0].scores == (ranking(before)[0].values[0].mean,)
    assert after_the_answer(tmp_path) == text
    with (tmp_path / "trials.csv").open(encoding="utf-8", newline="") as file:
        keys = [(line["recipe_hash"], int(line["seed"])) for line in csv.DictReader(file)]
    assert sorted(keys) == sorted(
        [
            *((r.recipe_hash, r.seed) for r in before.records),
            *((row, seed) for seed in fresh_seeds(2)),
            (untrained.hash, fresh_seeds(1)[0]),
        ]
    )


def test_a_row_that_no_seed_changes_is_in_both(tmp_path: Path) -> None:
    study = make_study(tmp_path, rows=2, seeds=1)
    untrained = Recipe.from_flat(study.info.base).preferring({"optimisation.epochs": 0})
    record = dataclasses.replace(study.records[0], recipe=dict(untrained.flat()), recipe_hash=untrained.hash)
    Ledger(tmp_path / LEDGER).write(record)
    rows = {**study.info.row_hashes, "untrained": untrained.hash}
    dataclasses.replace(study.info, row_hashes=rows, finals=Finals(1, 3, baseline=untrained.hash)).save(tmp_path)
    results = Results.load(tmp_path)
    assert results.recipes[untrained.hash] == [record]
    assert results.finals == {untrained.hash: [record]}
