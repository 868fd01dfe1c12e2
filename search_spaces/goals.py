"""What a search maximises: functions of the development scores that a record holds, in percent."""

from __future__ import annotations

from dataclasses import dataclass

from search_spaces.names import check_score
from search_spaces.paper import Scores
from trainables.registry import Registry
from trainables.senteval.tasks import GROUPS


@dataclass(frozen=True)
class Goal:
    """The mean of one development number over the tasks that have it."""

    name: str
    label: str
    """What it is, for a table's caption."""
    tasks: tuple[str, ...]
    number: str

    def __post_init__(self) -> None:
        for task in self.tasks:
            check_score(f"goal {self.name!r}", task, self.number)

    def of(self, scores: Scores) -> float | None:
        """None where no task has it. Missing tasks leave the mean, so compare only scores of one task list."""
        values = [scores[task].get(self.number) for task in self.tasks if task in scores]
        there = [value for value in values if value is not None]
        return sum(there) / len(there) if there else None


GOALS = Registry(
    "goal",
    Goal("sts", "STS (Spearman on the development part of STSBenchmark)", ("STSBenchmark",), "dev_spearman_cosine"),
    Goal(
        "transfer",
        "transfer (mean accuracy on the development parts of the transfer tasks)",
        GROUPS["transfer"],
        "dev_accuracy",
    ),
)
"""What a space's `goals` may name; without goals a study maximises `selection`."""


def selection(scores: Scores) -> float | None:
    """What a study with one goal maximises: the mean of the `sts` and `transfer` goals, over what is there."""
    parts = [score for goal in (GOALS["sts"], GOALS["transfer"]) if (score := goal.of(scores)) is not None]
    return sum(parts) / len(parts) if parts else None
