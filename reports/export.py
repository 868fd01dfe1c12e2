"""Exports the model of one row as a folder of its own, with a model card that states how reliable its scores are.

    export(Path("results/scl_ablation"), "3palln-lambda1.0-SCL", Path("my-model"))

`SentenceTransformer("my-model")` loads the folder, and the folder can be uploaded to the Hugging Face hub unchanged.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from reports.document import Block, Bullets, DataTable, markdown
from reports.facts.answer import Answer
from reports.facts.best_model import best_first, with_model
from reports.facts.evidence import Evidence
from reports.facts.guards import sentence
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.facts.soup import SHIPPED
from reports.ledger import LEDGER, MODELS, Record, is_fresh, is_soup
from reports.ledger.finals import seed_in_words
from reports.ledger.names import writable_path
from reports.words.commands import study_command
from reports.words.comparisons import SELECTION_BIAS, interval
from reports.words.markdown import DASH, code, count, number, signed, text
from search_spaces.own_data import GENERAL_TASK, TF_IDF
from trainables.encoders.model_card import model_card, quoted, without_folders, write_card
from trainables.errors import UserError, did_you_mean
from trainables.recipe import SCENES, SCENES_ENCODER
from trainables.senteval.tasks import TASKS, kind_of

NORMAL = 1.96
"""Standard errors from the centre of a 95 % interval to each end: a normal quantile, as test sets have many items."""
LICENCES = {
    "stanfordnlp/snli": "CC BY-SA 4.0",
    "nyu-mll/multi_nli": "OANC's, CC BY 3.0 and CC BY-SA 3.0, by genre",
    SCENES: "made by this project: Apache-2.0",
    SCENES_ENCODER: "made by this project: Apache-2.0",
}
"""Licences of data sets and encoders, by their name on the hub or in this project."""


def export(
    results: Path, row: str, folder: Path | None = None, fetch: Callable[[str], object] = lambda name: None
) -> Path:
    """Copy the model of a row's best seed into `folder`, write its model card, and return the folder's absolute path.

    `row` is a row's label, a recipe's name (such as `#17`) or hash, or `soup` for the average to ship. If the recipe
    was in the finals, the best of its fresh seeds is taken. Default of `folder`: `RESULTS/export/HASH-SEED`. `fetch`
    copies a model that is stored elsewhere into the results. Raise `UserError` for an unknown row, for a row without a
    saved model (the message states how to get one), and for a folder that is not empty.
    """
    read = Results.load(results)
    records = _best_first(read, row)
    record = with_model(read, records, fetch)
    if record is None:
        raise UserError(_how_to_keep(read, row, records))
    source = _without_links(results, record.checkpoint or "")
    target = (folder or writable_path(results, f"export/{record.key}")).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is there already; name a folder that does not exist, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        whole = Path(scratch) / target.name
        shutil.copytree(source, whole, copy_function=shutil.copyfile)  # without rights: a saved base is read-only
        write_card(whole, card(read, record))
        if target.exists():  # it may be where the person's shell stands, so it stays the same folder
            for path in whole.iterdir():
                path.rename(target / path.name)
        else:
            whole.rename(target)
    return target


def _without_links(results: Path, checkpoint: str) -> Path:
    """Return the model's folder. Raise `UserError` if it contains a link, or if its path leads out of the results
    folder: the results may be a stranger's, and users pass exported models on."""
    source = results / checkpoint
    linked = not source.resolve().is_relative_to(results.resolve()) or any(p.is_symlink() for p in source.rglob("*"))
    if linked:
        raise UserError(f"{source} leads out of the results folder by a link, so it is not exported; copy it by hand")
    return source


def _best_first(results: Results, row: str) -> list[Record]:
    """Return the finished trials of a row or recipe, sorted by the study's goals, the best first."""
    of_row = results.trials_of(results.info.row_hashes.get(row) or "")
    records = of_row or _of_name(results, row) or _soup(results, row)
    if not records and row not in results.asked_rows:
        hint = did_you_mean(row, results.asked_rows)
        raise UserError(f"the study has no row {row!r}; {hint}its rows are {', '.join(results.asked_rows)}")
    if not records:
        raise UserError(f"the row {row!r} has no finished trial: {results.why_missing(row)}")
    if not records[0].recipe["optimisation.epochs"]:
        name = records[0].recipe["encoder.name"] if row != TF_IDF else "TF-IDF, which needs no model"
        raise UserError(f"the row {row!r} was evaluated and not trained, so its model is the encoder itself: {name}")
    return best_first(results, records)


