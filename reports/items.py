"""Lists the test items that the picked recipe mended or broke: `python -m reports RESULTS --items TASK`. For the user's
own tasks the report shows some of these items. The texts are read from the user's own files each time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reports.document import DataTable
from reports.facts.answer import Answer, rounded
from reports.facts.evidence import Evidence
from reports.facts.results import Results
from reports.facts.unfinished import finals_judged
from reports.formats.page_data import texts_of
from reports.words.gains import REFERENCE_NAMES
from reports.words.markdown import count, percent, signed
from search_spaces.names import check_name
from trainables.errors import UserError
from trainables.lines import one_line
from trainables.recipe import SCENES
from trainables.senteval.tasks import TASKS, kind_of

MAX_SHOWN_ITEMS, MAX_TEXT_LENGTH = 20, 100
"""`MAX_SHOWN_ITEMS`: how many mended, and how many broken, items the console shows at most. `MAX_TEXT_LENGTH`: largest
number of characters shown of a text."""
EQUAL_WITHIN = 1e-9
"""An item that changes the gain by less than this, in points, counts as unchanged."""
HALF = 0.5
"""An item counts as right if more than this share of a recipe's seeds are right, as wrong if fewer are. If exactly half
are right it counts as neither, and as no change."""


@dataclass(frozen=True)
class Item:
    """A test item that two recipes answer differently."""

    item: int
    """Position of the item in the task's files, from 1."""
    change: float
    """The item's contribution to the gain, in points."""
    before: float | None
    """Share of seeds that were right. For a number that is a mean over items: the item's score, at most 1. Else
    None."""
    after: float | None
    text: str | None
    """The item's text; None if the texts are not available."""
    label: str | None = None
    """Name of the right class; None if classes have no names, or if the texts are not available."""
    guesses: tuple[str, str] | None = None
    """Names of the classes answered before and now: the label if most seeds are right, otherwise the most frequent
    wrong answer. None if `label` is None."""


@dataclass(frozen=True)
class LabelChange:
    """Changes in the items whose right class is one label."""

    label: str
    items: int
    before: float
    """Share of right answers before, the mean over seeds."""
    after: float

    @property
    def moved(self) -> float:
        """Absolute change in the number of right answers."""
        return self.items * abs(self.after - self.before)


