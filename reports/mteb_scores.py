"""Scores of a study's models by the package `mteb`, on its own tasks.

    python -m reports mteb RESULTS STS12 NFCorpus

The models are those that the study kept of its rows and finalists, one for each recipe, and the encoders that it scored
as they came. `mteb` loads the data, hands each model's prompts over and scores; its result files are kept in
`RESULTS/mteb/`, and what is there is not scored again. Reports read these files, without the package. A study does the
same at its end: `python study/run.py --mteb STS12,NFCorpus ...`.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from reports.facts.best_model import best_first
from reports.facts.recipe_names import called
from reports.facts.results import Results
from reports.ledger import Record
from reports.ledger.location import ResultsLocation
from reports.ledger.names import to_write
from trainables.encoders.model_card import hub_base
from trainables.errors import UserError, did_you_mean, shown
from trainables.files import write_whole

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDER = "mteb"
"""In the results: a folder for each trial, `HASH-SEED`, with a file for each task."""
MODEL_META = "model_meta.json"
"""What `mteb` wants to know of a model whose results are handed in, as it calls the file."""
SPLITS = ("test", "dev", "validation")
"""A task's score is that of the first of these that it has."""


def tasks_of(names: Sequence[str]) -> list[Any]:
    """The package's tasks of these names, for that of a benchmark all of it.

    `UserError` without the package, and for a name that it does not know. Nothing is loaded from the hub.
    """
    if importlib.util.find_spec("mteb") is None:
        raise UserError("scores by MTEB need the package mteb; pip install 'sentence-embedding-studies[mteb]'")
    import mteb

    tasks = {task.metadata.name: task for name in names for task in _tasks(mteb, name)}
    return [*tasks.values()]


def score(place: ResultsLocation, tasks: Sequence[Any]) -> None:
    """Score the kept models on these tasks, and keep what `mteb` writes of each and wants to know of the model.

    `UserError` without a kept model, and for data that cannot be had.
    """
    import mteb
    from sentence_transformers import SentenceTransformer

    folder = place.folder
    models = list(kept_models(Results.load(folder), place.fetch))
    if not models:
        raise UserError(f"{place.shown} holds no model of a row or finalist; run the study with --keep-models all")
    for name, record, source in models:
        missing = [task for task in tasks if not file_of(folder, record, task.metadata.name).exists()]
        if not missing:
            continue
        model = SentenceTransformer(source, trust_remote_code=False)
        card = json.dumps(metadata(model, record), indent=2)
        for task in missing:
            try:
                scores = mteb.evaluate(model, task, cache=None, co2_tracker=False, show_progress_bar=False)
            except OSError as error:
                raise UserError(f"the data of MTEB's task {task.metadata.name} cannot be had here: {error}") from None
            write_whole(file_of(folder, record, task.metadata.name), scores.task_results[0].model_dump_json(indent=2))
            write_whole(to_write(folder, f"{FOLDER}/{record.key}/{MODEL_META}"), card)
            print(f"{name}: {task.metadata.name} {kept_scores(folder, record)[task.metadata.name]:.2f}", flush=True)


def _tasks(mteb: Any, name: str) -> list[Any]:
    """The task of that name, or those of the benchmark."""
    with suppress(KeyError):
        return [mteb.get_task(name)]
    with suppress(KeyError):
        return [*mteb.get_benchmark(name).tasks]
    options = [*(entry.metadata.name for entry in mteb.get_tasks()), *(entry.name for entry in mteb.get_benchmarks())]
    raise UserError(
        f"mteb {mteb.__version__} has no task and no benchmark {shown(name)}; {did_you_mean(name, options)}names are "
        "such as STS12, NFCorpus or 'MTEB(eng, v2)'"
    )


def kept_models(
    results: Results, fetch: Callable[[str], object] = lambda name: None
) -> Iterator[tuple[str, Record, str]]:
    """Of each row and finalist its name, the trial whose model stands for it, and where the model is; rows first.
    `fetch` brings the folder of a model that is kept elsewhere."""
    finals = results.info.finals
    recipes = [*results.labels, *(finals.finalists if finals else ()), *(finals.hashes if finals else ())]
    for recipe_hash in dict.fromkeys(recipes):
        for record in best_first(results, results.trials_of(recipe_hash)):
            if record.checkpoint is not None:
                fetch(record.checkpoint)
            source = _source(results.folder, record)
            if source is not None:
                yield called(results, recipe_hash), record, source
                break


def _source(folder: Path, record: Record) -> str | None:
    """The folder of the trial's model; of an encoder that was scored as it came, its name."""
    if record.checkpoint is not None:
        return str(folder / record.checkpoint) if (folder / record.checkpoint).is_dir() else None
    whole = record.recipe["encoder.kind"] == "pipeline" or record.data.get("encoder", {}).get("whole")
    return str(record.recipe["encoder.name"]) if whole and not record.recipe["optimisation.epochs"] else None


def file_of(folder: Path, record: Record, task: str) -> Path:
    """Where what `mteb` wrote of this trial and task is kept."""
    return to_write(folder, f"{FOLDER}/{record.key}/{task}.json")


def kept_scores(folder: Path, record: Record) -> dict[str, float]:
    """The main score of each task that the trial's model was scored on, in %: the mean over the task's parts."""
    scores = {}
    for file in sorted((folder / FOLDER / record.key).glob("*.json")):
        if file.name == MODEL_META:
            continue
        content = json.loads(file.read_text(encoding="utf-8"))
        parts = next((content["scores"][split] for split in SPLITS if split in content["scores"]), None)
        if parts is None:
            raise UserError(f"{file} has scores of neither a test nor a dev part; remove it")
        scores[content["task_name"]] = 100 * fmean(part["main_score"] for part in parts)
    return scores


def metadata(model: SentenceTransformer, record: Record) -> dict[str, Any]:
    """The fields of `mteb.ModelMeta`, version 2.26, for the model of this trial, or for the encoder that it scored as
    it came. What is not known here is None: whoever hands results in fills it in first."""
    encoder, trained = hub_base(str(record.recipe["encoder.name"])), record.checkpoint is not None
    weights = [*model.parameters()]
    return {
        "loader": "SentenceTransformerEncoderWrapper",
        "name": None if trained else encoder,
        "revision": None,
        "release_date": None,
        "languages": None,
        "n_parameters": sum(tensor.numel() for tensor in weights),
        "n_embedding_parameters": _embedding_parameters(model),
        "memory_usage_mb": round(sum(tensor.numel() * tensor.element_size() for tensor in weights) / 2**20),
        "max_tokens": model.get_max_seq_length(),
        "embed_dim": model.get_embedding_dimension(),
        "license": None,
        "open_weights": None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["Sentence Transformers", "PyTorch", "safetensors"],
        "similarity_fn_name": model.similarity_fn_name,
        "use_instructions": any(model.prompts.values()),
        "training_datasets": None,  # also those of the encoder that it began with count, which nobody told us
        "adapted_from": encoder if trained else None,
        "modalities": ["text"],
        "model_type": ["dense"],
    }


def _embedding_parameters(model: SentenceTransformer) -> int | None:
    """Of the table of tokens, which is larger than those of positions and segments; None where there is none."""
    from torch import nn

    tables = [module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding | nn.EmbeddingBag)]
    return max(tables, default=None)
