"""Score an encoder: read the tasks, encode the union of their sentences once, fit and score each task."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from trainables.errors import UserError
from trainables.senteval.data_files import MissingData, check_folder, check_task, content_hash, repeated_files
from trainables.senteval.protocol import protocol_named
from trainables.senteval.scorers import SCORERS, Numbers
from trainables.senteval.tasks import GROUPS, TASKS, Task, needs_scale, task_names

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from trainables.senteval.examples import TaskData

Encode = Callable[[Sequence[str]], "np.ndarray"]
"""Unique sentences to float32 embeddings, (sentences, dim)."""


@dataclass(frozen=True)
class Evaluation:
    """Scores of one encoder under one protocol.

    `tasks` maps a name to numbers in percent, None where missing, with `seconds`, `examples` and, where None, `reason`.
    `predictions` and `gold` hold what was predicted for each test sentence or pair (for STS and relatedness the
    cosine) and what is right; `parts` the sizes of the sub-corpora of which these consist. The items stand in the order
    in which the task's reader gives them, which depends on the task's files only: SentEval's tasks are sorted by the
    number of words and then by label, sub-corpus after sub-corpus, as the original toolkit sorts them; a table keeps
    the order of its lines. `regressed` holds what the trained regressor predicts for the same pairs (relatedness),
    `dev` the cosines and right answers of its development part, `items` a digest of the items, and `groups` which pairs
    share a sentence (`items.groups`). `geometry` says how
    the embeddings lie (`geometry.py`). `errors` has one sentence for each task whose data is broken; data that is
    simply not there is no error. `scales` says from which lowest to which highest training score the regressor's bins
    were laid, of tasks whose entry does not say it.
    """

    protocol: str
    tasks: dict[str, Numbers]
    predictions: dict[str, np.ndarray] = field(repr=False)
    gold: dict[str, np.ndarray] = field(repr=False)
    parts: dict[str, np.ndarray] = field(repr=False)
    regressed: dict[str, np.ndarray] = field(repr=False)
    dev: dict[str, tuple[np.ndarray, np.ndarray]] = field(repr=False)
    items: dict[str, str] = field(repr=False)
    groups: dict[str, np.ndarray] = field(repr=False)
    geometry: dict[str, float | str | None]
    seconds: float
    encoding_seconds: float
    errors: dict[str, str] = field(default_factory=dict)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """What to store beside a record, so that two trials can be paired from their folders alone.

        By `TASK` the predictions, by `gold.TASK` the right answers and by `regressed.TASK` the regressor's predictions,
        all (items,), as small integers or float32 where no number changes by it; by `parts.TASK` the sizes of the
        sub-corpora, (sub-corpora,); by `groups.TASK` the number of each pair's group, (items,), of tasks of pairs; and
        by `items.TASK` the digest of the test items, one text of 16 digits, (). The development part of a relatedness
        task is kept likewise, as a task called `dev.TASK`. Two trials can be paired item by item where their digests
        are equal.
        """
        import numpy as np

        from trainables.senteval.items import compact

        kinds = {
            "": self.predictions,
            "gold.": self.gold,
            "parts.": self.parts,
            "regressed.": self.regressed,
            "dev.": {name: predicted for name, (predicted, _) in self.dev.items()},
            "gold.dev.": {name: gold for name, (_, gold) in self.dev.items()},
            "groups.": self.groups,
        }
        arrays = {f"{kind}{name}": compact(array) for kind, found in kinds.items() for name, array in found.items()}
        return arrays | {f"items.{name}": np.array(digits) for name, digits in self.items.items()}


@dataclass(frozen=True)
class Embeddings:
    """What an encoder gives for the unique sentences of all tasks, so that another process can score it."""

    vectors: np.ndarray = field(repr=False)  # (sentences, dim) float32, in the order in which the tasks give them
    sentences: str
    """Sixteen hexadecimal digits of the sentences in their order."""
    seconds: float
    """That reading and encoding took."""


def evaluate(
    encode: Encode,
    data: str | Path,
    tasks: Sequence[str],
    protocol: str = "full",
    *,
    seed: int = 1111,
    progress: bool = False,
) -> Evaluation:
    """Scores of every task that `tasks` names, or whose group it names, under one protocol.

    `encode` is called once, with the unique sentences of all tasks. A task whose data is missing or broken gets
    None with the reason and does not disturb the others. Raises `UserError` if `data` is no SentEval folder, if
    no task is left, or if an embedding is not finite.
    """
    return score_embeddings(embed(encode, data, tasks), data, tasks, protocol, seed=seed, progress=progress)


def embed(encode: Encode, data: str | Path, tasks: Sequence[str]) -> Embeddings:
    """The first half of `evaluate`, all that needs the encoder; with the same errors."""
    begin = time.perf_counter()
    read, missing, errors = _read_all(Path(data), task_names(tasks))
    if not read:
        raise UserError(next(iter({**missing, **errors}.values())))
    sentences = _unique(read)
    vectors = _encoded(encode, sentences)
    return Embeddings(vectors, _digits(sentences), time.perf_counter() - begin)


def import_late(tasks: Sequence[str]) -> None:
    """Import what scoring these tasks imports late, a second and a hundred megabytes: a process that measures what a
    trial takes does so before."""
    import trainables.senteval.geometry
    import trainables.senteval.score  # noqa: F401

    if any(SCORERS[TASKS[name].kind].target == "classes" for name in task_names(tasks)):
        import sklearn.model_selection  # noqa: F401


def score_embeddings(
    embeddings: Embeddings,
    data: str | Path,
    tasks: Sequence[str],
    protocol: str = "full",
    *,
    seed: int = 1111,
    progress: bool = False,
) -> Evaluation:
    """The second half of `evaluate`. The tasks are read again, perhaps in another process: `UserError` where they are
    not those that were embedded."""
    import torch

    from trainables.senteval.geometry import geometry
    from trainables.senteval.items import digest, groups, test_splits
    from trainables.senteval.score import Embedded, Scores, score

    begin = time.perf_counter()
    names, settings = task_names(tasks), protocol_named(protocol)
    read, missing, errors = _read_all(Path(data), names)
    sentences = _unique(read)
    if _digits(sentences) != embeddings.sentences:
        raise UserError(f"the tasks in {data} are not those that were embedded; leave its files as they are")
    vectors, lookup = torch.from_numpy(embeddings.vectors), _lookup(sentences)

    results: dict[str, Numbers] = {}
    found: dict[str, Scores] = {}
    for name in names:
        started = time.perf_counter()
        if name in read:
            if progress:
                print(f"{name}: fitting and scoring", file=sys.stderr, flush=True)
            try:
                found[name] = score(Embedded(TASKS[name], read[name], vectors, lookup), settings, seed)
            except UserError as problem:
                errors[name] = str(problem)
        if name in found:
            results[name] = {**found[name].numbers, "seconds": round(time.perf_counter() - started, 3)}
        else:
            results[name] = _dash(TASKS[name], missing.get(name) or errors[name])
    kept = {name: test_splits(TASKS[name], read[name]) for name in found}
    kept |= {f"dev.{name}": [read[name].splits["dev"]] for name in found if found[name].dev is not None}
    return Evaluation(
        protocol,
        results,
        predictions={name: scores.predictions for name, scores in found.items()},
        gold={name: scores.gold for name, scores in found.items()},
        parts={name: scores.parts for name, scores in found.items() if scores.parts is not None},
        regressed={name: scores.regressed for name, scores in found.items() if scores.regressed is not None},
        dev={name: scores.dev for name, scores in found.items() if scores.dev is not None},
        items={name: digest(splits) for name, splits in kept.items()},
        groups={name: grouped for name, splits in kept.items() if (grouped := groups(splits)) is not None},
        geometry=geometry(read, vectors, lookup),
        seconds=embeddings.seconds + time.perf_counter() - begin,
        encoding_seconds=embeddings.seconds,
        errors=errors,
        scales={name: read[name].splits["train"].scale for name in found if needs_scale(TASKS[name])},
    )


def _dash(task: Task, reason: str) -> Numbers:
    """A task without scores."""
    return {**dict.fromkeys(task.numbers), "seconds": 0.0, "examples": None, "reason": reason}


def development(encode: Encode, data: str | Path, tasks: Sequence[str] = ("STSBenchmark",)) -> dict[str, float | None]:
    """Cheap scores while training goes on, in percent, of those of the tasks that are there.

    `STSBenchmark.dev_spearman_cosine` of relatedness: of its dev part, as at the end. `CR.dev_accuracy` of classes: of
    a linear probe, on examples that `probe.probed_part` chooses. `score` is their mean, None where there is none.
    """
    import torch

    from trainables.senteval.correlation import spearman
    from trainables.senteval.examples import TaskData
    from trainables.senteval.probe import probe_accuracy, probed_part
    from trainables.senteval.score import Embedded

    names = [name for name in task_names(tasks) if TASKS[name].kind == "relatedness" or _has_classes(TASKS[name])]
    read, _, errors = _read_all(Path(data), names)
    if errors:
        raise UserError(next(iter(errors.values())))
    parts = {
        name: probed_part(content) if _has_classes(TASKS[name]) else content.splits["dev"]
        for name, content in read.items()
    }
    dev = {name: TaskData({"dev": part}, read[name].classes) for name, part in parts.items()}
    found: dict[str, float | None] = {}
    if dev:
        sentences = _unique(dev)
        embeddings, lookup = torch.from_numpy(_encoded(encode, sentences)), _lookup(sentences)
        for name, content in dev.items():
            part, embedded = parts[name], Embedded(TASKS[name], content, embeddings, lookup)
            if _has_classes(TASKS[name]):
                rows = embedded.rows("dev")
                features = rows.take(torch.arange(len(part)))[:, : rows.dim]  # the probe has its own intercept
                found[f"{name}.dev_accuracy"] = probe_accuracy(features, torch.from_numpy(part.labels))
            else:
                found[f"{name}.dev_spearman_cosine"] = 100 * spearman(embedded.cosine(part), part.labels)
    values = [value for value in found.values() if value is not None]
    found["score"] = fmean(values) if values else None
    return found


def _has_classes(task: Task) -> bool:
    return SCORERS[task.kind].target == "classes"


def check_data(data: str | Path, tasks: Sequence[str]) -> None:
    """Raise `UserError` if `data` is no SentEval folder, holds none of the tasks, or only a part of one.

    SentEval's own files are only looked for, which is quick. Those of a task that was added are read to their end, so
    that a mistake in them does not wait until a model is trained. A task that is missing as a whole passes, since it
    makes a dash.
    """
    names = task_names(tasks)
    folder = Path(data)
    check_folder(folder, names)
    missing = []
    for name in names:
        try:
            check_task(TASKS[name], folder)
        except MissingData as problem:
            missing.append(str(problem))
        else:
            if name not in GROUPS["all"]:
                _read(TASKS[name], folder)
    if len(missing) == len(names):
        raise UserError(f"{data} holds no task of {', '.join(names)}; {missing[0]}")


def fingerprint(data: str | Path, tasks: Sequence[str]) -> str:
    """Twelve hexadecimal digits that depend on the content of the tasks' files only."""
    files = sorted({file for name in task_names(tasks) for file in TASKS[name].files})
    digest = hashlib.sha256()
    for file in files:
        path = Path(data) / file
        label = path.name if Path(file).is_absolute() else file
        digest.update(f"{label} {content_hash(path) if path.is_file() else 'missing'}\n".encode())
    return digest.hexdigest()[:12]


