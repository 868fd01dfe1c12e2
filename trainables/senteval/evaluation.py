"""Score an encoder: read the tasks, encode the union of their sentences once, fit and score each task."""

from __future__ import annotations

import functools
import hashlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from trainables.errors import UserError
from trainables.evaluation_config import Parts
from trainables.lazy_torch import torch
from trainables.record_parts import Geometry
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers, digest
from trainables.senteval.kinds.contract import Numbers
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read_task import MissingData, check_folder, check_task, content_hash, kept_task, repeated_files
from trainables.senteval.scoring import geometry, score_task
from trainables.senteval.tasks import GROUPS, TASKS, kind_of, task_names

if TYPE_CHECKING:
    from torch import Tensor

Encode = Callable[[Sequence[str]], np.ndarray]
"""Maps unique sentences to float32 embeddings, (sentences, dim)."""
MIN_CALIBRATION_TEXTS = 100
"""Least number of texts from which the ranges of an embedding's numbers are computed."""


@dataclass(frozen=True)
class SentEvalResult:
    """Scores of one encoder under one protocol."""

    protocol: str
    tasks: dict[str, Numbers]
    """By task: scores in percent, None if missing, with `seconds`, `examples` and, if a score is None, `reason`."""
    answers: dict[str, Answers] = field(repr=False)
    """Answers to the test split by `TASK`, and to the development split by `dev.TASK` if nothing is fitted for them.
    Items are in the order of the task's reader."""
    geometry: Geometry
    """The anisotropy of the embeddings; empty for development splits."""
    seconds: float
    encoding_seconds: float
    errors: dict[str, str] = field(default_factory=dict)
    """A message for each task whose data is broken; missing data is no error."""
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By task: lowest and highest gold score of the train split, for a regressor whose bins depend on the data."""

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """Arrays to store beside a record: `Answers.arrays` of every task. They are enough to compare two trials item
        by item if their digests (`items.TASK`) are equal."""
        arrays: dict[str, np.ndarray] = {}
        for name, answers in self.answers.items():
            arrays |= answers.arrays(name.removeprefix("dev."))
        return arrays


@dataclass(frozen=True)
class Embeddings:
    """An encoder's embeddings of the unique sentences of all tasks, which another process can score."""

    vectors: np.ndarray = field(repr=False)  # (sentences, dim) float32, in the order in which the tasks give them
    sentences_digest: str
    """Digest of the sentences in their order: sixteen hexadecimal digits."""
    seconds: float
    """Seconds that reading the tasks and encoding took."""
    encode_ms: float = 0.0
    """Milliseconds of encoding per sentence."""
    separate_documents: bool = False
    """Whether the documents of searches have embeddings of their own, which come last."""


def evaluate(
    encode: Encode,
    data: str | Path,
    tasks: Sequence[str],
    protocol: str = "full",
    *,
    parts: Parts = "all",
    seed: int = 1111,
    progress: bool = False,
    encode_documents: Encode | None = None,
) -> SentEvalResult:
    """Return the scores of tasks and groups; with `parts="development"` their development scores alone.

    `encode` is called once, with the unique sentences of all tasks, then `encode_documents` with the unique documents
    of all searches. Missing or broken data gives None with the reason. Raises `UserError` if `data` is no SentEval
    folder, if no task is left, or if an embedding is not finite.
    """
    embeddings = embed(encode, data, tasks, parts, encode_documents)
    return score_embeddings(embeddings, data, tasks, protocol, parts=parts, seed=seed, progress=progress)


def embed(
    encode: Encode,
    data: str | Path,
    tasks: Sequence[str],
    parts: Parts = "all",
    encode_documents: Encode | None = None,
) -> Embeddings:
    """Read and encode the texts of the tasks: the first half of `evaluate`, with the same errors."""
    begin = time.perf_counter()
    read, missing, errors = _read_all(Path(data), task_names(tasks), parts)
    if not read:
        raise UserError(next(iter({**missing, **errors}.values())))
    texts = _UniqueTexts.collect(read, encode_documents is not None)
    began = time.perf_counter()
    vectors = texts.encoded(encode, encode_documents)
    each = 1000 * (time.perf_counter() - began) / len(vectors)
    return Embeddings(vectors, texts.digest, time.perf_counter() - begin, each, encode_documents is not None)


