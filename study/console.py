"""What a person sees while a study runs: one line a trial."""

from __future__ import annotations

import sys
import time
from typing import Any

from ray.tune import Callback

from reports.ledger import Ledger, Record
from study.search import StudySearcher


def say(text: str) -> None:
    """A line on the console, at once."""
    print(text, flush=True)


class Console(Callback):
    """Prints a line when a trial starts (on a terminal) and when it ends."""

    def __init__(self, searcher: StudySearcher, ledger: Ledger) -> None:
        self.searcher, self.ledger = searcher, ledger
        self.total = searcher.remaining
        self.ended = 0
        self.failed = 0
        self.began = time.monotonic()
        self.live = sys.stdout.isatty()
        self.width = max([len(trial.name) for trial in searcher.queue] + [len("optuna 999")])

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        if self.live:
            names = [other.config["task"]["name"] for other in trials if other.status == "RUNNING"]
            names = list(dict.fromkeys([*names, trial.config["task"]["name"]]))
            print(f"\r\033[K  running: {', '.join(names)}", end="", flush=True)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        task = trial.config["task"]
        record = self.ledger.get(task["recipe_hash"], task["seed"])
        if record is None:
            self.failed += 1
        self._line(task, describe(record) if record else f"FAILED: {trial.last_result.get('reason')}")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.failed += 1
        self._line(trial.config["task"], "FAILED: its driver died; see the log in Ray's session folder")

    def _line(self, task: dict[str, Any], text: str) -> None:
        self.ended += 1
        total = max(self.total, self.ended)
        minutes = (time.monotonic() - self.began) / 60
        left = minutes / self.ended * (total - self.ended)
        clear = "\r\033[K" if self.live else ""
        say(
            f"{clear}[{self.ended:>{len(str(total))}}/{total}] {task['name']:<{self.width}} seed {task['seed']}  {text}"
            f"  ({minutes:.1f} min, about {left:.1f} left)"
        )


def describe(record: Record) -> str:
    """`dev 61.2  STS 55.1  transfer 70.2  24 s`."""
    seconds = record.cost.get("seconds")
    took = "" if seconds is None else f"  {seconds:.0f} s"
    if record.status == "pruned":
        return f"{record.training.get('stopped') or 'stopped early'}{took}"
    averages = record.averages
    return (
        f"dev {_number(record.selection)}  STS {_number(averages.get('liao_sts'))}"
        f"  transfer {_number(averages.get('liao_transfer'))}{took}"
    )


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"
