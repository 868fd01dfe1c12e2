"""The base class of callbacks: one method per kind of event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.ledger import Record
from study.engine.messages import Event
from study.trial import Trial


class Callback:
    """Follows a study in the process that runs it. Every method is called on one thread, in the order of the events,
    after the study's `StudyState` was called.

    A callback that raises is warned about once and not called again: a display never ends a study.
    """

    def handle(self, event: Event, trials: Sequence[Trial]) -> None:
        """Handle an event: call the method that the event names."""
        getattr(self, event.callback_method)(*event.arguments(trials))

    def started(self, trials: Sequence[Trial]) -> None:
        """A worker group has begun the trials; several train together in one population. Called again if another group
        resumes them."""

    def interrupted(self, trials: Sequence[Trial]) -> None:
        """The workers of the trials died. Other workers resume them from a checkpoint as soon as there is room."""

    def not_started(self, trials: Sequence[Trial], starts: int, reason: str) -> None:
        """A worker group for the trials failed to start, and another one is started. `starts`: failed starts since a
        trial of the study last began, took a step or ended well."""

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        """A step is done. Called about a hundred times in a training, and after the last step. `scalars` has `loss`,
        and if the trial trains alone also `learning_rate`, `steps_per_second`, `tokens_per_second` and its objective's
        counts."""

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        """The trial is at a rung, with a development score of each goal; of `sts` alone if the space has no goals."""

    def finished(self, trial: Trial, record: Record) -> None:
        """The trial's record is written, so it survives any crash. Stopped trials have a record too."""

    def failed(self, trial: Trial, reason: str) -> None:
        """The trial has no record, and is not tried again in this run."""

    def tick(self) -> None:
        """Called several times a second, even if nothing happened."""

    def close(self) -> None:
        """This run of the study is over. Called also if a user or an error ended it."""
