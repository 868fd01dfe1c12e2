"""How much each hyperparameter matters: Optuna's PED-ANOVA, which knows conditional search spaces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.space import Domain

BEST = 0.25
"""The share of recipes that count as the best: of twenty recipes five, the fewest that the method is steady with."""


def importances(domains: Sequence[Domain], scored: Sequence[tuple[Mapping[str, Any], float]]) -> dict[str, float]:
    """By key, its share of what decides whether a recipe is among the best; shares sum to 1.

    `scored` are flat recipes with the score that was maximised. A domain of which only one value was tried is left
    out, and so is one that no recipe was asked for.
    """
    import optuna

    from reports.distributions import distribution

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    for recipe, score in scored:
        asked = [domain for domain in domains if is_asked(domain, recipe)]
        params = {domain.key: recipe[domain.key] for domain in asked}
        distributions = {domain.key: distribution(domain) for domain in asked}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=score))
    tried: dict[str, set[Any]] = {}
    for trial in study.trials:
        for key, value in trial.params.items():
            tried.setdefault(key, set()).add(value)
    varied = [key for key, values in tried.items() if len(values) > 1]
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some regimes")  # how many recipes were asked stands in the table
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, params=varied))


def is_asked(domain: Domain, recipe: Mapping[str, Any]) -> bool:
    """Whether the search asked for a value of the domain in this recipe."""
    return domain.when is None or recipe.get(domain.when[0]) in domain.when[1]
