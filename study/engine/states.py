"""The states of a worker group as the coordinator sees them, and the changes between them."""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """State of a worker group."""

    IDLE = auto()
    """The group waits for a task, or starts."""
    ASSIGNED = auto()
    """The group has a task that its first worker has not taken yet."""
    RUNNING = auto()
    """The group builds or scores a model. It ignores orders to halt."""
    TRAINING = auto()
    """The group is between the first and the last training step."""
    INTERRUPTED = auto()
    """Workers died during the task. Ray Train restarts them once machines have room."""
    SETTLING = auto()
    """The workers are done with the task, but not all of their events are written."""
    ENDING = auto()
    """The workers are done with the task and end, but not all events of the task are written."""
    ENDED = auto()
    """The group has no workers and no task."""
    LOST = auto()
    """The workers ended before the task did. The task will go to another group."""


class Change(Enum):
    """Something that happens to a worker group."""

    ASSIGNED = auto()
    """The group is given a task."""
    TAKEN = auto()
    """The first worker takes the task, perhaps again."""
    TRAINS = auto()
    """A step is done, and more steps follow."""
    TRAINED = auto()
    """The last step is done, or the group cannot follow orders any more."""
    INTERRUPTED = auto()
    """Workers died and are restarted."""
    FINISHED = auto()
    """The workers are done with the task, or the task is given up."""
    RENEWED = auto()
    """The workers are done with the task and end. New workers replace them."""
    SETTLED = auto()
    """All events of the task are written."""
    ENDED = auto()
    """The workers have ended."""


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
"""Maps a state and a change to the next state. A pair that is not here comes too late and changes nothing."""
AT_WORK = frozenset({State.ASSIGNED, State.RUNNING, State.TRAINING, State.INTERRUPTED})
"""States in which workers can take the task."""
TAKEN = AT_WORK - {State.ASSIGNED}
"""States in which a worker has taken the task, so another start counts as another attempt."""
WITHOUT_WORKERS = frozenset({State.ENDING, State.ENDED, State.LOST})
"""States in which a worker that asks for a task is told to end."""
