"""Names of the files and folders in a results folder, and the key of a trial, which is part of file names."""

from __future__ import annotations

import re
from typing import Annotated

from trainables.errors import UserError
from trainables.typed_json import matching

SCHEMA = 2
"""Version of the format of the files in a results folder. `reports/ledger` refuses files of another version."""
STUDY = "study.json"
"""The request and state of the study."""
LEDGER = "ledger"
"""The records of finished trials, a file `KEY.json` for each trial."""
FAILURES = "failures"
"""The reasons why trials could not run, a file `KEY.json` for each trial."""
MODELS = "models"
"""Trained models, a folder `KEY` for each trial."""
PREDICTIONS = "predictions"
"""Predictions of trials with the right answers, a file `KEY-EVALUATION.npz` for each evaluation."""
PLUGINS = "plugins"
"""Copies of the files given by `--plugin`."""
PROGRESS = "progress.json"
"""The progress of a running study."""
CURVES = "progress"
"""Training losses, a file `KEY.jsonl` for each trial."""
OWN_DATA = "data"
"""The user's own data as prepared for the study, and the space file made of them."""
LOOKS = "looks"
"""A file `FAMILY-DIGEST.json` for each look, that is, for each set of trials of which a report with verdicts was made.
The file has the time of the first such report (`reports.facts.looks`)."""

Hash = Annotated[str, matching(r"[0-9a-f]{1,64}", "the hash of a recipe")]
PluginFile = Annotated[str, matching(r"(?!\.)[^/\0]+\.py", "the name of a Python file")]
InnerPath = Annotated[str, matching(r"(?!.*\.\.)[\w.-]+(/[\w.-]+)*", "a path within the results folder")]
"""A path within the results folder, to which a report may link."""

TRAIN = "train"
"""Checkpoints of unfinished trainings, at most two folders for each."""
POPULATIONS = "populations"
"""A file for each unfinished population. The file states which trials train together."""
JOURNAL = "optuna.journal"
"""Optuna's journal: the recipes that a search chose, and their scores."""
LOCK = "study.lock"
"""The file that a running study locks, so that no other study writes to the folder."""

_KEY = re.compile(r"(?P<hash>[0-9a-f]{1,64})-(?P<seed>[0-9]{1,18})")


def trial_key(recipe_hash: str, seed: int) -> str:
    """Return a trial's key, `0123456789ab-1`, which is part of the names of its files."""
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
