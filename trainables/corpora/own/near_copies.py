"""Held-out rows that nearly repeat a row of another part: a person's data often have the same text twice with a word
changed, and a model that trained on the one is judged too well by the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from trainables.corpora.leaks import TextIndex

RENEWED_EVERY = 64
"""After this many more moved rows the index is made anew without them, as each text is then compared with fewer."""
MOST_MOVED, FEW_ROWS = 0.5, 20
"""Rows are moved if no part loses more than this share of its rows, or has less than `FEW_ROWS` rows left."""


def keeps_enough(now: np.ndarray, before: np.ndarray, parts: Sequence[int], few: int = FEW_ROWS) -> bool:
    """Whether each of these parts keeps enough of its rows. `now`, `before`: the part of each row, (rows,). `few`: no
    part may have less rows left than this, or lose any if it has less."""
    sizes = [(int((now == part).sum()), int((before == part).sum())) for part in parts]
    return all(left >= max(MOST_MOVED * size, min(size, few)) for left, size in sizes)


def train_on_near_copies(
    code: np.ndarray, train: int, parts: Sequence[int], texts: Callable[[], Iterable[Sequence[str]]]
) -> np.ndarray:
    """Return `code`, the part of each row, (rows,), with `train` for each row of a held-out part that has a text equal
    or near (`TextIndex`) to one of another part, or of a row that is moved. Unchanged if a part would keep too few
    rows. `texts` returns the texts of each row that count."""
    held_out = {row: [*each] for row, each in enumerate(texts()) if code[row] in parts}
    rows_of = defaultdict[str, list[int]](list)
    for row, row_texts in held_out.items():
        for text in row_texts:
            rows_of[text].append(row)
    strings, now, moved, indexed_at = [*rows_of], code.copy(), list[int](), 0
    index = TextIndex({text: number for number, text in enumerate(strings)})

    def texts_and_parts() -> Iterator[tuple[str, int]]:
        """Yield the texts to look for, each with its part; last those of moved rows, to which more are added."""
        yield from ((text, train) for row, each in enumerate(texts()) if code[row] == train for text in each)
        yield from dict.fromkeys((text, int(code[row])) for row, each in held_out.items() for text in each)
        yield from ((text, train) for row in moved for text in held_out[row])

    for text, part in texts_and_parts():
        for number in index.matches(text):
            near = [row for row in rows_of[strings[number]] if now[row] not in (train, part)]
            now[near] = train
            moved += near
        if len(moved) - indexed_at >= RENEWED_EVERY:
            if not keeps_enough(now, code, parts):
                return code
            strings = [text for text in strings if any(now[row] != train for row in rows_of[text])]
            index, indexed_at = TextIndex({text: number for number, text in enumerate(strings)}), len(moved)
    return now if keeps_enough(now, code, parts) else code
