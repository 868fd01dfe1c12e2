"""A whole trial on the scenes corpus: trained, stopped, resumed, evaluated, saved."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from search_spaces.goals import SELECTION
from tests.conftest import slow_case
from tests.trials import Leaving
from trainables.corpora import scenes
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, split
from trainables.recipe import Recipe
from trainables.training.checkpoint import NUMBERS, TrainingProgress
from trainables.training.loop import Interrupted
from trainables.training.rungs import RungPlan, parse_rungs
from trainables.trial import Reporter, TrialResult, check_recipes, watcher
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import training_numbers
from trainables.trial.run import run_trial
from trainables.trial.watcher import CheckpointClock

STEPS = 10


@pytest.fixture
def recipe(small_corpus: Path) -> Recipe:
    return Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "encoder.layers": 1,
            "corpus.nli": str(small_corpus / "nli" / "train.jsonl"),
            "corpus.limit": 16 * STEPS,
            "objective.positives": 2,
            "objective.negatives": 5,
            "optimisation.batch_size": 16,
            "optimisation.learning_rate": 1e-3,
        }
    )


@pytest.fixture
def evaluation(small_corpus: Path) -> EvaluationConfig:
    return EvaluationConfig(str(small_corpus / "senteval"), ("STS12", "STSBenchmark", "TREC"), "fast")


@pytest.fixture
def one_task(evaluation: EvaluationConfig) -> EvaluationConfig:
    return dataclasses.replace(evaluation, tasks=("STSBenchmark",))


EIGHTHS = parse_rungs("8")


class Scheduler(Leaving):
    """Keeps what it is told, and ends the trial at a rung; or at a checkpoint after a step."""

    def __init__(
        self,
        rung_plan: RungPlan | None = None,
        stop_at: int | None = None,
        checkpoint_after: int | None = None,
        keep: Path | None = None,
    ) -> None:
        super().__init__(checkpoint_after, keep)
        self.rung_plan, self.stop_at = rung_plan, stop_at
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.rungs: list[int] = []
        self.scores: list[float] = []
        self.taken: list[Path] = []

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        self.steps.append(step)
        self.losses.append(scalars["loss"])

    def rung(self, number: int, scores: Mapping[str, float]) -> bool:
        self.rungs.append(number)
        self.scores.append(scores["sts"])
        return number != self.stop_at

    def checkpoint(self, folder: Path) -> bool:
        self.taken.append(folder)
        return self.keep is None or super().checkpoint(folder)


def numbers(result: TrialResult) -> dict[str, Any]:
    """The scores, without the seconds that they took."""
    return {
        name: {key: value for key, value in scores.items() if key != "seconds"}
        for name, scores in result.scores.items()
    }


def test_end_to_end(recipe: Recipe, evaluation: EvaluationConfig, tmp_path: Path):
    reporter = Scheduler(rung_plan=EIGHTHS)
    result = run_trial(recipe, 1, evaluation, model_folder=tmp_path / "model", reporter=reporter)
    assert result.stopped is None
    assert set(result.scores) == {"STS12", "STSBenchmark", "TREC"}
    for task in result.scores:
        assert len(result.predictions[task]) == len(result.predictions[f"gold.{task}"]) > 10
    assert result.predictions["parts.STS12"].sum() == len(result.predictions["STS12"])
    dev = [result.scores["STSBenchmark"]["dev_spearman_cosine"], result.scores["TREC"]["dev_accuracy"]]
    assert SELECTION.of(result.scores, {}) == pytest.approx(sum(dev) / 2)
    assert reporter.rungs == list(range(1, 8))
    assert all(score is not None and -100 <= score <= 100 for score in reporter.scores)
    assert [(rung["rung"], rung["scores"]["sts"]) for rung in result.training["rungs"]] == list(
        zip(reporter.rungs, reporter.scores, strict=True)
    )
    assert result.training["planned_steps"] == STEPS

    training = result.training
    assert training["steps"] == STEPS == len(reporter.losses)
    assert training["pairs"] == 16 * STEPS
    assert training["loss"] == pytest.approx(sum(reporter.losses) / STEPS)
    assert training["last_loss"] == reporter.losses[-1]
    assert training["sentences"] < 2 * training["pairs"]  # each unique sentence of a batch once
    assert training["tokens"] > training["sentences"]
    assert 1 <= training["positives_per_anchor"] <= 2
    assert 1 <= training["negatives_per_anchor"] <= 5
    assert training["batches_without_anchor"] == 0
    assert training["resumed_seconds"] == 0
    cost = result.cost
    assert cost["seconds"] == pytest.approx(cost["train_seconds"] + cost["evaluation_seconds"], abs=0.1)
    assert (cost["workers"], cost["threads"]) == (1, 1)
    assert cost["encode_ms"] > 0
    assert cost["embedding_dim"] == 128
    assert 10 < cost["peak_memory_mb"] < 500  # the built-in encoder's, and no library's
    assert result.data["corpus"]["pairs"] == 16 * STEPS
    assert len(result.evaluated["senteval"]["fingerprint"]) == 12

    # The saved model is the evaluated one.
    saved = recipe.override({"encoder.name": str(tmp_path / "model"), "optimisation.epochs": 0})
    again = numbers(run_trial(saved, 1, evaluation))
    for task, scores in numbers(result).items():
        for key, value in scores.items():
            if isinstance(value, float):
                assert again[task][key] == pytest.approx(value, abs=1.0), (task, key)
    assert again["STS12"]["spearman_all"] == pytest.approx(result.scores["STS12"]["spearman_all"], abs=1e-3)


def test_stopped_at_a_rung(recipe: Recipe, evaluation: EvaluationConfig, tmp_path: Path):
    """It keeps no weights, whatever is asked for."""
    reporter = Scheduler(rung_plan=EIGHTHS, stop_at=4)
    best = {"optimisation.keep": "best", "optimisation.keep_every": 2, "corpus.senteval": evaluation.senteval}
    stopped = run_trial(recipe.override(best), 2, evaluation, reporter=reporter, model_folder=tmp_path / "model")
    assert stopped.stopped == "stopped at rung 4"
    assert stopped.scores == {}
    assert stopped.training["steps"] == 5
    assert stopped.training["planned_steps"] == STEPS
    assert "kept" not in stopped.training
    assert [rung["step"] for rung in stopped.training["rungs"]] == [2, 3, 4, 5]
    assert reporter.rungs == [1, 2, 3, 4]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("step", [2, slow_case(6), slow_case(STEPS)])
def test_interrupted_then_resumed_equals_unbroken(
    recipe: Recipe, one_task: EvaluationConfig, tmp_path: Path, step: int
):
    recipe, evaluation = recipe.override({"corpus.limit": 8 * STEPS, "optimisation.epochs": 2}), one_task
    unbroken, second = Scheduler(rung_plan=EIGHTHS), Scheduler(rung_plan=EIGHTHS)
    first = Scheduler(checkpoint_after=step - 1, keep=tmp_path / "kept")
    whole = run_trial(recipe, 2, evaluation, reporter=unbroken)
    with pytest.raises(Interrupted):
        run_trial(recipe, 2, evaluation, reporter=first, model_folder=tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert not first.taken[0].exists(), "the reporter's folder is gone after the call"
    resumed = run_trial(recipe, 2, evaluation, reporter=second, resume=tmp_path / "kept")
    assert first.steps == list(range(1, step + 1))
    assert first.steps + second.steps == unbroken.steps
    assert first.losses + second.losses == unbroken.losses
    assert second.rungs == [number for number in range(1, 8) if math.ceil(STEPS * number / 8) > step]
    assert second.scores == unbroken.scores[len(unbroken.scores) - len(second.scores) :]
    assert numbers(resumed) == numbers(whole)
    for key in ("steps", "loss", "tokens", "positives_per_anchor", "negatives_per_anchor", "streams"):
        assert resumed.training[key] == whole.training[key]
    before = json.loads((tmp_path / "kept" / NUMBERS).read_text())["seconds"]
    assert resumed.training["resumed_seconds"] == pytest.approx(before, abs=0.3)
    assert resumed.training["seconds"] >= before


def test_resumed_and_then_diverged_keeps_what_was_before(recipe: Recipe, one_task: EvaluationConfig, tmp_path: Path):
    """Its seconds count for limits, and its rungs for the scheduler. What diverged has no score and no model."""
    first = Scheduler(rung_plan=EIGHTHS, checkpoint_after=4, keep=tmp_path / "kept")
    with pytest.raises(Interrupted):
        run_trial(recipe, 2, one_task, reporter=first)
    state = tmp_path / "kept" / NUMBERS
    kept = json.loads(state.read_text())
    state.write_text(json.dumps({**kept, "seconds": kept["seconds"] + 1000}))
    wild = recipe.override({"optimisation.learning_rate": 1e30})
    result = run_trial(wild, 2, one_task, resume=tmp_path / "kept", model_folder=tmp_path / "model")
    assert result.stopped is not None
    assert result.stopped.startswith("diverged: the loss is ")
    assert result.scores == {}
    assert not (tmp_path / "model").exists()
    assert result.training["resumed_seconds"] == pytest.approx(1000 + kept["seconds"], abs=1)
    for seconds in (result.training["seconds"], result.cost["seconds"], result.cost["train_seconds"]):
        assert 1000 <= seconds < 1100
    assert result.training["rungs"] == kept["rungs"] != []
    assert result.training["steps"] >= kept["step"]
    assert result.training["planned_steps"] == STEPS


@pytest.mark.parametrize(("first", "ahead"), [(1, 0), (41, 1)])
@pytest.mark.parametrize(("seconds", "every"), [(1.0, 60), (16.0, 4), (20.0, 3), (25.0, 3), (40.0, 2), (500.0, 2)])
def test_what_a_death_costs(seconds: float, every: int, first: int, ahead: int, monkeypatch: pytest.MonkeyPatch):
    """Sixty seconds or two steps, whichever is longer, rounded up to whole steps; also after a resume."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(watcher, "time", clock)
    checkpoints = CheckpointClock(Reporter())
    taken, wanted_at = [first - 1], None
    for step in range(first, first + 10 * every):
        clock.now += seconds
        if wanted_at is None and checkpoints.due(step, ahead):
            wanted_at = step
        if wanted_at is not None and step == wanted_at + ahead:
            assert checkpoints.take(step, lambda folder: None)
            taken.append(step)
            wanted_at = None
    assert {b - a for a, b in itertools.pairwise(taken)} == {every}


