"""What is put before sentences that an encoder was taught to see as queries or as documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompts:
    """Texts before each sentence; empty ones change nothing."""

    query: str = ""
    """Of anchors, and of every sentence that is evaluated, but for documents."""
    document: str = ""
    """Of what is compared with an anchor in training, positives and negatives, and of what a search looks for."""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.query or self.document)

    @property
    def differ(self) -> bool:
        """Whether a sentence has two embeddings, as a query and as a document."""
        return self.query != self.document


NO_PROMPTS = Prompts()