@dataclass(frozen=True)
class Items:
    """How one recipe changes the answers to a task's test items, compared with another recipe."""

    task: str
    number: str
    recipe: str
    """Name of the picked recipe; of the base settings if these are to be used, or if no recipe was picked."""
    over: str
    """The recipe that answered before: `base` (the base settings) or `encoder` (the original encoder)."""
    items: int
    gain: float
    """Gain in points of the task's number, the mean over seeds."""
    mended: tuple[Item, ...]
    """If answers are right or wrong: items that most seeds answered wrongly before and most answer rightly now.
    Otherwise: items that add to the gain. The largest change comes first."""
    broke: tuple[Item, ...]
    no_texts: str = ""
    """Why the texts are not available; empty if they are."""
    labels: tuple[LabelChange, ...] = ()
    """Changes by label, in the order of the classes; empty if classes have no names."""

    @property
    def right_or_wrong(self) -> bool:
        """Whether each answer to the task is either right or wrong."""
        return kind_of(self.task).predicted == "classes"

    @property
    def as_a_whole(self) -> bool:
        """Whether items have no score of their own: in a correlation an item's effect depends on all others."""
        return not self.right_or_wrong and all(
            None in (item.before, item.after) for item in (*self.mended, *self.broke)
        )

    @classmethod
    def of(cls, results: Results, task: str, folder: Path | None = None) -> Items:
        """Compare the answers to a task's items. `folder`: SentEval's data, if they are no longer where the study read
        them. Raise `UserError` if the study has no finals, or kept no answers to the items."""
        check_name("--items", "task", task, TASKS)
        answer = Answer.of(results)
        picked = None if answer.keeps_base else next(iter(answer.picked), None)
        sides = [("", picked), *((name, answer.references.get(name)) for name in REFERENCE_NAMES)]
        compared = [(name, finalist) for name, finalist in sides if finalist is not None][:2]
        if len(compared) < 2:
            raise UserError(
                f"--items {task}: {results.folder} has no finals, so there is nothing to compare; a search ends in "
                "them (--search optuna)"
            )
        (_, judged), (over, reference) = compared
        judging = results.own_figure.weights if results.own_figure else {}
        name = next((score for judged_task, score in judging if judged_task == task), TASKS[task].metric)
        before, after = (_ItemAnswers.of(results, key, task, name) for key in (reference.recipe, judged.recipe))
        if before.named != after.named or len(before.moves) != len(after.moves):
            raise UserError(f"--items {task}: the two recipes were scored on other items, so none can be compared")
        gain = after.value - before.value
        change = after.moves - before.moves
        if not (before.adds_up and after.adds_up):
            change += gain / len(change)
        change[np.abs(change) < EQUAL_WITHIN] = 0.0  # means of equal seeds differ in the last digit
        if before.own is not None and after.own is not None and kind_of(task).predicted == "classes":
            mended, broke = changed_positions(before.own, after.own)
        else:
            mended, broke = np.flatnonzero(change > 0), np.flatnonzero(change < 0)
        texts, classes, why = _texts(results, task, after.named, folder)

        def named(index: int) -> dict[str, Any]:
            if not classes or before.answered is None or after.answered is None or after.right is None:
                return {}
            label, *guesses = (classes[int(of[index])] for of in (after.right, before.answered, after.answered))
            return {"label": label, "guesses": tuple(guesses)}

        def changed_items(indices: np.ndarray) -> tuple[Item, ...]:
            order = indices[np.argsort(-np.abs(change[indices]), kind="stable")]
            return tuple(
                Item(
                    int(index) + 1,
                    float(change[index]),
                    None if before.own is None else float(before.own[index]),
                    None if after.own is None else float(after.own[index]),
                    texts[index] if texts else None,
                    **named(index),
                )
                for index in order
            )

        changes = changed_items(mended), changed_items(broke)
        return cls(task, name, judged.name, over, len(change), gain, *changes, why, _by_label(classes, before, after))

    def as_json(self) -> dict[str, Any]:
        """Return every changed item as values for `json.dumps`."""
        return dict(rounded(self))

    def as_text(self) -> str:
        """Return the lists of changed items as text for a console."""
        verbs = ("mended", "broke") if self.right_or_wrong else ("better for", "worse for")
        over = REFERENCE_NAMES[self.over]
        compared = f"{self.task}: {self.recipe} against {over}, {signed(self.gain)} points of {self.number}"
        counts = f"{verbs[0]} {len(self.mended):,}, {verbs[1]} {len(self.broke):,}"
        if self.as_a_whole:
            counts = "these add most, and take most"
        lines = [f"{compared}; of {count(self.items, 'test item')} {counts}"]
        lines += [self.no_texts] if self.no_texts else []
        for verb, changed in zip(verbs, (self.mended, self.broke), strict=True):
            if changed:
                more = f", the first {MAX_SHOWN_ITEMS}" if len(changed) > MAX_SHOWN_ITEMS else ""
                own = f" {count(len(changed), 'item')}{more}" if not self.as_a_whole else ""
                lines += [
                    "",
                    f"{verb}{own}:",
                    _table(changed[:MAX_SHOWN_ITEMS], not self.no_texts),
                ]
        # content of a file must not control the terminal
        return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in "\n".join(lines))


def _table(items: Sequence[Item], texts: bool) -> str:
    knows = items[0].after is not None
    head = ["text"] * texts + [*class_columns(items)] + ["item"] + (["before", "now"] if knows else []) + ["points"]
    rows = [
        [shortened(item.text or "")] * texts
        + classes_of(item)
        + [f"{item.item:,}"]
        + ([percent(item.before), percent(item.after)] if knows else [])
        + [signed(item.change, 3)]
        for item in items
    ]
    return DataTable(head, rows, left=int(texts) + len(class_columns(items))).markdown


