"""Scores of a study's models by the package `mteb`, on its own tasks.

    python -m reports mteb RESULTS STS12 NFCorpus

The models are those that the study kept of its rows and finalists, one for each recipe, and the original encoders that
it scored. `mteb` loads the data, uses each model's prompts and scores. Its result files are kept in `RESULTS/mteb/`,
and tasks with a file are not scored again. Reports read these files, without the package. A study does the same at its
end: `python study/run.py --mteb STS12,NFCorpus ...`.
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
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import Record
from reports.ledger.location import ResultsLocation
from reports.ledger.names import writable_path
from trainables.encoders.model_card import hub_base
from trainables.errors import UserError, did_you_mean, shown
from trainables.files import write_whole

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDER = "mteb"
"""Folder in the results for files of `mteb`. It has a folder `HASH-SEED` for each trial, with a file for each task."""
MODEL_META = "model_meta.json"
"""File with metadata of a model, under the name that `mteb` expects if results are submitted."""
SPLITS = ("test", "dev", "validation")
"""The score of a task is its score on the first of these splits that the task has."""


def tasks_of(names: Sequence[str]) -> list[Any]:
    """Return the `mteb` tasks of these names. The name of a benchmark gives all of its tasks.

    Raise `UserError` if the package is missing or has no task or benchmark of a name. Nothing is loaded from the hub.
    """
    if importlib.util.find_spec("mteb") is None:
        raise UserError("scores by MTEB need the package mteb; pip install 'sentence-embedding-studies[mteb]'")
    import mteb

    tasks = {task.metadata.name: task for name in names for task in _tasks(mteb, name)}
    return [*tasks.values()]


def score(location: ResultsLocation, tasks: Sequence[Any]) -> None:
    """Score the kept models on these tasks, and keep the result files of `mteb` and each model's metadata.

    Raise `UserError` if there is no kept model, or if data cannot be loaded.
    """
    import mteb
    from sentence_transformers import SentenceTransformer

    folder = location.folder
    models = list(kept_models(Results.load(folder), location.fetch))
    if not models:
        raise UserError(f"{location.shown} holds no model of a row or finalist; run the study with --keep-models all")
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
            write_whole(writable_path(folder, f"{FOLDER}/{record.key}/{MODEL_META}"), card)
            print(f"{name}: {task.metadata.name} {kept_scores(folder, record)[task.metadata.name]:.2f}", flush=True)


def _tasks(mteb: Any, name: str) -> list[Any]:
    """Return a list with the task of that name, or the tasks of the benchmark of that name."""
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
    """Yield the recipe's name, the best trial with a kept model, and the location of that model: for rows, then for
    finalists. `fetch` copies a model's folder to this machine."""
    finals = results.info.finals
    recipes = [*results.labels, *(finals.finalists if finals else ()), *(finals.hashes if finals else ())]
    for recipe_hash in dict.fromkeys(recipes):
        for record in best_first(results, results.trials_of(recipe_hash)):
            if record.checkpoint is not None:
                fetch(record.checkpoint)
            source = _source(results.folder, record)
            if source is not None:
                yield name_of(results, recipe_hash), record, source
                break


def _source(folder: Path, record: Record) -> str | None:
    """Return the folder of the trial's model, or the encoder's name if the trial scored it untrained."""
    if record.checkpoint is not None:
        return str(folder / record.checkpoint) if (folder / record.checkpoint).is_dir() else None
    whole = record.recipe["encoder.kind"] == "pipeline" or record.data.get("encoder", {}).get("whole")
    return str(record.recipe["encoder.name"]) if whole and not record.recipe["optimisation.epochs"] else None


def file_of(folder: Path, record: Record, task: str) -> Path:
    """Return the path of the file with `mteb`'s results for this trial and task."""
    return writable_path(folder, f"{FOLDER}/{record.key}/{task}.json")


def kept_scores(folder: Path, record: Record) -> dict[str, float]:
    """Return the main score, in %, of each task that the model was scored on: the mean over the task's subsets."""
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
    """Return the fields of `mteb.ModelMeta`, version 2.26, for the trial's model or the original encoder that it
    scored. Unknown fields are None: whoever submits results must fill them in."""
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
        "training_datasets": None,  # the encoder's own training data count as well, and are unknown
        "adapted_from": encoder if trained else None,
        "modalities": ["text"],
        "model_type": ["dense"],
    }


def _embedding_parameters(model: SentenceTransformer) -> int | None:
    """Return the number of parameters of the largest embedding table, which is that of the tokens; None without one."""
    from torch import nn

    tables = [module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding | nn.EmbeddingBag)]
    return max(tables, default=None)
