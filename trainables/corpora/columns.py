"""Roles of the columns of a table: labelled pairs, or anchors with positives and negatives.

    find_columns(["premise", "hypothesis", "label"], "a.csv, line 2", named=None)     # {"sentence1": ("premise",), ...}

`trainables.tabular` lists the known names; `corpus.columns` and `corpus.labels` give other names. Layouts that read
other columns find them by role (`role_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from trainables.corpora.teacher_scores import ROLES
from trainables.errors import UserError, choices, listed, point_hint, shown
from trainables.labels import LABELS
from trainables.tabular import NAMES, NLI_SIDES, SEVERAL_COLUMNS, RoleColumns, roles_of, without_zeros

NUMBERS_READ = "numbers read as " + ", ".join(f"{code} {name}" for code, name in enumerate(LABELS))
TRIPLETS_READ = "anchors with positives read as entailment, with negatives as contradiction"
TRIPLETS_IN_WORDS = (
    "each anchor is to be near its positives, and far from its negatives where it has any (what NLI calls entailment "
    "and contradiction)"
)

_UNLABELLED = frozenset({"", "-", "-1", "nan", "none"})
_LABELLED = (
    ("premise", "hypothesis", "label"),
    ("sentence1", "sentence2", "gold_label"),
    ("sentence1", "sentence2", "label"),
)
_NEGATIVE = re.compile(r"neg(ative)?(_\d+)?")
_FIRST = {
    "sentence1": ("sentence1", "sentence_A", "text1"),
    "sentence2": ("sentence2", "sentence_B", "text2"),
    "score": ("score", "similarity_score", "relatedness_score"),
    "sentence": ("sentence", "text"),
    "label": ("label", "class"),
}
"""Maps a role to column names that are tried before those of `NAMES`, by exact match. So a recipe still reads the same
columns of a file after `NAMES` gets more names. `_LABELLED` and `_NEGATIVE` serve the same purpose."""
_PAIR, _TRIPLET = (*NLI_SIDES, "label"), ("anchor", "positive", "negative", *ROLES)
"""The roles of a labelled pair, one column each, and the roles of a triplet."""


class Labels:
    """Reader of a corpus's labels; `names` is `corpus.labels`, such as `entailment=yes,contradiction=no`."""

    def __init__(self, names: str | None) -> None:
        self.numbers: set[int] = set()
        """Numeric labels read so far, if `names` is None."""
        self._named = names is not None
        codes = {str(label): code for code, label in enumerate(LABELS)}
        self._codes = codes | {str(code): code for code in codes.values()}
        if names is not None:
            pairs = assignments(names, f"corpus.labels={names!r}", LABELS)
            self._codes = {name.lower(): codes[label] for label, name in pairs}

    def code(self, raw: Any, where: str) -> int | None:
        """Return the index of a label in `LABELS`; None for a row without a gold label. `UserError` if unknown."""
        text = str(raw).strip().lower()
        if text not in self._codes:
            text = without_zeros(text)
        code = None if isinstance(raw, bool) and not self._named else self._codes.get(text)
        if code is None:
            if text in _UNLABELLED:
                return None
            names = choices(sorted(self._codes) if self._named else [*LABELS, 0, 1, 2])
            raise UserError(
                f"{where}: unknown label {shown(raw)}{point_hint(raw)}; known: {names}, or - for none; name "
                "others by --labels entailment=YOURS,neutral=YOURS,contradiction=YOURS"
            )
        if not self._named and text.isdigit():
            self.numbers.add(code)
        return code

    @property
    def lacks_labels(self) -> bool:
        """Whether labels are numeric, and fewer than three different numbers were read so far."""
        return 0 < len(self.numbers) < len(LABELS)

    def check_numbers(self, where: str) -> None:
        """Raise `UserError` if all labels read are two numbers, because 1 may then mean paraphrase or neutral."""
        if len(self.numbers) == 2:
            raise UserError(
                f"{where}: all labels are {choices(sorted(self.numbers))}, and what two numbers mean differs from "
                "corpus to corpus; say it by --labels entailment=YOURS,contradiction=YOURS"
            )


