import zlib
from dataclasses import dataclass

import numpy as np
import torch

from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import ENCODERS, EncoderKind
from trainables.encoders.passes import full_passes
from trainables.errors import UserError
from trainables.keys import Options, at_least, key


@dataclass(frozen=True)
class Size(Options):
    section = "encoder"
    width: int = key(64, "Numbers of an embedding.", at_least(1), search=(32, 64, 128))


class Trigrams(torch.nn.EmbeddingBag):
    """The mean of the vectors of a sentence's trigrams of letters."""

    unsavable = "sentence-transformers has no module for trigrams of letters"

    def __init__(self, width, device):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            super().__init__(4096, width, mode="mean", device=device)
        self.dim, self.device = width, self.weight.device

    def tokenize(self, sentences):
        padded = [f"  {sentence} ".encode() for sentence in sentences]
        return [[zlib.crc32(text[i : i + 3]) % self.num_embeddings for i in range(len(text) - 2)] for text in padded]

    def embed(self, tokens):  # (sentences, dim)
        starts = np.cumsum([0, *map(len, tokens)])[:-1]
        return self(torch.tensor(np.concatenate(tokens), device=self.device), torch.tensor(starts, device=self.device))

    def passes(self, lengths, most=None):
        return full_passes(lengths, most or sum(lengths))

    @torch.inference_mode()
    def encode(self, sentences, *, progress=False):  # (sentences, dim), float32
        return self.embed(self.tokenize(sentences)).cpu().numpy() if sentences else np.empty((0, self.dim), np.float32)

    def fingerprint(self):
        return digest(type(self), {}, self.state_dict().items())

    def save(self, folder):
        raise UserError(self.unsavable)


def load(request):
    return Trigrams(request.options.width if request.options else 64, request.device)


ENCODERS.add(
    EncoderKind("trigrams", load, lambda config: None, trainable=True, pools=False, layers=False, options=Size)
)
