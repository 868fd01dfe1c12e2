"""Many trials over one frozen encoder, trained together (CLSR), and their results.

for result in run_population(specs, embedding_folder=Path("embeddings")): ...
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from trainables.corpora.batch import Sampler
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.pooling import Pooling
from trainables.errors import UserError
from trainables.record_parts import CorpusFiles, Trained
from trainables.senteval import import_late
from trainables.training.distributed import Workers
from trainables.training.pace import Pace
from trainables.training.population_training import Member, train_population
from trainables.trial.build import base_fingerprint, build_encoder, build_model, build_sampler, describe_encoder
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import TrialClock, training_numbers
from trainables.trial.peak import Peak
from trainables.trial.population_key import population_key
from trainables.trial.reporter import Reporter
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.save_and_score import embed_and_score, save_model
from trainables.trial.spec import TrialSpec
from trainables.trial.watcher import CheckpointClock

POINTS = 100
"""Number of times that a training reports its losses. Reporting each step could take longer than the step."""


def run_population(
    specs: Sequence[TrialSpec],
    *,
    workers: Workers | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
    embedding_folder: Path | None = None,
    hand_over: bool = False,
) -> Iterator[TrialResult | Unscored | None]:
    """Train pairs of recipe and seed together, then evaluate one after another. Raises `UserError` unless all have the
    same `population_key`.

    Results equal those of `run_trial` except for rounding and cost: a member counts an equal share of the training. A
    member whose result exists (`done`) is trained too, and None is yielded. If a member diverges, the rest continues.
    """
    import_late()
    peak, began = Peak(), time.perf_counter()
    workers = workers or Workers()
    members, descriptions = build_members(specs, embedding_folder)
    evaluators = [Evaluator(spec.evaluation, workers) for spec in specs]
    for member, evaluator in zip(members, evaluators, strict=True):
        evaluator.before_training(member.model.encoder)
    fingerprints = [base_fingerprint(member.model.encoder) for member in members]
    training_began = time.perf_counter()
    train_population(members, _Watch(members, reporter or Reporter()), resume)
    resumed = max(0.0, members[0].progress.seconds - (time.perf_counter() - training_began) / len(members))
    share = (time.perf_counter() - began) / len(members)
    for spec, member, description, evaluator, fingerprint in zip(
        specs, members, descriptions, evaluators, fingerprints, strict=True
    ):
        if spec.done:
            yield None
            continue
        clock = TrialClock(elapsed=share, resumed=resumed, peak=peak)
        encoder = describe_encoder(spec.recipe, fingerprint, member.model.encoder, member.model)
        data: Trained = {"encoder": encoder, "corpus": description.copy()}
        training = training_numbers(member.progress, resumed, population=len(members))
        if member.diverged:
            stopped = f"diverged: {member.diverged}"
            yield TrialResult(stopped, training=training, cost=clock.cost(workers), data=data)
            continue
        yield embed_and_score(
            spec,
            member.model.encoder,
            evaluator,
            clock,
            training=training,
            data=data,
            model=save_model(member.model.encoder, spec.model_folder),
            hand_over=hand_over,
        )


def build_members(specs: Sequence[TrialSpec], embedding_folder: Path | None) -> tuple[list[Member], list[CorpusFiles]]:
    """Return the members, in the state in which single trials would start, and descriptions of their training data.
    Bases, embeddings and batches are shared if possible."""
    if len(keys := {population_key(spec.recipe) for spec in specs}) != 1 or None in keys:
        raise UserError("these recipes cannot train together, as population_key says; run each by run_trial")
    firsts: dict[Pooling, AdaptedEncoder] = {}  # by pooling: the first encoder, which loaded the base
    samplers: dict[int, tuple[Sampler, CorpusFiles]] = {}
    members, descriptions = [], []
    for spec in specs:
        recipe, seed = spec.recipe, spec.seed
        first = firsts.get(recipe.part(Pooling))
        encoder = build_encoder(recipe, seed, embedding_folder) if first is None else _sibling_encoder(first, seed)
        assert isinstance(encoder, AdaptedEncoder), "only recipes with an adapter have a population_key"
        firsts.setdefault(recipe.part(Pooling), encoder)
        if seed not in samplers:
            samplers[seed] = build_sampler(recipe, seed, encoder, embedding_folder)
        sampler, description = samplers[seed]
        members.append(Member(build_model(recipe, encoder, embedding_folder), recipe, sampler))
        descriptions.append(description)
    return members, descriptions


def _sibling_encoder(first: AdaptedEncoder, seed: int) -> AdaptedEncoder:
    """Return another encoder over the base of `first`, with the same random draws as in a single trial."""
    torch.manual_seed(seed)
    return AdaptedEncoder(first.base, store=first.store)


class _Watch:
    """Passes the training's progress to the reporter, as `TrialWatcher` does for a single trial."""

    def __init__(self, members: Sequence[Member], reporter: Reporter) -> None:
        self.steps = members[0].steps
        self.members, self.reporter = members, reporter
        reporter.begin(self.steps)
        self.every = max(1, self.steps // POINTS)
        self.checkpoints = CheckpointClock(reporter)
        self.due = False
        self.pace: Pace | None = None

    def wants_step(self, step: int) -> bool:
        self.due = self.checkpoints.due(step, ahead=0)
        return self.due or self._reports(step)

    def step(self, step: int, save: Callable[[Path], None]) -> bool:
        if self._reports(step):
            losses = {f"loss/{number}": m.progress.last_loss for number, m in enumerate(self.members) if not m.diverged}
            self.reporter.step(
                step, {name: loss for name, loss in losses.items() if loss is not None} | self._pace(step)
            )
        return self.checkpoints.take(step, save) if self.due else True

    def _reports(self, step: int) -> bool:
        return step % self.every == 0 or step == self.steps

    def _pace(self, step: int) -> dict[str, float]:
        """Return the speed of all members together; empty on the first call."""
        tokens = math.fsum(member.progress.sums.get("tokens", 0) for member in self.members)
        self.pace = self.pace or Pace(step, tokens)
        return self.pace.after(step, tokens)
