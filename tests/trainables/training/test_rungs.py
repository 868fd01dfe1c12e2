"""Where trainings pause, what is measured there, and that it is kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reports.ledger import StudyInfo
from search_spaces.goals import GOALS
from study.cli.options import parse
from study.plan import Plan, decide, read_request
from study.results_folder.check import check_results
from tests.conftest import ROWS, pairs_of
from tests.gloo_worker import Tiny
from trainables.corpora.samplers import RowSampler
from trainables.encoders.contract import Encoder
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import development
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.probe import MAX_PROBED_EXAMPLES, probe_accuracy, probed_part
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, train
from trainables.training.rungs import DEFAULT_RUNGS, STS, Measure, RungPlan, parse_rungs
from trainables.trial.build import build_model
from trainables.trial.evaluation import Evaluator
from trainables.trial.reporter import Reporter
from trainables.trial.watcher import TrialWatcher

TRANSFER = Measure("transfer", GOALS["transfer"].tasks, "dev_accuracy")
SECONDS = Measure("seconds", (), "seconds")
TWELVE_STEPS = Recipe().preferring(
    {"optimisation.batch_size": 5, "optimisation.epochs": 4, "optimisation.learning_rate": 0.01}
)


class TestPlan:
    @pytest.mark.parametrize(
        ("text", "plan"),
        [
            ("4", RungPlan("share", (0.25, 0.5, 0.75))),
            ("steps:100,300,900", RungPlan("steps", (100, 300, 900))),
            ("tokens:1e6,3e6", RungPlan("tokens", (1e6, 3e6))),
            ("epochs:0.5,1,2", RungPlan("epochs", (0.5, 1, 2))),
            (str(DEFAULT_RUNGS), DEFAULT_RUNGS),
        ],
    )
    def test_is_read_and_said_in_the_same_words(self, text: str, plan: RungPlan):
        assert parse_rungs(text) == plan
        assert parse_rungs(str(plan)) == plan

    @pytest.mark.parametrize(
        "text",
        ["", "1", "1001", "x", "share:0.5,1", "share:0,0.5", "steps:300,100", "minutes:1,2", "steps:", "tokens:inf"],
    )
    def test_what_is_none_is_refused(self, text: str):
        with pytest.raises(UserError, match=rf"^--rungs '{text}' is neither a number of equal parts"):
            parse_rungs(text)

    def test_the_end_follows_the_last_rung(self):
        assert DEFAULT_RUNGS.ladder == (1 / 8, 1 / 4, 1 / 2, 1.0)
        assert parse_rungs("steps:100,300").ladder == (100, 300, 900)
        assert parse_rungs("steps:100").ladder == (100, 200)

    @given(st.integers(1, 3000), st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6, unique=True).map(sorted))
    def test_a_share_is_reached_at_the_first_step_that_has_it(self, steps: int, at: list[float]):
        plan = RungPlan("share", tuple(at))
        reached = [plan.reached(step, steps, 0) for step in range(steps + 1)]
        assert reached == sorted(reached)
        assert (reached[0], reached[-1]) == (0, len(at))
        for number, share in enumerate(at, 1):
            first = next(step for step in range(steps + 1) if reached[step] >= number)
            assert (first - 1) / steps < share <= first / steps + 1e-6


class Pausing(Watcher):
    """Notes where a training pauses: rung, step, tokens."""

    def __init__(self, plan: RungPlan) -> None:
        self.rung_plan = plan
        self.pauses: list[tuple[int, int, float]] = []

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        self.pauses.append((number, progress.step, progress.sums["tokens"]))
        return True


@pytest.mark.parametrize(
    ("plan", "rungs"),
    [
        ("4", [(1, 3), (2, 6), (3, 9)]),
        ("share:0.01,0.02,0.9", [(2, 1), (3, 11)]),  # of two at one step the later one
        ("steps:2,5,12,100", [(1, 2), (2, 5)]),  # nothing is saved at the end or after it
        ("epochs:0.5,1,3.1", [(1, 2), (2, 3), (3, 10)]),  # an epoch has 3 steps
    ],
)
def test_a_training_pauses_there(plan: str, rungs: list[tuple[int, int]]):
    assert [rung[:2] for rung in pauses(parse_rungs(plan))] == rungs


def test_tokens_are_counted_to_the_step():
    tokens = [rung[2] for rung in pauses(RungPlan("steps", tuple(range(1, 12))))]
    amounts = (tokens[1], tokens[1] + 1, tokens[6])
    assert pauses(RungPlan("tokens", amounts)) == [(1, 2, tokens[1]), (2, 3, tokens[2]), (3, 7, tokens[6])]


def pauses(plan: RungPlan) -> list[tuple[int, int, float]]:
    """Of a training of twelve steps."""
    watcher = Pausing(plan)
    model = build_model(TWELVE_STEPS, Tiny())  # type: ignore[arg-type]
    train(model, RowSampler(pairs_of(ROWS), 5), TWELVE_STEPS, 3, watcher, Workers())
    return watcher.pauses


class Bag:
    """An encoder that counts letters."""

    dim = 26

    def encode(self, sentences: Any) -> np.ndarray:
        self.sentences = list(sentences)
        return np.array([[1 + text.lower().count(chr(97 + n)) for n in range(26)] for text in sentences], np.float32)


class TestWhatIsMeasured:
    def test_one_pass_serves_all_goals(self, small_corpus: Path):
        bag = Bag()
        config = EvaluationConfig(
            tasks=("STSBenchmark", "CR", "MRPC", "STS12"), senteval=str(small_corpus / "senteval")
        )
        both = Measure("both", parts=((STS, 3.0), (TRANSFER, 1.0)))
        values = Evaluator(config, Workers()).measure(bag, (STS, TRANSFER, SECONDS, both))  # type: ignore[arg-type]
        assert values.pop("both") == pytest.approx((3 * values["sts"] + values["transfer"]) / 4)
        scores = development(bag.encode, small_corpus / "senteval", ["STSBenchmark", "CR", "MRPC"])
        assert values == {
            "sts": scores["STSBenchmark.dev_spearman_cosine"],
            "transfer": pytest.approx((scores["CR.dev_accuracy"] + scores["MRPC.dev_accuracy"]) / 2),  # type: ignore[operator]
        }
        assert len(bag.sentences) == len(set(bag.sentences))

    def test_no_test_example_has_a_say(self):
        split = {
            name: Split([f"{name} {n}" for n in range(size)], None, np.arange(size) % 2)
            for name, size in (("train", 50), ("dev", 20), ("test", 30))
        }
        part = probed_part(TaskData(split, 2))
        assert {text.split()[0] for text in part.left} == {"train", "dev"}
        assert len(part) == 70
        whole = probed_part(TaskData({"all": split["train"]}, 2))
        assert len(set(whole.left)) == 25
        assert whole.left == probed_part(TaskData({"all": split["train"]}, 2)).left
        assert whole.labels.tolist() == [int(text.split()[1]) % 2 for text in whole.left]

    def test_a_large_task_is_drawn_from(self):
        many = Split(
            [str(n) for n in range(3 * MAX_PROBED_EXAMPLES)],
            [f"r{n}" for n in range(3 * MAX_PROBED_EXAMPLES)],
            np.arange(3 * MAX_PROBED_EXAMPLES) % 3,
        )
        part = probed_part(TaskData({"train": many}, 3))
        assert part.right is not None
        assert len(part) == MAX_PROBED_EXAMPLES == len(set(part.left))
        assert part.right == [f"r{text}" for text in part.left]

    def test_pairs_are_told_apart_by_their_difference(self, small_corpus: Path, monkeypatch: pytest.MonkeyPatch):
        """Features of a pair: |u - v| and u * v."""
        inputs: list[torch.Tensor] = []

        def noted(features: torch.Tensor, labels: torch.Tensor) -> float:
            inputs.append(features)
            return probe_accuracy(features, labels)

        monkeypatch.setattr("trainables.senteval.probe.probe_accuracy", noted)
        bag = Bag()
        development(bag.encode, small_corpus / "senteval", ["MRPC"])
        assert inputs[0].shape[1] == 2 * bag.dim

    def test_seconds_are_of_the_training_and_all_is_told_and_kept(self, small_corpus: Path):
        reports: list[tuple[int, Mapping[str, float]]] = []

        class Telling(Reporter):
            rung_plan = dataclasses.replace(DEFAULT_RUNGS, measures=(TRANSFER, STS, SECONDS))

            def rung(self, number: int, scores: Mapping[str, float]) -> bool:
                reports.append((number, scores))
                return number < 2

        config = EvaluationConfig(tasks=("STSBenchmark", "CR"), senteval=str(small_corpus / "senteval"))
        encoder: Encoder = Bag()  # type: ignore[assignment]
        rungs = TrialWatcher(encoder, Evaluator(config, Workers()), Workers(), Telling())
        progress = TrainingProgress(step=7, seconds=2.5, sums={"tokens": 90.0})
        assert rungs.rung(1, progress)
        assert not rungs.rung(2, progress)
        assert rungs.stopped == "stopped at rung 2"
        assert list(reports[0][1]) == ["transfer", "sts", "seconds"]
        assert reports[0][1]["seconds"] == -2.5
        entry = {"rung": 1, "step": 7, "seconds": 2.5, "tokens": 90, "scores": reports[0][1]}
        assert progress.rungs == [entry, {**entry, "rung": 2}]
        assert json.loads(json.dumps(dataclasses.asdict(progress)))["rungs"] == progress.rungs

    def test_without_data_for_one_goal_nobody_is_asked(self, small_corpus: Path):
        class Never(Reporter):
            rung_plan = dataclasses.replace(DEFAULT_RUNGS, measures=(STS, TRANSFER))

            def rung(self, number: int, scores: Mapping[str, float]) -> bool:
                raise AssertionError

        config = EvaluationConfig(tasks=("STSBenchmark",), senteval=str(small_corpus / "senteval"))
        encoder: Encoder = Bag()  # type: ignore[assignment]
        progress = TrainingProgress(step=1)
        rungs = TrialWatcher(encoder, Evaluator(config, Workers()), Workers(), Never())
        assert rungs.rung(1, progress)
        assert progress.rungs == []


class TestAStudysRungs:
    def test_need_a_scheduler(self):
        with pytest.raises(UserError, match="--rungs is where a scheduler may stop explored trials"):
            parse(["--space", "scl_tau", "--search", "grid", "--rungs", "8"])

    def test_measure_the_goals_of_the_space(self, tmp_path: Path):
        assert _plan(tmp_path, "scl_tau").rungs == RungPlan("share", DEFAULT_RUNGS.amounts, (STS,))
        two = _plan(tmp_path, "contrastive_all", "--rungs", "steps:2,4").rungs
        assert two == RungPlan("steps", (2, 4), (STS, TRANSFER))

    def test_cannot_change(self, tmp_path: Path):
        plan = _plan(tmp_path, "scl_tau", "--rungs", "4")
        info = StudyInfo(plan.space.name, scale=plan.scale, base=plan.base.flat())
        dataclasses.replace(info, stopping={"scheduler": "median", "rungs": str(plan.rungs)}).save(tmp_path)
        check_results(plan)  # by another scheduler, also than one that there is no more
        with pytest.raises(UserError, match=r"continue it with --rungs share:0\.25,0\.5,0\.75, or give this one"):
            check_results(_plan(tmp_path, "scl_tau"))


def _plan(results: Path, space: str, *options: str) -> Plan:
    given = ["--space", space, "--search", "optuna", "--scheduler", "asha", "--results", str(results), *options]
    return decide(read_request(parse(given)), 0)
