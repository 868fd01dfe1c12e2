"""Encoders: sentences in, one vector each out. `load_encoder` is the door to all of them.

Importing this package is light; the libraries behind an encoder load with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig

if TYPE_CHECKING:
    import numpy as np


class Encoder(Protocol):
    """What SentEval needs of an encoder."""

    dim: int

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings of the sentences, in their order."""


def load_encoder(config: EncoderConfig, pooling: PoolingConfig | None = None, *, device: str | None = None) -> Any:
    """The encoder that a recipe names, on `device` (None: a GPU where there is one).

    With `pooling=None` a sentence-transformers model keeps its own pipeline and any other transformer
    takes the mean. Raises `UserError` where the encoder cannot be had.
    """
    if config.kind == "word_vectors":
        from trainables.encoders.word_vectors import WordVectors

        return WordVectors.load(config.name)
    if pooling is None and (Path(config.name) / "modules.json").is_file():
        from trainables.encoders.pipeline import Pipeline

        return Pipeline(config, device)
    from trainables.encoders.transformer import TransformerEncoder

    return TransformerEncoder.load(config, pooling or PoolingConfig("mean"), device=device)


def check_encoder(config: EncoderConfig) -> None:
    """Refuse, quickly and before anything runs, an encoder that is not there."""
    path = Path(config.name)
    if config.kind == "word_vectors":
        if path.suffix not in (".txt", ".npy") or not path.is_file():
            raise UserError(
                f"no word vectors at {config.name!r}; name a GloVe text file (.txt), "
                "or a matrix (.npy) with its words beside it (.txt, .json or .parquet)"
            )
    elif config.name == SCENES_ENCODER:
        return
    elif path.exists():
        if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
            raise UserError(f"{config.name!r} is no encoder: a model folder holds config.json, weights and a tokenizer")
    elif config.name.startswith((".", "/", "~")):
        raise UserError(f"no encoder at {config.name!r}; name a model folder, a hub id, or {SCENES_ENCODER!r}")
    else:
        _check_hub(config.name)


def hub_errors(name: str, load: Callable[[], Any]) -> Any:
    """Run a load from the hub or a folder; turn what can go wrong there into one sentence."""
    from pickle import UnpicklingError  # what torch says of weights that hold more than tensors

    from safetensors import SafetensorError

    try:
        return load()
    except UserError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError, UnpicklingError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UserError(f"the encoder {name!r} cannot be loaded: {reason}") from error


def _check_hub(name: str) -> None:
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return
        HfApi().model_info(name, timeout=10)
    except HFValidationError:
        raise UserError(f"{name!r} is neither a folder nor a hub id (owner/name)") from None
    except RepositoryNotFoundError:
        raise UserError(f"the hub has no model {name!r}; name another, a folder, or {SCENES_ENCODER!r}") from None
    except HfHubHTTPError as error:
        raise UserError(f"the hub refuses the encoder {name!r}: {error}") from None
    except Exception as error:  # every network library has its own; each means that the hub was not reached
        raise UserError(
            f"the encoder {name!r} is not in the local cache and the hub cannot be reached "
            f"({type(error).__name__}); give a model folder with --set encoder.name=FOLDER, or use --scale laptop"
        ) from error
