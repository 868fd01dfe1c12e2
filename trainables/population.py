"""Many trials over one frozen encoder, trained together (CLSR): what they must share, and their results.

for result in run_population(recipes, seeds, model_folders=folders, shared=Path("embeddings")): ...
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.recipe import Recipe, keys

if TYPE_CHECKING:
    from trainables.training.population_training import Member
    from trainables.trial import Reporter, TrialResult

POINTS = 100
"""Losses are told about so often in a training; at every step the telling could cost more than the training."""


def population_key(recipe: Recipe) -> str | None:
    """Trials whose recipes have the same key may train together, whatever their seeds; None: not at all.

    Members share the base, the corpus and its layout, batch size and number of steps. They may differ in the keys that
    a recipe marks as `together`: pooling, head, temperature, how parameters move, and what is evaluated.
    """
    objective, layout = recipe.objective, recipe.corpus.layout
    stackable = objective.name == "ntxent" and layout in ("pairs", "similar_pairs")
    further = objective.bank or objective.mlm or recipe.pooling.after != "none"
    if recipe.encoder.adapter != "mlp" or not recipe.optimisation.epochs or not stackable or further:
        return None
    shared = {key: value for key, value in recipe.flat().items() if not keys()[key].together}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def run_population(
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    *,
    model_folders: Sequence[Path | None],
    reporter: Reporter | None = None,
    resume: Path | None = None,
    shared: Path | None = None,
    done: Callable[[int], bool] = lambda number: False,
) -> Iterator[TrialResult | None]:
    """Train recipe x seed pairs of one `population_key` together, then evaluate one after another.

    A member for whose number `done` says so trains with the others, since all resume together, but is not evaluated
    again: its result is None. Each other result is what `run_trial` would have given, but for rounding and for its
    cost: of the training it counts an even share. A member that diverged is stopped, the others go on. The other
    arguments are those of `run_trial`.
    """
    from trainables.data import locate
    from trainables.training.distributed import Workers
    from trainables.training.population_training import train_population
    from trainables.trial import HeatMap, Reporter, TrialResult, cost, measured, score

    began = time.perf_counter()
    workers = Workers()
    members = build_members(recipes, seeds, shared)
    data = [locate(recipe) for recipe in recipes]
    maps = [
        HeatMap(recipe, member.encoder, workers) if recipe.evaluation.heat_map != "none" else None
        for recipe, member in zip(recipes, members, strict=True)
    ]
    training_began = time.perf_counter()
    train_population(members, _Watch(members, reporter or Reporter()), resume)
    resumed = max(0.0, members[0].progress.seconds - (time.perf_counter() - training_began) / len(members))
    share = (time.perf_counter() - began) / len(members)
    for number, (member, own, heat_map, folder) in enumerate(zip(members, data, maps, model_folders, strict=True)):
        if done(number):
            yield None
            continue
        trained = time.perf_counter()
        own.description.update(member.description)
        if member.diverged:
            costs = cost(trained - share, trained, resumed, workers)
            yield TrialResult(f"diverged: {member.diverged}", cost=costs, data=own.description)
            continue
        if folder is not None and member.encoder.unsavable is None:
            member.encoder.save(folder)
        training = measured(member.progress, resumed_seconds=resumed, population=len(members))
        cosines = heat_map.finish(member.encoder, own) if heat_map else {}
        yield score(member.recipe, member.encoder, own, workers, training, cosines, trained - share, trained)


def build_members(recipes: Sequence[Recipe], seeds: Sequence[int], shared: Path | None) -> list[Member]:
    """Models as trials of their own would start them; bases, embeddings and batches in common where they can be."""
    import torch

    from trainables.data import locate
    from trainables.encoders import load_encoder
    from trainables.encoders.adapter import AdaptedEncoder
    from trainables.fidelity import resolve
    from trainables.training.model import StudyModel
    from trainables.training.population_training import Member

    assert len({population_key(recipe) for recipe in recipes}) == 1, "these recipes cannot train together"
    bases: dict[Any, AdaptedEncoder] = {}
    samplers: dict[int, Any] = {}
    members = []
    for recipe, seed in zip(recipes, seeds, strict=True):
        first = bases.get(recipe.pooling)
        wanted = recipe.evaluation.precision
        base = first.base if first else load_encoder(recipe.encoder, recipe.pooling, evaluation_precision=wanted)
        torch.manual_seed(seed)
        encoder = AdaptedEncoder(base, shared, store=first.store if first else None)
        bases.setdefault(recipe.pooling, encoder)
        if seed not in samplers:
            data = locate(recipe)
            samplers[seed] = data.load_sampler(recipe, seed, encoder), data.description
        sampler, description = samplers[seed]
        followed = resolve(recipe)
        members.append(Member(StudyModel(followed, encoder), followed, sampler, dict(description)))
    return members


class _Watch:
    """Between the training and the reporter, as `trial._Rungs` is for a single trial."""

    def __init__(self, members: Sequence[Member], reporter: Reporter) -> None:
        from trainables.training.loop import RUNGS, total_steps

        steps = total_steps(members[0].sampler, members[0].recipe.optimisation)
        self.members, self.reporter = members, reporter
        self.rungs = {steps * number // RUNGS: number for number in range(1, RUNGS + 1)}
        self.every = max(1, steps // POINTS)
        self.saved = time.perf_counter()

    def __call__(self, step: int, save: Any) -> None:
        from trainables.trial import CHECKPOINT_SECONDS

        if step % self.every == 0:
            losses = {f"loss/{number}": m.progress.last_loss for number, m in enumerate(self.members) if not m.diverged}
            self.reporter.step(step, {name: loss for name, loss in losses.items() if loss is not None})
        if step not in self.rungs:
            return
        with tempfile.TemporaryDirectory() as scratch:
            due = time.perf_counter() - self.saved > CHECKPOINT_SECONDS
            if due:
                save(Path(scratch))
                self.saved = time.perf_counter()
            self.reporter.rung(self.rungs[step], None, Path(scratch) if due else None)