def named_columns(names: str | None) -> RoleColumns | None:
    """Parse `corpus.columns`, such as `premise=text_a,hypothesis=text_b,label=y` or
    `anchor=question,positive=answer,negative=wrong`. Positive and negative may be named more than once."""
    if names is None:
        return None
    named: dict[str, tuple[str, ...]] = {}
    for role, column in assignments(names, f"corpus.columns={names!r}", [*_PAIR, *_TRIPLET]):
        named[role] = (*named.get(role, ()), column)
    several = {role for role, columns in named.items() if len(columns) > 1}
    labelled = named.keys() == {*_PAIR} and not several
    if not labelled and not ({"anchor", "positive"} <= named.keys() <= {*_TRIPLET} and several <= {*SEVERAL_COLUMNS}):
        raise UserError(
            f"corpus.columns={names!r} must name premise, hypothesis and label, each once, or one anchor, its positive "
            "and, if there are any, negative and what a teacher says of them"
        )
    return {NLI_SIDES.get(role, role): named[role] for role in (*_PAIR, *_TRIPLET) if role in named}


def find_columns(columns: Sequence[str], where: str, named: RoleColumns | None) -> RoleColumns:
    """Return the columns of each role: the `named` columns, or columns with known names if `named` is None. `UserError`
    if a needed column is missing."""
    if named is not None:
        missing = [column for column in chain.from_iterable(named.values()) if column not in columns]
        if missing:
            raise UserError(
                f"{where}: column {missing[0]!r}, which corpus.columns names, is missing (found: {listed(columns)})"
            )
        return named
    roles = roles_of(columns)
    taught = {role: roles[role] for role in ROLES if role in roles}
    labelled = next((names for names in _LABELLED if {*names} <= {*columns}), None)
    anchor = next((name for name in ("anchor", "query") if name in columns), None)
    positive = next((name for name in ("positive", "pos") if name in columns), None)
    if anchor and positive and not any({*names[:2]} & {*columns} for names in _LABELLED):
        negatives = tuple(filter(_NEGATIVE.fullmatch, columns))
        return {"anchor": (anchor,), "positive": (positive,), "negative": negatives, **taught}
    if not labelled and roles.keys() >= {"sentence1", "sentence2", "label"}:
        labelled = roles["sentence1"][0], roles["sentence2"][0], roles["label"][0]
    if labelled:
        return {NLI_SIDES.get(role, role): (name,) for role, name in zip(_PAIR, labelled, strict=True)}
    if roles.keys() >= {"anchor", "positive"}:
        return {role: roles[role] for role in _TRIPLET if role in roles}
    raise UserError(
        f"{where}: no columns premise, hypothesis and label, and none of triplets (found: {listed(columns)}); "
        "name others by --columns premise=YOURS,hypothesis=YOURS,label=YOURS"
    )


def role_columns(
    columns: Sequence[str], where: str, names: str | None, roles: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the column of each role: the column given by `names` (`corpus.columns`), or else the first column whose
    name fits. `roles` maps each role to the roles of `NAMES` that fit, in order. `UserError` if a column is missing."""
    named = dict(assignments(names, f"corpus.columns={names!r}", list(roles))) if names is not None else {}
    by_role = roles_of(columns)
    chosen = {
        role: named.get(role)
        or next((name for known_role in fitting for name in _FIRST[known_role] if name in columns), None)
        or next((by_role[known_role][0] for known_role in fitting if known_role in by_role), None)
        for role, fitting in roles.items()
    }
    lacking = next((role for role, column in chosen.items() if column not in columns), None)
    if lacking is not None:
        example = ",".join(f"{role}=YOURS" for role in roles)
        missing = named.get(lacking) or choices(name for known_role in roles[lacking] for name in NAMES[known_role])
        raise UserError(f"{where}: no column {missing} (found: {listed(columns)}); name others by --columns {example}")
    return {role: str(column) for role, column in chosen.items()}


def assignments(text: str, where: str, names: Sequence[str], form: str = "NAME=VALUE") -> list[tuple[str, str]]:
    """Parse `a=x,b=y` into pairs such as `("a", "x")`. `UserError` for another form, or if `a` is not in `names`."""
    pairs = []
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value or name not in names:
            raise UserError(f"{where}: {part.strip()!r} is not {form}, where NAME is {choices(names)}")
        pairs.append((name, value))
    return pairs
