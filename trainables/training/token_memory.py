"""Token ids of a training's texts, kept from epoch to epoch."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from trainables.encoders.contract import TrainableEncoder
from trainables.encoders.prompts import NO_PROMPTS, Prompts

MOST_BYTES = 256 * 2**20
"""Default limit of a `TokenMemory`. It is enough for a million short sentences."""
_ENTRY_BYTES = 100
"""Approximate bytes of a dictionary entry, without its text and tokens."""


class TokenMemory:
    """Tokenizes like an encoder, but each text only once. Texts beyond `most_bytes` are tokenized each time."""

    def __init__(self, encoder: TrainableEncoder, most_bytes: int = MOST_BYTES) -> None:
        self.encoder = encoder
        self.prompts: Prompts = getattr(encoder, "prompts", NO_PROMPTS)
        self.most_bytes = most_bytes
        self.bytes = 0
        """Bytes of all kept entries, including their texts."""
        self._rows: dict[tuple[str, ...], dict[str, array[int]]] = {}  # by prompt and text

    def tokenize(self, sentences: Sequence[str], *prompt: str) -> list[list[int]]:
        """Return the encoder's token ids in new lists, which the caller may change."""
        rows = self._rows.setdefault(prompt, {})
        new = [text for text in dict.fromkeys(sentences) if text not in rows]
        made = dict(zip(new, self.encoder.tokenize(new, *prompt), strict=True)) if new else {}
        for text, ids in made.items():
            row = array("q", ids)
            size = sys.getsizeof(text) + sys.getsizeof(row) + _ENTRY_BYTES
            if self.bytes + size <= self.most_bytes:
                rows[text] = row
                self.bytes += size
        return [rows[text].tolist() if text in rows else [*made[text]] for text in sentences]
