"""Write a model so that `SentenceTransformer(folder)` gives the same embeddings, without custom code."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from torch import nn

from trainables.encoders.loading import quieten
from trainables.encoders.own_modules import ModelEnd
from trainables.encoders.pooling import Pooling
from trainables.encoders.prompts import Prompts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODULES, WEIGHTS, ADAPTER = "modules.json", "*.safetensors", "adapter"
_NORM = '"sentence_transformers.models.Normalize"'
"""Class name that all versions of sentence-transformers find. Version 6 writes a name that version 5 does not find."""


def save_transformer(
    backbone: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    pooling: Pooling,
    max_length: int,
    prompts: Prompts,
    model_end: ModelEnd,
    folder: Path,
    *,
    pools_prompt: bool = True,
) -> None:
    """Replace `folder` by a model of these arguments; no half-written model is ever there. The query prompt is the
    default prompt. `pools_prompt`: whether prompts are pooled. Weights keep their type and are loaded as fp32, as in
    evaluation."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling as StockPooling

    config = backbone.config
    quieten()
    with _scratch_beside(folder) as scratch:
        plain = scratch / "transformer"
        backbone.save_pretrained(plain)
        tokenizer.save_pretrained(plain)
        states = {"output_hidden_states": pooling.every_layer}
        transformer = Transformer(str(plain), max_seq_length=max_length, config_kwargs=states)
        pooled = pooling.modules(config.hidden_size, config.num_hidden_layers, tokenizer)
        for module in pooled:
            if isinstance(module, StockPooling):
                module.include_prompt = pools_prompt
        model = SentenceTransformer(
            modules=[transformer, *pooled, *_norm(model_end)],
            device="cpu",
            prompts=dataclasses.asdict(prompts),
            default_prompt_name="query" if prompts else None,
            similarity_fn_name=model_end.similarity,
        )
        _write(model, scratch, folder, read_as="float32")


def save_static(module: nn.Module, model_end: ModelEnd, folder: Path) -> None:
    """Replace `folder` by a model of one module, with the normalisation and the similarity function of `model_end`."""
    from sentence_transformers import SentenceTransformer

    modules = [module, *_norm(model_end)]
    save_pipeline(SentenceTransformer(modules=modules, device="cpu", similarity_fn_name=model_end.similarity), folder)


def _norm(model_end: ModelEnd) -> list[nn.Module]:
    from sentence_transformers.base.modules import Normalize

    return [Normalize()] if model_end.normalised else []


def save_pipeline(model: SentenceTransformer, folder: Path) -> None:
    """Replace `folder` by an unchanged sentence-transformers model, its prompts included."""
    with _scratch_beside(folder) as scratch:
        _write(model, scratch, folder)


def save_adapted(
    save_base: Callable[[Path], None], base_folder: Path, layers: Sequence[nn.Linear], folder: Path
) -> None:
    """Replace `folder` by a frozen base with linear layers, each followed by a ReLU, on top of it.

    The base is written once, by `save_base` to `base_folder`. Each model has hard links to those weights, or copies
    where the file system has no links, so a hundred adapters over BERT take the disk space of one. The weights are
    read-only, because a change in one model would change all.
    """
    from sentence_transformers.base.modules import Dense

    dense = [
        Dense(x.in_features, x.out_features, True, nn.ReLU(), x.weight.data.cpu(), x.bias.data.cpu()) for x in layers
    ]
    _write_base(save_base, base_folder)
    with _scratch_beside(folder) as scratch:
        finished = scratch / "finished"
        shutil.copytree(base_folder, finished, copy_function=_link_weights)
        modules = json.loads((finished / MODULES).read_text())
        for number, layer in enumerate(dense, start=len(modules)):
            path, kind = f"{number}_Dense", f"{Dense.__module__}.{Dense.__qualname__}"
            (finished / path).mkdir()
            layer.save(str(finished / path))
            modules.append({"idx": number, "name": str(number), "path": path, "type": kind})
        (finished / MODULES).write_text(json.dumps(modules, indent=2))
        _replace(folder, finished)


def save_with_adapter(save_merged: Callable[[Path], None], save_adapter: Callable[[Path], None], folder: Path) -> None:
    """Replace `folder` by a model and, in its subfolder `adapter/`, the adapter that was merged into it."""
    with _scratch_beside(folder) as scratch:
        finished = scratch / "finished"
        save_merged(finished)
        save_adapter(finished / ADAPTER)
        _replace(folder, finished)


def _write_base(save_base: Callable[[Path], None], folder: Path) -> None:
    """Write the frozen base's model into `folder`, unless this or another process has done so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / ".model.lock"):
        if not folder.exists():
            save_base(folder)
            for weights in folder.rglob(WEIGHTS):
                weights.chmod(0o444)


def _link_weights(source: str, target: str) -> None:
    if Path(source).match(WEIGHTS):
        with contextlib.suppress(OSError):  # another file system, or one without links
            os.link(source, target)
            return
    shutil.copyfile(source, target)


@contextlib.contextmanager
def _scratch_beside(folder: Path) -> Iterator[Path]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        yield Path(scratch)


def _write(model: SentenceTransformer, scratch: Path, folder: Path, read_as: str | None = None) -> None:
    """Replace `folder` by the model. `read_as`: type in which readers load the weights, whatever their stored type."""
    finished = scratch / "finished"
    model.save(str(finished), create_model_card=False)
    modules = finished / MODULES
    modules.write_text(re.sub(r'"sentence_transformers\.[\w.]*\.Normalize"', _NORM, modules.read_text()))
    config = finished / "config.json"
    if read_as is not None:
        config.write_text(json.dumps(json.loads(config.read_text()) | {"dtype": read_as}, indent=2))
    _replace(folder, finished)


def _replace(folder: Path, finished: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    finished.rename(folder)
