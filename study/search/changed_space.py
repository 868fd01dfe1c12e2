"""Conversion of a search's earlier Optuna trials to a space that has changed since.

Optuna accepts no choices for a key other than those that its study began with, and most samplers learn only from trials
of one range. So the trials are added anew, in their order, to an Optuna study of the changed space.
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
"""User attributes of an Optuna trial: the displayed name of an explored recipe, the label of a row, and the hash of an
explored recipe, as in the ledger. Journals of older versions lack the hash."""
LEFT = "left by the space"
"""User attribute of an explored recipe that is outside the changed space: Optuna learns nothing from it."""


def of_space(
    trials: Iterable[FrozenTrial], base: Recipe, domains: Sequence[Domain], conditional: bool
) -> list[FrozenTrial] | None:
    """Return Optuna's trials converted to a search over these domains; None if no trial changes. `conditional`: as in
    `AskTell`. Trials that were never chosen completely, and rows outside the space, are left out."""
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
    new.datetime_complete = trial.datetime_complete or datetime.now()  # the trial may not have ended
    new.user_attrs = {HASH: recipe.hash, **trial.user_attrs, LEFT: True}
    return new
