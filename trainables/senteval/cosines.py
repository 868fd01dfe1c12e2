"""Cosines among a few sentences before and after training, as a picture of the space (SupMPN, Figure 2).

listed = sentences("topics")
cosines(encoder.encode, listed)  # (12, 12)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainables.errors import UserError

if TYPE_CHECKING:
    import numpy as np

MIN_SENTENCES, MAX_SENTENCES = 2, 40

TOPICS: dict[str, tuple[str, str, str]] = {
    "weather": (
        "It has been raining over the valley since dawn.",
        "Rain has been falling in the valley all morning.",
        "The valley has been dry and sunny since dawn.",
    ),
    "sport": (
        "Our team won the match by three goals.",
        "Our team was the winner of the match.",
        "Our team lost the match by three goals.",
    ),
    "smartphone": (
        "The battery of my new phone lasts for two days.",
        "I seldom have to charge this handset.",
        "The battery of my new phone is flat before lunch.",
    ),
    "food": (
        "The children are eating soup with their grandmother.",
        "A family is sitting down to a warm meal.",
        "The children are not eating soup with their grandmother.",
    ),
}
"""An anchor, a positive and a negative for each topic.

As in the paper, the first two topics are plain. In the others the positive shares few words with its
anchor, and the negative nearly all."""


def sentences(source: str) -> list[str]:
    """Return the twelve sentences of `TOPICS` for `topics`, else a text file's lines without empty ones.

    Raises `UserError` for a file that cannot be read, and for fewer than 2 or more than 40 sentences.
    """
    if source == "topics":
        return [sentence for topic in TOPICS.values() for sentence in topic]
    try:
        text = Path(source).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"the heat map's sentences {source} do not exist; use `topics`, or a text file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the heat map's sentences {source} cannot be read: {error}") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not MIN_SENTENCES <= len(lines) <= MAX_SENTENCES:
        raise UserError(
            f"a heat map takes {MIN_SENTENCES} to {MAX_SENTENCES} sentences, one a line; {source} has {len(lines):,}"
        )
    return lines


def cosines(encode: Callable[[Sequence[str]], np.ndarray], sentences: Sequence[str]) -> np.ndarray:
    """Return the cosine of every two sentences: float32, (sentences, sentences).

    `encode` returns embeddings, (sentences, dim). Raises `UserError` if one is zero or not finite.
    """
    import numpy as np

    embeddings = np.asarray(encode(list(sentences)), dtype=np.float64)
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    bad = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if bad.any():
        raise UserError(f"the encoder gives no direction for {sentences[int(bad.argmax())]!r}, so it has no cosine")
    unit = embeddings / lengths
    return (unit @ unit.T).astype(np.float32)