def _read_all(data: Path, names: Sequence[str]) -> tuple[dict[str, TaskData], dict[str, str], dict[str, str]]:
    """What could be read, what is missing and why, what is broken and why."""
    check_folder(data, names)
    read: dict[str, TaskData] = {}
    missing: dict[str, str] = {}
    errors = repeated_files(data, names)
    for name in names:
        if name in errors:
            continue
        try:
            check_task(TASKS[name], data)
            read[name] = _read(TASKS[name], data)
        except MissingData as reason:
            missing[name] = str(reason)
        except UserError as problem:
            errors[name] = str(problem)
    return read, missing, errors


def _read(task: Task, data: Path) -> TaskData:
    from trainables.senteval.read import kept_task

    return kept_task(task, data)


def _unique(read: Mapping[str, TaskData]) -> list[str]:
    """Each sentence once, in the order in which the tasks give them."""
    return list(dict.fromkeys(text for content in read.values() for text in content.sentences()))


def _digits(sentences: Sequence[str]) -> str:
    found = hashlib.sha256()
    for text in sentences:
        found.update(text.encode(errors="surrogatepass") + b"\n")
    return found.hexdigest()[:16]


def _encoded(encode: Encode, sentences: list[str]) -> np.ndarray:  # (sentences, dim) float32
    """`UserError` where the embeddings cannot be scored."""
    import numpy as np

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


def _lookup(sentences: Sequence[str]) -> Callable[[list[str]], Tensor]:
    """The way from sentences to row numbers."""
    import torch

    numbers = {text: number for number, text in enumerate(sentences)}
    return lambda texts: torch.tensor([numbers[text] for text in texts], dtype=torch.long)
