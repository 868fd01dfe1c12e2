"""Check whether encoders of this repository's kinds can be loaded, before anything starts and without downloads."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from trainables.encoders.families import FAMILIES, cuttable_layers, named_family, unfit_layers, unknown_family, width
from trainables.encoders.kinds import Missing
from trainables.errors import listed
from trainables.hub_names import malformed, on_hub
from trainables.recipe import SCENES_ENCODER, EncoderConfig

WORD_VECTORS = (".txt", ".vec", ".npy")
"""Suffixes of files of word vectors."""

_unreachable: list[str] = []
"""Name of the error by which the hub could not be reached, which then is not tried again; empty before a failure."""


def missing_word_vectors(config: EncoderConfig) -> Missing | None:
    path = Path(config.name)
    if path.suffix in WORD_VECTORS and path.is_file():
        return None
    return (
        f"no word vectors at {config.name!r}",
        "name a text file of GloVe or fastText (.txt, .vec), or a matrix (.npy) with its words beside it "
        "(.txt, .json or .parquet)",
    )


def missing_tf_idf(config: EncoderConfig) -> Missing | None:
    path = Path(config.name)
    if path.suffix == ".jsonl" and path.is_file():
        return None
    return f"no texts at {config.name!r}", "name a .jsonl file of rows, such as the train.jsonl of a study"


def is_word_vectors(name: str) -> bool:
    return name.endswith(WORD_VECTORS)


def missing_transformer(config: EncoderConfig) -> Missing | None:
    name = config.name
    if name == SCENES_ENCODER:
        return _too_few_layers(config)
    if Path(name).exists():
        return _no_model(Path(name)) or _foreign_family(name) or _too_few_layers(config)
    return _no_folder(name) or _missing_on_hub(name, "config.json") or _too_few_layers(config)


def missing_pipeline(config: EncoderConfig) -> Missing | None:
    name, path = config.name, Path(config.name)
    if name == SCENES_ENCODER:
        return _plain(name)
    if not path.exists():
        return _no_folder(name) or _missing_on_hub(name, "modules.json")
    if (path / "modules.json").is_file():
        return _foreign_modules(path)
    return _no_model(path) or _plain(name)


def is_pipeline(name: str) -> bool:
    return missing_pipeline(EncoderConfig("pipeline", name)) is None


def _no_model(folder: Path) -> Missing | None:
    if (folder / "modules.json").is_file() or (folder / "config.json").is_file():
        return None
    return f"{str(folder)!r} is no encoder", "a model folder holds config.json, weights and a tokenizer"


def _foreign_family(name: str) -> Missing | None:
    """Return why a folder's family is unknown, else None. A folder with a modules.json may run as a pipeline."""
    family = None if (Path(name) / "modules.json").is_file() else named_family(name)
    return None if family is None or family in FAMILIES else unknown_family(name, family)


def _no_folder(name: str) -> Missing | None:
    """Return why a name that is no folder cannot be a hub id either; None if it can."""
    if not name.startswith((".", "/", "~")):
        return malformed(name)
    return f"no encoder at {name!r}", f"name a model folder, a hub id, or {SCENES_ENCODER!r}"


def _too_few_layers(config: EncoderConfig) -> Missing | None:
    unfit = too_few_layers(config)
    return (unfit, "ask for fewer, or leave it at none") if unfit else None


def too_few_layers(config: EncoderConfig) -> str | None:
    """Return, in a sentence, that the encoder has too few layers for `encoder.layers`. None if it has enough, or if its
    number of layers is unknown until it is downloaded."""
    layers = None if config.layers is None else known_layers(config.name)
    return None if layers is None else unfit_layers(config, layers)


def known_layers(name: str) -> int | None:
    """Return the number of a transformer's layers, 0 if they cannot be cut; None if unknown before it is loaded."""
    if name == SCENES_ENCODER:
        from trainables.encoders.builtin import LAYERS

        return LAYERS
    folder = _local_folder(name)
    return cuttable_layers(folder) if folder else None


