"""Whole trials that keep their best weights or a mean: by which score, what their record says, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from search_spaces.goals import GOALS, SELECTION, Goal, kept_by, searched
from search_spaces.space import Space
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import GROUPS, development
from trainables.senteval.kinds import KINDS
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.tasks import TASKS
from trainables.testing.tasks import bag_of_words
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult, check_recipes, remarks
from trainables.trial.evaluation import keeping_score
from trainables.trial.kept_by import keeping_measure
from trainables.trial.run import run_trial

EVALUATION = EvaluationConfig("scenes", ("STSBenchmark",), "fast")


@pytest.fixture(scope="module")
def trial() -> Recipe:
    """Eight steps on the scenes corpus."""
    return Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "encoder.layers": 1,
            "corpus.nli": "scenes",
            "corpus.limit": 128,
            "optimisation.batch_size": 16,
            "optimisation.learning_rate": 5e-3,
            "optimisation.warmup": 0.0,
            "optimisation.schedule": "constant",
            "optimisation.keep_every": 2,
            "corpus.senteval": "scenes",
        }
    )


# --- by which score

OWN = {kind.name: kind.development for kind in KINDS.values() if kind.scenes}


@pytest.fixture(scope="module", autouse=True)
def own() -> Iterator[None]:
    """A task of every kind that a person's own file makes one of."""
    tasks = own_tasks([f"scenes:{kind}" for kind in OWN], [])
    TASKS.add(*tasks)
    yield
    for task in tasks:
        TASKS.remove(task.name)


@pytest.mark.parametrize("kind", OWN)
def test_a_study_keeps_weights_by_its_own_goal(kind: str) -> None:
    """The score is the number that its search looks for, as it is while a training goes on."""
    space = Space("own", "", "", Recipe().preferring({"optimisation.keep": "best"}), goals=(kind,))
    config = space.recipe("paper", EvaluationConfig("scenes")).optimisation
    assert config.keep_by == (kind,)
    right = development(bag_of_words, "nowhere", [kind])[f"{kind}.{OWN[kind]}"]
    assert keeping_score(Bag(), config, Workers()) == right  # type: ignore[arg-type]


class Bag:
    """An encoder of words that it counts."""

    encode = staticmethod(bag_of_words)


