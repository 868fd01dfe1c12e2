"""Find the files of a static encoder's token vectors, before anything starts, without loading anything heavy.

static_files("minishlab/potion-base-8M")        # a model of model2vec, or a saved static encoder
static_files("wordllama")                       # the weights in the installed package
static_files("weights/l2_supercat_256.safetensors")
static_files("bert-base-uncased")               # None: a transformer, which has word embeddings
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from trainables.encoders.availability import missing_transformer
from trainables.encoders.kinds import Missing
from trainables.encoders.module_files import STATIC, file_path, first_module
from trainables.recipe import EncoderConfig

WORDLLAMA = "wordllama"
"""Name of the weights in the package wordllama, unless a file or folder has this name."""
_SUFFIX = ".safetensors"


class StaticFiles(NamedTuple):
    """The files of token vectors and of their tokenizer; None for a missing file."""

    weights: Path | None
    tokenizer: Path | None


def static_files(name: str) -> StaticFiles | None:
    """Return the files of a model of token vectors; None for another model, such as a transformer."""
    if name == WORDLLAMA and not Path(name).exists():
        return _of_file(_installed())
    if name.endswith(_SUFFIX):
        return _of_file(Path(name))
    kind, folder = first_module(name) or ("", "")
    if kind != STATIC:
        return None
    return StaticFiles(*(file_path(name, str(Path(folder) / file)) for file in (f"model{_SUFFIX}", "tokenizer.json")))


def missing_static(config: EncoderConfig) -> Missing | None:
    """Return why there are no token vectors or word embeddings at `encoder.name`; None if there are."""
    name = config.name
    local = name == WORDLLAMA or name.endswith(_SUFFIX) or Path(name).exists()
    if not local and (first_module(name) or ("",))[0] == STATIC:
        return None  # on the hub; downloaded when it is loaded
    files = static_files(name) if local else None
    if files is None:
        return missing_transformer(config)
    if files.weights is None and name == WORDLLAMA:
        return "the package wordllama is not installed", "install it (pip install wordllama), or name a model's folder"
    if files.weights is None:
        return f"no token vectors at {name!r}", f"name a {_SUFFIX} file, or the folder of a model that has one"
    if files.tokenizer is None:
        return f"no tokenizer beside {str(files.weights)!r}", "put its tokenizer.json there"
    return None


def _of_file(weights: Path | None) -> StaticFiles:
    """Return a file of weights and its tokenizer, which wordllama stores in another folder."""
    if weights is None or not weights.is_file():
        return StaticFiles(None, None)
    named = f"{weights.stem.rpartition('_')[0]}_tokenizer_config.json"
    tokenizers = (weights.with_name("tokenizer.json"), weights.parent.parent / "tokenizers" / named)
    return StaticFiles(weights, next((path for path in tokenizers if path.is_file()), None))


def _installed() -> Path | None:
    """Return the largest file of weights in the installed package wordllama; None if there is none."""
    package = importlib.util.find_spec(WORDLLAMA)  # imports nothing
    folders = filter(None, package.submodule_search_locations or ()) if package else ()
    files = [file for folder in folders for file in (Path(folder) / "weights").glob(f"*{_SUFFIX}")]
    return max(files, key=lambda file: (file.stat().st_size, file.name), default=None)
