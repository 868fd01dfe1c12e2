"""A static encoder: each token has a vector, and an embedding is the mean over a sentence's tokens. It is trained as
other encoders are, and as fast as looking up rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from trainables.encoders.contract import BaseEncoder
from trainables.encoders.export import save_static
from trainables.encoders.fingerprint import digest, tokenizer_settings
from trainables.encoders.kinds import EncoderRequest, StaticStart
from trainables.encoders.loading import chosen_device, load_safely
from trainables.encoders.own_modules import PLAIN, ModelEnd, own_model_end
from trainables.encoders.passes import full_passes
from trainables.encoders.pretrained import load_cached
from trainables.encoders.static_files import static_files
from trainables.to_device import to_device

_SENTENCES_PER_PASS = 4096


class StaticEncoder(nn.Module):
    """An encoder with the embeddings of sentence-transformers' `StaticEmbedding`: the mean over all tokens, without
    special ones, and zeros for a sentence without tokens. It computes in fp32, and has no dropout."""

    unsavable = None

    def __init__(
        self,
        tokenizer: Tokenizer,
        vectors: Tensor,
        max_length: int | None,
        *,
        fresh: Sequence[str] = (),
        model_end: ModelEnd = PLAIN,
    ) -> None:
        """`vectors` is (tokens, dim), a row for each token id. Sentences are cut at `max_length` tokens, or at the
        tokenizer's own limit if that is lower; None: at that limit only. `model_end` is the end of a saved model."""
        super().__init__()
        lengths = (max_length, tokenizer.truncation["max_length"] if tokenizer.truncation else None)
        self.max_length = min((length for length in lengths if length is not None), default=None)
        if self.max_length is not None:
            tokenizer.enable_truncation(self.max_length)
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        self.vectors = nn.Parameter(vectors.float().contiguous())
        self.fresh = tuple(fresh)
        self.model_end = model_end
        self.dim = int(vectors.shape[1])

    @property
    def device(self) -> torch.device:
        return self.vectors.device

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return token ids of each sentence, without special tokens; [] for a sentence without tokens."""
        encodings = self.tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        """Return embeddings, the means of token vectors, with gradient, in the order of the sentences."""
        ids = torch.tensor([*chain.from_iterable(tokens)], dtype=torch.long)
        starts = torch.tensor([0, *accumulate(map(len, tokens))][:-1], dtype=torch.long)
        return F.embedding_bag(to_device(ids, self.device), self.vectors, to_device(starts, self.device), mode="mean")

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Return the indices of sentences per pass of at most `most` tokens; None: one pass, as no states are
        stored."""
        return full_passes(lengths, most or sum(lengths))

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, the means of token vectors, in the order of the sentences."""
        embedded = np.empty((len(sentences), self.dim), dtype=np.float32)
        for start in range(0, len(sentences), _SENTENCES_PER_PASS):
            part = slice(start, start + _SENTENCES_PER_PASS)
            embedded[part] = self.embed(self.tokenize(sentences[part])).cpu().numpy()
        return embedded

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of the vectors, the tokenizer, and the longest input."""
        settings = {"tokenizer": tokenizer_settings(self.tokenizer), "longest": self.max_length}
        return digest(type(self), settings, self.state_dict().items())

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder with one module, `StaticEmbedding`, and the end of the model."""
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding

        tokenizer = Tokenizer.from_str(self.tokenizer.to_str())
        module = StaticEmbedding(tokenizer, embedding_weights=self.vectors.detach().cpu().clone())
        save_static(module, self.model_end, folder)


def load_static(request: EncoderRequest) -> BaseEncoder:
    """Load the vectors of a static model or a transformer's word embeddings, or initialise vectors randomly. Raises
    `UserError` if they cannot be loaded, or do not fit the tokenizer."""
    config, start = request.config, request.options or StaticStart()
    assert isinstance(start, StaticStart)

    def read() -> tuple[Tokenizer, Tensor | None]:
        tokenizer, vectors = _read(config.name, drawn=start.start == "random")
        if vectors is not None:
            if vectors.dim() != 2 or not vectors.isfinite().all():
                raise ValueError("its token vectors are no matrix of finite numbers")
            if _tokens(tokenizer) > len(vectors):
                raise ValueError(f"its tokenizer knows {_tokens(tokenizer)} tokens, and {len(vectors)} have a vector")
        return tokenizer, vectors

    tokenizer, vectors = load_safely(config.name, read)
    fresh: tuple[str, ...] = ()
    if vectors is None:  # from their own generator: loading may draw numbers, or be cached
        draw = torch.Generator().manual_seed(torch.initial_seed())
        vectors, fresh = torch.randn(_tokens(tokenizer), start.dim, generator=draw), ("vectors",)
    encoder = StaticEncoder(tokenizer, vectors, config.max_length, fresh=fresh, model_end=own_model_end(config))
    return encoder.to(chosen_device(request.device))


def _read(name: str, drawn: bool) -> tuple[Tokenizer, Tensor | None]:
    files = static_files(name)
    if files is None:
        backbone, tokenizer, _ = load_cached(name, torch.float32)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError("its tokenizer is none of the fast ones, which a static encoder needs")
        return Tokenizer.from_str(backend.to_str()), None if drawn else backbone.get_input_embeddings().weight.detach()
    if files.weights is None or files.tokenizer is None:
        raise ValueError("its weights or its tokenizer are not there")
    return Tokenizer.from_file(str(files.tokenizer)), None if drawn else _vectors(files.weights)


def _vectors(file: Path) -> Tensor:
    """Return a row for each token, also for models of model2vec with shared rows and with weights of tokens."""
    from safetensors.torch import load_file

    tensors = load_file(str(file))
    vectors = tensors.get("embedding.weight", tensors.get("embeddings"))
    if vectors is None:
        raise ValueError(f"{file.name} holds neither embedding.weight nor embeddings")
    if "mapping" in tensors:
        vectors = vectors[tensors["mapping"].long()]
    return vectors.float() * tensors["weights"].float().unsqueeze(1) if "weights" in tensors else vectors.float()


def _tokens(tokenizer: Tokenizer) -> int:
    """Return the number of possible token ids."""
    return max(tokenizer.get_vocab().values(), default=-1) + 1
