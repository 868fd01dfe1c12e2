"""What tables of texts have in common, for training and for tasks: what their columns are called, and how a cell is
read as a number or a label.

    roles_of(["Question", "answer", "neg_1", "neg_2"])    # {"anchor": ("Question",), "positive": ("answer",), ...}
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence

from trainables.labels import LABELS

NAMES: Mapping[str, tuple[str, ...]] = {
    "anchor": ("anchor", "query", "question"),
    "positive": (r"pos(itives?)?(_\d+)?", "answer"),
    "negative": (r"neg(atives?)?(_\d+)?",),
    "sentence1": ("premise", "sentence1", "text1", "question1", "sentence_a"),
    "sentence2": ("hypothesis", "sentence2", "text2", "question2", "sentence_b"),
    "sentence": ("sentence", "text"),
    "label": ("gold_label", "label", "class", "cluster", "is_duplicate"),
    "score": ("score", "similarity", "similarity_score", "relatedness_score"),
}
"""Of each role what its columns are called, in small letters: the first that a table has. These are regular
expressions."""
SEVERAL = ("positive", "negative")
"""Roles of all columns that fit; of others it is the first column."""
_NEARLY = 0.81
"""How alike a name is that may be misspelt: `anwser` is (0.83), `source` and `context` are like no known one."""


def roles_of(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which columns have which role, by their names; a space in them is as `_`."""
    found: dict[str, tuple[str, ...]] = {}
    for role, names in NAMES.items():
        fitting = (tuple(one for one in columns if re.fullmatch(name, _plain(one))) for name in names)
        known = next(filter(None, fitting), ())
        if known:
            found[role] = known if role in SEVERAL else known[:1]
    return found


def near_role(column: str) -> tuple[str, str] | None:
    """The role and the known name that a column's name is nearly, as `anwser` is; None where it is none or is known."""
    if any(re.fullmatch(name, _plain(column)) for names in NAMES.values() for name in names):
        return None
    known = {name: role for role, names in NAMES.items() for name in (*names, role) if name.isidentifier()}
    near = difflib.get_close_matches(_plain(column), known, n=1, cutoff=_NEARLY)
    return (known[near[0]], near[0]) if near else None


def _plain(column: str) -> str:
    return column.lower().replace(" ", "_")


def as_number(cell: object) -> float | None:
    """A finite number; None for what is none."""
    try:
        found = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def as_label(cell: object) -> str | None:
    """A label as text; None for an empty cell. A whole number is the same label however a file writes it: integer
    columns with gaps turn into 1.0."""
    text = "" if cell is None or cell != cell else str(cell).strip()
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text) or None


def is_graded(values: Sequence[object]) -> bool:
    """Whether labels are numbers, and others than those that stand for the three labels of NLI."""
    numbers = [as_number(value) for value in values if value not in (None, "")]
    known = {None, *map(float, range(-1, len(LABELS)))}
    return bool(numbers) and None not in numbers and not set(numbers) <= known
