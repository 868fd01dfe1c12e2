"""Names and cells of tables of texts, for training and for tasks: the roles of columns, by their names, and functions
that read a cell as texts, a number or a label.

    roles_of(["Question", "answer", "neg_1", "neg_2"])    # {"anchor": ("Question",), "positive": ("answer",), ...}
"""

from __future__ import annotations

import difflib
import math
import operator
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from numbers import Number

from trainables.errors import UserError, is_text, listed, point_hint, shown
from trainables.labels import LABELS

NAMES: Mapping[str, tuple[str, ...]] = {
    "anchor": ("anchor", "query", "question", "sent0"),
    "positive": (r"pos(itives?)?(_\d+)?", "answer", "positive_passages", "sent1"),
    "negative": (r"neg(atives?)?(_\d+)?", "negative_passages", r"hard_neg(atives?)?(_\d+)?"),
    "set": ("set",),
    "sentence1": ("premise", "sentence1", "text1", "question1", "sentence_a"),
    "sentence2": ("hypothesis", "sentence2", "text2", "question2", "sentence_b"),
    "sentence": ("sentence", "text"),
    "title": ("title",),
    "heading": ("headings?",),
    "label": ("gold_label", "label", "class", "cluster", "is_duplicate"),
    "score": ("score", "similarity", "similarity_score", "relatedness_score", "(teacher_)?scores", "teacher_score"),
    "teacher": ("teacher", "(teacher_)?margins?", "margin_scores?"),
    "positive_scores": (r"pos(itives?)?_scores?",),
    "negative_scores": (r"neg(atives?)?_scores?",),
}
"""Maps a role to regular expressions of column names in lower case. The first expression that fits a column of the
table decides."""
SEVERAL_COLUMNS = ("positive", "negative")
"""Roles of all columns that fit. Any other role has only the first column that fits."""
OTHER_POSITIVE = "positive that differs from the anchor"
"""What a row lacks if its positives are its anchor: it teaches nothing, and a search would return it at once."""
EMPTY_WORDS = ("nan", "null", "none", "n/a", "<na>")
"""Texts in lower case that programs write for an empty cell."""
RoleColumns = Mapping[str, tuple[str, ...]]
"""Maps a role to the names of its columns."""
_INDEX = re.compile(r"(.*_|pair|doc|row|q|p)?(id|idx|index|uuid|guid)|(unnamed:_|level_|__index_level_)\d+(__)?|")
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*")
"""Matches a cell of only white space and characters without width."""
_CODE = re.compile(r"[\d_/\\@:=#]|\.\w")
"""Found in a cell of one word if the word is an address, a path, a file name or a code."""
PEEKED_ROWS = 1000
"""Number of first rows that are read to find the roles of columns."""
_MIN_COUNTED_TEXTS, _MAX_LABEL_WORDS, _MAX_LABEL_LETTERS, _MAX_READ_WORDS = 20, 3, 60, 20
"""Fewest texts of a column whose share of different texts is used; most words and most characters of a label; number
of first words of a text that are read."""
_TOPICS = re.compile(
    r"(topic|category|intent|section|sentiment|emotion|genre|tag|type|target)(_(name|label))?|label_(name|text)"
)
"""Matches further names of label columns. They count only beside a single column of texts, as many tables have them."""
_JUDGEMENTS = re.compile(
    r"(.*_)?(relevan(t|ce|cy)|match(es)?|correct(ness)?|duplicates?|rating|stars|distance|judge?ment|score)"
)
"""Matches names of columns that may say which pairs are wrong."""
_OPPOSITES = ({"true", "false"}, {"yes", "no"}, {"1", "0"}, {"1", "-1"})
NLI_SIDES = {"premise": "sentence1", "hypothesis": "sentence2"}
"""Maps the names of the two texts of NLI to their roles."""
_GUESSED: Mapping[int, tuple[str, ...]] = {1: ("sentence",), 2: ("anchor", "positive")}
"""Maps a number of text columns to the roles of these columns, in order."""
_MIN_SIMILARITY = 0.81
"""Least similarity of a misspelt name to a known name: `anwser` has 0.83; `source` and `context` have less."""
_WHOLE_NUMBER = re.compile(r"(-?\d+)\.0+")
"""Matches a whole number with zeros after the point, as programs write a column that has empty cells."""