@pytest.mark.parametrize("rung_plan", [None, EIGHTHS])
def test_a_rung_without_a_score_is_none_and_without_rungs_no_score_is_computed(
    rung_plan: RungPlan | None, recipe: Recipe, one_task: EvaluationConfig, monkeypatch: pytest.MonkeyPatch
):
    """There may be no data for a score: then nobody can judge the trial."""
    calls: list[int] = []

    def nothing(*_: Any) -> dict[str, float]:
        calls.append(1)
        return {}

    monkeypatch.setattr(Evaluator, "measure", nothing)
    reporter = Scheduler(rung_plan=rung_plan, stop_at=1)
    assert run_trial(recipe, 1, one_task, reporter=reporter).stopped is None
    assert reporter.rungs == []
    assert len(calls) == (7 if rung_plan else 0)


def test_no_epochs_evaluates_the_encoder_as_it_is(recipe: Recipe, evaluation: EvaluationConfig, tmp_path: Path):
    recipe = recipe.preferring({"optimisation.epochs": 0, "corpus.nli": "./nothing.jsonl"})
    evaluation = dataclasses.replace(evaluation, tasks=("STS12",))
    check_recipes([recipe], evaluation)
    reporter = Scheduler()
    result = run_trial(recipe, 1, evaluation, model_folder=tmp_path / "model", reporter=reporter)
    assert result.training == {}
    assert reporter.rungs == []
    assert not (tmp_path / "model").exists()
    assert result.scores["STS12"]["spearman_wmean"] is not None
    assert SELECTION.of(result.scores, {}) is None  # STS12 has no development part
    again = run_trial(recipe, 2, evaluation)
    assert numbers(again) == numbers(result), "the built-in weights do not depend on the seed"


