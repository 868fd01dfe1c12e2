"""Encoders: sentences in, one vector each out. `load_encoder` is the door to all of them.

Importing this package is light; the libraries behind an encoder load with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig, Recipe

if TYPE_CHECKING:
    import numpy as np


WORD_VECTORS = (".txt", ".vec", ".npy")
"""How files of word vectors end."""


class Encoder(Protocol):
    """What SentEval needs of an encoder."""

    dim: int

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings of the sentences, in their order."""


def load_encoder(
    config: EncoderConfig, pooling: PoolingConfig | None = None, *, device: str | None = None, masked_lm: bool = False
) -> Any:
    """The encoder that a recipe names, on `device` (None: a GPU where there is one).

    With `pooling=None` a sentence-transformers model keeps its own pipeline and any other transformer
    takes the mean. With `masked_lm=True` a transformer gets a head for masked language modelling, `encoder.masked`.
    Raises `UserError` where the encoder cannot be had.
    """
    if config.kind == "word_vectors":
        from trainables.encoders.word_vectors import WordVectors

        return WordVectors.load(config.name)
    if config.kind == "pipeline" or (pooling is None and (Path(config.name) / "modules.json").is_file()):
        from trainables.encoders.pipeline import Pipeline

        return Pipeline(config, device)
    from trainables.encoders.transformer import TransformerEncoder

    return TransformerEncoder.load(config, pooling or PoolingConfig("mean"), device=device, masked_lm=masked_lm)


def check_encoder(config: EncoderConfig) -> None:
    """Refuse, quickly and before anything runs, an encoder that is not there."""
    if config.kind == "pipeline" and config.layers is not None:
        raise UserError(f"encoder.layers is {config.layers}, but a pipeline keeps all its layers; leave it at none")
    missing = _missing(config)
    if missing:
        raise UserError("; ".join(missing))


def available(config: EncoderConfig) -> str | None:
    """None if the encoder can be had, else why not, in a phrase. Nothing is downloaded.

    Where the hub cannot be reached this is found out once in a process, not once an encoder.
    """
    missing = _missing(config)
    return missing[0] if missing else None


def check_trainable(recipe: Recipe) -> None:
    """Refuse a recipe that would train what can only be evaluated, or with a memory bank below one batch."""
    fixed = recipe.encoder.kind == "word_vectors" and recipe.encoder.adapter == "none"  # epochs or not, nothing trains
    if not recipe.optimisation.epochs or fixed:
        return
    anchors = recipe.optimisation.batch_size * (recipe.spans.anchors if recipe.corpus.layout == "spans" else 1)
    if 0 < recipe.objective.bank < anchors:
        raise UserError(
            f"objective.bank={recipe.objective.bank} is smaller than one batch, which has {anchors} anchors; "
            "take a larger bank, or 0 for none"
        )
    if recipe.encoder.kind == "pipeline" and recipe.encoder.adapter == "none":
        raise UserError(
            "encoder.kind 'pipeline' is for evaluation only; set optimisation.epochs to 0, train an adapter on it "
            "(encoder.adapter 'mlp'), or take encoder.kind 'transformer'"
        )
    if recipe.pooling.after != "none":
        raise UserError(
            f"pooling.after {recipe.pooling.after!r} is for evaluation only; set optimisation.epochs to 0, "
            "or pooling.after to 'none'"
        )
    if recipe.objective.mlm:
        _check_mask_token(recipe.encoder.name)
    if recipe.encoder.adapter != "none" and (recipe.objective.mlm or recipe.objective.name == "mlm"):
        raise UserError(
            "masked language modelling trains the encoder, which encoder.adapter freezes; set objective.mlm to 0, "
            "or encoder.adapter to 'none'"
        )


