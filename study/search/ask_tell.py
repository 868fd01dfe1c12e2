"""Optuna's side of a search: asks Optuna for recipes, and reports the results of these recipes to Optuna.

This module uses neither Ray nor a disk, so a replay on simulated time runs the same code as a study.
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
"""For each rung of a training, in order, its number, from 1, and the goals' values there."""
STOPPED, SMALL = "stopped early", 1e-3
"""The constraint that a stopped trial of several goals breaks, and its largest violation: less than that of a limit."""


@dataclass
class _SeedGroup:
    """The seeds of one explored recipe, which are one Optuna trial."""

    number: int
    waiting: set[int]
    values: dict[int, Sequence[float]] = field(default_factory=dict)
    rungs: dict[int, RungScores] = field(default_factory=dict)
    violations: dict[int, Sequence[float] | None] = field(default_factory=dict)


class AskTell:
    """Asks Optuna for recipes. All seeds of a recipe are one Optuna trial, whose values are the means over its seeds.

    Seeds that a scheduler could have stopped were selected by their scores. If the recipe has other seeds, the means
    are of the other seeds alone. If a seed is stopped or fails, the whole Optuna trial counts as stopped or failed.
    """

    def __init__(
        self, study: optuna.Study, base: Recipe, domains: Sequence[Domain], *, conditional: bool = True
    ) -> None:
        """`conditional` (as in `SamplerEntry`): whether the sampler supports domains that are not drawn in every trial.
        If not, every trial draws all domains, and values that do not apply are left out of the recipe."""
        self.study, self.base, self.domains = study, base, in_order(domains)
        self.conditional = conditional
        self.flat = base.flat()
        self.groups: dict[str, _SeedGroup] = {}
        """Recipes of which some seeds are not done, by recipe hash."""

    def ask(self) -> tuple[optuna.Trial, Recipe]:
        """Return Optuna's next trial, and its recipe."""
        trial, chosen = self.draw()
        return trial, self.base.override(chosen)

    def draw(self) -> tuple[optuna.Trial, dict[str, Value]]:
        """Return Optuna's next trial, and the domains' values; faster than `ask`, which also builds the recipe."""
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
        """Make Optuna propose these values next. `chosen` has a value for each domain that applies."""
        self.study.enqueue_trial(parameters(self.domains, chosen, self.flat, self.conditional))

    def add(
        self,
        chosen: Mapping[str, Value],
        values: Sequence[float],
        *,
        violation: Sequence[float] = (),
        attributes: Mapping[str, str] = types.MappingProxyType({}),
    ) -> None:
        """Add a recipe that Optuna has not proposed, so that Optuna learns from it: `chosen` are the values of the
        domains that apply (`point`), `values` those of the goals, `attributes` the trial's user attributes."""
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
        """Register these seeds of a recipe that Optuna proposed. Return False if the recipe is registered already: then
        the Optuna trial fails, and the recipe must not run again."""
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
        """Take the goals' values of a seed that is done; None: it failed. `pruned`: it was stopped early or diverged,
        and its values do not count. The Optuna trial ends with the last seed, or the first that did not finish.

        `rungs`: the scores at the rungs, for a trial that could be stopped; samplers rank stopped trials by them.
        `violation`: a number for each limit, above 0 if it is broken; all finished trials have them, or none.
        """
        group = self.groups.get(recipe_hash)
        if group is None:
            return
        group.waiting.discard(seed)
        if values is not None and not pruned:  # the cost of an unfinished training is no result
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
        """Report the rungs of a stopped trial to Optuna.

        TPE ranks stopped trials after finished ones: by their last rung, then by the value there. It reads the rungs of
        one goal only. So with several goals the last rung becomes a broken constraint: the later, the smaller.
        """
        trial = self._trial(number)
        if len(self.study.directions) > 1:
            trial.set_constraint(STOPPED, SMALL / (1 + max(rungs, default=0)))
            return
        for rung, (value,) in sorted(rungs.items()):
            trial.report(value, rung)

    def _trial(self, number: int) -> optuna.Trial:
        """Return the running Optuna trial of that number, which an earlier run may have begun."""
        storage, study = self.study._storage, self.study._study_id
        return optuna.Trial(self.study, storage.get_trial_id_from_study_id_trial_number(study, number))


def memory_study(sampler: optuna.samplers.BaseSampler, goals: int = 1) -> optuna.Study:
    """Return an Optuna study in memory, for a replay; all its goals are maximised."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = "in memory"  # a fixed name, as a pruner's random draws depend on it
    return optuna.create_study(sampler=sampler, directions=["maximize"] * goals, study_name=name)
