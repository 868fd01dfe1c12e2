"""What a callback hears of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.ledger import Record
from study.engine.messages import Event
from study.trial import Trial


class Callback:
    """Follows a study in the process that runs it. Every method is called on one thread, in the order of the events,
    after the study's `StudyState` has heard of it.

    One that raises is warned about once and not called again: what is shown never ends a study.
    """

    def hear(self, event: Event, trials: Sequence[Trial]) -> None:
        """Something happened to these trials: the event says which of the next methods hears it."""
        getattr(self, event.hears)(*event.arguments(trials))

    def started(self, trials: Sequence[Trial]) -> None:
        """A worker group has begun them; several train together in one population. After the death of one it is told
        again."""

    def interrupted(self, trials: Sequence[Trial]) -> None:
        """Their workers died. Others begin them again, from their checkpoint, as soon as there is a place."""

    def not_started(self, trials: Sequence[Trial], starts: int, reason: str) -> None:
        """A worker group that should begin them raised an error as it started, and another one is started; so many
        starts failed since a trial of the study last began, took a step or ended well."""

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