def _soup(results: Results, name: str) -> list[Record]:
    """Return the record of the soup to ship if `name` asks for it and the answer has one; otherwise an empty list."""
    averaged = Answer.of(results).averaged if name == SHIPPED else None
    return [record for record in results.soups if averaged and record.checkpoint == averaged]


def _of_name(results: Results, name: str) -> list[Record]:
    """Return the finished trials of the recipe with this hash, name or number (`#17`), also those of finals."""
    for recipe_hash in {record.recipe_hash: None for record in results.of_all_trials}:
        label = name_of(results, recipe_hash)
        if name in {recipe_hash, label} or (label.startswith("#") and name == label.partition(" ")[0]):
            return results.trials_of(recipe_hash)
    return []


def _how_to_keep(results: Results, row: str, records: list[Record]) -> str:
    folder = results.folder
    files = shlex.join(str(folder / LEDGER / f"{record.key}.json") for record in records)
    again = f"to have it remove {files} and run {study_command(results.info)} --keep-models all"
    if reason := records[0].data_read.get("encoder", {}).get("unsavable"):
        return f"the row {row!r} has no model: {reason}"
    if not any(record.checkpoint for record in records):
        return (
            f"no model of the row {row!r} was kept: a study keeps those of its rows, unless --keep-models says "
            f"otherwise; {again}"
        )
    return f"no model of the row {row!r} is left in {folder / MODELS}; {again}"


# The card


def card(results: Results, record: Record) -> str:
    """Return the model's card: the one that every trained model has, then intervals, doubts and licences."""
    own = model_card(record.recipe, results.evaluation, record.seed, record.scores, record.data_read, record.training)
    head, body = own.split("\n---\n", 1)
    row = results.labels.get(record.recipe_hash)
    blocks: list[Block] = [
        "\n".join([head, *_metadata(results, record), "---"]),
        body.strip(),
        "## How sure the scores are",
        *_intervals(results, row, record),
        *_doubts(results, record),
        *_published(results, row),
        "## Licences",
        Bullets([*_licences(record)]),
    ]
    return markdown(blocks) + "\n"


def _tests(record: Record) -> Iterator[tuple[str, str, float]]:
    """Yield each task with the name and the value of its main number."""
    for task, numbers in record.scores.items():
        metric = TASKS[task].metric if task in TASKS else ""
        value = numbers.get(metric)
        if isinstance(value, int | float):
            yield task, metric, float(value)


def _metadata(results: Results, record: Record) -> list[str]:
    """Return the metadata lines that the hub reads: the licence, and the main score of each task."""
    lines = [
        "license: other",
        "license_link: README.md",
        "model-index:",
        f"- name: {quoted(name_of(results, record.recipe_hash))}",
        "  results:",
    ]
    for task, metric, value in _tests(record):
        classes = kind_of(task).predicted == kind_of(task).target == "classes"
        lines += [
            "  - task:",
            f"      type: {'text-classification' if classes else 'sentence-similarity'}",
            "    dataset:",
            "      type: senteval",
            f"      name: {quoted(task)}",
            "    metrics:",
            f"    - type: {quoted(metric)}",
            f"      value: {round(value, 2)}",
        ]
    return lines


