"""Tables in markdown, on the console and between two lines of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trainables.errors import UserError
from trainables.files import write_whole


def head(*columns: str) -> str:
    """Return the first two lines of a table: the column names, and the line below them."""
    return f"{row(*columns)}\n|{'---|' * len(columns)}"


def row(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def titled(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table under its title."""
    return "\n".join([f"**{title}**\n", head(*columns), *(row(*cells) for cells in rows)])


def check_page(page: Path | None, begin: str) -> None:
    """Raise `UserError` if the page, as given by `--out`, lacks the line `begin`, below which the table is written."""
    if page is not None and not (page.is_file() and begin in page.read_text()):
        raise UserError(f"--out {page} is no page with the line {begin}")


def write_between(page: Path | None, begin: str, text: str, end: str) -> None:
    """Replace the text between these two lines of a page, if a page is given."""
    if page is None:
        return
    before, _, rest = page.read_text().partition(begin)
    write_whole(page, f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}")
