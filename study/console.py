"""What a person sees while a study runs: one line a trial."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ray.tune import Callback

from reports.ledger import Ledger, Record
from search_spaces.averages import averages
from search_spaces.goals import selection
from study.search import StudySearcher
from study.worker import Task, why_failed

SHOWN = {
    "STS": ("liao_sts", "supmpn_sts"),
    "transfer": ("liao_transfer", "supmpn_transfer"),
    "downstream": ("declutr_downstream",),
    "probing": ("declutr_probing",),
}
"""What a finished trial's line says: of each group the first average that its tasks give."""


def say(text: str) -> None:
    """A line on the console, at once."""
    print(text, flush=True)


class Console(Callback):
    """Prints a line when a trial starts (on a terminal) and when it ends."""

    def __init__(self, searcher: StudySearcher, ledger: Ledger) -> None:
        self.searcher, self.ledger = searcher, ledger
        self.total = searcher.remaining
        self.ended = 0
        self.before: set[str] = set()  # members of an interrupted population that were done when it went on
        self.failed = 0
        self.began = time.monotonic()
        self.live = sys.stdout.isatty()
        self.width = max([len(trial.name) for trial in searcher.queue] + [len("optuna 999")])

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.before |= {task.key for task in _tasks(trial) if self.ledger.has(task.recipe_hash, task.seed)}
        if self.live:
            running = [other for other in trials if other.status == "RUNNING" and other is not trial]
            names = [task.name for other in [*running, trial] for task in _tasks(other)]
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            print(f"\r\033[K  running: {', '.join(names[:4])}{more}", end="", flush=True)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        for task in _tasks(trial):
            self._ended(task, why_failed(Path(task.results), task.key))

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        for task in _tasks(trial):
            self._ended(task, "its driver died; see the log in Ray's session folder")

    def _ended(self, task: Task, reason: str) -> None:
        """`reason` is why it failed, if there is no record. Of a population that died some may have one."""
        if task.key in self.before:
            return
        record = self.ledger.get(task.recipe_hash, task.seed)
        if record is None:
            self.failed += 1
        self._line(task, describe(record) if record else f"FAILED: {reason}")

    def _line(self, task: Task, text: str) -> None:
        self.ended += 1
        total = max(self.total, self.ended)
        minutes = (time.monotonic() - self.began) / 60
        left = minutes / self.ended * (total - self.ended)
        clear = "\r\033[K" if self.live else ""
        say(
            f"{clear}[{self.ended:>{len(str(total))}}/{total}] {task.name:<{self.width}} seed {task.seed}  {text}"
            f"  ({minutes:.1f} min, about {left:.1f} left)"
        )


def _tasks(trial: Any) -> list[Task]:
    return [Task(**task) for task in trial.config["tasks"]]


def describe(record: Record) -> str:
    """`dev 61.2  STS 55.1  transfer 70.2  24 s`."""
    seconds = record.cost.get("seconds")
    took = "" if seconds is None else f"  {seconds:.0f} s"
    if record.status == "pruned":
        return f"{record.training.get('stopped') or 'stopped early'}{took}"
    shown = [f"dev {number(selection(record.scores))}"]
    for name, names in SHOWN.items():
        found = averages(record.scores)
        values = [found[key] for key in names if found[key] is not None]
        shown += [f"{name} {number(values[0])}"] if values else []
    return "  ".join(shown) + took


def number(value: float | None) -> str:
    """Two decimals, or a dash."""
    return "—" if value is None else f"{value:.2f}"
