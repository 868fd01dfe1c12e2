"""Tests that every SentEval task, kind of task and layout of files must pass. To run them for your own entry:

    class TestMine(TaskContract):
        @pytest.fixture
        def task(self) -> Task:
            return TASKS["mine"]

        @pytest.fixture
        def data(self) -> Path:
            return Path("data/senteval")  # the folder to which the task's files are relative

`TaskKindContract` needs `kind` and a `task` of that kind, `FileLayoutContract` needs `layout` and a `task` in
that layout; both need `data`, too.
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
from trainables.evaluation_config import Parts
from trainables.registry import load
from trainables.senteval import SentEvalResult, development, evaluate
from trainables.senteval.embedded import Embedded
from trainables.senteval.file_layouts import FILE_LAYOUTS, FileLayout
from trainables.senteval.items import Answers, answers_in
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import KindScores, Numbers, TaskKind
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read_task import read_task
from trainables.senteval.scoring import score_task
from trainables.senteval.tasks import TASKS, Task, groups, task_names

DIM = 24
"""Size of the embeddings of `bag_of_words`."""


def bag_of_words(sentences: Sequence[str]) -> np.ndarray:
    """Encode a sentence as the mean of its words' vectors, which are random but fixed."""
    return np.array([np.mean([_vector(word) for word in text.split()], axis=0) for text in sentences], dtype=np.float32)


@functools.cache
def _vector(word: str) -> np.ndarray:
    return np.random.RandomState(zlib.crc32(word.encode())).randn(DIM)


class TaskContract:
    """Tests of an entry of `TASKS`."""

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
        self.check_scores(task, evaluate(bag_of_words, data, [task.name], "fast"))

    def check_scores(self, task: Task, result: SentEvalResult) -> None:
        """Assert that the result has the task's scores, and that answers to its test split have a digest of items."""
        assert result.errors == {}
        scores = result.tasks[task.name]
        assert {*scores} == {*task.numbers, "seconds", "examples"}
        for number in task.numbers:
            value = scores[number]
            assert isinstance(value, float), number
            assert np.isfinite(value), number
        answers = dict(answers_in(result.kept))[task.name]
        assert answers is not None
        assert answers.items_digest


SAMPLE = 150
"""Largest number of items that the tests leave out one by one, to check effects."""
MIN_CORRELATION = 0.98
"""Least allowed correlation of effects with the change when an item is left out. Effects are of first order."""
MAX_FACTOR = 1.25
"""Largest allowed factor between effects and changes: correlations in small sub-corpora are not of first order
alone."""


class TaskKindContract:
    """Tests of an entry of `KINDS`, with a task of that kind whose scores are not all the same."""

    def test_it_names_its_numbers_once(self, kind: TaskKind, task: Task) -> None:
        assert KINDS[kind.name] is kind is KINDS[task.kind]
        assert len(set(kind.reported)) == len(kind.reported) > 0
        assert not {"seconds", "examples", "reason"} & {*kind.numbers_of(task)}
        assert {kind.main, *kind.unfitted, *filter(None, (kind.development, kind.chance))} <= {*kind.reported}

    def test_one_seed_gives_one_score(self, kind: TaskKind, task: Task, data: Path) -> None:
        (first, scores), (second, again) = _scored(task, data), _score_anew(task, data)
        assert [*first] == [*kind.numbers_of(task), "examples"]
        for name in kind.numbers_of(task):
            (low, high), value = kind.range_of(name), first[name]
            assert value is None or (isinstance(value, int | float) and low <= value <= high)
        assert first == second
        for mine, theirs in zip(scores.answers, again.answers, strict=True):
            assert mine.predicted.shape == mine.gold.shape
            assert (mine.predicted == theirs.predicted).all()

    def test_without_tests_the_development_numbers_are_the_same(self, kind: TaskKind, task: Task, data: Path) -> None:
        """They are equal bit for bit, from `splits_without_test` alone, and there is no score of a test split."""
        (whole, _), (alone, scores) = _scored(task, data), _score_anew(task, data, "development")
        numbers = {name: value for name, value in alone.items() if name != "examples"}
        assert numbers == {name: whole[name] for name in numbers if name.startswith("dev_")}
        assert kind.development in ("", *numbers)
        assert {answers.split for answers in scores.answers} <= {"dev"}
        assert "test" not in kind.splits_without_test

    def test_numbers_follow_from_what_is_kept_to_the_last_bit(self, kind: TaskKind, task: Task, data: Path) -> None:
        numbers, scores = _scored(task, data)
        names = set(scores.fitted)
        for answers in scores.answers:
            (predictions,) = [stored for _, stored in answers_in(answers.arrays(task.name))]
            assert predictions is not None
            again = kind.numbers(task, predictions, PROTOCOLS["fast"])
            assert all(name.startswith("dev_") == (answers.split == "dev") for name in again)
            assert {name: numbers[name] for name in again} == again
            names |= {*again}
        assert names == {*kind.numbers_of(task)}, "a number comes from the answers or from a fit"

    def test_effects_are_what_leaving_an_item_out_does(self, kind: TaskKind, task: Task, data: Path) -> None:
        """An effect is this change, except for the sign and for the sub-corpus's size, which stays by definition.

        No protocol is given, because correlated folds make effects larger than leaving out a single item shows.
        """
        for answers in _scored(task, data)[1].answers:
            for number in kind.numbers(task, answers, None):
                effects = kind.effects(task, number, answers, None)
                for each in (effects, kind.effects(task, number, answers, PROTOCOLS["fast"])):
                    assert (each is None) == (effects is None)
                    assert each is None or (each.shape == answers.gold.shape and np.isfinite(each).all())
                if effects is not None:
                    assert abs(effects.sum()) < 1e-6 * max(1.0, np.abs(effects).sum()), "they cancel out"
                    self.check_left_out(kind, task, number, answers, effects)

    def check_left_out(self, kind: TaskKind, task: Task, number: str, answers: Answers, effects: np.ndarray) -> None:
        """Assert that effects predict the changes. Override it if a score cannot be computed with one item left out."""
        chosen = np.random.default_rng(0).permutation(len(effects))[:SAMPLE]
        without = [kind.numbers(task, _left_out(answers, item), None)[number] for item in chosen]
        parts = np.searchsorted(np.cumsum(answers.sizes), chosen, side="right")
        moved, expected = (_within(parts, np.array(each, dtype=float)) for each in (without, effects[chosen]))
        if np.ptp(expected) > 1e-12:
            assert np.corrcoef(expected, moved)[0, 1] < -MIN_CORRELATION, number
            assert 1 / MAX_FACTOR < -(expected @ moved) / (expected @ expected) < MAX_FACTOR, (
                f"{number}: effects of another size"
            )

    def test_items_that_are_drawn_together_have_a_number(self, kind: TaskKind, task: Task, data: Path) -> None:
        numbers = kind.groups(kind.tested_splits(read_task(task, data)))
        (answers,) = [part for part in _scored(task, data)[1].answers if part.split == "test"]
        assert numbers is None or numbers.shape == answers.gold.shape

    def test_what_a_search_looks_for_can_be_had_while_training_goes_on(
        self, kind: TaskKind, task: Task, data: Path
    ) -> None:
        if kind.development:
            part = kind.development_part(read_task(task, data))
            assert len(part) > 0
            assert development(bag_of_words, data, [task.name])[f"{task.name}.{kind.development}"] is not None


