"""A task's scores: what its kind finds, by its kind's own numbers."""

from __future__ import annotations

from dataclasses import replace

from trainables.evaluation_config import Parts
from trainables.senteval.embedded import Embedded
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import KindScores, Numbers
from trainables.senteval.protocol import Protocol


def score_task(given: Embedded, protocol: Protocol, seed: int, parts: Parts = "all") -> tuple[Numbers, KindScores]:
    """The numbers that the task's entry names, and `examples`; and what its kind found. Of the development parts what
    was found there, and no number of a test part even where the kind had to score it.

    The kind scores it under the protocol, but for what the task's own entry says of fits.
    """
    task, kind = given.task, KINDS[given.task.kind]
    fit = replace(
        protocol.fit,
        epoch_size=task.epoch_size or protocol.fit.epoch_size,
        max_epochs=task.max_epochs or protocol.fit.max_epochs,
    )
    without_test = parts == "development" or ("test" in kind.splits and "test" not in kind.splits_of(task))
    score = kind.score_without_test if without_test else kind.score
    scores = score(given, replace(protocol, fit=fit, decays=task.decays or protocol.decays), seed)
    if parts == "development":
        scores = replace(scores, answers=tuple(answers for answers in scores.answers if answers.split == "dev"))
    values: dict[str, float | None] = dict(scores.fitted)
    for answers in scores.answers:
        values.update(kind.numbers(task, answers, protocol))
    names = [name for name in kind.numbers_of(task) if parts == "all" or (name.startswith("dev_") and name in values)]
    return {**{name: values[name] for name in names}, "examples": scores.examples}, scores