def test_word_vectors(recipe: Recipe, evaluation: EvaluationConfig, tmp_path: Path):
    random = np.random.default_rng(0)
    lines = [f"{word} " + " ".join(f"{x:.3f}" for x in random.normal(size=8)) for word in scenes.vocabulary()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines))
    vectors = recipe.override({"encoder.kind": "word_vectors", "encoder.name": str(tmp_path / "vectors.txt")})
    check_recipes([vectors], evaluation)
    result = run_trial(vectors, 1, evaluation)
    assert result.training == {}
    assert all(scores["examples"] for scores in result.scores.values())
    assert result.scores["STS12"]["spearman_wmean"] > 10  # shared words alone tell something


def test_an_adapter_embeds_all_training_sentences_at_once(recipe: Recipe, one_task: EvaluationConfig, tmp_path: Path):
    """In one precision, also where a heat map is the first to ask."""
    frozen = recipe.override(
        {
            "encoder.adapter": "mlp",
            "pooling.mode": "mean",
            "corpus.layout": "pairs",
            "corpus.limit": 100,
            "objective.name": "ntxent",
            "optimisation.batch_size": 4,
            "encoder.precision": "bf16",
        }
    )
    evaluation = dataclasses.replace(one_task, heat_map="topics")
    result = run_trial(frozen, 0, evaluation, embedding_folder=tmp_path / "embeddings")
    assert result.training["steps"] > 5
    assert {"heat_map.before", "heat_map.after"} <= result.predictions.keys()
    passes = len(list((tmp_path / "embeddings").rglob("*.texts.npy")))
    assert passes <= 5  # the map, the training, parts of STSBenchmark


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"corpus.nli": "./nothing.jsonl"}, "no such file or folder"),
        ({"evaluation.senteval": "./nowhere"}, "nowhere"),
    ],
)
def test_missing_data_is_refused_before_anything_runs(
    recipe: Recipe, evaluation: EvaluationConfig, changes: dict[str, Any], sentence: str
):
    of_recipe, of_evaluation = split(changes)
    with pytest.raises(UserError, match=sentence):
        check_recipes([recipe.override(of_recipe)], evaluation.override(of_evaluation))


def test_what_only_one_objective_counts_is_kept_as_a_sum():
    progress = TrainingProgress(step=2, seconds=3.0)
    for _ in range(2):
        progress.add(loss=1.0, anchors=4, positives=6, easy=5, seconds=9)
    training = training_numbers(progress, 0.0)
    assert (training["easy"], training["positives_per_anchor"], training["seconds"]) == (10, 1.5, 3.0)
