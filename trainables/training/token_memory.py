"""Tokens of a training's texts, kept from epoch to epoch."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from trainables.encoders.contract import TrainableEncoder
from trainables.encoders.prompts import NO_PROMPTS, Prompts

MOST_BYTES = 256 * 2**20
"""Room for a million short sentences."""
_OF_PLACE = 100
"""Bytes of a text's place in a dictionary."""


class TokenMemory:
    """Tokenizes as an encoder does, each text once. What is beyond `most_bytes` is tokenized whenever it comes."""

    def __init__(self, encoder: TrainableEncoder, most_bytes: int = MOST_BYTES) -> None:
        self.encoder = encoder
        self.prompts: Prompts = getattr(encoder, "prompts", NO_PROMPTS)
        self.most_bytes = most_bytes
        self.bytes = 0
        """Of all that is kept, the texts too."""
        self._rows: dict[tuple[str, ...], dict[str, array[int]]] = {}  # by prompt and text

    def tokenize(self, sentences: Sequence[str], *prompt: str) -> list[list[int]]:
        """What the encoder gives, in lists of the caller's own."""
        rows = self._rows.setdefault(prompt, {})
        new = [text for text in dict.fromkeys(sentences) if text not in rows]
        made = dict(zip(new, self.encoder.tokenize(new, *prompt), strict=True)) if new else {}
        for text, ids in made.items():
            row = array("q", ids)
            size = sys.getsizeof(text) + sys.getsizeof(row) + _OF_PLACE
            if self.bytes + size <= self.most_bytes:
                rows[text] = row
                self.bytes += size
        return [rows[text].tolist() if text in rows else [*made[text]] for text in sentences]
