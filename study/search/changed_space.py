"""A search that goes on in a space that was changed since: its earlier trials, as Optuna would have them of this space.

Optuna takes no other choices for a key than those that its study began with, and most samplers learn from trials of one
range alone. So the trials are told anew, in their order, to a study that knows the space as it is now.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from search_spaces.space import Domain
from study.search.distributions import distribution, drawn, parameters
from study.search.points import applying, point
from trainables.recipe import Recipe

NAME, ROW, HASH = "name", "row", "recipe_hash"
"""User attributes: what people call an explored recipe, a row's label, and an explored recipe's hash, as in the ledger;
journals of older versions lack it."""
LEFT = "left by the space"
"""User attribute of an explored recipe that the changed space does not hold: Optuna learns nothing from it."""


def of_space(
    trials: Iterable[FrozenTrial], base: Recipe, domains: Sequence[Domain], conditional: bool
) -> list[FrozenTrial] | None:
    """The trials as a search over these domains would have them; None where they are so already. `conditional` as in
    `AskTell`. A trial that was never chosen whole, or is a row that the space does not hold, is left out."""
    kinds = {domain.key: distribution(domain) for domain in domains}
    whole = [trial for trial in trials if NAME in trial.user_attrs or ROW in trial.user_attrs]
    renewed = [_of_space(trial, base, domains, kinds, conditional) for trial in whole]
    unchanged = all(new is old for new, old in zip(renewed, whole, strict=True))
    return None if unchanged else [trial for trial in renewed if trial is not None]


def _of_space(
    trial: FrozenTrial,
    base: Recipe,
    domains: Sequence[Domain],
    kinds: Mapping[str, BaseDistribution],
    conditional: bool,
) -> FrozenTrial | None:
    flat = base.flat()
    before = applying(domains, drawn(domains, trial.params), flat)
    keys = [domain.key for domain in domains if not conditional or domain.is_asked({**flat, **before})]
    if LEFT in trial.user_attrs or trial.distributions == {key: kinds[key] for key in keys}:
        return trial
    new, recipe = copy.copy(trial), base.override(before)
    chosen = point(recipe, base, domains)
    if chosen is not None:
        new.params = parameters(domains, chosen, flat, conditional)
        new.distributions = {key: kinds[key] for key in new.params}
        return new
    if ROW in trial.user_attrs:
        return None
    new.params, new.distributions, new.values, new.state = {}, {}, None, TrialState.FAIL
    new.datetime_complete = trial.datetime_complete or datetime.now()  # it may never have come to an end
    new.user_attrs = {HASH: recipe.hash, **trial.user_attrs, LEFT: True}
    return new
