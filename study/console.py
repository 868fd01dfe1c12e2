"""What a person sees while a study runs: one line a trial."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ray.tune import Callback

from reports.ledger import Ledger, Record
from search_spaces.averages import average
from search_spaces.goals import selection
from study.failures import why_failed
from study.searcher import StudySearcher
from study.spec import TrialSpec, from_config


def say(text: str) -> None:
    """A line on the console, at once."""
    print(text, flush=True)


class Console(Callback):
    """Prints a line when a trial starts (on a terminal) and when it ends."""

    def __init__(
        self,
        searcher: StudySearcher,
        ledger: Ledger,
        shown: Sequence[tuple[str, str]],
        seconds_left: Callable[[], float | None],
    ) -> None:
        """`shown`: labels and names of the averages that a finished trial's line has (`Space.shown`)."""
        self.searcher, self.ledger, self.shown, self.seconds_left = searcher, ledger, shown, seconds_left
        self.total = searcher.remaining
        self.ended = 0
        self.before: set[str] = set()  # members of an interrupted population that were done when it went on
        self.failed = 0
        self.began = time.monotonic()
        self.live = sys.stdout.isatty()
        self.width = max([len(trial.name) for trial in searcher.queue] + [len("optuna 999")])

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        specs = from_config(trial.config)
        self.before |= {spec.key for spec in specs if self.ledger.has(spec.recipe_hash, spec.seed)}
        if self.live:
            running = [other for other in trials if other.status == "RUNNING" and other is not trial]
            names = [spec.name for other in [*running, trial] for spec in from_config(other.config)]
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            print(f"\r\033[K  running: {', '.join(names[:4])}{more}", end="", flush=True)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        for spec in from_config(trial.config):
            self._ended(spec, why_failed(Path(spec.results), spec.key))

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        for spec in from_config(trial.config):
            self._ended(spec, "its driver died; see the log in Ray's session folder")

    def _ended(self, spec: TrialSpec, reason: str) -> None:
        """`reason` is why it failed, if there is no record. Of a population that died some may have one."""
        if spec.key in self.before:
            return
        record = self.ledger.get(spec.recipe_hash, spec.seed)
        if record is None:
            self.failed += 1
        self._line(spec, describe(record, self.shown) if record else f"FAILED: {reason}")

    def _line(self, spec: TrialSpec, text: str) -> None:
        clear = "\r\033[K" if self.live else ""
        if not self.ended:
            say(clear + legend(self.shown))
        self.ended += 1
        total = max(self.total, self.ended)
        minutes = (time.monotonic() - self.began) / 60
        seconds = self.seconds_left()
        left = "" if seconds is None else f", about {seconds / 60:.1f} left"
        say(
            f"{clear}[{self.ended:>{len(str(total))}}/{total}] {spec.name:<{self.width}} seed {spec.seed}  {text}"
            f"  ({minutes:.1f} min{left})"
        )


def legend(shown: Sequence[tuple[str, str]]) -> str:
    """What the words of `describe` mean."""
    labels = ", ".join(label for label, _ in shown)
    averages = f"; {labels}: averages of test scores" if labels else ""
    return f"dev: the development score that searches look at{averages}"


def describe(record: Record, shown: Sequence[tuple[str, str]]) -> str:
    """`dev 61.20  STS 55.10  transfer 70.20  24 s`, with those of the averages whose scores are there."""
    seconds = record.cost.get("seconds")
    took = "" if seconds is None else f"  {seconds:.0f} s"
    if record.status == "pruned":
        return f"{record.training.get('stopped') or 'stopped early'}{took}"
    values = [(label, average(name, record.scores)) for label, name in shown]
    numbers = [("dev", selection(record.scores)), *((label, value) for label, value in values if value is not None)]
    return "  ".join(f"{label} {number(value)}" for label, value in numbers) + took


def number(value: float | None) -> str:
    """Two decimals, or a dash."""
    return "—" if value is None else f"{value:.2f}"
