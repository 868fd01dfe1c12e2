"""What a worker group is doing, as the coordinator knows it, and what changes that."""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """Of a worker group."""

    IDLE = auto()
    """It waits for a task, or starts."""
    ASSIGNED = auto()
    """It has a task that its first worker has not taken yet."""
    RUNNING = auto()
    """It builds or scores: an order to halt is not heard now."""
    TRAINING = auto()
    """It is between the first step and the last."""
    INTERRUPTED = auto()
    """Workers died in the midst of the task, and Ray Train starts them anew once machines have room."""
    SETTLING = auto()
    """Its workers are done with the task, and not everything that they told is written."""
    ENDING = auto()
    """The same, and its workers end."""
    ENDED = auto()
    """It has no workers any more, and no task."""
    LOST = auto()
    """Its workers ended before its task did, which another group will be given."""


class Change(Enum):
    """Something that happens to a worker group."""

    ASSIGNED = auto()
    """It is given a task."""
    TAKEN = auto()
    """Its first worker takes the task, perhaps again."""
    TRAINS = auto()
    """A step is done, and further ones follow."""
    TRAINED = auto()
    """The last step is done, or no order can be followed any more."""
    INTERRUPTED = auto()
    """Workers died, and are started anew."""
    FINISHED = auto()
    """Its workers are done with the task, or it is given up."""
    RENEWED = auto()
    """They are done with the task, and end; others take their place."""
    SETTLED = auto()
    """All that they told of the task is written."""
    ENDED = auto()
    """Its workers have ended."""


TRANSITIONS = {
    (State.IDLE, Change.ASSIGNED): State.ASSIGNED,
    (State.IDLE, Change.ENDED): State.ENDED,
    (State.ASSIGNED, Change.TAKEN): State.RUNNING,
    (State.ASSIGNED, Change.FINISHED): State.SETTLING,
    (State.ASSIGNED, Change.ENDED): State.LOST,
    (State.RUNNING, Change.TAKEN): State.RUNNING,
    (State.RUNNING, Change.TRAINS): State.TRAINING,
    (State.RUNNING, Change.INTERRUPTED): State.INTERRUPTED,
    (State.RUNNING, Change.FINISHED): State.SETTLING,
    (State.RUNNING, Change.RENEWED): State.ENDING,
    (State.RUNNING, Change.ENDED): State.LOST,
    (State.TRAINING, Change.TAKEN): State.RUNNING,
    (State.TRAINING, Change.TRAINED): State.RUNNING,
    (State.TRAINING, Change.INTERRUPTED): State.INTERRUPTED,
    (State.TRAINING, Change.FINISHED): State.SETTLING,
    (State.TRAINING, Change.RENEWED): State.ENDING,
    (State.TRAINING, Change.ENDED): State.LOST,
    (State.INTERRUPTED, Change.TAKEN): State.RUNNING,
    (State.INTERRUPTED, Change.FINISHED): State.SETTLING,
    (State.INTERRUPTED, Change.RENEWED): State.ENDING,
    (State.INTERRUPTED, Change.ENDED): State.LOST,
    (State.SETTLING, Change.SETTLED): State.IDLE,
    (State.SETTLING, Change.ENDED): State.ENDING,
    (State.ENDING, Change.SETTLED): State.ENDED,
    (State.ENDED, Change.ASSIGNED): State.LOST,
    (State.LOST, Change.FINISHED): State.ENDING,
}
"""By state and change the next state. What is not here comes too late, and changes nothing."""
AT_WORK = frozenset({State.ASSIGNED, State.RUNNING, State.TRAINING, State.INTERRUPTED})
"""There is a task for workers to take."""
TAKEN = AT_WORK - {State.ASSIGNED}
"""A worker took it, so another start counts as another attempt."""
WITHOUT_WORKERS = frozenset({State.ENDING, State.ENDED, State.LOST})
"""Whoever asks for a task there is to end."""
