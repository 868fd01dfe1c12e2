"""Broken word vectors and transformers: read right, or refused in one sentence (see `test_data.py`)."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import PLACES, Mutation, in_place, inputs, mutate_json, pick, read_broken, read_or_refuse, ways_of
from tests.whole_files import in_parquet, npy, read_vectors
from trainables.encoders import check_encoder, load_encoder
from trainables.encoders.availability import WORD_VECTORS
from trainables.encoders.pooling import Mean
from trainables.errors import UserError
from trainables.recipe import EncoderConfig

pytestmark = [pytest.mark.fuzz, pytest.mark.usefixtures("own_cache")]


EMBEDDINGS = "embeddings.word_embeddings.weight"

WORDS = ["the", "a", "man", "dog", ". . .", "caf\u00e9"]
ROWS = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)


def in_text(header: bool) -> bytes:
    lines = [f"{len(WORDS)} {ROWS.shape[1]}"] if header else []
    lines += [" ".join([word, *map(str, row.tolist())]) for word, row in zip(WORDS, ROWS, strict=True)]
    return "".join(line + "\n" for line in lines).encode()


VECTORS = {".txt": in_text(False), ".vec": in_text(True), ".npy": npy(ROWS)}
BESIDE: dict[str, bytes] = {
    ".txt": "".join(word + "\n" for word in WORDS).encode(),
    ".json": json.dumps(WORDS).encode(),
    ".parquet": in_parquet([{"word": word, "row": row} for row, word in enumerate(WORDS)]),
}
"""Lists of words that stand beside a matrix."""


def check_vectors(outcome: Any) -> None:
    encoder, embeddings = outcome
    assert embeddings.dtype == np.float32
    assert np.isfinite(embeddings).all()
    assert np.isfinite(encoder.vectors).all()
    assert encoder.vectors.shape == (len(encoder.vectors), encoder.dim)
    assert max(encoder.index.values()) < len(encoder.vectors)
    for word in encoder.index:
        word.encode()


@pytest.mark.parametrize("suffix", WORD_VECTORS)
def test_word_vectors(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"glove{suffix}"
    if suffix == ".npy":
        (tmp_path / "words.json").write_bytes(BESIDE[".json"])
    file.write_bytes(VECTORS[suffix])
    read = partial(read_vectors, file)
    for outcome in (read(), *read_broken(file, suffix, read, "is empty|is no matrix|holds|rows, but no")):
        check_vectors(outcome)


@pytest.mark.parametrize("suffix", BESIDE)
def test_words_beside_a_matrix(suffix: str, tmp_path: Path) -> None:
    matrix, beside = tmp_path / "glove.npy", tmp_path / f"words{suffix}"
    matrix.write_bytes(npy(ROWS))
    beside.write_bytes(BESIDE[suffix])
    read = partial(read_vectors, matrix)
    for outcome in (read(), *read_broken(beside, f"beside{suffix}", read, named=[matrix])):
        check_vectors(outcome)


def test_what_stands_where_words_should(tmp_path: Path) -> None:
    matrix, beside = tmp_path / "in" / "glove.npy", tmp_path / "in" / "words.json"
    matrix.parent.mkdir()
    matrix.write_bytes(npy(ROWS))
    beside.write_bytes(BESIDE[".json"])
    for file in (matrix, beside):
        assert in_place(file, partial(read_vectors, matrix), [matrix, beside]) == ["linked away"]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as transformers saves it."""
    from trainables.encoders.builtin import build

    folder = tmp_path_factory.mktemp("transformer") / "model"
    backbone, tokenizer = build()
    backbone.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def other_header(content: bytes, rng: Random) -> bytes:
    """Safetensors with something else in its header: names, types, shapes, places."""
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(mutate_json(json.loads(content[8 : 8 + size]), rng)).encode()
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def odd_weight(content: bytes, rng: Random) -> bytes:
    """One weight that is NaN or infinite."""
    size = int.from_bytes(content[:8], "little")
    place = 8 + size + 4 * rng.randrange((len(content) - 8 - size) // 4)
    return content[:place] + rng.choice((b"\0\0\xc0\x7f", b"\0\0\x80\x7f")) + content[place + 4 :]


WEIGHTS: dict[str, Mutation] = {"header": other_header, "header again": other_header, "odd weight": odd_weight}


def load_transformer(folder: Path) -> Any:
    config = EncoderConfig(name=str(folder))
    check_encoder(config)
    encoder: Any = load_encoder(config, Mean())
    return encoder, encoder.encode(["a man is sleeping", "two dogs run"])


def test_transformers(transformer: Path, tmp_path: Path, nothing_kept: None) -> None:
    load_transformer(transformer)
    names = sorted(file.name for file in transformer.iterdir())
    for number, rng in inputs("transformers"):
        folder = tmp_path / f"broken{number}"
        shutil.copytree(transformer, folder)
        file = folder / names[number % len(names)]
        if number % 5 == 0:
            name, place = pick(PLACES, number // 5, "transformers")
            place(file)
        else:
            own = WEIGHTS if file.suffix == ".safetensors" else {}
            name, mutate = pick(own | ways_of(file.suffix), number, file.name)
            file.write_bytes(mutate(file.read_bytes(), rng))
        outcome = read_or_refuse(partial(load_transformer, folder), [folder])
        if not isinstance(outcome, UserError):
            encoder, embeddings = outcome
            assert embeddings.shape == (2, encoder.dim)
            assert np.isfinite(embeddings).all(), f"{file.name}, {name}"
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda weights, config: weights["encoder.layer.0.output.dense.bias"].fill_(float("nan")), "among its weights"),
        (lambda weights, config: config.update(layer_norm_eps="small"), "cannot be loaded"),
        (lambda weights, config: weights.update({EMBEDDINGS: weights[EMBEDDINGS][:50].clone()}), "cannot be loaded"),
    ],
)
def test_a_model_that_embeds_nothing(change: Any, sentence: str, transformer: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "model"
    shutil.copytree(transformer, folder)
    weights, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    change(weights, config)
    config["vocab_size"] = len(weights[EMBEDDINGS])
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    assert sentence in str(read_or_refuse(partial(load_transformer, folder), [folder]))
