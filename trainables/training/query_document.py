"""Queries and documents of a batch: where they have prompts that differ, a sentence has an embedding as each."""

from __future__ import annotations

import dataclasses
from typing import cast

import numpy as np

from trainables.corpora.batch import Batch
from trainables.encoders.contract import PromptedEncoder, TrainableEncoder
from trainables.encoders.prompts import NO_PROMPTS


def tokenize(batch: Batch, encoder: TrainableEncoder) -> tuple[Batch, list[list[int]]]:
    """The batch, and the tokens of its sentences: premises as queries, hypotheses as documents.

    With two prompts a sentence that is both becomes two items of one text. Its text stays what it was, so whatever
    asks whether two items are the same sentence still hears that they are.
    """
    tokens = encoder.tokenize(batch.sentences)
    if not getattr(encoder, "prompts", NO_PROMPTS).differ:
        return batch, tokens
    prompted = cast(PromptedEncoder, encoder)
    documents = np.unique(batch.hypothesis)
    both = np.intersect1d(documents, batch.premise)
    place = np.arange(len(tokens))  # of each sentence as a document
    place[both] = len(tokens) + np.arange(len(both))
    found = dict(enumerate(tokens))
    as_documents = prompted.tokenize([batch.sentences[i] for i in documents], prompted.prompts.document)
    found.update(zip(place[documents].tolist(), as_documents, strict=True))
    sentences = [*batch.sentences, *(batch.sentences[i] for i in both)]
    batch = dataclasses.replace(batch, sentences=sentences, hypothesis=place[batch.hypothesis])
    return batch, [found[i] for i in range(len(sentences))]
