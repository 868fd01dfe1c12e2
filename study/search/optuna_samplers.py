"""Optuna's samplers as our studies need them; `study.search.samplers` names them. Each takes a seed."""

from __future__ import annotations

import warnings

import optuna
from optuna.samplers import BaseSampler, TPESampler


def tpe(seed: int) -> BaseSampler:
    """`group`: domains may be conditional; `constant_liar`: several trials run at once."""
    with warnings.catch_warnings():  # of each part that Optuna may still change; its version is fixed here
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
