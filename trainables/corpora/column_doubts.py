"""What of a table's columns may be read wrongly: misspelt names, an order that decides, a file without a header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trainables.corpora.tables import OpenTable, Record
from trainables.errors import UserError, did_you_mean, listed
from trainables.tabular import is_empty, near_role, roles_of

_LIST = re.compile(r"\s*\[\s*([\"']).*\1\s*\]\s*", re.S)
_BRIEF = 40
"""Letters of a text that is shown."""
_LIKE_TEXT = re.compile(r".*[.?!\u3002\uff01\uff1f]|.{51,}|(\S+\s+){4,}\S+", re.S)
"""What no name of a column looks like: a sentence with its end, 51 letters or five words."""


def misspelt(columns: Iterable[str]) -> str:
    """The questions whether known names are meant by those that are nearly them."""
    return "".join(did_you_mean(column, [near[1]]) for column in columns if (near := near_role(column)))


def headless(table: OpenTable) -> str | None:
    """A sentence where the names look like a row of texts: the file has no header, then."""
    like = next((column for column in table.columns if _LIKE_TEXT.fullmatch(column.strip())), None)
    if like is None:
        return None
    return (
        f"the first line is read as names of the columns, but looks like texts ({brief(like)}); if so, it is lost: put "
        "a line of names above it, such as question,answer"
    )


def by_order(where: str, first: str, second: str) -> str:
    """A sentence on two columns whose names are not both known, so that their order decides. `UserError` where a name
    that is known, or nearly, says the other order."""
    columns = [first, second]
    other = f"anchor={second},positive={first}"
    near = misspelt(columns)
    if _side(first) == "positive" or _side(second) == "anchor":
        raise UserError(
            f"{where}: of its columns {listed(columns)} not all names are known; {near}say which is which, as in "
            f"--columns {other}"
        )
    return (
        f"the names {listed(columns)} do not say which column is the anchor, so their order decides; {near}"
        f"--columns anchor={first},positive={second} says it, and {other} the other way"
    )


def by_name(text: str, label: str) -> str:
    """A sentence on a column that is read as labels for what it is called."""
    return (
        f"{label!r} is read as the label of {text!r}; --columns sentence={text},label={label} says it, and --columns "
        f"sentence={text} leaves it out"
    )


def check_lists(where: str, columns: Iterable[str], records: Sequence[Record]) -> None:
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


def brief(text: object) -> str:
    """A text in quotes for a line that shows what a row is, cut short; a number as it is."""
    if not isinstance(text, str):
        return f"{text:g}" if isinstance(text, float) else str(text)
    plain = " ".join(text.split())
    return f'"{plain}"' if len(plain) <= _BRIEF else f'"{plain[: _BRIEF - 2].rstrip()} …"'
