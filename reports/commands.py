"""Commands that a reader can type, made of those that worked on the study."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from reports.ledger import StudyInfo

SEARCH = {
    "--search",
    "--trials",
    "--sampler",
    "--scheduler",
    "--rungs",
    "--finals",
    "--learning-curve",
}
"""Options that matter to explored recipes only; without the first the others are refused."""
OF_DATA = {"--train", "--columns", "--labels", "--drop-leaks"}
"""Options that say what one's own data are."""
_OPTION = re.compile(r"--[a-z-]+(=|$)")


def study_command(info: StudyInfo, rows: Sequence[str] = (), seeds: int | None = None) -> str:
    """The study's last command, for these rows (labels or patterns) alone, all by default, under so many seeds."""
    words = _words(info)
    if rows:
        words = without(words, {"--only", *SEARCH})
        for row in rows:
            words += [f"--only={row}"] if row.startswith("-") else ["--only", row]
    if seeds is not None:
        words = [*without(words, {"--seeds"}), "--seeds", str(seeds)]
    return shlex.join(words)


def recipe_command(info: StudyInfo) -> str:
    """Trains the recipe that a search's answer says to use: of own data on all, also on what was put aside."""
    of_data = _apart(_words(info), OF_DATA)[1]
    return shlex.join(["python", "study/run.py", "--recipe", results_place(info), *of_data])


def patterns(rows: Sequence[str], every: Sequence[str]) -> list[str]:
    """The fewest words for `--only` that we find for exactly these of all rows: labels, or how several begin or end."""
    left, words = list(rows), list[str]()
    others = set(every) - set(rows)
    ends = [end for row in rows for n in range(1, len(row)) for end in (f"{escape(row[:n])}*", f"*{escape(row[n:])}")]
    free = [end for end in dict.fromkeys(ends) if not any(fnmatchcase(other, end) for other in others)]
    while left:
        most = max(free, key=lambda end: (sum(fnmatchcase(row, end) for row in left), len(end)), default="")
        own = [row for row in left if fnmatchcase(row, most)]
        words.append(most if len(own) > 1 else left[0])
        left = [row for row in left if row not in (own if len(own) > 1 else left[:1])]
    return words


def results_place(info: StudyInfo) -> str:
    """The study's results as a command names them: as its last one did."""
    words = _words(info)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--results"):
            return word.partition("=")[2] or following
    own_data = any(word.partition("=")[0] == "--train" for word in words)
    return f"results/{info.space}" if own_data else f"results/{info.space}-{info.scale}"


def report_command(results: Path, *options: str) -> str:
    """The command that reports on a results folder."""
    return shlex.join(["python", "-m", "reports", str(results), *options])


def _words(info: StudyInfo) -> list[str]:
    """The last command as words; one made of the space's name where none is kept or it cannot be read."""
    try:
        words = shlex.split(info.commands[-1]) if info.commands else []
    except ValueError:  # edited by hand: a quotation that does not end
        words = []
    space = info.space_file or info.space
    seeds = str(max(1, len(info.seeds)))
    return words or ["python", "study/run.py", "--space", space, "--scale", info.scale, "--seeds", seeds]


def without(words: Sequence[str], options: set[str]) -> list[str]:
    """A command's words but for these options and all their values."""
    return _apart(words, options)[0]


def _apart(words: Sequence[str], options: set[str]) -> tuple[list[str], list[str]]:
    """The words without these options and all their values, and these, also where a name is cut short: `--only ROW`,
    `--only=ROW`, `--on ROW`, `--train FILE FILE`."""
    parts: tuple[list[str], list[str]] = ([], [])
    among = False
    for word in words:
        if _OPTION.match(word):
            name = word.partition("=")[0]
            among = any(option.startswith(name) for option in options)
        parts[among].append(word)
    return parts
