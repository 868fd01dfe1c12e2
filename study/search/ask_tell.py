"""Optuna's side of a search: it asks for recipes, and is told what became of their seeds.

It knows neither Ray nor a disk, so a replay on simulated time runs the very same code as a study.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import optuna
from optuna.trial import TrialState

from search_spaces.space import Domain
from study.search.distributions import distribution, parameters, suggest
from study.search.points import in_order, means
from trainables.recipe import Recipe, Value

RungScores = Sequence[tuple[int, Sequence[float]]]
"""The values of a training's goals at its rungs, each with the rung's number, from 1, rising."""
STOPPED, SMALL = "stopped early", 1e-3
"""The constraint that a stopped trial of several goals breaks, and by how much at most: less than any real limit."""


@dataclass
class _SeedGroup:
    """The seeds of one explored recipe, which are one Optuna trial."""

    number: int
    waiting: set[int]
    values: dict[int, Sequence[float]] = field(default_factory=dict)
    rungs: dict[int, RungScores] = field(default_factory=dict)
    violations: dict[int, Sequence[float] | None] = field(default_factory=dict)


class AskTell:
    """Asks Optuna for recipes; all seeds of a recipe are one Optuna trial, whose values are their means.

    A seed that a scheduler could have stopped was selected by its scores: where there are others, the means are theirs
    alone. With the first seed that was stopped, or failed, so has the recipe.
    """

    def __init__(
        self, study: optuna.Study, base: Recipe, domains: Sequence[Domain], *, conditional: bool = True
    ) -> None:
        """`conditional`: whether the study's sampler understands a domain that is not asked for in every trial
        (`SamplerEntry.conditional`). Where it does not, all are asked for, and a value that does not apply is left out
        of the recipe."""
        self.study, self.base, self.domains = study, base, in_order(domains)
        self.conditional = conditional
        self.flat = base.flat()
        self.groups: dict[str, _SeedGroup] = {}
        """By the recipe's hash, those whose seeds are not all done."""

    def ask(self) -> tuple[optuna.Trial, Recipe]:
        """Optuna's next trial, and its recipe."""
        trial, chosen = self.draw()
        return trial, self.base.override(chosen)

    def draw(self) -> tuple[optuna.Trial, dict[str, Value]]:
        """As `ask`, with no more than the domains' values: to build a recipe takes longer than to draw it."""
        trial = self.study.ask()
        chosen: dict[str, Value] = {}
        flat = dict(self.flat)
        for domain in self.domains:
            applies = domain.is_asked(flat)
            if applies or not self.conditional:
                value = suggest(trial, domain)
                if applies:
                    chosen[domain.key] = flat[domain.key] = value
        return trial, chosen

    def enqueue(self, chosen: Mapping[str, Value]) -> None:
        """Have Optuna ask for this next: the domains' values where they apply."""
        self.study.enqueue_trial(parameters(self.domains, chosen, self.flat, self.conditional))

    def add(
        self,
        chosen: Mapping[str, Value],
        values: Sequence[float],
        *,
        violation: Sequence[float] = (),
        attributes: Mapping[str, str] = types.MappingProxyType({}),
    ) -> None:
        """Let Optuna learn from a recipe that it has not asked for: the domains' values where they apply (`point`),
        and its goals' values. `attributes` are what people see of the trial."""
        params = parameters(self.domains, chosen, self.flat, self.conditional)
        trial = optuna.trial.create_trial(
            params=params,
            distributions={domain.key: distribution(domain) for domain in self.domains if domain.key in params},
            values=list(values),
            user_attrs=dict(attributes),
            constraints={f"limit {limit}": value for limit, value in enumerate(violation, 1)} or None,
        )
        self.study.add_trial(trial)

    def begin(self, number: int, recipe: Recipe, seeds: Iterable[int]) -> bool:
        """Wait for these seeds of a recipe that was asked for. False where the recipe is waited for already: Optuna is
        told that the trial failed, and nothing is to be run."""
        if recipe.hash in self.groups:
            self.study.tell(number, state=TrialState.FAIL)
            return False
        self.groups[recipe.hash] = _SeedGroup(number, set(seeds))
        return True

    def tell(
        self,
        recipe_hash: str,
        seed: int,
        values: Sequence[float] | None,
        *,
        pruned: bool = False,
        rungs: RungScores = (),
        violation: Sequence[float] | None = None,
    ) -> None:
        """A seed is done: its goals' values, or None where it failed. `pruned`: it was stopped early or diverged, and
        its values do not count. Optuna is told with the last seed, or with the first that did not finish.

        `rungs`: how far a trial came that could be stopped, by which samplers rank stopped ones. `violation`: a number
        for each limit, above 0 where it is broken; all finished trials have them, or none.
        """
        group = self.groups.get(recipe_hash)
        if group is None:
            return
        group.waiting.discard(seed)
        if values is not None and not pruned:  # what a training cost that did not come to its end is no result
            group.values[seed], group.rungs[seed], group.violations[seed] = values, rungs, violation
        if pruned or values is None or not group.waiting:
            del self.groups[recipe_hash]
            if pruned:
                self._report(group.number, dict(rungs))
                self.study.tell(group.number, state=TrialState.PRUNED)
            elif values is None:
                self.study.tell(group.number, state=TrialState.FAIL)
            else:
                self._tell_means(group)

    def _tell_means(self, group: _SeedGroup) -> None:
        violations = [violation for violation in group.violations.values() if violation is not None]
        for limit, violation in enumerate(means(violations) if len(violations) == len(group.values) else (), 1):
            self._trial(group.number).set_constraint(f"limit {limit}", violation)
        free = [values for seed, values in group.values.items() if not group.rungs[seed]]
        self.study.tell(group.number, means(free or [*group.values.values()]))

    def _report(self, number: int, rungs: Mapping[int, Sequence[float]]) -> None:
        """Tell Optuna how far a stopped trial came.

        TPE ranks stopped trials behind finished ones: first by their last rung, then by the value there. It reads rungs
        of one goal only, so with several goals the rung becomes a broken constraint, which is smaller the farther the
        trial came.
        """
        trial = self._trial(number)
        if len(self.study.directions) > 1:
            trial.set_constraint(STOPPED, SMALL / (1 + max(rungs, default=0)))
            return
        for rung, (value,) in sorted(rungs.items()):
            trial.report(value, rung)

    def _trial(self, number: int) -> optuna.Trial:
        """That running trial, also of an earlier run."""
        storage, study = self.study._storage, self.study._study_id
        return optuna.Trial(self.study, storage.get_trial_id_from_study_id_trial_number(study, number))


def memory_study(sampler: optuna.samplers.BaseSampler, goals: int = 1) -> optuna.Study:
    """An Optuna study in memory, for a replay; all its goals are maximised."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = "in memory"  # a pruner draws by it
    return optuna.create_study(sampler=sampler, directions=["maximize"] * goals, study_name=name)
