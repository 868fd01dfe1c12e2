"""Which models a study keeps, and what is deleted once better ones are there."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from reports.export import export
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import LEDGER, MODELS, Evaluation, Ledger, Record, fresh_seeds, trial_key
from reports.ledger.finals import SoupVariant
from reports.ledger.option_values import KeepModels
from reports.words.answer import lines
from search_spaces.goals import STS
from study.cli.options import parse
from study.engine.models_kept import ModelsKept, left_behind
from tests.synthetic_results import add_finals, make_results
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe


def record(score: float | None, seed: int = 0, recipe: int = 1, model: bool = True) -> Record:
    """Of a trial with that development score."""
    made = Recipe().override({"optimisation.max_steps": recipe})
    evaluation = Evaluation("full", {"STSBenchmark": {"dev_spearman_cosine": score}})
    checkpoint = f"{MODELS}/{trial_key(made.hash, seed)}" if model else None
    return Record(dict(made.flat()), made.hash, seed, evaluations=[evaluation], checkpoint=checkpoint)


def removed(kept: ModelsKept, *records: Record) -> list[list[tuple[int, int]]]:
    """By each record the recipes and seeds whose models go."""
    keys = {each.key: (each.recipe["optimisation.max_steps"], each.seed) for each in records}
    return [[keys[key] for key in kept.replaced_by(each)] for each in records]


def test_of_a_row_the_best_seed_s_model_stays() -> None:
    kept = ModelsKept("rows", [STS])
    trials = record(60.0, 0), record(59.0, 1), record(61.0, 2), record(10.0, 0, recipe=2), record(61.0, 3)
    assert removed(kept, *trials) == [[], [(1, 1)], [(1, 0)], [], [(1, 3)]]


def test_a_seed_without_a_score_or_a_model_beats_none() -> None:
    kept = ModelsKept("rows", [STS])
    trials = record(None, 0), record(99.0, 1, model=False), record(50.0, 2), record(None, 3)
    assert removed(kept, *trials) == [[], [], [(1, 0)], [(1, 3)]]


def test_a_row_in_the_finals_keeps_its_own_best_model_and_that_of_its_fresh_seeds() -> None:
    first, second = fresh_seeds(2)
    kept = ModelsKept("rows", [STS])
    trials = record(60.0, 0), record(59.0, 1), record(70.0, first), record(71.0, second), record(50.0, 2)
    assert removed(kept, *trials) == [[], [(1, 1)], [], [(1, first)], [(1, 2)]]


def test_the_model_of_a_row_that_is_picked_can_be_exported(tmp_path: Path) -> None:
    """By the row's label, as the answer's last lines say."""
    make_results(tmp_path, explored=2, seeds=(0, 1))
    results = Results.load(tmp_path)
    row = next(key for key in results.labels if key in results.trained and key != results.base.hash)
    add_finals(tmp_path, (3.0, 0.2), finalists=[row, results.explored[0]])
    results = Results.load(tmp_path)
    kept, trials = ModelsKept("rows", results.goals), {each.key: each for each in results.of_all_trials}
    for each in sorted(trials.values(), key=lambda each: each.seed):
        saved = trials[each.key] = dataclasses.replace(each, checkpoint=f"{MODELS}/{each.key}")
        for key in kept.replaced_by(saved):
            trials[key] = dataclasses.replace(trials[key], checkpoint=None)
    for each in trials.values():
        Ledger(tmp_path / LEDGER).write(each)
        if each.checkpoint:
            write_whole(tmp_path / each.checkpoint / "trial", each.key)
    results = Results.load(tmp_path)
    answer = Answer.of(results)
    assert (answer.kind, answer.picked[0].recipe) == ("use", row)
    fresh = [each for each in results.finals[row] if each.checkpoint]
    own = [each for each in results.recipes[row] if each.checkpoint]
    assert (len(fresh), len(own)) == (1, 1)
    assert answer.picked[0].model == fresh[0].checkpoint
    (command,) = [line.words for line in lines(answer, results.info, str) if line.head == "Model"]
    label = shlex.split(command)[-1]
    assert label == results.labels[row]
    assert (export(tmp_path, label) / "trial").read_text(encoding="utf-8") == fresh[0].key


def test_of_a_number_so_many_trials_are_kept() -> None:
    kept = ModelsKept(2, [STS])
    trials = record(60.0, 0, 1), record(70.0, 0, 2), record(65.0, 1, 2), record(50.0, 0, 3)
    assert removed(kept, *trials) == [[], [], [(1, 0)], [(3, 0)]]


@pytest.mark.parametrize("wish", ["all", "none"])
def test_of_all_and_none_nothing_is_deleted(wish: KeepModels) -> None:
    """Also not what an earlier run kept."""
    before = record(60.0, 0)
    kept = ModelsKept(wish, [STS], [before])
    assert removed(kept, record(61.0, 1), record(70.0, 2)) == [[], []]


def test_models_of_before_are_rivals_and_stay_until_they_are_beaten() -> None:
    before = [record(60.0, 0), record(62.0, 1), record(80.0, 0, recipe=2)]
    made_of = removed(ModelsKept("rows", [STS], before), *before[:2], record(61.0, 2))
    assert made_of[-1] == [(1, 2)]
    assert removed(ModelsKept("rows", [STS], before), record(90.0, 0, recipe=3)) == [[]]


def test_a_trial_that_is_told_again_is_no_rival_of_itself() -> None:
    kept = ModelsKept("rows", [STS])
    assert removed(kept, record(60.0), record(60.0)) == [[], []]


def test_who_saves_a_model() -> None:
    wishes: list[KeepModels] = ["rows", "all", 3, "none"]
    assert [(ModelsKept(wish, [STS]).saves(False), ModelsKept(wish, [STS]).saves(True)) for wish in wishes] == [
        (True, False),
        (True, True),
        (True, True),
        (False, False),
    ]


def test_a_folder_that_no_record_names_was_left_behind(tmp_path: Path) -> None:
    """That of a trial without a record may be on its way."""
    named, unnamed, none = record(1.0, 0), record(1.0, 1, model=False), record(1.0, 2, model=False)
    for key in (named.key, unnamed.key, "0123-5"):
        (tmp_path / MODELS / key).mkdir(parents=True)
    assert left_behind(tmp_path, [named, unnamed, none]) == [unnamed.key]


def test_the_option() -> None:
    options = ("--space", "scl_tau")
    assert parse(options).keep_models == "rows"
    assert [parse([*options, "--keep-models", text]).keep_models for text in ("all", "none", "3")] == ["all", "none", 3]
    for text in ("0", "-1", "some", "²"):
        with pytest.raises(UserError, match="--keep-models must be all, none, rows or a number from 1 to 100,000"):
            parse([*options, f"--keep-models={text}"])


def test_models_of_the_finals_stay_until_soups_are_made_of_them() -> None:
    first, second = fresh_seeds(2)
    soup, other, left_out = (
        SoupVariant(share, without).seed for share, without in ((1.0, None), (0.5, None), (0.5, first))
    )
    kept = ModelsKept("rows", [STS], averages=True)
    trials = record(60.0, 0), record(70.0, first), record(71.0, second), record(50.0, first, recipe=2)
    trials += record(73.0, soup), record(72.0, other), record(72.5, left_out, model=False), record(61.0, 1)
    assert removed(kept, *trials) == [[], [], [], [], [], [], [], [(1, 0)]]
    assert kept.after_soups(trials[5].key) == [trials[4].key, trials[1].key]
    assert kept.after_soups(trials[5].key) == []
    assert ModelsKept("all", [STS], trials, averages=True).after_soups(None) == []
