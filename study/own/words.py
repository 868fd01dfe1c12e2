"""Messages about a person's training data: how they were read, and which rows are used for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from reports.words.markdown import count, number
from search_spaces.own_data import OwnEncoder
from study.own.leaks import PARTS, WARNING, in_folder, splits_of
from trainables.corpora.layouts.positives import SOURCES
from trainables.corpora.own.held_out import PreparedData, search_source
from trainables.corpora.own.split import DEV, LEFT_OUT, MAX_HELD_OUT, MIN_LABEL_TEXTS, TEST, TRAIN
from trainables.corpora.own.training_files import UNREAD_ROWS, TrainingFiles
from trainables.corpora.own_rows import row_in_words
from trainables.encoders.module_files import own_length
from trainables.errors import listed, shown
from trainables.recipe import SCENES_ENCODER
from trainables.senteval.kinds import KINDS
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import Task

MOST_NAMED_LABELS = 12
"""Most labels whose names the console prints."""
LEAKS = "leaks: "
"""Beginning of messages on leaks, in the console and in a space's notes."""
MOST_OF_A_LABEL = 0.8
"""A label with a larger share of the test items is named, with its share."""
_PAIRS = ("pair", "given as right and as wrong")
_DISAGREEING: Mapping[str, tuple[str, str]] = {
    "labelled": ("text", "with two labels or more"),
    "scored": ("pair", "with two scores or more"),
    "nli": ("pair", "with two labels or more"),
}
"""For a kind of data, the unit that contradictory rows share, and how they contradict; `_PAIRS` for other kinds."""


def of_data(source: TrainingFiles, prepared: PreparedData, leaked: Sequence[str]) -> Iterator[str]:
    """Yield lines for a console on the training data; `leaked` are messages on leaks."""
    parts = prepared.parts
    left_out = [f"; {rows:,} more {why} left out" for why, rows in prepared.left_out.items() if why != UNREAD_ROWS]
    names = [*prepared.census.labels] if source.content == "labelled" else []
    named = f" ({listed(sorted(names))})" if len(names) <= MOST_NAMED_LABELS else ""
    labels = f"; {len(names)} labels{named}" if names else ""
    held = f"{source.read_as}{labels}; the first: {row_in_words(next(source.rows(Counter())))}"
    yield f"{source.name}: {count(prepared.rows, 'row')}, {held}{''.join(left_out)}"
    more = f"it has more than the {source.most_rows:,} rows that are read; --max-rows N reads others"
    for doubt in [*source.doubts, *([more] if UNREAD_ROWS in prepared.left_out else [])]:
        yield f"warning: {source.name}: {doubt}"
    if prepared.empty_words:
        words = " and ".join(f"{texts:,} times {shown(text)}" for text, texts in prepared.empty_words.items())
        yield f"warning: {source.name} has as a text {words}; leave such rows out if the cells were empty"
    what, how = _DISAGREEING.get(prepared.content, _PAIRS)
    disagreeing = [f"{count(prepared.contradicted, what)} {how}"] if prepared.contradicted else []
    if doubtful := [*disagreeing, *([f"{count(prepared.repeated, 'row')} equal to another"] * (prepared.repeated > 0))]:
        yield f"of these rows: {'; '.join(doubtful)}"
    if prepared.held_out:
        aside = " and ".join(
            f"{parts[part]:,} to {what} by" for part, what in ((DEV, "choose"), (TEST, "judge")) if part in parts
        )
        lost = f"; {parts[LEFT_OUT]:,} left out, which share a text with these" if parts[LEFT_OUT] else ""
        why = f"only to train on, of too few texts or beyond the {MAX_HELD_OUT // MIN_LABEL_TEXTS} largest"
        few = f"; {count(prepared.labels_not_held_out, 'label')} {why}" if prepared.labels_not_held_out else ""
        apart = "anchors" if prepared.anchors_only else "texts"
        exactly = (
            f"the {count(parts[TRAIN], 'row')} to train on hold none of these {apart} exactly (near copies: leaks)"
        )
        fewer = f"; for that, {len(prepared.cut_rows):,} of them lost some of their texts" if prepared.cut_rows else ""
        yield f"put aside {aside}; {exactly}{lost}{fewer}{few}"
        yield from held_back(prepared)
    if prepared.census.sources:
        units = ", ".join(f"{name} ({number:,})" for name, number in prepared.census.sources.items())
        yield f"positives may come from: {units}"
    if leaked:
        yield f"{LEAKS}{'; '.join(sentence for sentence in leaked if not sentence.startswith(WARNING))}"
    yield from (sentence for sentence in leaked if sentence.startswith(WARNING))


