"""Prompts before queries and documents, for encoders that were trained with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompts:
    """Texts that an encoder puts before each sentence; an empty text changes nothing."""

    query: str = ""
    """Prompt of anchors, and of every evaluated sentence except documents."""
    document: str = ""
    """Prompt of positives and negatives in training, and of the documents of a search."""

    def __bool__(self) -> bool:
        """Whether a prompt is set."""
        return bool(self.query or self.document)

    @property
    def differ(self) -> bool:
        """Whether a sentence has different embeddings as a query and as a document."""
        return self.query != self.document


NO_PROMPTS = Prompts()
