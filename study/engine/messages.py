"""What goes through Ray between the study and its workers: tasks to them, events back.

An event is told by a worker, or by the coordinator in its place. The study's one loop takes it (`ResultWriter`), and
callbacks hear of it: each kind names the method that does.
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
    """Trials that a worker group runs together: one, or a population that shares one checkpoint."""

    key: str
    """Names its files."""
    trials: tuple[Trial, ...]
    """Only its worker looks into their recipes: what these name may be defined by sources that run there first."""
    sources: tuple[SourceFile, ...] = ()
    """Plugins and a person's space file, in the order in which they run."""
    done: frozenset[str] = frozenset()
    """Keys of trials that have a record already, or are settled otherwise."""
    url: str | None = None
    """Of the results, where they are elsewhere."""
    hand_over: bool = False
    """Whether a trained trial's embeddings are given away to be scored on a CPU."""
    number: int = -1
    """Its place among the tasks of its worker group, from 0 on."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Of its trials."""
        return tuple(trial.key for trial in self.trials)

    @property
    def resources(self) -> Resources:
        """Those of each of its trials."""
        return self.trials[0].resources

    def run_sources(self) -> None:
        """Define what its recipes name. `UserError` where a source fails."""
        for source in self.sources:
            source.run()


@dataclass(frozen=True)
class Event:
    """Something that happened to trials."""

    hears: ClassVar[str] = ""
    """The method of a callback that hears it; empty where none does."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the trials."""
        return ()

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        """What that method is given; `trials` are those of the keys that are open."""
        return (trials,)


@dataclass(frozen=True)
class OfSeveral(Event):
    """Of trials that train together."""

    members: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.members


@dataclass(frozen=True)
class OfOne(Event):
    """Of one trial."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)


@dataclass(frozen=True)
class Started(OfSeveral):
    """A worker group has begun them, perhaps again."""

    hears = "started"


@dataclass(frozen=True)
class TrialsInterrupted(OfSeveral):
    """Their workers died. Others begin them again, from their checkpoint."""

    hears = "interrupted"


@dataclass(frozen=True)
class Died(OfSeveral):
    """Processes of theirs died, and not their machines as far as Ray knows, before they took them. Others are started.
    `FailedStarts` makes of it that none started, once the machines have outlived it."""

    nodes: frozenset[str]
    """Of these processes, as Ray calls them."""
    reason: str
    """What Ray says of it."""


@dataclass(frozen=True)
class NotStarted(OfSeveral):
    """No worker group began them: an error was raised while it started, or its process died. Another one is started."""

    reason: str
    starts: int = 1
    """How many failed so, of whatever trials, since one of the study last began, took a step or ended well."""
    hears = "not_started"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials, self.starts, self.reason


@dataclass(frozen=True)
class Step(OfSeveral):
    """A step of their training is done."""

    step: int
    steps: int
    """Of the whole training."""
    scalars: Mapping[str, float]
    """Of a population the losses of its members, `loss/0` and so on, those that diverged left out."""
    hears = "step"

    def each(self) -> Iterator[Step]:
        """One of each member that has a loss."""
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
    """It pauses, and its worker waits for the scheduler's verdict."""

    number: int
    """From 1 on."""
    scores: Mapping[str, float]
    """Its development score of each goal, the higher the better."""
    hears = "rung"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.number, self.scores


@dataclass(frozen=True)
class Checkpointed(Event):
    """A checkpoint is in the results: for the coordinator, which counts attempts from there on."""

    files: str
    """The task's key."""


@dataclass(frozen=True)
class HandedOver(OfOne):
    """Its training is over, and its embeddings wait to be scored by a task of Ray's."""

    content: list[ObjectRef]
    """Ray's reference to them, in a list, since Ray would pass on what a bare one stands for."""


@dataclass(frozen=True)
class Scored(OfOne):
    """It has a record: it came to its end, or was stopped early."""

    record: Record
    predictions: bytes | None
    """The content of their file."""
    card: str | None
    """The model's README; None where no model was saved."""
    hears = "finished"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.record


@dataclass(frozen=True)
class Failed(OfOne):
    """It has no record, and is not tried again in this run."""

    reason: str
    details: str = ""
    """A traceback."""
    hears = "failed"

    def arguments(self, trials: Sequence[Trial]) -> tuple[object, ...]:
        return trials[0], self.reason


@dataclass(frozen=True)
class DiskFull(Event):
    """The disk of a worker's machine is full, which ends the study."""

    reason: str


@dataclass(frozen=True)
class Done:
    """To a trainable: nothing of its task is open."""


@dataclass(frozen=True)
class Lost:
    """To a trainable: its workers ended before its task did."""

    reason: str
    taken: bool
    """Whether they had taken the task."""
