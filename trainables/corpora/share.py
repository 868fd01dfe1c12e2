"""A share of a corpus (`corpus.share`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainables.corpora.nli import number
from trainables.errors import UserError


def drawn_share(texts: Sequence[str], share: float, where: str) -> np.ndarray:  # (rows,) bool
    """Which rows stay, by the first text of each: all rows of one text, or none.

    The order of texts is random but the same for every seed, so that a smaller share is part of a larger one.
    `UserError` that says `where` for a share without a row.
    """
    text = number(texts)
    rows = np.bincount(text)
    order = np.random.Generator(np.random.Philox(key=0)).permutation(len(rows))
    size = round(share * len(texts))
    if not size:
        raise UserError(f"{where}: corpus.share {share:g} of {len(texts):,} rows is none; give a larger share")
    before = np.cumsum(rows[order]) - rows[order]
    return np.isin(text, order[before < size])
