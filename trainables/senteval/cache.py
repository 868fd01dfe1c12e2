"""Embeddings on disk, found again by the encoder's hash and the text.

    CACHE/ENCODER_HASH/*.npz    `texts` (n, 16) digests and `vectors` (n, dim) float32, one file a pass

Files are written whole and renamed into place, so that several processes may share a folder.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainables.errors import UserError


def cached(encode: Callable[[Sequence[str]], np.ndarray], folder: Path, key: str) -> Callable[..., np.ndarray]:
    """`encode`, but only for sentences that `folder` does not hold under `key`."""

    def wrapped(sentences: Sequence[str]) -> np.ndarray:  # (sentences, dim)
        names = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in sentences]
        known = _load(folder / key)
        missing = [i for i, name in enumerate(names) if name not in known]
        if missing:
            vectors = np.asarray(encode([sentences[i] for i in missing]), dtype=np.float32)
            if np.isfinite(vectors).all():
                _save(folder / key, [names[i] for i in missing], vectors)
            known.update(zip((names[i] for i in missing), vectors, strict=True))
        return np.stack([known[name] for name in names])

    return wrapped


def encoder_hash(encoder: Any) -> str:
    """Sixteen hexadecimal digits of all that decides an embedding: weights or vectors, pooling, length, precision."""
    digest = hashlib.blake2b(digest_size=8)
    for name in ("mode", "max_length", "precision", "padded_inference"):
        digest.update(f"{name}={getattr(encoder, name, None)} ".encode())
    if hasattr(encoder, "vectors"):
        digest.update(" ".join(encoder.index).encode())
        digest.update(np.ascontiguousarray(encoder.vectors).data)
        return digest.hexdigest()
    module = encoder if hasattr(encoder, "state_dict") else encoder.model
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().data)
    tokenizer = module.tokenizer
    digest.update(repr(sorted(tokenizer.get_vocab().items())).encode())
    return digest.hexdigest()


def _load(folder: Path) -> dict[bytes, np.ndarray]:
    known: dict[bytes, np.ndarray] = {}
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as content:
                texts, vectors = content["texts"], content["vectors"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            raise UserError(f"{path} is no file of cached embeddings; remove it") from None
        known.update((row.tobytes(), vector) for row, vector in zip(texts, vectors, strict=True))
    return known


def _save(folder: Path, names: Sequence[bytes], vectors: np.ndarray) -> None:
    texts = np.frombuffer(b"".join(names), dtype=np.uint8).reshape(len(names), -1)
    name = hashlib.blake2b(b"".join(names), digest_size=8).hexdigest()
    partial = folder / f".{name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, texts=texts, vectors=vectors)
        partial.replace(folder / f"{name}.npz")
    except OSError as error:
        raise UserError(f"embeddings cannot be cached in {folder}: {error.strerror}") from None
