"""Where the token vectors of a static encoder lie; asked before anything starts, and nothing heavy is loaded.

static_files("minishlab/potion-base-8M")        # a model of model2vec, or one that was saved here
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
from trainables.encoders.module_files import STATIC, first_module, place
from trainables.recipe import EncoderConfig

WORDLLAMA = "wordllama"
"""Names the weights in the package of that name, where nothing else is called so."""
_SUFFIX = ".safetensors"


class StaticFiles(NamedTuple):
    """Token vectors, and what cuts a sentence into their tokens; None where a file is not there."""

    weights: Path | None
    tokenizer: Path | None


def static_files(name: str) -> StaticFiles | None:
    """The files of a model of token vectors; None for a name that is none, as a transformer's."""
    if name == WORDLLAMA and not Path(name).exists():
        return _of_file(_installed())
    if name.endswith(_SUFFIX):
        return _of_file(Path(name))
    kind, folder = first_module(name) or ("", "")
    if kind != STATIC:
        return None
    return StaticFiles(*(place(name, str(Path(folder) / file)) for file in (f"model{_SUFFIX}", "tokenizer.json")))


def missing_static(config: EncoderConfig) -> Missing | None:
    """Why there are no token vectors, or no word embeddings, at `encoder.name`."""
    name = config.name
    local = name == WORDLLAMA or name.endswith(_SUFFIX) or Path(name).exists()
    if not local and (first_module(name) or ("",))[0] == STATIC:
        return None  # on the hub, and fetched when it is loaded
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
    """wordllama has its tokenizers in a folder of their own."""
    if weights is None or not weights.is_file():
        return StaticFiles(None, None)
    named = f"{weights.stem.rpartition('_')[0]}_tokenizer_config.json"
    tokenizers = (weights.with_name("tokenizer.json"), weights.parent.parent / "tokenizers" / named)
    return StaticFiles(weights, next((path for path in tokenizers if path.is_file()), None))


def _installed() -> Path | None:
    """Of several sizes the largest."""
    package = importlib.util.find_spec(WORDLLAMA)  # imports nothing
    folders = filter(None, package.submodule_search_locations or ()) if package else ()
    files = [file for folder in folders for file in (Path(folder) / "weights").glob(f"*{_SUFFIX}")]
    return max(files, key=lambda file: (file.stat().st_size, file.name), default=None)
