"""The content of a table of training data, and its columns, by names, by `--columns`, and by first rows.

read = reading(open_table(file), named=named_roles("anchor=question,positive=answer"), labels=None)
read.content, read.columns        # "pairs", {"anchor": ("question",), "positive": ("answer",)}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NoReturn

from trainables.corpora.columns import assignments
from trainables.corpora.own_rows import CONTENTS, brief
from trainables.corpora.tables import OpenTable, Record
from trainables.errors import UserError, choices, did_you_mean, listed
from trainables.tabular import (
    NAMES,
    NLI_SIDES,
    PEEKED,
    SEVERAL,
    RoleColumns,
    as_label,
    as_number,
    guessed_roles,
    is_duplicate,
    is_empty,
    is_graded,
    is_index,
    near_role,
    no_number,
    rivals_of,
    roles_of,
    unclear,
)

_MAY_NAME = (*NAMES, *NLI_SIDES)
"""What `--columns` may name."""
_NO_SIDE = {"negative", "label", "score", "teacher", "positive_scores", "negative_scores"}
"""Roles of columns that are neither side of a pair."""
_LIST = re.compile(r"\s*\[\s*([\"']).*\1\s*\]\s*", re.S)
_LIKE_TEXT = re.compile(r".*[.?!\u3002\uff01\uff1f]|.{51,}|(\S+\s+){4,}\S+", re.S)
"""What no name of a column looks like: a sentence with its end, 51 letters or five words."""
_DUPLICATES = "entailment=1,entailment=true,contradiction=0,contradiction=false"


@dataclass(frozen=True)
class Reading:
    """How a table is read."""

    table: OpenTable
    content: str
    columns: RoleColumns
    labels: str | None = None
    """Names of its labels, by `--labels` or by the column's name."""
    doubts: tuple[str, ...] = ()
    """Sentences on what may have been read wrongly."""
    unused: tuple[str, ...] = ()
    """Columns that are not read, but for those that number the rows."""
    rivals: tuple[str, ...] = ()
    """Those of known names, where `--columns` does not say which are read."""

    def records(self) -> Iterator[tuple[str, Record]]:
        """Each row after its place, with the columns that are read."""
        return self.table.read([*dict.fromkeys(chain(*self.columns.values(), self.rivals))])


def named_roles(names: str | None) -> dict[str, tuple[str, ...]] | None:
    """The columns of each role that `--columns` names: `anchor=question,positive=answer`."""
    if names is None:
        return None
    roles: dict[str, tuple[str, ...]] = {}
    for role, column in assignments(names, f"--columns {names!r}", _MAY_NAME, "NAME=COLUMN"):
        if role not in SEVERAL and NLI_SIDES.get(role, role) in {NLI_SIDES.get(other, other) for other in roles}:
            raise UserError(
                f"--columns {names!r} names two columns for one thing; only positive and negative may be several"
            )
        if column in chain.from_iterable(roles.values()):
            raise UserError(f"--columns {names!r} names the column {column!r} twice; give each thing one of its own")
        roles[role] = (*roles.get(role, ()), column)
    return roles


