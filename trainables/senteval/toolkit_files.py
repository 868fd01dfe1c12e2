"""Readers of the original toolkit's files: one function for each layout (`file_layouts.py`).

Sentences are already tokenized. Examples are sorted as in the original toolkit, by their numbers of words and then by
their label, so their order, on which folds depend, follows from the data alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from trainables.errors import UserError, shown
from trainables.senteval.examples import Split, TaskData, sentence
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST
from trainables.senteval.tasks import Task
from trainables.senteval.text_files import class_number, read_fields, read_lines, read_text
from trainables.tabular import score_within
from trainables.text_lines import refusal

_STS_SCALE = (0, 5)
_SICK_SCALE = (1, 5)

_Example = tuple[list[str], list[str] | None, float]


def _split(examples: Sequence[_Example], labels: type = np.int64) -> Split:
    """Return examples sorted by number of words, then label, as in the original: the folds depend on this order."""
    ordered = sorted(examples, key=lambda example: (len(example[0]), len(example[1] or ()), example[2]))
    pairs = bool(ordered) and ordered[0][1] is not None
    return Split(
        [sentence(left) for left, _, _ in ordered],
        [sentence(right or []) for _, right, _ in ordered] if pairs else None,
        np.array([label for _, _, label in ordered], dtype=labels),
    )


def _parsed(
    parse: Callable[[Path], Iterator[_Example]], names: Sequence[str], paths: Sequence[Path], labels: type = np.int64
) -> dict[str, Split]:
    """Return a split by name for each file; `parse` yields the examples of a file."""
    return {name: _split([*parse(path)], labels) for name, path in zip(names, paths, strict=True)}


def classes_in_files(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read two files, of the positive and the negative sentences, one per line."""
    positive, negative = ([line.split() for line in read_text(path, "latin-1").splitlines()] for path in paths)
    examples: list[_Example] = [(tokens, None, 1) for tokens in positive]
    examples += [(tokens, None, 0) for tokens in negative]
    return TaskData({"all": _split(examples)}, classes=2)


