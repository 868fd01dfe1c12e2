"""The content and columns of a table of training data, found from names, from `--columns` and from first rows.

read = interpret(open_table(file), named=named_roles("anchor=question,positive=answer"), labels=None)
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
    PEEKED_ROWS,
    SEVERAL_COLUMNS,
    RoleColumns,
    alternatives_of,
    are_ambiguous,
    are_other_codes,
    as_label,
    as_number,
    guessed_roles,
    is_duplicate,
    is_empty,
    is_graded,
    is_index,
    is_judgement,
    near_role,
    no_number,
    roles_of,
)

_NAMEABLE_ROLES = (*NAMES, *NLI_SIDES)
"""Roles that `--columns` may name."""
MAX_SCALE = 100
"""Largest score of pairs whose columns have no known names; counts of votes, which may be larger, are no likeness."""
_SIDELESS_ROLES = {"negative", "label", "score", "teacher", "positive_scores", "negative_scores"}
"""Roles of columns that contain neither of the two texts of a pair."""
_LIST = re.compile(r"\s*\[\s*([\"']).*\1\s*\]\s*", re.S)
_LIKE_TEXT = re.compile(r".*[.?!\u3002\uff01\uff1f]|.{51,}|(\S+\s+){4,}\S+", re.S)
"""Matches a text that is hardly a column name: it ends as a sentence, or has 51 characters or five words."""
_DUPLICATES = "entailment=1,entailment=true,contradiction=0,contradiction=false"


@dataclass(frozen=True)
class Reading:
    """A table with its content, such as `pairs` (see `CONTENTS`), and the columns to read."""

    table: OpenTable
    content: str
    columns: RoleColumns
    labels: str | None = None
    """Names of the labels, from `--labels` or from the column's name."""
    doubts: tuple[str, ...] = ()
    """Warnings about columns that may have been read wrongly."""
    unused: tuple[str, ...] = ()
    """Columns that are not read, except columns that number the rows."""
    alternatives: tuple[str, ...] = ()
    """Unused columns with known names that rows may fill instead of `columns`; empty with `--columns`."""

    def records(self) -> Iterator[tuple[str, Record]]:
        """Yield location and record of each row, with the columns that are read."""
        return self.table.read([*dict.fromkeys(chain(*self.columns.values(), self.alternatives))])


def named_roles(names: str | None) -> dict[str, tuple[str, ...]] | None:
    """Parse `--columns`, such as `anchor=question,positive=answer`, into the columns of each role."""
    if names is None:
        return None
    roles: dict[str, tuple[str, ...]] = {}
    for role, column in assignments(names, f"--columns {names!r}", _NAMEABLE_ROLES, "NAME=COLUMN"):
        if role not in SEVERAL_COLUMNS and NLI_SIDES.get(role, role) in {
            NLI_SIDES.get(other, other) for other in roles
        }:
            raise UserError(
                f"--columns {names!r} names two columns for one thing; only positive and negative may be several"
            )
        if column in chain.from_iterable(roles.values()):
            raise UserError(f"--columns {names!r} names the column {column!r} twice; give each thing one of its own")
        roles[role] = (*roles.get(role, ()), column)
    return roles


def interpret(table: OpenTable, named: RoleColumns | None, labels: str | None) -> Reading:
    """Find the content and columns of a table; `named` and `labels` are `--columns` and `--labels`. If the named
    columns decide the content, only they are read; otherwise columns of known names are read too. `UserError` if the
    content is unknown or ambiguous."""
    _check_there(table, named or {})
    roles, doubts = dict(named or {}), list[str]()
    content = _content(table, roles, labels, all_named=True)
    if content is None:
        named_columns = {name for names in roles.values() for name in names}
        roles = {**roles_of([name for name in table.columns if name not in named_columns]), **roles}
        _find_teacher(table, roles)
        content = _content(table, roles, labels)
    no_header = _header_warning(table) if content is None and not named else None
    if content is None and not named:
        content = _guess_content(table, roles)
        if no_header:
            doubts.append(no_header)
        elif content == "pairs":
            doubts.append(_order_warning(table.name, *roles["anchor"], *roles["positive"]))
        if content == "labelled":
            doubts.append(_label_warning(*roles["sentence"], *roles["label"]))
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
    if content == "pairs" and not named:
        wrong = "is not used, and may say that some pairs are wrong; if so, leave these out"
        doubts += [f"{name!r} {wrong}" for name in others if is_judgement(name, rows)]
    alternatives = () if named else alternatives_of(columns, others, rows)
    return Reading(table, content, columns, labels, tuple(doubts), others, alternatives)


def _check_there(table: OpenTable, named: RoleColumns) -> None:
    missing = [name for names in named.values() for name in names if name not in table.columns]
    if missing:
        raise UserError(
            f"{table.name}: no column {missing[0]!r}, which --columns names (found: {listed(table.columns)}); "
            f"{did_you_mean(missing[0], table.columns)}give names that are there"
        )


