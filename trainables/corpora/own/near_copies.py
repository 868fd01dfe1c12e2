"""Held-out rows that nearly repeat a row of another part: a person's data often have the same text twice with a word
changed, and a model that trained on the one is judged too well by the other."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

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
    now, moved, queue = code.copy(), 0, deque[int]()
    strings, index, indexed_at = [*rows_of], TextIndex({text: number for number, text in enumerate(rows_of)}), 0

    def compare(text: str, part: int) -> bool:
        """Move the rows near to a text of this part. Return whether each part still has enough rows."""
        nonlocal strings, index, indexed_at, moved
        for number in index.matches(text):
            near = [row for row in rows_of[strings[number]] if now[row] not in (train, part)]
            now[near] = train
            queue.extend(near)
            moved += len(near)
        if moved - indexed_at < RENEWED_EVERY:
            return True
        strings, indexed_at = [text for text in strings if any(now[row] != train for row in rows_of[text])], moved
        index = TextIndex({text: number for number, text in enumerate(strings)})
        return keeps_enough(now, code, parts)

    trained = (text for row, each in enumerate(texts()) if code[row] == train for text in each)
    if not all(compare(text, train) for text in trained):
        return code
    between = dict.fromkeys((text, int(code[row])) for row, each in held_out.items() for text in each)
    if not all(compare(text, part) for text, part in between):
        return code
    while queue:
        if not all(compare(text, train) for text in held_out[queue.popleft()]):
            return code
    return now if keeps_enough(now, code, parts) else code