@pytest.mark.parametrize(
    ("goals", "kept"),
    [
        ((), ("STSBenchmark",)),
        (("sts",), ("STSBenchmark",)),
        (("seconds",), ("STSBenchmark",)),
        (("transfer",), GROUPS["transfer"]),
        (("search", "seconds"), ("search",)),
        (("search.ndcg@10", "triplets"), ("search", "triplets")),
        (("search*2", "triplets"), ("search*2", "triplets")),
        (("search.mrr@10",), ("search.dev_mrr@10",)),
        (("sts*2", "transfer"), ("STSBenchmark*16", *GROUPS["transfer"])),
    ],
)
def test_the_goals_of_a_study_as_what_weights_are_kept_by(goals: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert kept_by(searched(goals)) == kept


@pytest.mark.parametrize("goal", [*(g for g in GOALS.values() if not g.cost and g != SELECTION), "search*2,sts,CR*0.3"])
def test_the_score_is_the_value_of_the_goal(goal: Goal | str) -> None:
    (goal,) = searched(goal.split(",")) if isinstance(goal, str) else (goal,)
    numbers = {(task, TASKS[task].development): 7.0 * place**1.5 for place, task in enumerate(sorted(goal.needs))}
    of_goal = goal.of({task: {number: value} for (task, number), value in numbers.items()}, {})
    by_name = {f"{task}.{number}": value for (task, number), value in numbers.items()}
    assert keeping_measure(kept_by([goal])).of(by_name) == pytest.approx(of_goal, rel=1e-12)


def test_the_hash_tells_what_weights_are_kept_by() -> None:
    best = Recipe({"optimisation.keep": "best"})
    assert best.hash == "ca3d717715ad", "as before there was a choice"
    by, patient = best.override({"optimisation.keep_by": ("triplets",)}), best.override({"optimisation.patience": 3})
    assert len({best.hash, by.hash, patient.hash}) == 3
    assert Recipe({"optimisation.keep_by": ("triplets",)}).hash == Recipe().hash, "of the last weights it is no key"


class Losses(Reporter):
    """Of each step."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        self.losses.append(scalars["loss"])


@pytest.mark.slow
def test_a_training_that_overtrains_is_scored_and_saved_with_its_best_weights(trial: Recipe, tmp_path: Path) -> None:
    """By an own task's score, with a rate that spoils the encoder: brute force over trainings of every length, which
    their schedule ends; it is constant."""
    trial = trial.override({"optimisation.epochs": 3, "optimisation.learning_rate": 3e-2})
    evaluation = EvaluationConfig("scenes", ("search",), "fast")

    def ndcg(result: Any) -> float:
        return float(result.scores["search"]["dev_ndcg@10"])

    patient = {"optimisation.keep": "best", "optimisation.keep_by": ("search",), "optimisation.patience": 2}
    kept = Losses()
    result = run_trial(trial.override(patient), 1, evaluation, model_folder=tmp_path / "model", reporter=kept)
    assert isinstance(result, TrialResult)
    training = result.training
    alone = {}
    for step in range(2, training["steps"] + 1, 2):
        last = Losses()
        alone[step] = ndcg(run_trial(trial.override({"optimisation.max_steps": step}), 1, evaluation, reporter=last))
    best = max(alone, key=lambda step: alone[step])
    score = pytest.approx(alone[best])
    assert training["kept"] == {"keep": "best", "step": best, "score": score, "scored": len(alone)}
    assert ndcg(result) == score
    assert len({round(score, 3) for score in alone.values()}) > 1
    assert training["steps"] == best + 4 < training["planned_steps"] == 24
    assert result.stopped is None
    assert kept.losses == last.losses
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert f"| kept.step | {best} |" in card
    again = trial.override({"encoder.name": str(tmp_path / "model"), "encoder.layers": None, "optimisation.epochs": 0})
    assert ndcg(run_trial(again, 1, evaluation)) == pytest.approx(ndcg(result), abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"keep_every": 8}, "of 8 steps is scored once at optimisation.keep_every=8, so that it keeps its last"),
        ({"keep_every": 125, "patience": 2}, "is scored once at optimisation.keep_every=125, so that it keeps"),
        (
            {"keep_every": 3, "patience": 2},
            r"scored 3 times at .*=3, so that it never ends by optimisation.patience=2;",
        ),
        ({"keep_every": 3}, None),
        ({"keep_every": 2, "patience": 2}, None),
    ],
)
def test_a_training_too_short_for_its_scores_is_said(
    trial: Recipe, changes: dict[str, int], sentence: str | None
) -> None:
    options = {f"optimisation.{key}": value for key, value in changes.items()}
    sentences = remarks([trial.override({"optimisation.keep": "best", **options})])
    notes = [note for note in sentences if "keep=best" in note]
    assert len(notes) == (sentence is not None)
    assert sentence is None or re.search(sentence, notes[0])


class TestRefusals:
    def test_its_data_must_be_there(self, trial: Recipe, tmp_path: Path) -> None:
        (tmp_path / "downstream").mkdir()
        moved = trial.preferring({"corpus.senteval": str(tmp_path)})
        check_recipes([moved], EVALUATION)
        with pytest.raises(UserError, match=r"^optimisation\.keep=best .* of STSBenchmark: .* holds no task"):
            check_recipes([moved.override({"optimisation.keep": "best"})], EVALUATION)
        own = {"optimisation.keep": "best", "optimisation.keep_by": ("search",)}
        check_recipes([moved.override(own)], EVALUATION)

    @pytest.mark.parametrize(
        ("by", "sentence"),
        [
            ("serach", "there is no SentEval task 'serach'; did you mean 'search'?"),
            ("search*0", "'search*0' needs a number above 0 behind the star, as in search*2"),
            ("search*x", "'search*x' needs a number above 0"),
            ("search.dev_mrr@10", "search.dev_mrr@10 is no development number that a training knows as it goes on: of "
             "search that is dev_ndcg@10 alone; take search"),
            ("STS12", "STS12 is no development number that a training knows as it goes on: STS12 has none"),
            ("", "names no task"),
        ],
    )  # fmt: skip
    def test_what_no_weights_are_kept_by(self, by: str, sentence: str, trial: Recipe) -> None:
        best = {"optimisation.keep": "best", "optimisation.keep_by": tuple(by.split(",") if by else ())}
        with pytest.raises(UserError, match=rf"^optimisation\.keep_by:? .*{re.escape(sentence)}"):
            check_recipes([trial.override(best)], EVALUATION)

    @pytest.mark.parametrize("changes", [{"optimisation.epochs": 0}, {"optimisation.keep": "average"}])
    def test_nothing_is_asked_of_a_trial_that_needs_no_score(self, trial: Recipe, changes: dict[str, Any]) -> None:
        best = trial.preferring({"optimisation.keep": "best", **changes})
        check_recipes([best], EVALUATION)
