"""Messages between the study and its workers, sent through Ray: tasks to workers, events back.

A worker, or the coordinator in its place, sends an event. The study's loop (`ResultWriter`) handles it and passes it to
callbacks: each event class names the callback method that receives it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reports.ledger import Record
from study.trial import Resources, SourceFile, Trial

if TYPE_CHECKING:
    from ray import ObjectRef


@dataclass(frozen=True)
class WorkerTask:
    """Trials that a worker group runs together: one trial, or a population that shares one checkpoint."""

    key: str
    """The name of the task's files, and of the task itself in calls of the coordinator."""
    trials: tuple[Trial, ...]
    """Only the worker may read their recipes: `sources`, which run there first, may define names in the recipes."""
    sources: tuple[SourceFile, ...] = ()
    """Plugins and a user's space file, in the order in which they run."""
    done: frozenset[str] = frozenset()
    """Keys of trials that already have a record, or have failed."""
    url: str | None = None
    """The URL of the results if they are not on the study's machine."""
    hand_over: bool = False
    """Whether embeddings of a trained trial are handed over, to be scored on a CPU."""
    number: int = -1
    """The task's number among the tasks of its worker group, counted from 0."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the task's trials."""
        return tuple(trial.key for trial in self.trials)

    @property
    def resources(self) -> Resources:
        """Resources of each trial of the task."""
        return self.trials[0].resources

    def run_sources(self) -> None:
        """Run the sources that define the names in the recipes. `UserError` if a source fails."""
        for source in self.sources:
            source.run()


@dataclass(frozen=True)
class Event:
    """Something that happened to trials."""

    callback_method: ClassVar[str] = ""
    """The callback method that receives this event; empty if none does."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the event's trials."""
        return ()

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        """Return the arguments for the callback method. `trials`: the event's trials that are not settled."""
        return (trials,)


@dataclass(frozen=True)
class OfSeveral(Event):
    """An event of trials that train together."""

    members: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.members


@dataclass(frozen=True)
class OfOne(Event):
    """An event of one trial."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)


@dataclass(frozen=True)
class Started(OfSeveral):
    """A worker group has begun the trials, perhaps again."""

    callback_method = "started"


@dataclass(frozen=True)
class TrialsInterrupted(OfSeveral):
    """The workers of the trials died. Other workers resume the trials from their checkpoint."""

    callback_method = "interrupted"


@dataclass(frozen=True)
class Died(OfSeveral):
    """Processes died before they took the trials; their machines did not, as far as Ray knows. New processes are
    started. `FailedStarts` counts a failed start if the machines still live some time later."""

    nodes: frozenset[str]
    """Ray's ids of the machines of these processes."""
    reason: str
    """Ray's description of the death."""


@dataclass(frozen=True)
class NotStarted(OfSeveral):
    """A worker group did not start: an error was raised, or its process died. Another group is started."""

    reason: str
    starts: int = 1
    """Number of failed starts, of any trials, since a trial of the study last began, took a step or ended well."""
    callback_method = "not_started"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials, self.starts, self.reason


@dataclass(frozen=True)
class Step(OfSeveral):
    """A training step is done."""

    step: int
    steps: int
    """Number of steps of the whole training."""
    scalars: Mapping[str, float]
    """Metrics by name. For a population: the losses of its members, `loss/0` and so on, without diverged members."""
    callback_method = "step"

    def each(self) -> Iterator[Step]:
        """Yield one step per member of the population that has a loss."""
        if len(self.members) == 1:
            yield self
            return
        for number, key in enumerate(self.members):
            if (name := f"loss/{number}") in self.scalars:
                yield dataclasses.replace(self, members=(key,), scalars={"loss": self.scalars[name]})

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.step, self.steps, self.scalars


@dataclass(frozen=True)
class Rung(OfOne):
    """The trial pauses, and its worker waits for the scheduler's verdict."""

    number: int
    """Number of the rung, counted from 1."""
    scores: Mapping[str, float]
    """The trial's development score of each goal; higher is better."""
    callback_method = "rung"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.number, self.scores


@dataclass(frozen=True)
class Checkpointed(Event):
    """A checkpoint is in the results. From then on the coordinator counts the attempts at the trial anew."""

    files: str


@dataclass(frozen=True)
class HandedOver(OfOne):
    """The trial's training is over, and its embeddings wait for a Ray task that scores them."""

    trial_reference: list[ObjectRef]
    """Ray's reference to the embeddings. It is in a list, since Ray would resolve a bare reference."""


@dataclass(frozen=True)
class Scored(OfOne):
    """The trial has a record: it finished, or was stopped early."""

    record: Record
    predictions: bytes | None
    card: str | None
    """The model's README; None if no model was saved."""
    callback_method = "finished"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.record


@dataclass(frozen=True)
class Failed(OfOne):
    """The trial has no record, and is not tried again in this run."""

    reason: str
    details: str = ""
    """The traceback of the error; empty if there is none."""
    callback_method = "failed"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.reason


@dataclass(frozen=True)
class DiskFull(Event):
    """The disk of a worker's machine is full, which ends the study."""

    reason: str


@dataclass(frozen=True)
class Done:
    """Message to a trainable: all trials of its task are settled."""


@dataclass(frozen=True)
class Lost:
    """Message to a trainable: the workers of its group ended before the task did."""

    reason: str
    taken: bool
    """Whether the workers had taken the task."""
