"""Names of the files and folders in a results folder, and the key of a trial, which is part of file names."""

from __future__ import annotations

import re
from typing import Annotated

from trainables.errors import UserError
from trainables.typed_json import matching

SCHEMA = 2
"""Version of the files in a results folder, as `reports/ledger` reads and writes them; others are refused."""
STUDY = "study.json"
"""The request and state of the study."""
LEDGER = "ledger"
"""The records of finished trials, `KEY.json` each."""
FAILURES = "failures"
"""The reasons why trials could not run, `KEY.json` each."""
MODELS = "models"
"""Trained models, a folder called KEY each."""
PREDICTIONS = "predictions"
"""Predictions of trials and the gold labels, `KEY-EVALUATION.npz` each."""
PLUGINS = "plugins"
"""Copies of the files given by `--plugin`."""
PROGRESS = "progress.json"
"""The progress of a running study."""
CURVES = "progress"
"""The losses of trials, `KEY.jsonl` each."""
OWN_DATA = "data"
"""The user's own data as prepared for the study, and the space that was made of them."""
LOOKS = "looks"
"""For each look, the time when a report first used these trials (`reports.facts.looks`), `DIGEST.json` each."""

Hash = Annotated[str, matching(r"[0-9a-f]{1,64}", "the hash of a recipe")]
PluginFile = Annotated[str, matching(r"(?!\.)[^/\0]+\.py", "the name of a Python file")]
Place = Annotated[str, matching(r"(?!.*\.\.)[\w.-]+(/[\w.-]+)*", "a path within the results folder")]
"""A path below the results folder; a report links to it."""

TRAIN = "train"
"""Checkpoints of unfinished trainings, two folders each."""
POPULATIONS = "populations"
"""A file for each unfinished population: which trials train together."""
JOURNAL = "optuna.journal"
"""The recipes that a search chose, and their scores."""
LOCK = "study.lock"
"""The file that a running study locks, so that no other study writes to the folder."""

_KEY = re.compile(r"(?P<hash>[0-9a-f]{1,64})-(?P<seed>[0-9]{1,18})")


def trial_key(recipe_hash: str, seed: int) -> str:
    """Return the name of a trial's files: `0123456789ab-1`."""
    return f"{recipe_hash}-{seed}"


def split_key(key: str) -> tuple[str, int]:
    """Return the recipe hash and the seed of a trial's key. Raise `UserError` if the key is malformed."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise UserError(f"{key!r} is not the key of a trial, which is a recipe's hash and a seed: 0123456789ab-1")
    return match["hash"], int(match["seed"])


def is_key(text: str) -> bool:
    """Return whether `split_key` accepts this text."""
    return _KEY.fullmatch(text) is not None
