"""Data of `benchmarks/gpu/gpu.py`: models of known shapes with random weights, and made-up sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from trainables.corpora.batch import Batch
from trainables.labels import CONTRADICTION, ENTAILMENT

VOCABULARY = 30_522
LONGEST = 128
SHAPES = {
    # hidden size, layers, heads, inner size
    "BERT-base": (768, 12, 12, 3072),
    "MiniLM": (384, 6, 12, 1536),
    "tiny": (32, 2, 2, 64),
}


def write_model(shape: str, folder: Path) -> None:
    """Save a BERT of that shape for sentence-transformers, with random weights and a vocabulary of made-up words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from trainables.encoders.pooling import Mean
    from trainables.encoders.transformer import TransformerEncoder

    hidden, layers, heads, inner = SHAPES[shape]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{number}" for number in range(VOCABULARY - len(words))]
    index = {word: number for number, word in enumerate(words)}
    plain = Tokenizer(models.WordPiece(index, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(word, index[word]) for word in ("[CLS]", "[SEP]")]
    plain.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=LONGEST, **named)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    torch.manual_seed(0)
    backbone = BertModel(config, add_pooling_layer=False)
    TransformerEncoder(backbone, tokenizer, Mean(), LONGEST).save(folder)


def sentences(count: int, seed: int) -> list[str]:
    """Return sentences of made-up words with SNLI's lengths: 11 words on average, some three times longer."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.gamma(4.0, 11 / 4, count).round(), 2, LONGEST - 2).astype(int)
    words = [f"w{number}" for number in random.integers(0, VOCABULARY - 5, int(lengths.sum()))]
    ends = [0, *np.cumsum(lengths).tolist()]
    return [" ".join(words[start:end]) for start, end in pairwise(ends)]


@dataclass(frozen=True)
class Triples:
    """A sampler of made-up triples. A batch has `batch_size` anchors, each with a positive and a hard negative."""

    batch_size: int
    steps_per_epoch: int

    def batch(self, step: int) -> Batch:
        anchors, positives, negatives = self.columns(step)
        number = np.arange(self.batch_size)
        return Batch(
            sentences=[*anchors, *positives, *negatives],
            premise=np.tile(number, 2),
            hypothesis=np.arange(self.batch_size, 3 * self.batch_size),
            label=np.repeat([ENTAILMENT, CONTRADICTION], self.batch_size),
            group=np.tile(number, 2),
        )

    def columns(self, step: int) -> Sequence[list[str]]:
        """Return the anchors, positives and hard negatives of a step."""
        drawn = sentences(3 * self.batch_size, seed=step)
        return [drawn[part::3] for part in range(3)]
