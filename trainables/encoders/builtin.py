"""The built-in encoder: a small BERT with a vocabulary of whole words from the scenes grammar, built without files.

Its weights are random but fixed, so that every trial of a study starts from the same weights, as from a pretrained
model.
"""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast

from trainables.corpora import scenes

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
HIDDEN, LAYERS, ATTENTION_HEADS, POSITIONS = 128, 2, 2, 128


def build() -> tuple[BertModel, PreTrainedTokenizerFast]:
    """Return the built-in encoder's backbone, with its fixed random weights, and its tokenizer."""
    tokenizer = _tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=ATTENTION_HEADS,
        intermediate_size=4 * HIDDEN,
        max_position_embeddings=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU
        torch.default_generator.manual_seed(0)
        # Always float32, whatever the default dtype of the process: float64 would draw other weights.
        return AutoModel.from_config(config, dtype=torch.float32, add_pooling_layer=False), tokenizer


def _tokenizer() -> PreTrainedTokenizerFast:
    words = [*SPECIAL_TOKENS, *(word for word in scenes.vocabulary() if word not in SPECIAL_TOKENS)]
    index = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(index, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", index["[CLS]"]), ("[SEP]", index["[SEP]"])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=POSITIONS,
    )