def known_width(config: EncoderConfig) -> int | None:
    """Return the size of a transformer's embeddings before it is loaded; None if unknown until then."""
    if config.kind != "transformer" or config.adapter == "mlp":
        return None
    if config.name == SCENES_ENCODER:
        from trainables.encoders.builtin import HIDDEN

        return HIDDEN
    folder = _local_folder(config.name)
    return width(folder) if folder else None


def _local_folder(name: str) -> Path | None:
    """Return the local folder of a model, or its folder in the hub's cache; None if the model is not downloaded."""
    if Path(name).exists():
        return Path(name)
    from huggingface_hub import try_to_load_from_cache

    hub_id, revision = on_hub(name)
    cached = try_to_load_from_cache(hub_id, "config.json", revision=revision)
    return Path(cached).parent if isinstance(cached, str) else None


def _plain(name: str) -> Missing:
    return (
        f"{name!r} is a plain transformer without a pooling of its own",
        "set encoder.kind to 'transformer', and pooling.mode",
    )


def _foreign_modules(folder: Path) -> Missing | None:
    """Return why a folder's modules cannot be used: code from other packages than sentence-transformers is never
    run."""
    try:
        types = [str(module["type"]) for module in json.loads((folder / "modules.json").read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return f"{str(folder / 'modules.json')!r} is no list of modules", "save the model again"
    foreign = [kind for kind in types if not kind.startswith("sentence_transformers.")]
    if foreign:
        return f"{str(folder)!r} needs code of its own ({listed(foreign[:1])}), which is not run", "name another model"
    return None


def _missing_on_hub(name: str, file: str) -> Missing | None:
    # The import takes half a second, which a study of local models saves.
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    elsewhere = f"name a model's folder instead, or the built-in encoder, {SCENES_ENCODER!r}"
    hub_id, revision = on_hub(name)
    try:
        cached = try_to_load_from_cache(hub_id, file, revision=revision)
        snapshot = Path(cached).parent if isinstance(cached, str) else None
        if snapshot and any(file for ends in ("*.safetensors", "*.bin") for file in snapshot.rglob(ends)):
            return None  # a snapshot without weights is an unfinished download
        if _unreachable:
            return _unreached(name), elsewhere
        files = _files(name)
    except HFValidationError:
        return f"{name!r} is neither a folder nor a hub id (owner/name)", f"name one, or {SCENES_ENCODER!r}"
    except RepositoryNotFoundError:
        return f"the hub has no model {name!r}", f"name another, a folder, or {SCENES_ENCODER!r}"
    except RevisionNotFoundError:
        return f"the hub's model {hub_id!r} has no revision {revision!r}", "name a commit, a tag or a branch of it"
    except HfHubHTTPError as error:
        return f"the hub refuses the encoder {name!r}", str(error)
    except Exception as error:  # network libraries have their own errors; all mean that the hub was not reached
        _unreachable.append(type(error).__name__)
        return _unreached(name), elsewhere
    return _plain(name) if file == "modules.json" and file not in files else None


@functools.cache
def from_hub(name: str, file: str) -> Path | None:
    """Return the path of a small file of a model on the hub, downloaded if it is not cached. None if the model lacks
    the file or the hub cannot be reached, which is tried once per process."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    hub_id, revision = on_hub(name)
    try:
        cached = try_to_load_from_cache(hub_id, file, revision=revision)
        if isinstance(cached, str):
            return Path(cached)
        in_repository = not _unreachable and file in _files(name)
        return Path(hf_hub_download(hub_id, file, revision=revision)) if in_repository else None
    except (HFValidationError, HfHubHTTPError):
        return None
    except Exception as error:  # as above
        _unreachable.append(type(error).__name__)
        return None


def _files(name: str) -> set[str]:
    from huggingface_hub import HfApi

    hub_id, revision = on_hub(name)
    return {item.rfilename for item in HfApi().model_info(hub_id, revision=revision, timeout=10).siblings or ()}


def _unreached(name: str) -> str:
    return f"the encoder {name!r} is not in the local cache and the hub cannot be reached ({_unreachable[0]})"