def import_late() -> None:
    """Import the modules that scoring imports late, which takes a second and a hundred megabytes. A process that
    measures the costs of a trial calls this first."""
    import trainables.senteval.projections
    import trainables.senteval.regressor  # noqa: F401


def score_embeddings(
    embeddings: Embeddings,
    data: str | Path,
    tasks: Sequence[str],
    protocol: str = "full",
    *,
    parts: Parts = "all",
    seed: int = 1111,
    progress: bool = False,
) -> SentEvalResult:
    """Score embeddings: the second half of `evaluate`. The tasks are read again, perhaps in another process. Raises
    `UserError` if they are not the embedded ones."""
    begin = time.perf_counter()
    names, settings = task_names(tasks), PROTOCOLS[protocol]
    read, missing, errors = _read_all(Path(data), names, parts)
    texts = _UniqueTexts.collect(read, embeddings.separate_documents)
    if texts.digest != embeddings.sentences_digest:
        raise UserError(f"the tasks in {data} are not those that were embedded; leave its files as they are")
    vectors = torch.from_numpy(embeddings.vectors)
    given = functools.partial(Embedded, embeddings=vectors, lookup=texts.rows, document_lookup=texts.document_rows)

    results: dict[str, Numbers] = {}
    kept: dict[str, Answers] = {}
    scales: dict[str, tuple[float, float]] = {}
    for name in names:
        started = time.perf_counter()
        if name in read:
            if progress:
                print(f"{name}: fitting and scoring", file=sys.stderr, flush=True)
            try:
                numbers, scores = score_task(given(TASKS[name], read[name]), settings, seed, parts)
            except UserError as problem:
                errors[name] = str(problem)
            else:
                results[name] = {**numbers, "seconds": round(time.perf_counter() - started, 3)}
                kept |= {
                    answers.name_of(name): _with_digest_and_groups(answers, name, read[name])
                    for answers in scores.answers
                }
                scales |= {} if scores.scale is None else {name: scores.scale}
        if name not in results:
            dashes = dict.fromkeys(TASKS[name].numbers)
            results[name] = {**dashes, "seconds": 0.0, "examples": None, "reason": missing.get(name) or errors[name]}
    return SentEvalResult(
        protocol,
        results,
        kept,
        geometry=geometry(read, vectors, texts.rows) if parts == "all" else {},
        seconds=embeddings.seconds + time.perf_counter() - begin,
        encoding_seconds=embeddings.seconds,
        errors=errors,
        scales=scales,
    )


def _with_digest_and_groups(answers: Answers, task: str, data: TaskData) -> Answers:
    """Return the answers with the digest of their items and the groups of items that are sampled together."""
    kind = kind_of(task)
    splits = kind.tested_splits(data) if answers.split == "test" else [data.splits[answers.split]]
    return replace(answers, items_digest=digest(splits), groups=kind.groups(splits))


def calibration_rows(embeddings: Embeddings, data: str | Path, tasks: Sequence[str]) -> np.ndarray | None:
    """Return the row numbers, (texts,), of texts that are in no test split, such as those of development splits. None
    for fewer than `MIN_CALIBRATION_TEXTS`."""
    read, *_ = _read_all(Path(data), task_names(tasks))
    texts, tested = _UniqueTexts.collect(read, embeddings.separate_documents), set[str]()
    for name, content in read.items():
        splits = {str(index): split for index, split in enumerate(kind_of(name).tested_splits(content))}
        tested |= {*TaskData(splits).sentences()}
    free = [number for number, text in enumerate([*texts.sentences, *texts.documents]) if text not in tested]
    return np.array(free) if len(free) >= MIN_CALIBRATION_TEXTS else None


