"""How much each hyperparameter matters: Optuna's PED-ANOVA, which knows conditional search spaces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from search_spaces.space import Domain
from trainables.recipe import Value

BEST = 0.25
"""The share of recipes that count as the best. Of twenty recipes that is five; with fewer the shares are not steady."""


def importances(domains: Sequence[Domain], scored: Sequence[tuple[Mapping[str, Value], float]]) -> dict[str, float]:
    """By key, its share of what decides whether a recipe is among the best; shares sum to 1.

    `scored` are flat recipes with the score that was maximised. A domain of which only one value was tried is left
    out, and so is one that no recipe was asked for.
    """
    import optuna

    from reports.distributions import distribution

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    for recipe, score in scored:
        asked = [domain for domain in domains if domain.is_asked(recipe)]
        params = {domain.key: recipe[domain.key] for domain in asked}
        distributions = {domain.key: distribution(domain) for domain in asked}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=score))
    tried: dict[str, set[Value]] = {}
    for trial in study.trials:
        for key, value in trial.params.items():
            tried.setdefault(key, set()).add(value)
    varied = [key for key, values in tried.items() if len(values) > 1]
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some regimes")  # how many recipes were asked stands in the table
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, params=varied))
