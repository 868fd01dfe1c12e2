"""Task files in, examples out: one reader for each layout, in the order on which the folds depend.

Sentences come tokenized; their tokens are joined by single spaces, and an empty sentence becomes ".".
A broken file raises `UserError` with the file and, where there is one, the line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainables.errors import UserError, choices
from trainables.senteval.tasks import Layout, Task


@dataclass(frozen=True)
class Split:
    """Examples in SentEval's order. `right` is None where an example is a single sentence."""

    left: list[str]
    right: list[str] | None
    labels: np.ndarray  # (examples,) int64 classes or float64 scores; for captions the image of each
    images: np.ndarray | None = None  # (images, 2048) float32, captions only

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class TaskData:
    """The splits of a task: `train`, `dev`, `test` or what of it there is; for STS one for each sub-corpus."""

    splits: Mapping[str, Split]
    classes: int = 0

    def sentences(self) -> list[str]:
        return [text for split in self.splits.values() for side in (split.left, split.right or []) for text in side]


def read_task(task: Task, data: Path) -> TaskData:
    """Read and check one task from a folder in SentEval's layout."""
    paths = [data / file for file in task.files]
    result = _READERS[task.layout](task, paths)
    for name, split in result.splits.items():
        if not len(split):
            raise UserError(f"{task.name}: {paths[0].parent} holds no example for {name}")
    if result.classes:
        name, split = next(iter(result.splits.items()))
        if len(np.unique(split.labels)) < 2:
            raise UserError(f"{task.name}: all {len(split):,} examples for {name} in {paths[0]} have one label")
    return result


def sentence(tokens: Sequence[str]) -> str:
    return " ".join(tokens) or "."


_Example = tuple[list[str], list[str] | None, float]


def _split(examples: Sequence[_Example], labels: type = np.int64) -> Split:
    """Sort by the number of words, then the label, as the original does: the folds depend on this order."""
    ordered = sorted(examples, key=lambda example: (len(example[0]), len(example[1] or ()), example[2]))
    pairs = bool(ordered) and ordered[0][1] is not None
    return Split(
        [sentence(left) for left, _, _ in ordered],
        [sentence(right or []) for _, right, _ in ordered] if pairs else None,
        np.array([label for _, _, label in ordered], dtype=labels),
    )


def _classes_in_files(task: Task, paths: Sequence[Path]) -> TaskData:
    positive, negative = ([line.split() for line in _text(path, "latin-1").splitlines()] for path in paths)
    examples: list[_Example] = [(tokens, None, 1) for tokens in positive]
    examples += [(tokens, None, 0) for tokens in negative]
    return TaskData({"all": _split(examples)}, classes=2)