def trec(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read lines `COARSE:fine question`; the coarse class is the label."""

    def parse(path: Path) -> Iterator[_Example]:
        for number, line in read_lines(path, "latin-1"):
            coarse, colon, rest = line.strip().partition(":")
            _, space, question = rest.partition(" ")
            if not colon or not space:
                raise refusal(path, number, f"expected 'COARSE:fine question', found {shown(line)}")
            yield question.split(), None, class_number(task.labels, coarse, path, number)

    return TaskData(_parsed(parse, ("train", "test"), paths), len(task.labels))


def mrpc(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read five columns: label, two ids, two sentences."""

    def parse(path: Path) -> Iterator[_Example]:
        for number, fields in read_fields(path, 5, header=True):
            yield fields[3].split(), fields[4].split(), class_number(task.labels, fields[0], path, number)

    return TaskData(_parsed(parse, ("train", "test"), paths), len(task.labels))


def sst2(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read lines with sentence and label, and a tab between them."""

    def parse(path: Path) -> Iterator[_Example]:
        for number, (text, label) in read_fields(path, 2):
            yield text.split(), None, class_number(task.labels, label, path, number)

    return TaskData(_parsed(parse, TRAIN_DEV_TEST, paths), len(task.labels))


def sst5(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read lines with label and sentence, and a space between them."""

    def parse(path: Path) -> Iterator[_Example]:
        for number, line in read_lines(path):
            label, space, text = line.strip().partition(" ")
            if not space:
                raise refusal(path, number, f"expected 'label sentence', found {shown(line)}")
            yield text.split(), None, class_number(task.labels, label, path, number)

    return TaskData(_parsed(parse, TRAIN_DEV_TEST, paths), len(task.labels))


def snli(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read for each split a file of premises, one of hypotheses and one of labels."""

    def tokens(path: Path) -> list[list[str]]:
        # Splitting the encoded line splits at ASCII white space only.
        lines = read_text(path, "latin-1").split("\n")
        return [[word.decode() for word in line.encode().split()] for line in (lines[:-1] if not lines[-1] else lines)]

    def parse(first: Path, second: Path, gold: Path) -> Split:
        premises, hypotheses = tokens(first), tokens(second)
        labels = [label for _, label in read_lines(gold)]
        for path, count in ((second, len(hypotheses)), (gold, len(labels))):
            if count != len(premises):
                raise UserError(f"{path} has {count:,} lines, but {first.name} has {len(premises):,}")
        classes = [class_number(task.labels, label, gold, number) for number, label in enumerate(labels, start=1)]
        # The original sorts by the hypothesis first, and by the label's name.
        order = sorted(range(len(labels)), key=lambda i: (len(hypotheses[i]), len(premises[i]), labels[i]))
        return Split(
            [sentence(premises[i]) for i in order],
            [sentence(hypotheses[i]) for i in order],
            np.array([classes[i] for i in order], dtype=np.int64),
        )

    return TaskData({name: parse(*paths[3 * i : 3 * i + 3]) for i, name in enumerate(TRAIN_DEV_TEST)}, len(task.labels))


def sick(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read five columns: id, two sentences, relatedness and entailment. The task's kind decides the label column."""
    classes = KINDS[task.kind].target == "classes"

    def parse(path: Path) -> Iterator[_Example]:
        for number, fields in read_fields(path, 5, header=True):
            if classes:
                value: float = class_number(task.labels, fields[4], path, number)
            else:
                value = score_within(fields[3], f"{path}, line {number}", _SICK_SCALE)
            yield fields[1].split(), fields[2].split(), value

    return TaskData(_parsed(parse, TRAIN_DEV_TEST, paths, np.int64 if classes else np.float64), len(task.labels))


def stsb(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read at least seven columns; the fifth is the score, the next two are sentences."""

    def parse(path: Path) -> Iterator[_Example]:
        for number, fields in read_fields(path, 7, further_columns=True):
            yield fields[5].split(), fields[6].split(), score_within(fields[4], f"{path}, line {number}", _STS_SCALE)

    return TaskData(_parsed(parse, TRAIN_DEV_TEST, paths, np.float64))


def sts(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read for each sub-corpus a file of pairs and one of scores; pairs without a score are left out."""
    splits = {}
    for texts, gold in zip(paths[::2], paths[1::2], strict=True):
        rows = [(number, line.split("\t")) for number, line in read_lines(texts)]
        scores = [line for _, line in read_lines(gold)]
        if len(rows) != len(scores):
            raise UserError(f"{gold} has {len(scores):,} lines, but {texts.name} has {len(rows):,}")
        examples: list[_Example] = []
        for (number, fields), gold_score in zip(rows, scores, strict=True):
            if len(fields) != 2:
                raise refusal(texts, number, f"expected 2 columns with a tab between them, found {len(fields)}")
            if gold_score.strip():
                value = score_within(gold_score, f"{gold}, line {number}", _STS_SCALE)
                examples.append((fields[0].split(), fields[1].split(), value))
        splits[texts.name.removeprefix("STS.input.").removesuffix(".txt")] = _split(examples, np.float64)
    return TaskData(splits)


def probing(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read one file of all splits: `tr|va|te`, label and sentence."""
    path = paths[0]
    names = {"tr": "train", "va": "dev", "te": "test"}
    rows: dict[str, list[tuple[int, str, list[str]]]] = {name: [] for name in names.values()}
    for number, line in read_lines(path):
        fields = line.rstrip().split("\t")
        if len(fields) < 2 or fields[0] not in names:
            raise refusal(path, number, f"expected 'tr|va|te<TAB>label<TAB>sentence', found {shown(line)}")
        text = fields[-1] if len(fields) > 2 else ""
        rows[names[fields[0]]].append((number, fields[1], text.split()))
    labels = {label: index for index, label in enumerate(sorted({label for _, label, _ in rows["train"]}))}
    splits = {}
    for name, part in rows.items():
        for number, label, _ in part:
            if label not in labels:
                raise refusal(path, number, f"label {shown(label)} does not occur in the train part")
        splits[name] = _split([(tokens, None, labels[label]) for _, label, tokens in part])
    return TaskData(splits, len(labels))