def queries_and_documents(
    embeddings: Embeddings, data: str | Path, tasks: Sequence[str]
) -> tuple[tuple[np.ndarray, np.ndarray], str] | None:
    """Return the row numbers of queries and of documents, and `Embeddings.sentences_digest` of queries followed by
    documents, so that documents can have other embeddings. None if a task has no documents."""
    read, *_ = _read_all(Path(data), task_names(tasks))
    if not all(content.documents() for content in read.values()):
        return None
    texts, separate_texts = _UniqueTexts.collect(read, embeddings.separate_documents), _UniqueTexts.collect(read, True)
    return (
        texts.rows(separate_texts.sentences).numpy(),
        texts.document_rows(separate_texts.documents).numpy(),
    ), separate_texts.digest


def development(
    encode: Encode,
    data: str | Path,
    tasks: Sequence[str] = ("STSBenchmark",),
    encode_documents: Encode | None = None,
) -> dict[str, float | None]:
    """Return quick scores for use during training, in percent, by `TASK.NUMBER`: the score `TaskKind.development` of
    each task with data. The entry `score` is their mean, None if there are none."""
    names = [name for name in task_names(tasks) if TASKS[name].development]
    read, _, errors = _read_all(Path(data), names)
    if errors:
        raise UserError(next(iter(errors.values())))
    dev = {
        name: TaskData({"dev": kind_of(name).development_part(content)}, content.classes)
        for name, content in read.items()
    }
    scores: dict[str, float | None] = {}
    if dev:
        texts = _UniqueTexts.collect(dev, encode_documents is not None)
        embeddings = torch.from_numpy(texts.encoded(encode, encode_documents))
        for name, content in dev.items():
            kind = kind_of(name)
            given = Embedded(TASKS[name], content, embeddings, texts.rows, texts.document_rows)
            scores[f"{name}.{kind.development}"] = kind.development_score(given)
    values = [value for value in scores.values() if value is not None]
    scores["score"] = fmean(values) if values else None
    return scores


def check_data(data: str | Path, tasks: Sequence[str]) -> None:
    """Raise `UserError` if `data` is no SentEval folder, contains none of the tasks, or only a part of one.

    SentEval's own files must only exist. Files of added tasks are read completely, so that a mistake is found before a
    model is trained. A task without any file passes: its scores are dashes.
    """
    names = task_names(tasks)
    folder = Path(data)
    check_folder(folder, names)
    for problem in repeated_files(folder, [name for name in names if name not in GROUPS["all"]]).values():
        raise UserError(f"{problem}; give files of their own")
    missing = []
    for name in names:
        try:
            check_task(TASKS[name], folder)
        except MissingData as problem:
            missing.append(str(problem))
        else:
            if name not in GROUPS["all"]:
                kept_task(TASKS[name], folder)
    if len(missing) == len(names):
        raise UserError(f"{data} holds no task of {', '.join(names)}; {missing[0]}")


def notes_on_left_out_rows(data: str | Path, tasks: Sequence[str]) -> list[str]:
    """Return messages about left-out rows of added tasks' files. The tasks must pass `check_data`."""
    added = [TASKS[name] for name in task_names(tasks) if name not in GROUPS["all"]]
    present = [task for task in added if (Path(data) / task.files[0]).is_file()]
    return [f"task {task.name}: {note}" for task in present for note in kept_task(task, Path(data)).left_out]


def fingerprint(data: str | Path, tasks: Sequence[str]) -> str:
    """Return twelve hexadecimal digits that depend on the content of the tasks' files only."""
    files = {file for name in task_names(tasks) for file in TASKS[name].files}
    contents = []
    for file in files:
        path = Path(data) / file
        label = path.name if Path(file).is_absolute() else file
        contents.append((label, content_hash(path) if path.is_file() else "missing"))
    digest = hashlib.sha256()
    for label, content in sorted(contents):  # by names that stay when absolute files are moved
        digest.update(f"{label} {content}\n".encode())
    return digest.hexdigest()[:12]


