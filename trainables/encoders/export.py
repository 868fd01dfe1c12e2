"""Write a trained encoder so that `SentenceTransformer(folder)` gives the same embeddings, without custom code.

sentence-transformers loads only its own module classes unless told to trust a folder's code, so every pooling
is expressed with stock modules: leaving [CLS] out of a mean is a word weight of 0 for that token, and
the mean of the first and the last layer is a weighted layer pooling.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from trainables.encoders.pipeline import Pipeline

if TYPE_CHECKING:
    from trainables.encoders.adapter import AdaptedEncoder
    from trainables.encoders.transformer import TransformerEncoder

MODULES, WEIGHTS = "modules.json", "*.safetensors"
STOCK_POOLING = {"mean": "mean", "mean_without_cls": "mean", "cls": "cls", "max": "max", "first_last_mean": "mean"}


def save_sentence_transformer(encoder: TransformerEncoder, folder: Path) -> None:
    """Replace `folder` by the encoder as a sentence-transformers model; half a model is never seen there."""
    with _scratch_beside(folder) as scratch:
        _write(_transformer_modules(encoder, scratch), scratch, folder)


def save_adapted(encoder: AdaptedEncoder, folder: Path) -> None:
    """The same for a frozen base, a transformer or a pipeline, with its adapter as dense layers.

    The base is written once, beside its embeddings. A model's weights of it are hard links to that file, read-only
    lest a change of one model change all (copies where the file system has no links): a hundred
    adapters over BERT take the disk of one.
    """
    from sentence_transformers.base.modules import Dense

    linear = [layer for layer in encoder.adapter if isinstance(layer, nn.Linear)]
    dense = [
        Dense(x.in_features, x.out_features, True, nn.ReLU(), x.weight.data.cpu(), x.bias.data.cpu()) for x in linear
    ]
    with _scratch_beside(folder) as scratch:
        finished = scratch / "finished"
        shutil.copytree(_written_base(encoder), finished, copy_function=_link_weights)
        modules = json.loads((finished / MODULES).read_text())
        for number, layer in enumerate(dense, start=len(modules)):
            path, kind = f"{number}_Dense", f"{Dense.__module__}.{Dense.__qualname__}"
            (finished / path).mkdir()
            layer.save(str(finished / path))
            modules.append({"idx": number, "name": str(number), "path": path, "type": kind})
        (finished / MODULES).write_text(json.dumps(modules, indent=2))
        _replace(folder, finished)


def _written_base(encoder: AdaptedEncoder) -> Path:
    """The base as a model of its own in the store's folder, made at the first call of any process."""
    from filelock import FileLock

    folder = encoder.store.folder / "model"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / ".model.lock"):
        if not folder.exists():
            with _scratch_beside(folder) as scratch:
                if isinstance(encoder.base, Pipeline):
                    model = encoder.base.model
                    _write(list(model), scratch, folder, model.prompts, model.default_prompt_name)
                else:
                    _write(_transformer_modules(encoder.base, scratch), scratch, folder)
            for weights in folder.rglob(WEIGHTS):
                weights.chmod(0o444)
    return folder


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


def _write(
    modules: list[Any], scratch: Path, folder: Path, prompts: dict[str, str] | None = None, prompt: str | None = None
) -> None:
    from sentence_transformers import SentenceTransformer

    finished = scratch / "finished"
    model = SentenceTransformer(modules=modules, device="cpu", prompts=prompts, default_prompt_name=prompt)
    model.save(str(finished), create_model_card=False)
    _replace(folder, finished)


def _replace(folder: Path, finished: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    finished.rename(folder)


def _transformer_modules(encoder: TransformerEncoder, scratch: Path) -> list[Any]:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    from trainables.encoders.transformer import quieten

    quieten()
    plain = scratch / "transformer"
    encoder.backbone.save_pretrained(plain)
    encoder.tokenizer.save_pretrained(plain)
    layers = encoder.mode == "first_last_mean"
    transformer = Transformer(
        str(plain), max_seq_length=encoder.max_length, config_kwargs={"output_hidden_states": layers}
    )
    return [transformer, *_adjustments(encoder), Pooling(encoder.dim, STOCK_POOLING[encoder.mode])]


def _adjustments(encoder: TransformerEncoder) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling, WordWeights

    if encoder.mode == "mean_without_cls":
        # The module looks words up by id; naming them by it keeps a token that spells like [CLS] out of this.
        words = [str(index) for index in range(max(encoder.backbone.config.vocab_size, len(encoder.tokenizer)))]
        return [WordWeights(words, {str(encoder.tokenizer.cls_token_id): 0.0})]
    if encoder.mode == "first_last_mean":
        count = encoder.backbone.config.num_hidden_layers
        weights = torch.zeros(count)  # one for every layer's output, the embedding layer left out
        weights[0] += 1
        weights[-1] += 1
        pooling = WeightedLayerPooling(encoder.dim, num_hidden_layers=count, layer_start=1)
        pooling.layer_weights.data.copy_(weights)
        return [pooling]
    return []
