"""Tries: trainings on a part of the data, each with a single change of the recipe, judged by development items.

Each change is trained once. The few that gain most are trained again under other seeds, as is the unchanged recipe.
Only these trainings measure a gain, so luck in the first training does not count. All use the same items, so the
intervals are widened for the number of changes that were tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from reports.ledger.finals import SHARE
from reports.size import sample_of
from reports.statistics import Sample
from search_spaces.own_data import BATCH, EPOCHS
from study.planned_power import ASSUMED
from study.search.ladder import on_part
from study.why.case import Cause, StudyCase
from study.why.changes import Changes, back, changes_of
from trainables.errors import UserError
from trainables.recipe import Recipe, Value

CHOOSING_SEED, JUDGING_SEEDS = 1, (2, 3)
"""The seed under which changes are chosen, and the seeds under which chosen changes are judged."""
MOST_JUDGED = 3
"""Largest number of changes that are trained again under the judging seeds."""
LEAST_GAIN = 1.0
"""A change with a smaller gain, in points, is no cause."""
LEVEL = 0.025
"""Allowed probability of showing a gain that does not exist, over all tried changes together."""
FEWEST_ROWS = 500
"""Smallest number of rows of the part of the data that tries train on."""


@dataclass(frozen=True)
class Gained:
    """Gain of a change over the unchanged recipe on development items, by trainings that did not choose the change."""

    name: str
    changes: Changes
    gain: float
    low: float
    high: float


@dataclass
class Tries:
    """Trains with as many changes as there is time for, and returns their gains."""

    case: StudyCase
    seconds: float
    clock: Callable[[], float] = time.monotonic
    left_out: list[str] = field(default_factory=list)
    """Names of changes that were not trained, because there was no time."""
    share: float = 1.0
    """The share of the recipe's training rows that is used."""

    def __post_init__(self) -> None:
        self.began = self.clock()
        self._took = math.inf
        self._samples: dict[tuple[frozenset[tuple[str, Value]], int], Sample | None] = {}

    @property
    def any_tried(self) -> bool:
        """Whether at least one change was trained."""
        return any(changes and sample is not None for (changes, _), sample in self._samples.items())

    def causes(self, looked: Sequence[Cause]) -> list[Cause]:
        """Return the changes that gain, as causes. Leaving out the suspect rows of causes in `looked` is tried, too."""
        tried = changes_of(self.case, looked)
        self._compared = len(tried)
        self._choose_share(1 + len(tried) + (1 + MOST_JUDGED) * len(JUDGING_SEEDS))
        first = self._sample({}, CHOOSING_SEED)
        if first is None:
            return []
        promising = []
        for name, changes in tried:
            sample = self._within(name, changes, CHOOSING_SEED, spared=2 * len(JUDGING_SEEDS))
            if sample is not None and sample.mean - first.mean >= LEAST_GAIN:
                promising.append((sample.mean - first.mean, name, changes))
        promising.sort(key=lambda entry: -entry[0])
        judged = [gained for _, name, changes in promising[:MOST_JUDGED] if (gained := self._again(name, changes))]
        return [self._cause(gained) for gained in judged if gained.low > 0 and gained.gain >= LEAST_GAIN]

    def taken_back(self) -> list[Gained]:
        """Return the gains of the settings that the recipe changes, over a training with the base's values: first the
        gain of all together, then the gains of each alone, the largest first."""
        if not (keys := back(self.case)):
            return []
        self._compared = len(keys) + 1
        self._choose_share((len(keys) + 2) * len(JUDGING_SEEDS))
        flat = self.case.recipe.flat()
        single = [{key: value} for key, value in keys.items() if _fits(self.case.recipe, {key: value})]
        worth = []
        for changes in [keys, *(single if len(keys) > 1 else [])]:
            if (gained := self._again("base", changes)) is not None:
                own = {key: flat[key] for key in changes}
                worth.append(Gained(gained.name, own, -gained.gain, -gained.high, -gained.low))
            elif changes is keys:
                return []
        return worth[:1] + sorted(worth[1:], key=lambda gained: -gained.gain)

    def _choose_share(self, trainings: int) -> None:
        """Choose the part of the data with time for these trainings, after timing the recipe on a small part."""
        flat = self.case.recipe.flat()
        rows, batch = len(self.case.rows) * float(str(flat.get(SHARE, 1.0))), int(float(str(flat.get(BATCH, 0))))
        self.share = min(1.0, max(FEWEST_ROWS, 4 * batch) / max(1.0, rows))
        for seed in (CHOOSING_SEED, JUDGING_SEEDS[0]):  # the first one also imports and embeds
            if self.clock() - self.began < self.seconds:
                self._sample({}, seed)
        left = self.seconds - (self.clock() - self.began)
        larger = min(1.0, self.share * left / max(1e-9, trainings * self._took))
        if larger > 1.5 * self.share:
            self._took *= larger / self.share
            self.share = larger
            self._samples.clear()

    def _again(self, name: str, changes: Changes) -> Gained | None:
        """Return the gain of a change under the judging seeds; None if there is no time for these trainings."""
        pairs = [(self._within(name, changes, seed), self._within("unchanged", {}, seed)) for seed in JUDGING_SEEDS]
        whole = [(new, old) for new, old in pairs if new is not None and old is not None]
        if len(whole) < len(JUDGING_SEEDS):
            return None
        gain = float(np.mean([new.mean - old.mean for new, old in whole]))
        effects = [effect for new, old in whole if (effect := _difference(new.effect, old.effect)) is not None]
        if not effects:
            return None
        items = float((np.mean(effects, axis=0) ** 2).sum())
        moved = float(np.std([new.mean - old.mean for new, old in whole], ddof=1))
        error = math.sqrt(items + max(2 * ASSUMED.std**2, moved**2) / len(JUDGING_SEEDS))
        half = NormalDist().inv_cdf(1 - LEVEL / self._compared) * error
        return Gained(name, changes, gain, gain - half, gain + half)

    def _cause(self, gained: Gained) -> Cause:
        facts = {"gain": gained.gain, "low": gained.low, "high": gained.high, "changes": dict(gained.changes)}
        nli = gained.changes.get("corpus.nli")
        mend = {"train": (str(nli),)} if nli else {"set": dict(gained.changes)}
        return Cause(gained.name, gained.gain, self.share == 1, {**facts, "share": self.share}, mend)

    def _within(self, name: str, changes: Changes, seed: int, spared: int = 0) -> Sample | None:
        """Return the score of a training if there is time for it and for `spared` further ones; else None."""
        epochs, usual = (float(str(flat.get(EPOCHS, 1))) for flat in (changes, self.case.recipe.flat()))
        takes = self._took * (spared + (max(1.0, epochs / usual) if EPOCHS in changes else 1.0))
        done = (frozenset(changes.items()), seed) in self._samples
        if not done and self.clock() - self.began + takes > self.seconds:
            self.left_out += [name] if changes and name not in self.left_out else []
            return None
        return self._sample(changes, seed)

    def _sample(self, changes: Changes, seed: int) -> Sample | None:
        """Return the development score after training; 0 if training diverged, None if it cannot run on this part."""
        key, began = (frozenset(changes.items()), seed), self.clock()
        if key not in self._samples:
            self._samples[key] = self._trained(changes, seed)
            if not changes and self._samples[key] is not None:  # the first on a part embeds its texts, too
                self._took = min(self._took, self.clock() - began)
        return self._samples[key]

    def _trained(self, changes: Changes, seed: int) -> Sample | None:
        from trainables.trial.evaluation import score_senteval
        from trainables.trial.process_reset import ProcessReset
        from trainables.trial.result import Unscored
        from trainables.trial.run import run_trial

        recipe = _fits(self.case.recipe, changes)
        if recipe is None:
            return None
        if self.share < 1:
            recipe = on_part(recipe, round(self.share, 4)) or recipe
        evaluation = replace(self.case.evaluation, tasks=tuple(sorted(self.case.goal.needs)), parts="development")
        with ProcessReset().trial():
            try:
                unscored = run_trial(recipe, seed, evaluation, embedding_folder=self.case.shared, hand_over=True)
            except UserError:  # the part has no batch of that size, or no negative to mine
                return None
        if not isinstance(unscored, Unscored):  # it diverged
            return Sample(np.zeros(1), (seed,))
        result = score_senteval(evaluation, unscored.embeddings)
        sample = sample_of(result, self.case.development_quantity)
        if sample is None and (value := self.case.development_quantity.of(result.tasks)) is not None:
            sample = Sample(np.array([value]), (seed,))
        return sample


def _fits(recipe: Recipe, changes: Changes) -> Recipe | None:
    """Return the changed recipe; None if a recipe cannot have these settings."""
    try:
        return recipe.override(changes)
    except UserError:
        return None


def _difference(new: np.ndarray | None, old: np.ndarray | None) -> np.ndarray | None:  # (items,)
    """Return the difference of two trainings' item effects. None: the training diverged and scores 0 for any items."""
    if new is None:
        return old
    return new if old is None else new - old
