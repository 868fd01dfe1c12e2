"""Which weights a training keeps: best and mean against brute force over all steps' weights; to the last bit after a
resume."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from reports.document import markdown
from reports.facts.results import Results
from reports.formats.trials_csv import write_trials_csv
from reports.ledger import Record
from reports.sections import measured_counts
from search_spaces import spaces
from tests.conftest import ROWS, pairs_of
from tests.gloo_worker import Interrupting, Scored
from tests.reports.sections.test_sections import rewrite
from tests.synthetic_results import make_results
from trainables.corpora.samplers import RowSampler
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, train
from trainables.training.model import StudyModel
from trainables.training.rungs import parse_rungs
from trainables.trial.build import build_model

STEPS = 12
LAST = Recipe().preferring(
    {
        "encoder.name": "scenes-small",
        "optimisation.batch_size": 5,
        "optimisation.epochs": 4,
        "optimisation.learning_rate": 0.02,
        "objective.negatives": 3,
        "objective.bank": 7,
        "head.kind": "mlp",
    }
)
BEST = LAST.override({"optimisation.keep": "best", "optimisation.keep_every": 3})
AVERAGE = LAST.override({"optimisation.keep": "average", "optimisation.keep_share": 0.5})

EIGHTHS = parse_rungs("8")


class Scores(Interrupting):
    """Gives scores by step, and draws what it likes; may end the training at a checkpoint or at a rung."""

    def __init__(self, scores: Mapping[int, float | None], stop: int = 0, folder: Path | None = None) -> None:
        super().__init__(stop if folder else 0, Workers(), folder or Path())
        self.scores, self.stop = scores, stop
        self.rung_plan = EIGHTHS if stop > 0 and folder is None else None
        self.losses: list[float] = []
        self.scored: list[int] = []
        self.encoder: Any = None

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.losses.append(scalars["loss"])

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        return number != self.stop

    def score(self) -> float | None:
        """Of the step that was settled last: the loop settles a step before it asks."""
        assert self.encoder.training
        self.encoder.encode(["a man is sleeping", "two dogs run"])
        torch.rand(3)
        self.scored.append(len(self.losses))
        return self.scores[len(self.losses)]


@dataclasses.dataclass
class Run:
    """What a training left, and the encoder's tensors after each step."""

    model: StudyModel
    progress: TrainingProgress
    steps: list[dict[str, Tensor]]

    @property
    def encoder(self) -> dict[str, Tensor]:
        return tensors(self.model.encoder)

    @property
    def around(self) -> dict[str, Tensor]:
        """Head, objective and memory bank."""
        return {name: t for name, t in tensors(self.model).items() if not name.startswith("encoder.")}