def single_spaced(text: str) -> str:
    """Return a text as tests have it: with single spaces, and none at its ends."""
    return " ".join(text.split())


def roles_of(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each role, by their names. Case is ignored, and a space counts as `_`."""
    roles: dict[str, tuple[str, ...]] = {}
    for role, names in NAMES.items():
        fitting = (tuple(column for column in columns if re.fullmatch(name, _plain(column))) for name in names)
        matches = next(filter(None, fitting), ())
        if matches:
            roles[role] = matches if role in SEVERAL_COLUMNS else matches[:1]
    return roles


def alternatives_of(
    roles: RoleColumns, columns: Sequence[str], rows: Sequence[Mapping[str, object]]
) -> tuple[str, ...]:
    """Return unread columns with known names that some rows may fill instead of the columns that are read (`roles`): no
    row fills both such a column and the read columns of its role, or any read column if its role is not read."""
    read = [*chain.from_iterable(roles.values())]
    others = roles_of([name for name in columns if name not in read])
    return tuple(
        name
        for role, names in others.items()
        for name in names
        if not any(has_any(row, [name]) and has_any(row, roles.get(role) or read) for row in rows)
    )


def check_one_vocabulary(
    lacking: str, row: Mapping[str, object], roles: RoleColumns, alternatives: Sequence[str], where: str
) -> None:
    """Raise `UserError` for a row without a value for the role `lacking` if the row has one in a column of
    `alternatives`, or if only columns of `alternatives` are filled. `roles` are the columns that are read."""
    filled = roles_of([name for name in alternatives if has_any(row, [name])]) if alternatives else {}
    read = [*chain.from_iterable(roles.values())]
    if lacking in filled or (filled and not has_any(row, read)):
        names = listed([*chain.from_iterable(filled.values())])
        raise UserError(
            f"{where}: this row has {names} where others have {listed(read)}, and would be lost; give all rows the "
            "same names of columns, or each kind of row a file of its own"
        )


def has_any(row: Mapping[str, object], columns: Iterable[str], numbers: bool = False) -> bool:
    """Whether a row has a value in one of these columns. In columns of `numbers`, the text NaN counts as empty."""
    return any(not no_number(cell) if numbers else texts_of(cell) for cell in map(row.get, columns))


def near_role(column: str) -> tuple[str, str] | None:
    """Return the role and the known name that a misspelt name is near; None for a known name, or if none is near."""
    if any(re.fullmatch(name, _plain(column)) for names in NAMES.values() for name in names):
        return None
    by_name = {name: role for role, names in NAMES.items() for name in (*names, role) if name.isidentifier()}
    near = difflib.get_close_matches(_plain(column), by_name, n=1, cutoff=_MIN_SIMILARITY)
    return (by_name[near[0]], near[0]) if near else None


def _plain(column: str) -> str:
    return column.lower().replace(" ", "_")


def is_index(column: str) -> bool:
    """Whether a column only numbers or identifies the rows, by its name: `id`, or `Unnamed: 0` as pandas writes it."""
    return _INDEX.fullmatch(_plain(column)) is not None


def guessed_roles(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> dict[str, tuple[str, ...]]:
    """Guess the roles of columns without known names: a text and a label, short and repeated, whose name fits
    `_TOPICS`; or one text; or two texts, which by their order are an anchor and its positive. Columns that only number
    the rows are ignored. Return no roles if there are other columns, or if two columns are mostly equal."""
    names = [name for name in columns if not is_index(name)]
    cells = {name: [row.get(name) for row in rows[:PEEKED_ROWS]] for name in names}
    labels = [name for name in names if _TOPICS.fullmatch(_plain(name))]
    texts = [name for name in names if name not in labels]
    if not rows:
        return {}
    if len(texts) == len(labels) == 1 and roles_of(texts).keys() <= {"sentence", "anchor"}:
        values = [*map(str, cells[labels[0]])]
        repeated = len(values) < _MIN_COUNTED_TEXTS or 2 * len({*values}) <= len(values)
        if repeated and max(map(len, values)) <= _MAX_LABEL_LETTERS and _are_texts(cells[texts[0]]):
            return {"sentence": (texts[0],), "label": (labels[0],)}
    alike = (2 * sum(map(operator.eq, *pair)) > len(pair[0]) for pair in combinations(cells.values(), 2))
    if not all(map(_are_texts, cells.values())) or any(alike):
        return {}
    return {role: (name,) for role, name in zip(_GUESSED.get(len(names), ()), names, strict=False)}


def _are_texts(cells: Sequence[object]) -> bool:
    """Whether most cells are texts and not labels. If there are few cells, most must have two words or more. Otherwise
    most must be longer than labels, or at least half must differ, because labels may have spaces and texts none."""
    begun = (tuple(cell.split()[:_MAX_READ_WORDS]) for cell in cells if isinstance(cell, str))
    texts = [words for words in begun if _in_words(words)]

    def most_longer(than: int) -> bool:
        return 2 * sum(len(words) > than for words in texts) >= len(cells)

    if len(texts) < _MIN_COUNTED_TEXTS:
        return most_longer(1)
    return most_longer(_MAX_LABEL_WORDS) or (most_longer(0) and 2 * len({*texts}) >= len(texts))


def _in_words(words: Sequence[str]) -> bool:
    """Whether a text, given as its words, has mostly letters, and is no single address, path or code."""
    letters = sum(unicodedata.category(sign)[0] in "LM" for word in words for sign in word)
    return 2 * letters > sum(map(len, words)) and (len(words) > 1 or not _CODE.search(words[0]))


def is_duplicate(column: str) -> bool:
    """Whether a column has the name of labels that are 1 if two texts mean the same, otherwise 0."""
    return _plain(column) == "is_duplicate"


def is_empty(cell: object) -> bool:
    """Whether a cell has no value: it is missing, NaN, or text of only invisible characters."""
    return _UNSEEN.fullmatch(cell) is not None if isinstance(cell, str) else cell is None or cell != cell


def texts_of(cell: object) -> list[object]:
    """Return the texts of a cell that contains a text, a list of texts, or nothing. A passage such as
    `{"title": ..., "text": ...}` becomes one text, the title first. Values of other types are returned unchanged."""
    if isinstance(cell, str):  # nearly all are, of a million rows
        return [] if is_empty(cell) else [cell]
    passages = cell if isinstance(cell, list) else [cell]
    return [text for passage in passages if not is_empty(text := _of_passage(passage))]


def _of_passage(cell: object) -> object:
    sides = [cell.get("title") or "", cell["text"]] if isinstance(cell, dict) and "text" in cell else []
    return " ".join(filter(None, sides)) if sides and all(isinstance(side, str) for side in sides) else cell


def texts_in(row: Mapping[str, object], column: str, where: str) -> list[str]:
    """Return the texts of one column of a row, without blanks at their ends. `UserError` for a value that is no text,
    or a text that no file can store."""
    return [_as_text(text, column, where) for text in texts_of(row.get(column))]


def one_text(row: Mapping[str, object], column: str, where: str) -> str:
    """Return the only text of a column, as `texts_in` does. `UserError` also if there is no text, or several."""
    if column not in row:
        raise UserError(f"{where}: column {column!r} is missing")
    cell = row[column]
    cells = [cell] if isinstance(cell, str) else texts_of(cell)  # text of only invisible characters is kept here
    texts = [_as_text(text, column, where) for text in cells]
    if len(texts) > 1:
        raise UserError(f"{where}: {column} holds several texts, and it needs one")
    if not any(texts):
        raise UserError(f"{where}: {column} is empty")
    return texts[0]


def _as_text(text: object, column: str, where: str) -> str:
    if not isinstance(text, str):
        raise UserError(f"{where}: {column} is not text but {shown(text)}")
    check_text(text, column, where)
    return text.strip()


def check_text(text: str, name: str, where: str) -> None:
    """Raise `UserError` for a text that no file can store. `name`: name of the text in the message."""
    if not is_text(text):
        raise UserError(f"{where}: {name} holds half of a character (a lone surrogate): {shown(text)}")


def as_number(cell: object) -> float | None:
    """Return a cell as a finite number; None if it is no such number."""
    try:
        number = math.nan if isinstance(cell, str) and "_" in cell else float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def score_within(cell: object, where: str, scale: tuple[float, float], name: str = "score") -> float:
    """Return a cell as a number. `UserError` if it is no number, or outside of `scale`, (lowest, highest)."""
    (low, high), value = scale, as_number(cell)
    if value is None:
        raise UserError(f"{where}: {name} {shown(cell)} is no finite number{point_hint(cell)}")
    if not low <= value <= high:
        raise UserError(f"{where}: {name} {value:g} is not between {low:g} and {high:g}")
    return value


def no_number(cell: object) -> bool:
    """Whether a cell of a column of numbers has none: it is empty, or the text NaN. In other columns NaN is a text."""
    return is_empty(cell) or (isinstance(cell, str) and cell.strip().lower() == "nan")


def as_label(cell: object, where: str) -> str | None:
    """Return a label as text; None for an empty cell. `1` and `1.0` are the same label. `UserError` for a cell that is
    neither text nor number, such as a list, and for a text that no file can store."""
    if is_empty(cell):
        return None
    if not isinstance(cell, str | Number):
        raise UserError(f"{where}: a label is a text or a number, and this is {shown(cell)}; write a row for each")
    text = str(cell)
    check_text(text, "the label", where)
    return without_zeros(text.strip())


def without_zeros(text: str) -> str:
    """Return the text of a whole number without zeros after the point, `1` for `1.0`; any other text unchanged."""
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole[1] if whole else text


def is_judgement(column: str, rows: Sequence[Mapping[str, object]]) -> bool:
    """Whether a column without a role may say which pairs are wrong, by its name, or as its cells are `true` and
    `false`, `yes` and `no`, or 1 and 0."""
    values = [cell for row in rows if not is_empty(cell := row.get(column))]
    cells = {without_zeros(str(cell).strip().lower()) for cell in values if isinstance(cell, str | Number)}
    return len(cells) > 1 and (bool(_JUDGEMENTS.fullmatch(_plain(column))) or cells in _OPPOSITES)


def is_graded(values: Sequence[object]) -> bool:
    """Whether labels are numbers, and not only numbers that can stand for the three labels of NLI (-1 to 2)."""
    numbers = _numbers(values)
    return bool(numbers) and not numbers <= _LABEL_CODES


def are_ambiguous(roles: RoleColumns, labels: Sequence[object]) -> bool:
    """Whether the labels of pairs are numbers that may mean the labels of NLI or the similarity of the two texts, and
    no column name decides which."""
    named = [_plain(name) for role in ("sentence1", "sentence2", "label") for name in roles[role]]
    numbers = _numbers(labels)
    clear = any(name in (*NLI_SIDES, "gold_label") or is_duplicate(name) for name in named)
    return bool(numbers) and numbers <= _LABEL_CODES and not clear


def are_other_codes(labels: Sequence[object]) -> bool:
    """Whether labels are three whole numbers at most and not those of NLI, as 1, 2 and 3, which a file with premises
    may have."""
    numbers = _numbers(labels)
    whole = all(number.is_integer() for number in numbers)
    return whole and len(numbers) <= len(LABELS) and not numbers <= _LABEL_CODES


_LABEL_CODES = frozenset(map(float, range(-1, len(LABELS))))


def _numbers(values: Sequence[object]) -> set[float]:
    """Return the different numbers among labels; an empty set if a label is no number."""
    numbers = [as_number(value) for value in values if not no_number(value)]
    return set() if None in numbers else {number for number in numbers if number is not None}
