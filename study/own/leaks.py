"""Comparison of `--train` with `--dev` and `--test` before anything runs. Dev and test items that training rows contain
are reported; with `--drop-leaks` these training rows are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reports.words.markdown import count
from trainables.corpora.leaks import LIKENESSES, Counts, PartLeaks, find_leaks
from trainables.corpora.own.held_out import PreparedData, leave_out, rows_of
from trainables.corpora.own.training_files import TrainingFiles
from trainables.corpora.own_rows import texts
from trainables.errors import UserError
from trainables.senteval.examples import Split
from trainables.senteval.kinds import KINDS
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import Task

PARTS = ("dev", "test")
WARNING = "warning: "
"""Start of messages that stand by themselves on the console."""
MUCH_HELD = 0.1
"""A warning is given if training and dev hold at least this share of a task's whole test items."""
_IN_WORDS = {
    "exact": "exactly",
    "normalised": "but for case, spaces and punctuation",
    "near": "near copies",
}


def check_leaks(
    prepared: PreparedData, tasks: Sequence[Task], drop: bool, where: str, held_out_folder: Path | None = None
) -> tuple[PreparedData, list[str]]:
    """Return the training data, and messages on dev and test items in them and on test items in dev. `drop`: leave out
    rows that contain a whole item, except items in `held_out_folder`; `UserError` if too little is left."""
    every = ({f"{task.name} ({part})": items_of(task, part) for task in tasks} for part in PARTS)
    dev, test = ({name: items for name, items in of_part.items() if items} for of_part in every)
    rows = ([*dict.fromkeys(texts(row))] for row in rows_of(prepared.train))
    trained_on = in_folder(tasks, held_out_folder)
    leaked = find_leaks(rows, {**dev, **test}, trained_on)
    between = find_leaks((item for items in dev.values() for item in items), test)
    clean = [part for part, counts in leaked.parts.items() if not counts.texts.all]
    sentences = [
        *_sentences(leaked.parts, "the training data"),
        *([f"{', '.join(clean)}: none"] if clean and len(clean) < len(leaked.parts) else []),
        *_sentences(between.parts, "the dev part"),
    ] or ["no text of dev and test stands in the training data, and none of test in dev, not even nearly"]
    for part in [part for part in test if part not in trained_on]:
        held = between.parts[part].matched | (frozenset() if drop else leaked.parts[part].matched)
        if len(held) >= MUCH_HELD * len(test[part]):
            hold = "dev holds" if drop else "training and dev hold"
            sentences.append(
                f"{WARNING}{hold} {len(held):,} of {len(test[part]):,} whole items of {part}: a gain may be memory"
            )
    if drop and leaked.leaking_rows:
        what = "an item that is put aside" if prepared.held_out else "an item"  # those of given files are gone
        sentences.append(
            f"{count(len(leaked.leaking_rows), 'training row')} that held {what}, exactly or nearly: left out"
        )
        return leave_out(prepared, leaked.leaking_rows, where), sentences
    if leaked.leaking_rows:
        sentences.append(
            f"{count(len(leaked.leaking_rows), 'training row')} with a whole item; --drop-leaks leaves these rows out"
        )
    return prepared, sentences


def leaking_rows(source: TrainingFiles, tasks: Sequence[Task], held_out_folder: Path | None = None) -> frozenset[int]:
    """Return the numbers, from 0, of the source's rows that contain a whole item of these tasks; `UserError` if all do.
    Items in `held_out_folder` do not count."""
    named = {f"{task.name} ({part})": items_of(task, part) for task in tasks for part in PARTS}
    rows = ([*dict.fromkeys(texts(row))] for row in source.rows(Counter()))
    leaks = find_leaks(rows, named, in_folder(tasks, held_out_folder)) if named else None
    if leaks and 0 < leaks.rows == len(leaks.leaking_rows):
        of = " or ".join(f"--{part}" for part in PARTS if any(named[f"{task.name} ({part})"] for task in tasks))
        raise UserError(
            f"all {count(leaks.rows, 'row')} of {source.name} hold an item of {of}, exactly or nearly, so --drop-leaks "
            "leaves none to train on"
        )
    return frozenset(leaks.leaking_rows if leaks else ())


def in_folder(tasks: Sequence[Task], folder: Path | None) -> set[str]:
    """Return the splits with files in the folder, as `TASK (dev)`. All splits of a task have equally many files."""
    return {
        f"{task.name} ({part})"
        for task in tasks
        for part, file in zip(task.splits, task.files[:: len(task.files) // len(task.splits)], strict=True)
        if folder and Path(file).is_relative_to(folder)
    }


def items_of(task: Task, part: str) -> list[tuple[str, ...]]:
    """Return the texts of each item of a task's split. `part`: `dev` or `test`."""
    return [item for split in splits_of(task, part) for item in _texts(split)]


def splits_of(task: Task, part: str) -> Sequence[Split]:
    """Return the examples of a task of a person's own data that are scored as `part`, `dev` or `test`."""
    kind, data = KINDS[task.kind], kept_task(task, Path())
    return kind.development_splits(data) if part == "dev" else kind.tested_splits(data)


def _texts(split: Split) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each example; of a search: each query and all documents judged for it, relevant or not."""
    if split.documents is None:
        yield from split.items()
        return
    documents = split.documents
    for query, judged in zip(split.left, documents.judged, strict=True):
        yield query, *(documents.texts[number] for number in judged if number >= 0)  # negative: not in the corpus


def _sentences(parts: Mapping[str, PartLeaks], where: str) -> Iterator[str]:
    """Yield a message for each dev or test split that has leaks."""
    for part, leaked in parts.items():
        if leaked.texts.all:
            whole = f"{leaked.items.all:,}" if leaked.items.all else "none"
            items = f"{whole} of {leaked.item_count:,} whole items{_by_likeness(leaked.items)}"
            single = f"{leaked.texts.all:,} of {leaked.text_count:,} single texts{_by_likeness(leaked.texts)}"
            yield f"{part}: {where} holds {items}, and {single}"


def _by_likeness(counts: Counts) -> str:
    counted = [f"{number:,} {_IN_WORDS[likeness]}" for likeness in LIKENESSES if (number := getattr(counts, likeness))]
    return f" ({', '.join(counted)})" if counted else ""
