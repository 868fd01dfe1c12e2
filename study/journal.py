"""Optuna's side of a study: its journal file in the results folder, and its samplers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import optuna
from optuna.samplers import BaseSampler

JOURNAL = "optuna.journal"


def open_journal(
    results: Path, name: str, sampler: Callable[[int], BaseSampler], goals: Sequence[str] = ()
) -> optuna.Study:
    """The study's Optuna journal: made, or continued. Several goals are all maximised.

    `sampler` is given the number of trials that the journal holds, as its seed.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(results / JOURNAL)))
    directions = ["maximize"] * max(len(goals), 1)
    study = optuna.create_study(study_name=name, storage=storage, load_if_exists=True, directions=directions)
    study.sampler = sampler(len(study.trials))
    return study


def tpe(seed: int) -> BaseSampler:
    """The default sampler. `group`: domains may be conditional; `constant_liar`: several trials run at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)


def random(seed: int) -> BaseSampler:
    """Each draw by itself."""
    return optuna.samplers.RandomSampler(seed=seed)
