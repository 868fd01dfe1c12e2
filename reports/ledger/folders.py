"""What a results folder holds, and the key that names a trial's files in it."""

from __future__ import annotations

import re
from typing import Annotated

from trainables.errors import UserError
from trainables.typed_json import matching

SCHEMA = 2
"""Of the files of a results folder, as `reports/ledger` reads and writes them; one of another schema is refused."""
STUDY = "study.json"
"""What the study was asked to do."""
LEDGER = "ledger"
"""The records of finished trials, `KEY.json` each."""
FAILURES = "failures"
"""Why trials could not run, `KEY.json` each."""
MODELS = "models"
"""Trained models, a folder called KEY each."""
PREDICTIONS = "predictions"
"""What trials predicted, and the gold labels, `KEY-EVALUATION.npz` each."""
PLUGINS = "plugins"
"""Copies of the files that a person gave by `--plugin`."""
PROGRESS = "progress.json"
"""How far the study is, while it runs."""
CURVES = "progress"
"""The losses of trials, `KEY.jsonl` each."""
OWN_DATA = "data"
"""A person's own data as they were prepared for the study, and the space that was made of them."""
LOOKS = "looks"
"""When a report that may hold verdicts was first made of which trials, `DIGEST.json` each (`reports.facts.looks`)."""

Hash = Annotated[str, matching(r"[0-9a-f]{1,64}", "the hash of a recipe")]
PluginFile = Annotated[str, matching(r"(?!\.)[^/\0]+\.py", "the name of a Python file")]
Place = Annotated[str, matching(r"(?!.*\.\.)[\w.-]+(/[\w.-]+)*", "a path within the results folder")]
"""A path below the results folder; a report links to it."""

TRAIN = "train"
"""Checkpoints of unfinished trainings, two folders each."""
POPULATIONS = "populations"
"""Who trains together in a population that is not done yet, a file each."""
JOURNAL = "optuna.journal"
"""What a search asked for and was told."""
LOCK = "study.lock"
"""What the study that writes here holds."""

_KEY = re.compile(r"(?P<hash>[0-9a-f]{1,64})-(?P<seed>[0-9]{1,18})")


def trial_key(recipe_hash: str, seed: int) -> str:
    """What a trial's files are called: `0123456789ab-1`."""
    return f"{recipe_hash}-{seed}"


def split_key(key: str) -> tuple[str, int]:
    """The recipe hash and the seed of a trial's key; `UserError` where it is none."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise UserError(f"{key!r} is not the key of a trial, which is a recipe's hash and a seed: 0123456789ab-1")
    return match["hash"], int(match["seed"])


def is_key(text: str) -> bool:
    """Whether it names a trial, as `split_key` reads it."""
    return _KEY.fullmatch(text) is not None