def _check_mask_token(name: str) -> None:
    """Refuse masked language modelling with a local tokenizer whose files name no mask token."""
    named, found = False, False
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        path = Path(name) / file
        if path.is_file():
            named = True
            found |= bool(json.loads(path.read_text(encoding="utf-8")).get("mask_token"))
    if named and not found:
        raise UserError(
            f"masked language modelling needs a mask token, which the tokenizer of {name!r} has not; "
            "set objective.mlm to 0, or name another encoder"
        )


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


_unreachable: list[str] = []
"""Why the hub could not be reached, once that was seen: it is then not tried again."""


def _missing(config: EncoderConfig) -> tuple[str, str] | None:
    """Why an encoder cannot be had, and what would work; None if it can."""
    name, path = config.name, Path(config.name)
    elsewhere = f"name a model folder, a hub id, or {SCENES_ENCODER!r}"
    if config.kind == "word_vectors":
        if path.suffix not in WORD_VECTORS or not path.is_file():
            return (
                f"no word vectors at {name!r}",
                "name a text file of GloVe or fastText (.txt, .vec), or a matrix (.npy) with its words beside it "
                "(.txt, .json or .parquet)",
            )
        return None
    if name == SCENES_ENCODER:
        return _plain(name) if config.kind == "pipeline" else None
    if path.exists():
        whole, plain = (path / "modules.json").is_file(), (path / "config.json").is_file()
        if not whole and not plain:
            return f"{name!r} is no encoder", "a model folder holds config.json, weights and a tokenizer"
        if config.kind == "pipeline":
            return _foreign_modules(path) if whole else _plain(name)
        return None
    if name.startswith((".", "/", "~")):
        return f"no encoder at {name!r}", elsewhere
    return _missing_on_hub(name, "modules.json" if config.kind == "pipeline" else "config.json")


def _plain(name: str) -> tuple[str, str]:
    return (
        f"{name!r} is a plain transformer without a pooling of its own",
        "set encoder.kind to 'transformer', and pooling.mode",
    )


def _foreign_modules(folder: Path) -> tuple[str, str] | None:
    """Modules of other packages are code of the model's own: it is never run."""
    try:
        types = [str(module["type"]) for module in json.loads((folder / "modules.json").read_text(encoding="utf-8"))]
    except (ValueError, TypeError, KeyError):
        return f"{str(folder / 'modules.json')!r} is no list of modules", "save the model again"
    foreign = [kind for kind in types if not kind.startswith("sentence_transformers.")]
    if foreign:
        return f"{str(folder)!r} needs code of its own ({foreign[0]}), which is not run", "name another model"
    return None


def _missing_on_hub(name: str, wanted: str) -> tuple[str, str] | None:
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    elsewhere = "give a model folder with --set encoder.name=FOLDER, or use --scale laptop"
    try:
        found = try_to_load_from_cache(name, wanted)
        if isinstance(found, str) and _has_weights(Path(found).parent):
            return None
        if _unreachable:
            return _unreached(name), elsewhere
        files = {item.rfilename for item in HfApi().model_info(name, timeout=10).siblings or ()}
    except HFValidationError:
        return f"{name!r} is neither a folder nor a hub id (owner/name)", f"name one, or {SCENES_ENCODER!r}"
    except RepositoryNotFoundError:
        return f"the hub has no model {name!r}", f"name another, a folder, or {SCENES_ENCODER!r}"
    except HfHubHTTPError as error:
        return f"the hub refuses the encoder {name!r}", str(error)
    except Exception as error:  # every network library has its own; each means that the hub was not reached
        _unreachable.append(type(error).__name__)
        return _unreached(name), elsewhere
    return _plain(name) if wanted == "modules.json" and wanted not in files else None


def _unreached(name: str) -> str:
    return f"the encoder {name!r} is not in the local cache and the hub cannot be reached ({_unreachable[0]})"


def _has_weights(snapshot: Path) -> bool:
    """A model that was only begun to be fetched has none."""
    return any(next(snapshot.rglob(pattern), None) for pattern in ("*.safetensors", "*.bin"))
