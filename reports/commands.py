"""Commands that a reader can type, made of those that worked on the study."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from reports.ledger import StudyInfo

SEARCH = {"--search", "--trials", "--sampler", "--scheduler", "--rungs"}
"""Options with a value that matter to explored recipes only."""


def study_command(info: StudyInfo, rows: Sequence[str] = (), seeds: int | None = None) -> str:
    """The study's last command, for these rows alone (all by default), under so many seeds (as many as it had)."""
    words = _words(info)
    if rows:
        words = _without(words, {"--only", *SEARCH})
        words += [word for row in rows for word in ("--only", row)]
    if seeds is not None:
        words = [*_without(words, {"--seeds"}), "--seeds", str(seeds)]
    return shlex.join(words)


def _words(info: StudyInfo) -> list[str]:
    """The last command as words; one made of the space's name where none is kept or it cannot be read."""
    try:
        words = shlex.split(info.commands[-1]) if info.commands else []
    except ValueError:  # edited by hand: a quotation that does not end
        words = []
    space = info.space_file or info.space
    return words or ["python", "study/run.py", "--space", space, "--scale", info.scale, "--seeds", str(len(info.seeds))]


def _without(words: Sequence[str], options: set[str]) -> list[str]:
    """The words without these options and their values, `--only ROW` and `--only=ROW`."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in options:
            skip = True
        elif word.split("=", 1)[0] not in options:
            kept.append(word)
    return kept
