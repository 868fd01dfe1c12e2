"""A tiny random model of each family of transformers, in a folder as the hub gives it, with a tokenizer of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast, Qwen2Tokenizer

from trainables.corpora import scenes

LONGEST = 64
"""Positions that a model has for tokens of texts, where it has any."""
WINDOW = 4
"""So many tokens to either side a near attention sees."""
_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONGEST,
}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 4}
_DECODER = {**_SIZES, "num_key_value_heads": 2, "head_dim": 8}
_TWO_SPARE = {**_SIZES, "max_position_embeddings": LONGEST + 2}
SIZES: dict[str, dict[str, Any]] = {
    "albert": {**_SIZES, "embedding_size": 16},
    "bert": _SIZES,
    "camembert": _TWO_SPARE,
    "deberta-v2": {  # as in DeBERTa-v3
        **_SIZES,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "position_buckets": 8,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "type_vocab_size": 0,
    },
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": LONGEST},
    "electra": {**_SIZES, "embedding_size": 16},
    "modernbert": {**_SIZES, "local_attention": 2 * WINDOW, "layer_types": ["full_attention", "sliding_attention"]},
    "mpnet": _TWO_SPARE,
    "roberta": _TWO_SPARE,
    "xlm-roberta": _TWO_SPARE,
    "t5": _T5,
    "mt5": _T5,
    "umt5": _T5,
    "llama": _DECODER,
    "mistral": {**_DECODER, "sliding_window": WINDOW},
    "qwen2": _DECODER,
    "qwen3": _DECODER,
}
"""The settings of each."""
_SUFFIX = ("t5", "mt5", "umt5")
_PREFIX = ("llama", "mistral")
_BYTES = ("qwen2", "qwen3")


def write_model(family: str, folder: Path, **settings: Any) -> Path:
    """The family's whole model, a decoder's or T5's with all that it has, and its tokenizer; returns the folder."""
    tokenizer = make_tokenizer(family)
    special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    special |= {name: getattr(tokenizer, name) for name in ("bos_token_id", "cls_token_id", "sep_token_id")}
    config = AutoConfig.for_model(family, vocab_size=len(tokenizer), **(special | SIZES[family] | settings))
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    with torch.no_grad():  # wide apart, or all sentences look alike
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tokenizer(family: str) -> Any:
    """Whole words of the scenes, with special tokens as the family has them: around a text, or at one end. Of Qwen its
    own kind of tokenizer, with bytes as tokens; as in its embedding models the third version adds an end token."""
    if family in _BYTES:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        tokenizer = Qwen2Tokenizer({byte: number for number, byte in enumerate(alphabet)}, [])
        if family == "qwen3":
            end = (tokenizer.eos_token, tokenizer.eos_token_id)
            tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
                single=f"$A {end[0]}", special_tokens=[end]
            )
        return tokenizer
    named = {"unk_token": "[UNK]", "eos_token": "</s>"}
    if family in _PREFIX:  # these leave a padding token to be found
        template, named = "<s> $A", named | {"bos_token": "<s>"}
    elif family in _SUFFIX:
        template, named = "$A </s>", named | {"pad_token": "<pad>"}
    else:
        template = "<s> $A </s>"
        named |= {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    words = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>", *scenes.vocabulary()]  # RoBERTa's padding token is the second
    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[(token, numbers[token]) for token in ("<s>", "</s>") if token in template]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
