"""Tests that every SentEval task, kind of task and layout of files must pass. To run them over an entry of your own:

    class TestMine(TaskContract):
        @pytest.fixture
        def task(self) -> Task:
            return TASKS["mine"]

        @pytest.fixture
        def data(self) -> Path:
            return Path("data/senteval")  # the folder to which the task's files are relative

`ScorerContract` asks for `scorer` and for a `task` of that kind, `ReaderContract` for `reader` and for a `task` in that
layout, both for `data`, too.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainables.errors import UserError
from trainables.registry import load
from trainables.senteval import evaluate
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read import read_task
from trainables.senteval.readers import READERS, Reader
from trainables.senteval.score import Embedded, Scores
from trainables.senteval.scorers import SCORERS, Scorer
from trainables.senteval.tasks import TASKS, Task, groups, task_names

DIM = 24
"""Of `bag_of_words`."""


def bag_of_words(sentences: Sequence[str]) -> np.ndarray:
    """An encoder that knows words only: the mean of their vectors, which are random but always the same."""
    return np.array([np.mean([_vector(word) for word in text.split()], axis=0) for text in sentences], dtype=np.float32)


@functools.cache
def _vector(word: str) -> np.ndarray:
    return np.random.RandomState(zlib.crc32(word.encode())).randn(DIM)


class TaskContract:
    """For an entry of `TASKS`."""

    def test_it_is_found_by_its_name_and_its_groups(self, task: Task) -> None:
        assert TASKS[task.name] is task
        assert task_names([task.name]) == (task.name,)
        for group in (*task.groups, "all"):
            assert task.name in groups()[group]

    def test_its_metric_is_a_number_that_its_kind_reports(self, task: Task) -> None:
        assert task.metric in task.numbers

    def test_reading_it_twice_gives_the_same_order(self, task: Task, data: Path) -> None:
        first, second = read_task(task, data), read_task(task, data)
        assert list(first.splits) == list(second.splits)
        assert first.sentences() == second.sentences()
        for name, split in first.splits.items():
            assert (split.labels == second.splits[name].labels).all()

    def test_it_is_scored_with_the_numbers_that_it_names(self, task: Task, data: Path) -> None:
        result = evaluate(bag_of_words, data, [task.name], "fast")
        assert result.errors == {}
        scores = result.tasks[task.name]
        assert {*scores} == {*task.numbers, "seconds", "examples"}
        for number in task.numbers:
            value = scores[number]
            assert isinstance(value, float), number
            assert np.isfinite(value), number
        # What is kept pairs each item with what is right, in the test part and, by cosine, in the development part.
        kept = {name: array for name, array in result.kept.items() if f"dev.{task.name}" not in name}
        parts, regressed, groups = (kept.pop(f"{kind}.{task.name}", None) for kind in ("parts", "regressed", "groups"))
        assert {*kept} == {task.name, f"gold.{task.name}", f"items.{task.name}"}
        assert all(each is None or each.shape == kept[task.name].shape for each in (regressed, groups))
        assert kept[task.name].shape == kept[f"gold.{task.name}"].shape
        assert parts is None or parts.sum() == len(kept[task.name])


class ScorerContract:
    """For an entry of `SCORERS`, with a task of that kind."""

    def test_it_can_be_loaded(self, scorer: Scorer) -> None:
        assert SCORERS[scorer.name] is scorer
        assert callable(load(scorer.function))

    def test_it_names_its_numbers_once(self, scorer: Scorer) -> None:
        assert len(set(scorer.numbers)) == len(scorer.numbers) > 0
        assert scorer.metric in scorer.numbers
        assert not {"seconds", "examples", "reason"} & set(scorer.numbers)

    def test_it_reports_what_it_names_and_nothing_else(self, scorer: Scorer, task: Task, data: Path) -> None:
        first, second = (_scores(scorer, task, data) for _ in range(2))
        assert [number for number in first.numbers if number != "examples"] == list(scorer.numbers)
        assert first.predictions.shape == first.gold.shape
        assert first.numbers == second.numbers, "one seed gives one score"
        assert (first.predictions == second.predictions).all()


class ReaderContract:
    """For an entry of `READERS`, with a task in that layout."""

    def test_it_can_be_loaded(self, reader: Reader) -> None:
        assert READERS[reader.name] is reader
        assert callable(load(reader.function))

    def test_it_gives_the_splits_and_labels_that_it_promises(self, reader: Reader, task: Task, data: Path) -> None:
        content = read_task(task, data)
        needed = SCORERS[task.kind].splits
        assert needed == (reader.splits if reader.splits is not None else needed)
        if needed:
            assert tuple(content.splits) == needed
        target = SCORERS[task.kind].target
        assert target in reader.targets
        assert (content.classes > 0) == (target == "classes")
        for split in content.splits.values():
            assert len(split.left) == len(split.labels)
            assert split.right is None or len(split.right) == len(split.left)
            assert split.labels.dtype == (np.float64 if target == "scores" else np.int64)
            assert (split.images is not None) == (target == "images")
        assert all(text.split() for text in content.sentences()), "an empty sentence"
        if content.classes:
            assert {label for split in content.splits.values() for label in split.labels} <= {*range(content.classes)}

    def test_an_empty_file_is_refused_by_its_name(self, reader: Reader, task: Task, data: Path, tmp_path: Path) -> None:
        for empty in task.files:
            files = {file: tmp_path / f"{number}" / Path(file).name for number, file in enumerate(task.files)}
            for file, path in files.items():
                path.parent.mkdir(exist_ok=True)
                shutil.copy(data / file, path)
            files[empty].write_bytes(b"")
            copied = dataclasses.replace(task, files=tuple(map(str, files.values())))
            refusal = _refusal(copied)
            assert str(files[empty]) in refusal, f"{empty} may be empty"
            assert "\n" not in refusal


def _refusal(task: Task) -> str:
    """The sentence that refuses a task whose files have absolute names; empty if it can be read."""
    try:
        read_task(task, Path())
    except UserError as error:
        return str(error)
    return ""


def _scores(scorer: Scorer, task: Task, data: Path) -> Scores:
    import torch

    content = read_task(task, data)
    sentences = list(dict.fromkeys(content.sentences()))
    numbers = {text: number for number, text in enumerate(sentences)}
    given = Embedded(
        task,
        content,
        torch.from_numpy(bag_of_words(sentences)),
        lambda texts: torch.tensor([numbers[text] for text in texts], dtype=torch.long),
    )
    scores: Scores = load(scorer.function)(given, PROTOCOLS["fast"], 1111)
    return scores