def _intervals(results: Results, row: str | None, record: Record) -> Iterator[Block]:
    """Yield this model's scores with intervals over test items, and its recipe's means over seeds and gains."""
    what = f"the row {code(row)}" if row else f"the explored recipe {code(name_of(results, record.recipe_hash))}"
    lines = []
    for task, metric, value in _tests(record):
        effects = results.predictions.effects(record, task, metric)
        half = None if effects is None else NORMAL * float(np.linalg.norm(effects[0].astype(np.float64)))
        ends = DASH if half is None else f"{value - half:.2f} to {value + half:.2f}"
        lines.append([text(task), code(metric), number(value), ends])
    fresh = is_fresh(record.seed)
    if fresh:  # what chose the recipe says nothing of it
        results = dataclasses.replace(results, records=[*chain.from_iterable(results.finals.values())])
    tried = count(len(results.of_hash(record.recipe_hash)), "seed")
    best = f": of {tried} the one with the best development score among those that kept their model"
    yield (
        f"It is {what} of the study {code(results.space.name)}, {seed_in_words(record.seed)}"
        f"{best * (not is_soup(record.seed))}. The intervals, at 95 %, say how far a score would move with other test "
        "items; another seed moves it, too."
    )
    if lines:
        yield DataTable(["Task", "Number", "This model", "95 % over items"], lines, left=2)
    evidence, base = Evidence.of(results), results.baseline_hash
    lines, one_seed = [], False
    for figure in evidence.figures:
        sample = evidence.sample(record.recipe_hash, figure)
        if sample is None:
            continue
        gain = evidence.compare(record.recipe_hash, base, figure) if base and base != record.recipe_hash else None
        spread = "" if sample.std is None else f" ± {sample.std:.2f}"
        one_seed |= gain is not None and gain.one_seed
        gained = interval(gain) if row else signed(gain.gain) if gain else DASH
        lines.append([text(figure.name), f"{sample.count}", number(sample.mean) + spread, gained])
    if lines:
        over = f"The {'row' if row else 'recipe'} over its seeds, and its gain over the study's baseline"
        unjudged = ", which the study's answer judges:" if fresh else f". No verdict on the gain: {SELECTION_BIAS}."
        yield over + (" with its 95 % interval:" if row else unjudged)
        yield DataTable(["Figure", "seeds", "mean", f"gain over {text(results.space.baseline or 'no row')}"], lines)
    if one_seed and row:
        yield (
            "A recipe here has one seed only, so these intervals are over test items alone: they speak of two models, "
            "and nothing is decided about the recipes."
        )


def _doubts(results: Results, record: Record) -> Iterator[Block]:
    flags = Evidence.of(results).flags.of_recipe(record.recipe_hash, frozenset(record.scores))
    if flags:
        yield "Reasons for doubt:"
        yield Bullets([sentence(results, flag) for flag in flags])
    after = record.recipe.get("pooling.after", "none")
    if after != "none":
        yield f"The scores were measured with {code(f'pooling.after={after}')}, which is not part of the saved model."


def _published(results: Results, row: str | None) -> Iterator[Block]:
    """Yield a warning that the row's published numbers are of the authors' model; nothing if none are published."""
    if row is None or not any(results.space.row(row).published.values()):
        return
    changed = ", ".join(code(difference.key) for difference in results.differences)
    theirs = f"A paper prints figures of the row {code(row)}. They are of its authors' model"
    yield "## The paper's figures"
    if results.comparable:
        yield f"{theirs} and not of this one."
    else:
        yield (
            f"{theirs}, and this one was trained in another setting ({changed} differ), so the two must not be set "
            "beside each other."
        )


def _licences(record: Record) -> Iterator[str]:
    """Yield a sentence on each licence that is known: of the encoder, of the training data and of SentEval's data."""
    yield _licence("The encoder that it was trained from", str(record.recipe["encoder.name"]))
    source = record.data.get("corpus", {}).get("source") or record.recipe.get("corpus.nli")
    for part in str(source).split(","):
        yield _licence("The training data", part.strip())
    if not all(TASKS[task].of_own_data and task != GENERAL_TASK for task in record.scores if task in TASKS):
        yield "SentEval's data sets have licences of their own; no sentence of them is in this folder."


def _licence(what: str, name: str) -> str:
    licence = LICENCES.get(name.partition("@")[0]) or _stated(Path(name) / "README.md")
    stated = text(licence) if licence else "not known to this project; look it up before you pass the model on"
    return f"{what}, {code(without_folders(name))}: {stated}."


def _stated(readme: Path) -> str | None:
    """Return the licence that a local model's card has in its metadata; None if there is none."""
    if not readme.is_file():
        return None
    header = re.match(r"---\n.*?^license: *(\S+)", readme.read_text(encoding="utf-8", errors="replace"), re.S | re.M)
    return header[1] if header else None
