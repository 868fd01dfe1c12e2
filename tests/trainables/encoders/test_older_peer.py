"""Models change hands with sentence-transformers 5, which `make test-versions` puts beside the one installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SENTENCES, loaded
from trainables.encoders import load_encoder
from trainables.encoders.pooling import POOLINGS, Pooling
from trainables.encoders.transformer import TransformerEncoder
from trainables.recipe import EncoderConfig

ROOT = Path(__file__).parents[3]
OLDER = ROOT / ".venv/sentence-transformers-5"
READ = sorted(name for name, pooling in POOLINGS.items() if pooling.stock and pooling.since == Pooling.since)
"""Poolings whose modules the older version of sentence-transformers has."""
SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
import sentence_transformers
from sentence_transformers import SentenceTransformer, models
assert sentence_transformers.__version__.startswith("5."), sentence_transformers.__version__
folder, sentences = Path(sys.argv[1]), json.loads(sys.argv[2])
for model in sorted(folder.glob("ours/*")):
    loaded = SentenceTransformer(str(model), device="cpu", local_files_only=True)
    assert loaded.similarity_fn_name == "cosine"
    np.savez(model / "found.npz", query=loaded.encode_query(sentences), document=loaded.encode_document(sentences))
first = SentenceTransformer(str(folder / "ours/mean"), device="cpu", local_files_only=True)
theirs = SentenceTransformer(modules=[*first, models.Normalize()], device="cpu", similarity_fn_name="dot")
theirs.save(str(folder / "theirs"))
np.save(folder / "theirs.npy", theirs.encode(sentences))
"""
LOADED = """
import json, sys
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
embedded = model.encode(json.loads(sys.argv[2]))
np.savez(sys.argv[1] + "/found.npz", embedded=embedded, similar=model.similarity(embedded, embedded))
"""


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each pooling, read by the older one, and one that this saved."""
    if not OLDER.is_dir():
        pytest.skip("sentence-transformers 5 is not there: make test-versions brings it")
    folder = tmp_path_factory.mktemp("exchanged")
    for mode in READ:
        _ours(mode).save(folder / "ours" / mode)
    _run(SCRIPT, folder)
    return folder


def _run(script: str, folder: Path) -> None:
    """With the older one."""
    command = [sys.executable, "-W", "ignore", "-c", script, str(folder), json.dumps(list(SENTENCES))]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(OLDER)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _ours(mode: str) -> TransformerEncoder:
    return loaded(mode=mode, max_length=32, query_prompt="the dog ", document_prompt="two women ")


@pytest.mark.parametrize("mode", READ)
def test_what_was_saved_here_gives_the_same_there_prompts_too(mode: str, exchanged: Path) -> None:
    encoder, theirs = _ours(mode), np.load(exchanged / "ours" / mode / "found.npz")
    documents = encoder.embed(encoder.tokenize(SENTENCES, "two women ")).detach().numpy()
    np.testing.assert_allclose(theirs["query"], encoder.encode(SENTENCES), atol=1e-5, rtol=0)
    np.testing.assert_allclose(theirs["document"], documents, atol=1e-5, rtol=0)
    assert np.abs(theirs["query"] - theirs["document"]).max() > 0.01


def test_what_was_saved_there_gives_the_same_here(exchanged: Path) -> None:
    encoder = load_encoder(EncoderConfig(name=str(exchanged / "theirs")), device="cpu")
    np.testing.assert_allclose(encoder.encode(SENTENCES), np.load(exchanged / "theirs.npy"), atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_a_norm_dot_products_and_bf16_go_there_and_back(dtype: Any, exchanged: Path, tmp_path: Path) -> None:
    """Started from a model of theirs, saved here, read there: its dot products are the cosines that are scored here."""
    config = EncoderConfig(name=str(exchanged / "theirs"), dtype=dtype)
    encoder = load_encoder(config, POOLINGS["mean"](), device="cpu")
    encoder.save(tmp_path / "again")
    _run(LOADED, tmp_path / "again")
    theirs, scored = np.load(tmp_path / "again" / "found.npz"), encoder.encode(SENTENCES)
    unit = scored / np.linalg.norm(scored, axis=1, keepdims=True)
    np.testing.assert_allclose(theirs["embedded"], unit, atol=1e-5, rtol=0)
    np.testing.assert_allclose(theirs["similar"], unit @ unit.T, atol=1e-5, rtol=0)
    assert np.abs(scored - unit).max() > 0.01