def leak_notes(leaked: Sequence[str]) -> list[str]:
    """Return the messages on leaks as notes of a space."""
    return [f"{LEAKS}{sentence.removeprefix(WARNING)}" for sentence in leaked]


def held_back(prepared: PreparedData) -> list[str]:
    """Return messages about the data put aside to judge models, if these differ from what a person would expect."""
    sentences = []
    if prepared.anchors_only:
        sentences.append(
            "rows share their positives, so only the anchors put aside are new: of their positives "
            f"{prepared.shared_positives:,} are trained on, too; of few positives a classifier may tell as well "
            "(--columns sentence=ANCHOR,label=POSITIVE)"
        )
    if prepared.negatives_in_training:
        sentences.append(
            f"the search of what is put aside leaves out {count(prepared.negatives_in_training, 'negative')} that are "
            "trained on: its scores are higher than in real use"
        )
    if prepared.held_out and (form := search_source(prepared.census.sources)) is not None:
        sentences.append(
            f"no real queries are known: what is put aside is judged in a form of the training's own, {form} "
            f"({SOURCES[form].meaning}); --dev and --test give real ones"
        )
    return sentences


def of_searches(tasks: Sequence[Task], held_out_folder: Path) -> Iterator[str]:
    """Yield a message for each search task with files in `held_out_folder`: such a task searches among few texts."""
    put_aside = in_folder(tasks, held_out_folder)
    for task in (task for task in tasks if KINDS[task.kind].among_all):
        sizes = [
            f"{len(split.documents.texts):,} ({part})"
            for part in PARTS
            if f"{task.name} ({part})" in put_aside
            for split in splits_of(task, part)
            if split.documents
        ]
        if sizes:
            yield f"{task.name} searches among {' and '.join(sizes)} texts; among more, scores are lower"


def of_measures(tasks: Sequence[Task]) -> list[str]:
    """Return a message if no judging task has the kind, and so the measure, of a choosing task; else an empty list."""
    chosen, judged = ([task for task in tasks if part in task.splits] for part in ("dev", "test"))
    if not judged or {task.kind for task in chosen} & {task.kind for task in judged}:
        return []
    choosing = ", ".join(f"{task.name} {task.development}" for task in chosen)
    judging = ", ".join(f"{task.name} {task.metric}" for task in judged)
    return [
        f"{choosing} chooses, {judging} judges: what gains by one measure may lose by another; --dev with a file like "
        "--test chooses by what judges"
    ]


def of_labels(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a message for each task of which most test items have one label: what that label alone would score."""
    for task in tasks:
        data = kept_task(task, Path())
        tested = [split.labels for split in KINDS[task.kind].tested_splits(data)]
        if not (tested and data.class_names and task.metric.endswith("accuracy")):
            continue
        counts = np.bincount(np.concatenate(tested))
        if counts.max() > MOST_OF_A_LABEL * counts.sum():
            share = number(100 * counts.max() / counts.sum())
            yield f"{task.name}: always {shown(data.class_names[counts.argmax()])} would score {share} (test)"


def of_lengths(encoders: Sequence[OwnEncoder]) -> Iterator[str]:
    """Yield a message on how many tokens of a text each encoder reads."""
    longest = {encoder.label: own_length(encoder.name) for encoder in encoders if encoder.name != SCENES_ENCODER}
    lengths = [
        f"{label} {'all of a text' if most is None else count(most, 'token')}" for label, most in longest.items()
    ]
    if lengths:
        yield f"longest input of each encoder (encoder.max_length): {', '.join(lengths)}"
