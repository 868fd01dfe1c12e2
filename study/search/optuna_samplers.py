"""Optuna's samplers with the settings of our studies. Each function takes a seed; `study.search.samplers` names it."""

from __future__ import annotations

import warnings

import optuna
from optuna.samplers import BaseSampler, TPESampler


def tpe(seed: int) -> BaseSampler:
    """Return a TPE sampler. `group`: domains may be conditional; `constant_liar`: several trials run at once."""
    with warnings.catch_warnings():  # Optuna warns of experimental options; the project pins its version
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
