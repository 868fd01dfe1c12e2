"""The journal of an explored study: Optuna's file in the results folder.

The displayed name of a trial is a user attribute, which optuna-dashboard shows.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import optuna
from optuna.trial import FrozenTrial

from reports.ledger.folders import JOURNAL
from reports.ledger.names import writable_path
from reports.words.markdown import count
from search_spaces.goals import Goal
from search_spaces.space import Domain
from study.cli.terminal import printable, say
from study.search.changed_space import HASH, LEFT, NAME, ROW, of_space
from study.search.distributions import drawn
from study.search.points import applying
from study.search.samplers import DEFAULT_SAMPLER, SAMPLERS
from trainables.errors import UserError, choices, describe_error, shown
from trainables.recipe import Recipe
from trainables.typed_json import parse_json

SAMPLER = "sampler"
"""User attribute of the Optuna study: the name of its sampler."""


def open_journal(
    results: Path, name: str, sampler: str | None, goals: Sequence[Goal], base: Recipe, domains: Sequence[Domain]
) -> optuna.Study:
    """Create or continue the study's Optuna journal; write it anew if the space has changed (`changed_space`). Scores
    are maximised, costs minimised. `UserError` if the journal has other directions, or if its sampler is unregistered.

    `sampler`: name of a sampler; None: the sampler of the journal's last run. The name is stored as `SAMPLER`. The seed
    of the sampler is the number of trials in the journal.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    directions = ["minimize" if goal.lower_is_better else "maximize" for goal in goals]
    study = _open(writable_path(results, JOURNAL), name, directions)
    recorded = [direction.name.lower() for direction in study.directions]
    if recorded != directions:
        raise UserError(
            f"{results / JOURNAL} is of a search that had to {_listed(recorded)}, not to {_listed(directions)}; give "
            "its own goals with --goals, or give this search its own folder with --results"
        )
    trial_count = len(study.get_trials(deepcopy=False))
    chosen = sampler or str(study.user_attrs.get(SAMPLER) or DEFAULT_SAMPLER)
    if chosen not in SAMPLERS:
        raise UserError(
            f"{results / JOURNAL} is of a search with the sampler {shown(chosen)}, which there is not; go on with "
            f"another one: --sampler {choices(SAMPLERS)}"
        )
    with of_journal(results):
        now = of_space(study.get_trials(deepcopy=False), base, domains, SAMPLERS[chosen].conditional)
        if now is not None:
            study = _written_anew(results, name, directions, now)
    names = [_metric(goal) for goal in goals]
    if study.metric_names != names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names(names)
    study.sampler = SAMPLERS[chosen].build(trial_count)
    if study.user_attrs.get(SAMPLER) != chosen:
        study.set_user_attr(SAMPLER, chosen)
    return study


def _open(path: Path, name: str, directions: list[str]) -> optuna.Study:
    """Open or create a journal; `UserError` if the file is no journal, or contains trials that Optuna rejects."""
    with of_journal(path.parent):
        if os.path.lexists(path) and not path.is_file():
            raise ValueError("it is no file")
        if path.is_file():
            _cut_torn_line(path)
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
        study = optuna.create_study(study_name=name, storage=storage, load_if_exists=True, directions=directions)
        for trial in study.get_trials(deepcopy=False):
            trial._validate()
    return study


def _written_anew(results: Path, name: str, directions: list[str], trials: Sequence[FrozenTrial]) -> optuna.Study:
    """Replace the trials of the journal by `trials`, and print a message about it."""
    left = sum(LEFT in trial.user_attrs for trial in trials)
    outside = f"; {count(left, 'recipe')} of before lie outside it, and it learns nothing from them" * bool(left)
    say(f"the space was changed: the search goes on in it with {count(len(trials) - left, 'earlier trial')}{outside}")
    part = writable_path(results, f"{JOURNAL}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        study = _open(part, name, directions)
        for trial in trials:
            study.add_trial(trial)
        os.replace(part, writable_path(results, JOURNAL))
    finally:
        part.unlink(missing_ok=True)
    return _open(results / JOURNAL, name, directions)


@contextlib.contextmanager
def of_journal(results: Path) -> Iterator[None]:
    """Turn any error of reading the journal in this block into one `UserError`; an `OSError` is raised unchanged."""
    try:
        yield
    except OSError:  # the disk, not the contents
        raise
    except Exception as error:  # Optuna replays the file line by line: a wrong line may raise anything
        raise UserError(
            f"{results / JOURNAL} is no journal of this search ({describe_error(error)}); "
            "move it away, and the search begins anew"
        ) from error


@contextlib.contextmanager
def of_sampler(name: str) -> Iterator[None]:
    """Turn any error of a sampler that draws in this block into one `UserError`; an `OSError` is raised unchanged."""
    try:
        yield
    except (OSError, UserError):
        raise
    except Exception as error:  # a plugin's sampler may raise anything
        raise UserError(
            f"the sampler {name} gave no next recipe ({describe_error(error)}); what is done is kept: go on with "
            "another one, such as --sampler random"
        ) from error


def _cut_torn_line(path: Path) -> None:
    """Cut off an unfinished last line, which a killed process left: Optuna skips it, appends the next line to it, and
    then can read neither. `ValueError` for any other line that is no JSON object."""
    whole, _, torn = path.read_bytes().rpartition(b"\n")
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            if not isinstance(parse_json(line), dict):
                raise ValueError("it is no object")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if torn:
        os.truncate(path, len(whole) + 1 if whole else 0)


def _listed(directions: Sequence[str]) -> str:
    return " and ".join(f"{way} {count(directions.count(way), 'goal')}" for way in dict.fromkeys(directions))


def _metric(goal: Goal) -> str:
    """Return the name of a goal in optuna-dashboard."""
    if goal.cost:
        return f"{goal.short} ({goal.unit})" if goal.unit not in goal.short else goal.short
    return "development score" if goal.name == "selection" else f"development {goal.name}"


def name_explored(trial: optuna.Trial, name: str, recipe: Recipe) -> None:
    """Store the hash and the displayed name of a recipe that Optuna has proposed, once it is completely chosen."""
    trial.set_user_attr(HASH, recipe.hash)
    trial.set_user_attr(NAME, printable(name))


def explored_recipe(trial: optuna.trial.FrozenTrial, base: Recipe, domains: Sequence[Domain]) -> Recipe | None:
    """Return the recipe that Optuna proposed. None for a row, for a recipe that the space does not contain any more,
    and if the study was killed before the recipe was completely chosen."""
    chosen = applying(domains, drawn(domains, trial.params), base.flat())
    return base.override(chosen) if NAME in trial.user_attrs and LEFT not in trial.user_attrs else None


def told_rows(study: optuna.Study, base: Recipe, domains: Sequence[Domain]) -> set[str]:
    """Return the recipe hashes of the rows whose results Optuna already has."""
    rows = [trial for trial in study.get_trials(deepcopy=False) if ROW in trial.user_attrs]
    return {base.override(applying(domains, drawn(domains, trial.params), base.flat())).hash for trial in rows}