def _trec(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        examples: list[_Example] = []
        for number, line in _lines(path, "latin-1"):
            coarse, colon, rest = line.strip().partition(":")
            _, space, question = rest.partition(" ")
            if not colon or not space:
                raise _bad(path, number, f"expected 'COARSE:fine question', found {_shown(line)}")
            examples.append((question.split(), None, _label(task, coarse, path, number)))
        return _split(examples)

    return TaskData({"train": parse(paths[0]), "test": parse(paths[1])}, len(task.labels))


def _mrpc(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        examples: list[_Example] = []
        for number, fields in _rows(path, 5, header=True):
            examples.append((fields[3].split(), fields[4].split(), _label(task, fields[0], path, number)))
        return _split(examples)

    return TaskData({"train": parse(paths[0]), "test": parse(paths[1])}, len(task.labels))


def _sst2(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        rows = _rows(path, 2)
        return _split([(text.split(), None, _label(task, label, path, number)) for number, (text, label) in rows])

    return TaskData(_three(parse, paths), len(task.labels))


def _sst5(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        examples: list[_Example] = []
        for number, line in _lines(path):
            label, space, text = line.strip().partition(" ")
            if not space:
                raise _bad(path, number, f"expected 'label sentence', found {_shown(line)}")
            examples.append((text.split(), None, _label(task, label, path, number)))
        return _split(examples)

    return TaskData(_three(parse, paths), len(task.labels))


def _snli(task: Task, paths: Sequence[Path]) -> TaskData:
    def tokens(path: Path) -> list[list[str]]:
        # Splitting the encoded line splits at ASCII white space only.
        lines = _text(path, "latin-1").split("\n")
        return [[word.decode() for word in line.encode().split()] for line in (lines[:-1] if not lines[-1] else lines)]

    def parse(first: Path, second: Path, gold: Path) -> Split:
        premises, hypotheses = tokens(first), tokens(second)
        labels = [label for _, label in _lines(gold)]
        for path, count in ((second, len(hypotheses)), (gold, len(labels))):
            if count != len(premises):
                raise UserError(f"{path} has {count:,} lines, but {first.name} has {len(premises):,}")
        classes = [_label(task, label, gold, number) for number, label in enumerate(labels, start=1)]
        # The original sorts by the hypothesis first, and by the label's name.
        order = sorted(range(len(labels)), key=lambda i: (len(hypotheses[i]), len(premises[i]), labels[i]))
        return Split(
            [sentence(premises[i]) for i in order],
            [sentence(hypotheses[i]) for i in order],
            np.array([classes[i] for i in order], dtype=np.int64),
        )

    names = ("train", "dev", "test")
    return TaskData({name: parse(*paths[3 * i : 3 * i + 3]) for i, name in enumerate(names)}, len(task.labels))


def _sick(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        examples: list[_Example] = []
        for number, fields in _rows(path, 5, header=True):
            if task.labels:
                value: float = _label(task, fields[4], path, number)
            else:
                value = _score(fields[3], path, number, 1, 5)
            examples.append((fields[1].split(), fields[2].split(), value))
        return _split(examples, np.int64 if task.labels else np.float64)

    return TaskData(_three(parse, paths), len(task.labels))


def _stsb(task: Task, paths: Sequence[Path]) -> TaskData:
    def parse(path: Path) -> Split:
        examples: list[_Example] = [
            (fields[5].split(), fields[6].split(), _score(fields[4], path, number, 0, 5))
            for number, fields in _rows(path, 7, more=True)
        ]
        return _split(examples, np.float64)

    return TaskData(_three(parse, paths))


def _sts(task: Task, paths: Sequence[Path]) -> TaskData:
    splits = {}
    for texts, gold in zip(paths[::2], paths[1::2], strict=True):
        rows = [(number, line.split("\t")) for number, line in _lines(texts)]
        scores = [line for _, line in _lines(gold)]
        if len(rows) != len(scores):
            raise UserError(f"{gold} has {len(scores):,} lines, but {texts.name} has {len(rows):,}")
        examples: list[_Example] = []
        for (number, fields), score in zip(rows, scores, strict=True):
            if len(fields) != 2:
                raise _bad(texts, number, f"expected 2 columns with a tab between them, found {len(fields)}")
            if score.strip():
                value = _score(score, gold, number, 0, 5)
                examples.append((fields[0].split(), fields[1].split(), value))
        splits[texts.name.removeprefix("STS.input.").removesuffix(".txt")] = _split(examples, np.float64)
    return TaskData(splits)


def _probing(task: Task, paths: Sequence[Path]) -> TaskData:
    path = paths[0]
    names = {"tr": "train", "va": "dev", "te": "test"}
    rows: dict[str, list[tuple[int, str, list[str]]]] = {name: [] for name in names.values()}
    for number, line in _lines(path):
        fields = line.rstrip().split("\t")
        if len(fields) < 2 or fields[0] not in names:
            raise _bad(path, number, f"expected 'tr|va|te<TAB>label<TAB>sentence', found {_shown(line)}")
        text = fields[-1] if len(fields) > 2 else ""
        rows[names[fields[0]]].append((number, fields[1], text.split()))
    labels = {label: index for index, label in enumerate(sorted({label for _, label, _ in rows["train"]}))}
    splits = {}
    for name, part in rows.items():
        for number, label, _ in part:
            if label not in labels:
                raise _bad(path, number, f"label {label!r} does not occur in the train part")
        splits[name] = _split([(tokens, None, labels[label]) for _, label, tokens in part])
    return TaskData(splits, len(labels))


def _coco(task: Task, paths: Sequence[Path]) -> TaskData:
    from trainables.senteval.captions import read_captions

    return TaskData({name: read_captions(path) for name, path in zip(("train", "dev", "test"), paths, strict=True)})


_READERS: Mapping[Layout, Callable[[Task, Sequence[Path]], TaskData]] = {
    "classes_in_files": _classes_in_files,
    "trec": _trec,
    "mrpc": _mrpc,
    "sst2": _sst2,
    "sst5": _sst5,
    "snli": _snli,
    "sick": _sick,
    "stsb": _stsb,
    "sts": _sts,
    "coco": _coco,
    "probing": _probing,
}


def _three(parse: Callable[[Path], Split], paths: Sequence[Path]) -> dict[str, Split]:
    return {name: parse(path) for name, path in zip(("train", "dev", "test"), paths, strict=True)}


def _text(path: Path, encoding: str = "utf-8-sig") -> str:
    try:
        text = path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _bad(path, line, f"not {encoding.removesuffix('-sig')} text (byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise UserError(f"{path} is empty")
    return text


def _lines(path: Path, encoding: str = "utf-8-sig") -> list[tuple[int, str]]:
    lines = _text(path, encoding).split("\n")
    return list(enumerate(lines[:-1] if not lines[-1] else lines, start=1))


def _rows(path: Path, columns: int, header: bool = False, more: bool = False) -> list[tuple[int, list[str]]]:
    """Line numbers and fields; `more` admits further columns."""
    rows = []
    for number, line in _lines(path)[1 if header else 0 :]:
        fields = line.strip().split("\t")
        if len(fields) < columns or (len(fields) > columns and not more):
            raise _bad(path, number, f"expected {columns} columns with tabs between them, found {len(fields)}")
        rows.append((number, fields))
    return rows


def _label(task: Task, text: str, path: Path, line: int) -> int:
    if text not in task.labels:
        raise _bad(path, line, f"label {text!r} is none of {choices(task.labels)}")
    return task.labels.index(text)


def _score(text: str, path: Path, line: int, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _bad(path, line, f"score {text!r} is not a number") from None
    if not low <= value <= high:
        raise _bad(path, line, f"score {text} is not between {low:g} and {high:g}")
    return value


def _shown(line: str) -> str:
    return repr(line if len(line) <= 60 else line[:57] + "...")


def _bad(path: Path, line: int, problem: str) -> UserError:
    return UserError(f"{path}:{line}: {problem}")