def reading(table: OpenTable, named: RoleColumns | None, labels: str | None) -> Reading:
    """How a table that has columns is read; `named` and `labels` are `--columns` and `--labels`. Columns that are named
    and tell the content are all that is read; else others of known names are read too. `UserError` where it cannot be
    told, or could be two things."""
    _check_there(table, named or {})
    roles, doubts = dict(named or {}), list[str]()
    content = _content(table, roles, labels, all_named=True)
    if content is None:
        named_columns = {name for names in roles.values() for name in names}
        roles = {**roles_of([name for name in table.columns if name not in named_columns]), **roles}
        _find_teacher(table, roles)
        content = _content(table, roles, labels)
    no_header = _headless(table) if content is None and not named else None
    if content is None and not named:
        content = _unnamed(table, roles)
        if no_header:
            doubts.append(no_header)
        elif content == "pairs":
            doubts.append(_by_order(table.name, *roles["anchor"], *roles["positive"]))
        if content == "labelled":
            doubts.append(_by_name(*roles["sentence"], *roles["label"]))
    if content is None:
        raise UserError(
            f"{table.first}: what its columns mean is not known (found: {listed(table.columns)}); "
            f"{f'{no_header}; else ' if no_header else _misspelt(table.columns)}say it, as in "
            "--columns anchor=YOURS,positive=YOURS, or sentence1=YOURS,sentence2=YOURS,score=YOURS, or "
            "sentence=YOURS,label=YOURS, or sentence=YOURS alone"
        )
    unused = [role for role in named or () if role in roles and role not in CONTENTS[content].roles]
    if unused:
        raise UserError(
            f"--columns names {unused[0]}, and {table.name} is read as {CONTENTS[content].words}, which have no such "
            f"column but {choices(CONTENTS[content].roles)}; leave it out, or name what goes with it"
        )
    columns = {role: roles[role] for role in CONTENTS[content].roles if role in roles}
    names = [*chain.from_iterable(columns.values())]
    others = tuple(name for name in table.columns if name not in names and not is_index(name))
    rows = _peek(table, names if named else [*names, *others])
    _check_lists(table.name, names, rows)
    if content == "nli" and labels is None and is_duplicate(columns["label"][0]):
        labels = _DUPLICATES
    rivals = () if named else rivals_of(columns, others, rows)
    return Reading(table, content, columns, labels, tuple(doubts), others, rivals)


def _check_there(table: OpenTable, named: RoleColumns) -> None:
    missing = [name for names in named.values() for name in names if name not in table.columns]
    if missing:
        raise UserError(
            f"{table.name}: no column {missing[0]!r}, which --columns names (found: {listed(table.columns)}); "
            f"{did_you_mean(missing[0], table.columns)}give names that are there"
        )


def _find_teacher(table: OpenTable, roles: dict[str, tuple[str, ...]]) -> None:
    """Take the label or score beside an anchor, its positive and negatives for a teacher's where it is a list for each
    row, or a number that may be below 0, as no label and hardly a likeness is. `UserError` where it may mean something
    else."""
    judged = next((role for role in ("label", "score") if role in roles), None)
    if judged is None or not roles.keys() >= {"anchor", "positive"}:
        return
    anchor, positive, name = (roles[role][0] for role in ("anchor", "positive", judged))
    compared = "negative" in roles
    if compared and "teacher" not in roles and _compares([record.get(name) for record in _peek(table, [name])]):
        roles["teacher"] = roles.pop(judged)
        return
    sides = f"anchor={anchor},positive={positive}"
    if compared:
        sides += "".join(f",negative={negative}" for negative in roles["negative"])
        ways = f"{sides},teacher={name} where it is by how much a teacher puts the positive nearer than the negative"
    else:
        ways = f"sentence1={anchor},sentence2={positive},score={name}"
    raise UserError(
        f"{table.name}: beside {anchor!r} and {positive!r} stands {name!r}, which may say that some are wrong; "
        f"name it, as in --columns {ways}, or leave it out, as in --columns {sides}"
    )


def _compares(values: Sequence[object]) -> bool:
    values = [value for value in values if not no_number(value)]
    lists = bool(values) and all(isinstance(value, list) for value in values)
    return lists or (is_graded(values) and any((as_number(value) or 0) < 0 for value in values))


def _content(
    table: OpenTable, roles: dict[str, tuple[str, ...]], labels: str | None, all_named: bool = False
) -> str | None:
    """By the roles, which become those of the content; the first rows tell whether a label of pairs is one of three or
    a number. `all_named`: all columns that are to be read are among them."""
    premises = "premise" in roles or "hypothesis" in roles
    for name, role in NLI_SIDES.items():
        if name in roles:
            roles[role] = roles.pop(name)
    if roles.keys() >= {"anchor", "positive"}:
        return "triplets" if "negative" in roles else "pairs"
    if "set" in roles:
        roles["anchor"] = roles["positive"] = roles.pop("set")
        return "pairs"
    if roles.keys() >= {"sentence1", "sentence2"}:
        if "score" in roles:
            return "scored"
        if "label" not in roles:
            roles["anchor"], roles["positive"] = roles.pop("sentence1"), roles.pop("sentence2")
            return "triplets" if "negative" in roles else "pairs"
        values = [record.get(roles["label"][0]) for record in _peek(table, roles["label"])]
        if labels is None and is_graded(values):
            roles["score"] = roles.pop("label")
            return "scored"
        if labels is None and not premises and unclear(roles, values):
            _ask(table, roles, values)
        return "nli"
    if roles.keys() >= {"sentence", "label"}:
        return "labelled"
    return "texts" if "sentence" in roles and (all_named or "title" in roles or "heading" in roles) else None


