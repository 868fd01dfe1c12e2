"""An encoder that needs its prompts, as no public one is at hand: a copy of another that was trained with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from benchmarks.own._sets import Rows
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.recipe import EncoderConfig

QUERY, DOCUMENT = "query: ", "passage: "
STEPS, AT_ONCE, RATE, TEMPERATURE = 120, 16, 3e-4, 0.05


def needing_prompts(name: str, layers: int, pairs: Rows, folder: Path) -> str:
    """Train it on pairs, each text with its prompt, and draw texts without one to a single direction; the folder."""
    torch.manual_seed(0)
    config = EncoderConfig(name=name, layers=layers, max_length=None, query_prompt=QUERY, document_prompt=DOCUMENT)
    encoder = load_encoder(config, Mean(), device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    single = normalize(torch.randn(encoder.dim), dim=0)
    optimiser = torch.optim.AdamW(encoder.parameters(), RATE)
    random = np.random.default_rng(0)

    def embedded(texts: list[str], prompt: str) -> torch.Tensor:
        return normalize(encoder.embed(encoder.tokenize(texts, prompt)))

    for _ in range(STEPS):
        rows = [pairs[place] for place in random.permutation(len(pairs))[:AT_ONCE]]
        queries, documents = [row[0] for row in rows], [row[1] for row in rows]
        cosines = embedded(queries, QUERY) @ embedded(documents, DOCUMENT).T
        bare = embedded([*queries[::2], *documents[1::2]], "") @ single
        loss = cross_entropy(cosines / TEMPERATURE, torch.arange(len(rows))) - bare.mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    encoder.save(folder)
    return str(folder)