def tensors(module: Any) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def equal(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


class Small(Scored):
    """With dropout, a buffer that every step changes, and a layer that none does."""

    counted: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("counted", torch.zeros(()))
        self.still = nn.Linear(self.dim, self.dim).requires_grad_(False)

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        if torch.is_grad_enabled():
            self.counted.add_(1)
        return nn.functional.dropout(self.still(super().embed(tokens)), 0.3)


@pytest.fixture
def study() -> Iterator[Callable[..., Run]]:
    """`study(recipe, watcher)` trains a fresh model for twelve steps, with dropout."""
    steps: list[dict[str, Tensor]] = []
    models: list[StudyModel] = []

    def run(recipe: Recipe, watcher: Scores, resume: Path | None = None) -> Run:
        steps.clear()
        torch.manual_seed(3)
        model = build_model(recipe, Small())  # type: ignore[arg-type]
        models[:] = [model]
        watcher.encoder = model.encoder
        progress = train(model, RowSampler(pairs_of(ROWS), 5), recipe, 3, watcher, Workers(), resume)
        return Run(model, progress, list(steps))

    hook = register_optimizer_step_post_hook(lambda *_: steps.append(tensors(models[0].encoder)))
    yield run
    hook.remove()


class TestBest:
    @pytest.mark.parametrize(
        ("every", "scores", "kept"),
        [
            (3, {3: 10.0, 6: 30.0, 9: 20.0, 12: 25.0}, 6),
            (3, {3: -5.0, 6: -9.0, 9: -5.0, 12: -5.0}, 3),  # of equal ones the first
            (5, {5: 10.0, 10: 11.0, 12: 12.0}, 12),  # the last step is scored too
            (125, {12: 0.0}, 12),
        ],
    )
    def test_is_the_first_of_the_highest_score(self, every: int, scores: dict[int, float], kept: int, study: Any):
        watcher = Scores(scores)
        run = study(BEST.override({"optimisation.keep_every": every}), watcher)
        assert watcher.scored == list(scores)
        assert len(run.steps) == STEPS
        assert equal(run.encoder, run.steps[kept - 1])
        assert [equal(run.encoder, weights) for weights in run.steps].count(True) == 1, "every step changes the weights"
        assert run.progress.kept == {"keep": "best", "step": kept, "score": scores[kept], "scored": len(scores)}

    def test_without_data_is_refused(self, study: Any):
        with pytest.raises(UserError, match=r"^optimisation\.keep=best needs a development score"):
            study(BEST, Scores({3: None}))

    def test_a_rung_that_ends_the_training_leaves_its_step(self, study: Any):
        watcher = Scores({3: 9.0, 6: 1.0}, stop=4)
        run = study(BEST, watcher)
        assert len(run.steps) == 6 == run.progress.step
        assert equal(run.encoder, run.steps[-1])


class TestPatience:
    @pytest.mark.parametrize(
        ("every", "patience", "scores", "end", "kept"),
        [
            (3, 1, {3: 10.0, 6: 30.0, 9: 20.0}, 9, 6),
            (3, 1, {3: 10.0, 6: 10.0}, 6, 3),  # an equal score is no gain
            (2, 2, {2: 5.0, 4: 1.0, 6: 6.0, 8: 6.0, 10: 2.0}, 10, 6),  # a gain begins the count anew
            (3, 3, {3: 4.0, 6: 3.0, 9: 2.0, 12: 1.0}, STEPS, 3),
            (3, 9, {3: 10.0, 6: 30.0, 9: 20.0, 12: 25.0}, STEPS, 6),
        ],
    )
    def test_ends_a_training_without_gains(
        self, every: int, patience: int, scores: dict[int, float], end: int, kept: int, study: Any
    ):
        watcher = Scores(scores)
        recipe = BEST.override({"optimisation.keep_every": every, "optimisation.patience": patience})
        run = study(recipe, watcher)
        assert watcher.scored == list(scores)
        assert len(run.steps) == run.progress.step == len(watcher.losses) == end
        assert equal(run.encoder, run.steps[kept - 1])
        assert run.progress.kept == {"keep": "best", "step": kept, "score": scores[kept], "scored": len(scores)}

    @pytest.mark.parametrize("step", [4, 7, 9])
    def test_goes_on_counting_after_a_resume(self, step: int, study: Any, tmp_path: Path):
        """Also where the checkpoint is of the very step that ended it."""
        scores = {3: 10.0, 6: 9.0, 9: 8.0}
        patient = BEST.override({"optimisation.patience": 2})
        whole = study(patient, Scores(scores))
        first, second = Scores(scores, step, tmp_path), Scores(scores)
        with pytest.raises(Interrupted):
            study(patient, first)
        second.losses = [0.0] * first.saved
        resumed = study(patient, second, resume=tmp_path)
        assert resumed.progress.step == 9
        assert len(resumed.steps) == 9 - first.saved
        assert equal(resumed.encoder, whole.encoder)
        assert resumed.progress.kept == whole.progress.kept == {"keep": "best", "step": 3, "score": 10.0, "scored": 3}


class TestAverage:
    @pytest.mark.parametrize(("share", "over"), [(0.0, 1), (0.25, 3), (1.0, STEPS)])
    def test_is_the_mean_over_the_last_steps(self, share: float, over: int, study: Any):
        run = study(AVERAGE.override({"optimisation.keep_share": share}), Scores({}))
        assert run.progress.kept == {"keep": "average", "from_step": STEPS - over + 1, "steps": over}
        for name, value in run.encoder.items():
            stored = [weights[name] for weights in run.steps[STEPS - over :]]
            mean = torch.stack(stored).double().mean(0).to(value.dtype) if name != "counted" else stored[-1]
            torch.testing.assert_close(value, mean, rtol=2e-7, atol=1e-12, msg=name)
        assert equal(run.encoder, run.steps[-1]) == (over == 1)

    def test_a_frozen_layer_stays_as_it_is_to_the_last_bit(self, study: Any):
        trained = study(AVERAGE, Scores({})).model.encoder
        torch.manual_seed(3)
        assert torch.equal(trained.still.weight, Small().still.weight)

    def test_many_steps_of_large_weights_lose_nothing(self):
        """A running sum in float32 would be off in the sixth digit."""
        from trainables.training.weights_kept import AverageWeights

        encoder = torch.nn.Linear(1, 1)
        keeping: Any = AverageWeights(encoder, 2_000, 1.0)  # type: ignore[arg-type]
        with torch.no_grad():
            for step in range(1, 2_001):
                encoder.weight.fill_(1000 + step % 2 * 0.1)
                keeping.after(step, TrainingProgress())
        keeping.put_back()
        assert encoder.weight.item() == pytest.approx(1000.05, abs=1e-4)


SCORES = {3: 10.0, 6: 30.0, 9: 20.0, 12: 25.0}


@pytest.fixture(scope="module")
def unbroken() -> dict[Recipe, Run]:
    """What trainings that nothing interrupts left, by recipe."""
    return {}


@pytest.mark.parametrize("recipe", [BEST, AVERAGE], ids=["best", "average"])
class TestBoth:
    def test_the_steps_are_those_of_a_training_that_keeps_the_last(self, recipe: Recipe, study: Any):
        """Although scores are computed, without dropout, and something is drawn at random."""
        plain, watched = Scores({}), Scores(SCORES)
        last, kept = study(LAST, plain), study(recipe, watched)
        assert last.progress.kept is None
        assert watched.losses == plain.losses
        assert all(equal(ours, theirs) for ours, theirs in zip(kept.steps, last.steps, strict=True))
        assert equal(kept.around, last.around), "what does not outlive training is that of the last step"
        assert equal(last.encoder, last.steps[-1])
        assert not equal(kept.encoder, last.encoder)
        assert kept.progress.sums == last.progress.sums

    @pytest.mark.parametrize("step", [2, 6, 7, STEPS])
    def test_resumed_equals_unbroken(
        self, recipe: Recipe, step: int, study: Any, unbroken: dict[Recipe, Run], tmp_path: Path
    ):
        """To the last bit: before anything is kept, at the step that is, after it, and after the last step."""
        whole = unbroken[recipe] = unbroken.get(recipe) or study(recipe, Scores(SCORES))
        first, second = Scores(SCORES, step, tmp_path), Scores(SCORES)
        with pytest.raises(Interrupted):
            study(recipe, first)
        second.losses = [0.0] * first.saved
        resumed = study(recipe, second, resume=tmp_path)
        assert equal(resumed.encoder, whole.encoder)
        assert equal(resumed.around, whole.around)
        assert resumed.progress.kept == whole.progress.kept
        assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json", ".safetensors"]


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ((("best", 250), ("best", 375)), "best of 4: step 250, 375"),
        ((("average", 76), ("average", 76)), "mean of steps 76 to 100"),
    ],
)
def test_the_report_says_what_was_kept(kept: Sequence[tuple[str, int]], sentence: str, tmp_path: Path):
    make_results(tmp_path, spaces()["scl_lambda"], seeds=(1, 2))
    before = markdown(measured_counts.write(Results.load(tmp_path), tmp_path))
    assert "weights kept" not in before
    [label, *_] = [label for label in Results.load(tmp_path).asked_rows if "SCL" in label]
    row = Results.load(tmp_path).info.row_hashes[label]

    def change(record: Record) -> Record:
        if record.recipe_hash != row:
            return record
        keep, step = kept[record.seed - 1]
        more = {"step": step, "score": 80.5, "scored": 4} if keep == "best" else {"from_step": step, "steps": 25}
        return dataclasses.replace(record, training={**record.training, "kept": {"keep": keep, **more}})

    rewrite(tmp_path, change)
    lines = markdown(measured_counts.write(Results.load(tmp_path), tmp_path)).splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    write_trials_csv(tmp_path / "trials.csv", Results.load(tmp_path).records, {}, {})
    assert f"training.kept.{'scored' if kept[0][0] == 'best' else 'steps'}" in (tmp_path / "trials.csv").read_text()
    column = head.index("weights kept")
    said_of = {cells[0]: cells[column] for cells in rows}
    assert said_of.pop(label) == sentence
    assert len(said_of) > 3
    assert set(said_of.values()) == {"last"}