def _find_teacher(table: OpenTable, roles: dict[str, tuple[str, ...]]) -> None:
    """Read a label or score beside anchor, positive and negatives as a teacher's scores if its cells are lists, or
    numbers of which some are below 0, unlike labels and most similarities. `UserError` if it may mean something
    else."""
    judged = next((role for role in ("label", "score") if role in roles), None)
    if judged is None or not roles.keys() >= {"anchor", "positive"}:
        return
    anchor, positive, name = (roles[role][0] for role in ("anchor", "positive", judged))
    compared = "negative" in roles
    if (
        compared
        and "teacher" not in roles
        and _are_teacher_scores([record.get(name) for record in _peek(table, [name])])
    ):
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


def _are_teacher_scores(values: Sequence[object]) -> bool:
    values = [value for value in values if not no_number(value)]
    lists = bool(values) and all(isinstance(value, list) for value in values)
    return lists or (is_graded(values) and any((as_number(value) or 0) < 0 for value in values))


def _content(
    table: OpenTable, roles: dict[str, tuple[str, ...]], labels: str | None, all_named: bool = False
) -> str | None:
    """Return the content, given the roles, and change these to the content's roles; None if unclear. First rows decide
    whether labels of pairs are NLI labels or scores. `all_named`: `roles` has all columns to read."""
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
        of_nli = premises or "premise" in map(str.lower, roles["sentence1"])
        if labels is None and (are_other_codes(values) if of_nli else are_ambiguous(roles, values)):
            _ask(table, roles, values)
        if labels is None and is_graded(values):
            roles["score"] = roles.pop("label")
            return "scored"
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


def _guess_content(table: OpenTable, roles: dict[str, tuple[str, ...]]) -> str | None:
    """Guess the content: one column of text is `texts`, two are `pairs`, two beside a score `scored`, text and topic
    `labelled`; else None."""
    columns = [name for name in table.columns if not is_index(name)]
    if columns != [*roles.get("sentence", ())]:
        if [*roles] == ["score"]:
            guessed = _guess_scored(table, columns, *roles["score"])
        else:
            guessed = {} if _SIDELESS_ROLES & roles.keys() else guessed_roles(columns, _peek(table, columns))
        if not guessed:
            return None
        roles.update(guessed)
    return _content(table, roles, None, all_named=True)


def _guess_scored(table: OpenTable, columns: Sequence[str], score: str) -> dict[str, tuple[str, ...]]:
    """Guess the two texts beside a score, in any order, as they are alike. Empty if there are no two columns of texts,
    or if the scores are no likeness (`MAX_SCALE`)."""
    texts = [name for name in columns if name != score]
    guessed = guessed_roles(texts, _peek(table, texts))
    numbers = [as_number(record.get(score)) for record in _peek(table, [score])]
    if guessed.keys() != {"anchor", "positive"} or any(
        number is not None and not -1 <= number <= MAX_SCALE for number in numbers
    ):
        return {}
    return {"sentence1": guessed["anchor"], "sentence2": guessed["positive"]}


def _peek(table: OpenTable, names: Sequence[str]) -> list[Record]:
    return [record for _, record in islice(table.read(names), PEEKED_ROWS)]


def _misspelt(columns: Iterable[str]) -> str:
    """Return the question "did you mean ...?" for each column whose name is nearly a known name."""
    return "".join(did_you_mean(column, [near[1]]) for column in columns if (near := near_role(column)))


def _header_warning(table: OpenTable) -> str | None:
    """Return a warning if the column names look like texts, so that the file may have no header; else None."""
    like = next((column for column in table.columns if _LIKE_TEXT.fullmatch(column.strip())), None)
    if like is None:
        return None
    return (
        f"the first line is read as names of the columns, but looks like texts ({brief(like)}); if so, it is lost: put "
        "a line of names above it, such as question,answer"
    )


def _order_warning(where: str, first: str, second: str) -> str:
    """Return a warning that the order of two columns decides their roles, as not both names are known. `UserError` if a
    known or nearly known name contradicts the order."""
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


def _label_warning(text: str, label: str) -> str:
    """Return a warning that a column is read as labels because of its name."""
    return (
        f"{label!r} is read as the label of {text!r}; --columns sentence={text},label={label} says it, and --columns "
        f"sentence={text} leaves it out"
    )


def _check_lists(where: str, columns: Iterable[str], records: Sequence[Record]) -> None:
    """Raise `UserError` if all cells of a column are lists written as text, as in tables saved as CSV."""
    for column in columns:
        cells = [cell for record in records if not is_empty(cell := record.get(column))]
        if cells and all(isinstance(cell, str) and _LIST.fullmatch(cell) for cell in cells):
            raise UserError(
                f"{where}: {column!r} holds lists that were written as text, such as {brief(cells[0])}; write the "
                "table as JSON lines, where a list is one"
            )


def _side(column: str) -> str | None:
    """Return "anchor" or "positive" if that is the role of a known or nearly known name; else None."""
    roles = {**dict.fromkeys(("anchor", "sentence1"), "anchor"), **dict.fromkeys(("positive", "sentence2"), "positive")}
    near = near_role(column)
    return next(filter(None, map(roles.get, [*roles_of([column]), *([near[0]] if near else [])])), None)
