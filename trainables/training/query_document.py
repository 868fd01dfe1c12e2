"""Prompts of a batch's queries and documents. If the prompts differ, a sentence in both roles has two embeddings."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from trainables.corpora.batch import Batch
from trainables.encoders.contract import TrainableEncoder
from trainables.encoders.prompts import NO_PROMPTS, Prompts
from trainables.training.token_memory import TokenMemory


def tokenize(batch: Batch, encoder: TrainableEncoder | TokenMemory) -> tuple[Batch, list[list[int]]]:
    """Return the batch and the tokens of its sentences. Premises get the query prompt, hypotheses the document prompt.

    If the prompts differ, a sentence in both roles becomes two items. The text of both items is the sentence without
    a prompt, so that they still count as equal texts.
    """
    own: Prompts = getattr(encoder, "prompts", NO_PROMPTS)
    if batch.prompts is None and not own.differ:
        return batch, encoder.tokenize(batch.sentences)
    prompts = [
        Prompts(own.query if query is None else query, own.document if document is None else document)
        for query, document in batch.prompts or [(None, None)] * len(batch.sentences)
    ]
    documents = np.unique(batch.hypothesis)
    documents = documents[[prompts[i].differ for i in documents]]
    both = np.intersect1d(documents, batch.premise)
    document_item = np.arange(len(prompts))  # the item of each sentence as a document
    document_item[both] = len(prompts) + np.arange(len(both))
    sentences = [*batch.sentences, *(batch.sentences[i] for i in both)]
    before = [prompt.query for prompt in prompts] + [""] * len(both)
    for i in documents.tolist():
        before[document_item[i]] = prompts[i].document
    tokens: dict[int, list[int]] = {}
    prompted: Any = encoder  # an encoder with `prompts` takes any prompt
    for prompt in dict.fromkeys(before):
        indices = [i for i, of_sentence in enumerate(before) if of_sentence == prompt]
        rows = prompted.tokenize([sentences[i] for i in indices], prompt)
        tokens.update(zip(indices, rows, strict=True))
    batch = dataclasses.replace(batch, sentences=sentences, hypothesis=document_item[batch.hypothesis], prompts=None)
    return batch, [tokens[i] for i in range(len(sentences))]