def _read_all(
    data: Path, names: Sequence[str], parts: Parts = "all"
) -> tuple[dict[str, TaskData], dict[str, str], dict[str, str]]:
    """Return by task the data of the requested splits, the reasons of missing data, and the errors of broken data."""
    check_folder(data, names)
    read: dict[str, TaskData] = {}
    missing: dict[str, str] = {}
    errors = repeated_files(data, names)
    for name in names:
        if name in errors:
            continue
        try:
            check_task(TASKS[name], data)
            content = kept_task(TASKS[name], data)
            if parts == "development":
                content = kind_of(name).without_test(content)
            if content.splits:
                read[name] = content
            else:
                missing[name] = f"no data: {name} has no development part"
        except MissingData as reason:
            missing[name] = str(reason)
        except UserError as problem:
            errors[name] = str(problem)
    return read, missing, errors


@dataclass(frozen=True)
class _UniqueTexts:
    """The texts to embed, each once, in the order of the tasks."""

    sentences: list[str]
    documents: list[str]
    """Documents with embeddings of their own; empty if documents are among the sentences."""

    @classmethod
    def collect(cls, read: Mapping[str, TaskData], separate_documents: bool) -> _UniqueTexts:
        sentences = chain.from_iterable(
            content.sentences(documents=not separate_documents) for content in read.values()
        )
        documents = chain.from_iterable(content.documents() for content in read.values() if separate_documents)
        return cls(list(dict.fromkeys(sentences)), list(dict.fromkeys(documents)))

    def encoded(self, encode: Encode, encode_documents: Encode | None) -> np.ndarray:  # (texts, dim) float32
        """Return the embeddings of the sentences, then of the documents."""
        sentences = _encoded(encode, self.sentences)
        if encode_documents is None or not self.documents:
            return sentences
        return np.concatenate([sentences, _encoded(encode_documents, self.documents)])

    @functools.cached_property
    def digest(self) -> str:
        digest = hashlib.sha256()
        for text in (*self.sentences, *self.documents):
            digest.update(text.encode(errors="surrogatepass") + b"\n")
        return digest.hexdigest()[:16]

    def rows(self, texts: list[str]) -> Tensor:
        """Return the row numbers of sentences in the embeddings, (texts,) int64."""
        return _numbers(texts, *self._rows)

    def document_rows(self, texts: list[str]) -> Tensor:
        """Return the row numbers of documents in the embeddings, (texts,) int64."""
        return _numbers(texts, *self._rows[::-1])

    @functools.cached_property
    def _rows(self) -> tuple[dict[str, int], dict[str, int]]:
        sentences = {text: number for number, text in enumerate(self.sentences)}
        return sentences, {text: number for number, text in enumerate(self.documents, len(sentences))}


def _encoded(encode: Encode, sentences: list[str]) -> np.ndarray:  # (sentences, dim) float32
    """Return the embeddings; raise `UserError` if they cannot be scored."""
    array = np.ascontiguousarray(encode(sentences), dtype=np.float32)
    if array.ndim != 2 or len(array) != len(sentences):
        raise UserError(f"the encoder gave shape {array.shape} for {len(sentences):,} sentences, not (sentences, dim)")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        first = sentences[int(bad.argmax())]
        raise UserError(f"the encoder gives NaN or infinity for {int(bad.sum()):,} sentences, the first is {first!r}")
    zero = ~array.any(axis=1)
    if zero.sum() > len(sentences) / 2:
        raise UserError(f"the encoder gives the zero vector for {int(zero.sum()):,} of {len(sentences):,} sentences")
    return array


def _numbers(texts: list[str], rows: Mapping[str, int], others: Mapping[str, int]) -> Tensor:
    """Return the texts' numbers in `rows`, or in `others` for a text that `rows` lacks."""
    numbers = [rows[text] if text in rows else others[text] for text in texts]
    return torch.tensor(numbers, dtype=torch.long)