def _ask(table: OpenTable, roles: RoleColumns, values: Sequence[object]) -> NoReturn:
    first, second, label = (roles[role][0] for role in ("sentence1", "sentence2", "label"))
    numbers = choices(sorted({str(as_label(value, table.name)) for value in values} - {"None"}))
    raise UserError(
        f"{table.name}: {label!r} holds {numbers}, which may stand for entailment, neutral and contradiction, or say "
        "how alike the two texts are; say which, by --labels entailment=YOURS,neutral=YOURS,contradiction=YOURS, or by "
        f"--columns sentence1={first},sentence2={second},score={label} where more means more alike"
    )


def _unnamed(table: OpenTable, roles: dict[str, tuple[str, ...]]) -> str | None:
    """Where roles do not tell: one column of text is texts alone, two of text are pairs, text and topic labelled."""
    columns = [name for name in table.columns if not is_index(name)]
    if columns != [*roles.get("sentence", ())]:
        guessed = {} if _NO_SIDE & roles.keys() else guessed_roles(columns, _peek(table, columns))
        if not guessed:
            return None
        roles.update(guessed)
    return _content(table, roles, None, all_named=True)


def _peek(table: OpenTable, names: Sequence[str]) -> list[Record]:
    return [record for _, record in islice(table.read(names), PEEKED)]


def _misspelt(columns: Iterable[str]) -> str:
    """The questions whether known names are meant by those that are nearly them."""
    return "".join(did_you_mean(column, [near[1]]) for column in columns if (near := near_role(column)))


def _headless(table: OpenTable) -> str | None:
    """A sentence where the names look like a row of texts: the file has no header, then."""
    like = next((column for column in table.columns if _LIKE_TEXT.fullmatch(column.strip())), None)
    if like is None:
        return None
    return (
        f"the first line is read as names of the columns, but looks like texts ({brief(like)}); if so, it is lost: put "
        "a line of names above it, such as question,answer"
    )


def _by_order(where: str, first: str, second: str) -> str:
    """A sentence on two columns whose names are not both known, so that their order decides. `UserError` where a name
    that is known, or nearly, says the other order."""
    columns = [first, second]
    other = f"anchor={second},positive={first}"
    near = _misspelt(columns)
    if _side(first) == "positive" or _side(second) == "anchor":
        raise UserError(
            f"{where}: of its columns {listed(columns)} not all names are known; {near}say which is which, as in "
            f"--columns {other}"
        )
    return (
        f"the names {listed(columns)} do not say which column is the anchor, so their order decides; {near}"
        f"--columns anchor={first},positive={second} says it, and {other} the other way"
    )


def _by_name(text: str, label: str) -> str:
    """A sentence on a column that is read as labels for what it is called."""
    return (
        f"{label!r} is read as the label of {text!r}; --columns sentence={text},label={label} says it, and --columns "
        f"sentence={text} leaves it out"
    )


def _check_lists(where: str, columns: Iterable[str], records: Sequence[Record]) -> None:
    """`UserError` where all that a column holds are lists in one text, as tables of lists turn into CSV."""
    for column in columns:
        cells = [cell for record in records if not is_empty(cell := record.get(column))]
        if cells and all(isinstance(cell, str) and _LIST.fullmatch(cell) for cell in cells):
            raise UserError(
                f"{where}: {column!r} holds lists that were written as text, such as {brief(cells[0])}; write the "
                "table as JSON lines, where a list is one"
            )


def _side(column: str) -> str | None:
    """Whether a name, or the known one that it is nearly, is that of an anchor or of a positive."""
    roles = {**dict.fromkeys(("anchor", "sentence1"), "anchor"), **dict.fromkeys(("positive", "sentence2"), "positive")}
    near = near_role(column)
    return next(filter(None, map(roles.get, [*roles_of([column]), *([near[0]] if near else [])])), None)