def class_columns(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the column heads for the values that `classes_of` returns; empty if classes have no names."""
    return ("label", "guess before", "guess now") if all(item.label is not None for item in items) else ()


def classes_of(item: Item) -> list[str]:
    """Return the item's label and the most frequent answers before and now; empty if classes have no names."""
    return [] if item.label is None or item.guesses is None else [item.label, *item.guesses]


def shortened(text: str) -> str:
    """Return the text on one line, with at most `MAX_TEXT_LENGTH` characters."""
    line = one_line(text)
    return line if len(line) <= MAX_TEXT_LENGTH else f"{line[: MAX_TEXT_LENGTH - 1]}…"


@dataclass(frozen=True)
class _ItemAnswers:
    """A recipe's answers to a task's items, over the seeds that its figure counts."""

    named: str
    """A digest of the task's texts; empty in older files."""
    value: float
    moves: np.ndarray  # (items,) effect of each item on the number, in points
    adds_up: bool
    """Whether `moves` are shares of the number, which sum up to `value`; otherwise influences, which sum up to 0."""
    own: np.ndarray | None  # (items,) score of each item, as in `Item.before`
    answered: np.ndarray | None  # (items,) the right class if most seeds answer it, else the most frequent wrong
    # one; None if answers are no classes
    right: np.ndarray | None  # (items,) the right class; None if answers are no classes

    @classmethod
    def of(cls, results: Results, recipe_hash: str, task: str, name: str) -> _ItemAnswers:
        done = [record for record in finals_judged(results)[recipe_hash] if record.status == "finished"]
        fell = Evidence(dataclasses.replace(results, records=done)).collapses.get(recipe_hash, [])
        records = [record for record in done if record.seed not in fell]
        by_seed = [results.predictions.effects(record, task, name, grouped=False) for record in records]
        answers = [results.predictions.of_task(record, task) for record in records]
        stored = [item for item in answers if item is not None]
        moves = [item[0] for item in by_seed if item is not None]
        if (
            not records
            or len(moves) < len(records)
            or len({item.items_digest or item.gold_digest for item in stored}) != 1
        ):
            raise UserError(
                f"--items {task}: the trials of the finals kept no answers to its test items from which {name} follows"
            )
        value = float(np.mean([record.scores[task][name] for record in records]))
        shares = [results.predictions.shares(record, task, name) for record in records]
        adding = [item for item in shares if item is not None]
        adds_up = len(adding) == len(records)
        mean = np.mean(adding if adds_up else moves, axis=0, dtype=float)
        own = mean * len(mean) / 100 if adds_up else None
        answered = right = None
        if kind_of(task).predicted == "classes":
            own = np.mean([item.predicted == item.gold for item in stored], axis=0)
            right = stored[0].gold
            answered = np.where(own > HALF, right, _most_frequent([item.predicted for item in stored], right))
        return cls(stored[0].items_digest, value, mean, adds_up, own, answered, right)


def _by_label(classes: Sequence[str], before: _ItemAnswers, after: _ItemAnswers) -> tuple[LabelChange, ...]:
    if after.right is None or before.own is None or after.own is None:
        return ()
    of_each = [(name, after.right == number) for number, name in enumerate(classes)]
    return tuple(
        LabelChange(name, int(own.sum()), float(before.own[own].mean()), float(after.own[own].mean()))
        for name, own in of_each
        if own.any()
    )


def _most_frequent(answers: Sequence[np.ndarray], right: np.ndarray) -> np.ndarray:  # (items,)
    """Return each item's most frequent wrong answer; its right class if none is wrong. Ties go to the first class."""
    from scipy.stats import mode

    wrong = np.where(np.array(answers) == right, np.nan, np.array(answers, dtype=float))
    some = ~np.isnan(wrong).all(axis=0)
    frequent = right.copy()
    frequent[some] = mode(wrong[:, some], axis=0, nan_policy="omit").mode
    return frequent


def changed_positions(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # each: (items,)
    """Return the positions of mended and of broken items. The arguments are the shares of seeds that are right."""
    was, now = np.sign(before - HALF), np.sign(after - HALF)
    return np.flatnonzero((was < 0) & (now > 0)), np.flatnonzero((was > 0) & (now < 0))


def of_own_data(task: str) -> bool:
    """Return whether the task is made of a user's own files, not one of SentEval's."""
    return task in TASKS and TASKS[task].of_own_data


def _texts(results: Results, task: str, named: str, folder: Path | None) -> tuple[list[str], tuple[str, ...], str]:
    """Return the items' texts in order, the names of the classes, and the reason if the texts are not available."""
    senteval = folder or Path(results.evaluation.senteval)
    if folder is None and not of_own_data(task) and str(senteval) == SCENES:
        return [], (), "no texts: the task is of the built-in corpus; name its SentEval folder with --sentences FOLDER"
    try:
        return *texts_of(TASKS[task], senteval, named), ""
    except (UserError, OSError) as error:
        return [], (), f"no texts: {error}"
