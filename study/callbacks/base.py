"""What follows a study while it runs: the console, the live page's file, experiment trackers, metrics.

A watcher of your own is a class with some of these methods, in a file given by `--plugin`:

    WATCHERS.add(WatcherEntry("mine", Mine, "what it shows"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.registry import Registry, load

if TYPE_CHECKING:
    from reports.ledger import Ledger, Record
    from study.engine.messages import Event
    from study.plan import Plan
    from study.trial import Trial


@dataclass(frozen=True)
class Outlook:
    """What a watcher may ask of the study that it follows."""

    plan: Plan
    ledger: Ledger
    at_once: int
    """How many trials may run at the same time."""
    remaining: Callable[[], int]
    """How many trials have no record yet, those that run included."""
    waiting: Callable[[], Iterable[Trial]]
    """Those that are next, as far as a search has chosen them."""
    room: Callable[[], float]
    """How many more may begin by the study's limits, as far as is known now; infinite without any."""


class Watcher:
    """Follows a study in the process that runs it. Every method is called on one thread, in the order of the events.

    One that raises is warned about once and not called again: what is shown never ends a study.
    """

    def hear(self, event: Event, trials: Sequence[Trial]) -> None:
        """Something happened to these trials: the event says which of the next methods hears it."""
        getattr(self, event.hears)(*event.arguments(trials))

    def started(self, trials: Sequence[Trial]) -> None:
        """Workers have begun them; several train together in one population. After a death it is told again."""

    def interrupted(self, trials: Sequence[Trial]) -> None:
        """Their workers died. Others begin them again, from their checkpoint, as soon as there is a place."""

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        """About a hundred times in a training, and after its last step. `scalars` has `loss`, and for a trial that
        trains alone also `learning_rate`, `steps_per_second`, `tokens_per_second` and what its objective counts."""

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        """While training goes on, the development score of each goal; `sts` alone where the space has no goals."""

    def finished(self, trial: Trial, record: Record) -> None:
        """Its record is kept: it survives whatever happens from now on. Stopped trials have one too."""

    def failed(self, trial: Trial, reason: str) -> None:
        """It has no record, and is not tried again in this run."""

    def tick(self) -> None:
        """Several times a second, whatever happens."""

    def close(self) -> None:
        """This run of the study is over, also where a person or an error ended it."""


@dataclass(frozen=True)
class WatcherEntry:
    """A watcher by name."""

    name: str
    builder: Any
    """A function, or `"module:function"`, from the study's `Outlook` to a `Watcher`; to None where a person has not
    asked for it."""
    meaning: str

    def build(self, outlook: Outlook) -> Watcher | None:
        """The watcher, new."""
        watcher: Watcher | None = load(self.builder)(outlook)
        return watcher


WATCHERS = Registry(
    "watcher",
    WatcherEntry("console", "study.callbacks.console:Console", "a line a trial, and what runs now"),
    WatcherEntry("progress", "study.callbacks.progress_file:ProgressFile", "the file that the live page shows"),
    WatcherEntry("tensorboard", "study.callbacks.tensorboard:build", "curves, and every score of a trial"),
    WatcherEntry("mlflow", "study.callbacks.mlflow:build", "a run a trial, if MLFLOW_TRACKING_URI is set"),
    WatcherEntry("wandb", "study.callbacks.wandb:build", "a run a trial, if WANDB_API_KEY or WANDB_MODE is set"),
    WatcherEntry("metrics", "study.callbacks.prometheus:Metrics", "Ray's metrics, for its dashboard and Grafana"),
)