def _within(parts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values minus the mean of their sub-corpus."""
    means = np.bincount(parts, weights=values) / np.maximum(np.bincount(parts), 1)
    return np.asarray(values - means[parts])


def _left_out(answers: Answers, item: int) -> Answers:
    """Return the answers without one item."""
    rest = np.arange(len(answers.gold)) != item
    sizes = answers.sizes.copy()
    sizes[np.searchsorted(np.cumsum(sizes), item, side="right")] -= 1
    more = {name: array[rest] for name, array in answers.further_arrays.items()}
    return dataclasses.replace(
        answers, predicted=answers.predicted[rest], gold=answers.gold[rest], parts=sizes, further_arrays=more
    )


class FileLayoutContract:
    """Tests of an entry of `FILE_LAYOUTS`, with a task in that layout."""

    def test_it_can_be_loaded(self, layout: FileLayout) -> None:
        assert FILE_LAYOUTS[layout.name] is layout
        assert callable(load(layout.function))

    def test_it_gives_the_splits_and_labels_that_it_promises(self, layout: FileLayout, task: Task, data: Path) -> None:
        content = read_task(task, data)
        needed = KINDS[task.kind].splits
        assert needed == (layout.splits if layout.splits is not None else needed)
        if needed:
            assert tuple(content.splits) == needed
        target = KINDS[task.kind].target
        assert target in layout.targets
        assert (content.classes > 0) == (target == "classes")
        for split in content.splits.values():
            assert len(split.left) == len(split.labels)
            assert split.right is None or len(split.right) == len(split.left)
            assert split.labels.dtype == (np.float64 if target == "scores" else np.int64)
            assert (split.images is not None) == (target == "images")
        assert all(text.split() for text in content.sentences()), "an empty sentence"
        if content.classes:
            assert {label for split in content.splits.values() for label in split.labels} <= {*range(content.classes)}

    def test_an_empty_file_is_refused_by_its_name(
        self, layout: FileLayout, task: Task, data: Path, tmp_path: Path
    ) -> None:
        for empty in range(len(task.files)):
            files = [tmp_path / f"{number}" / Path(file).name for number, file in enumerate(task.files)]
            for file, path in zip(task.files, files, strict=True):
                path.parent.mkdir(exist_ok=True)
                shutil.copy(data / file, path)
            files[empty].write_bytes(b"")
            refusal = _refusal(dataclasses.replace(task, files=tuple(map(str, files))))
            assert str(files[empty]) in refusal, f"{files[empty]} may be empty"
            assert "\n" not in refusal


def _refusal(task: Task) -> str:
    """Return the message that refuses a task whose files have absolute names; empty if the task can be read."""
    try:
        read_task(task, Path())
    except UserError as error:
        return str(error)
    return ""


@functools.cache
def _scored(task: Task, data: Path) -> tuple[Numbers, KindScores]:
    return _score_anew(task, data)


def _score_anew(task: Task, data: Path, parts: Parts = "all") -> tuple[Numbers, KindScores]:
    import torch

    content = read_task(task, data)
    if parts == "development":
        content = KINDS[task.kind].without_test(content)
    sentences = list(dict.fromkeys(content.sentences()))
    numbers = {text: number for number, text in enumerate(sentences)}
    embedded = Embedded(
        task,
        content,
        torch.from_numpy(bag_of_words(sentences)),
        lambda texts: torch.tensor([numbers[text] for text in texts], dtype=torch.long),
    )
    return score_task(embedded, PROTOCOLS["fast"], 1111, parts)
