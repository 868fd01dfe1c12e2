"""The coordinator of a study: worker groups take tasks from it and report events to it.

One small actor beside the process that runs the study. It keeps no result for long and decides nothing: it passes tasks
to worker groups, their events to the study, and verdicts and orders back. It waits without polling, so a thousand
groups cost little. `study.engine.states` defines the states of a group.

Who calls what:

    the study       events, offer, settled, answer, halt, release, died, watch_machines
    a trainable     assign, outcome, ended, interrupted, abandon, dismiss
    a worker        note_placement, not_started, take, tell, hand_over, finish, note_error, wait_for_verdict, orders
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import ray
from ray.actor import ActorHandle
from ray.util.placement_group import PlacementGroup, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from study.engine.messages import (
    Checkpointed,
    Died,
    DiskFull,
    Done,
    Event,
    Failed,
    HandedOver,
    Lost,
    NotStarted,
    Started,
    Step,
    TrialsInterrupted,
    WorkerTask,
)
from study.engine.states import AT_WORK, TAKEN, TRANSITIONS, WITHOUT_WORKERS, Change, State
from study.engine.transport import Deliveries

MOST_HELD_TRIALS = 16
"""At most this many trials wait for their scores, as their embeddings use the head's memory. Groups with more wait."""
ATTEMPTS = 4
"""A trial is begun at most this often without a new checkpoint, if its machine or process dies."""
DRAIN_SECONDS = 5.0
"""Seconds between two requests to Ray for the list of machines that are about to be shut down."""
ANSWER_SECONDS = 5.0
"""Seconds to wait for the answer of a trainable that has no task; after that it is believed busy."""
SAVE, HALT = "save", "halt"
"""Orders to a worker group: write a checkpoint now; write a checkpoint and stop."""


@dataclass
class _Group:
    """The coordinator's data on a worker group."""

    state: State = State.IDLE
    task: WorkerTask | None = None
    number: int = -1
    """Number of the group's last task, counted from 0; -1 before the first task."""
    open: set[str] = field(default_factory=set)
    """Keys of the trials of the current task that have no record yet, have not failed, and are not handed over."""
    dismissed: bool = False
    """Whether the group's trainable has no more tasks for the group."""
    lives: dict[int, str] = field(default_factory=dict)
    """Id of the current worker process, by rank. By it, late calls of a dead process are recognised."""
    outcomes: asyncio.Queue[Done | Lost] = field(default_factory=asyncio.Queue)
    """Outcomes of tasks that the group's trainable has not read yet."""
    orders: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    """Ray's ids of the machines on which the group's workers run."""
    placement: PlacementGroup | None = None
    """Ray's placement group for the group's workers; None if they run inside their trainable."""
    trainable: ActorHandle | None = None
    """The Tune actor that assigns the group's tasks."""
    error: str | None = None
    """The error that ended the group's workers before they were given a task."""

    def change(self, change: Change) -> bool:
        """Change to the next state and return True. If the change comes too late, do nothing and return False."""
        following = TRANSITIONS.get((self.state, change))
        self.state = following or self.state
        return following is not None


class Coordinator:
    """The class of the actor that `open_coordinator` starts. All its state belongs to its event loop."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the results folder of the study, for large data that workers send."""
        self._deliveries = Deliveries(folder)
        self._tasks: dict[str, WorkerTask] = {}  # by key, tasks that have an open trial
        self._groups: dict[str, _Group] = defaultdict(_Group)
        self._attempts: dict[str, int] = defaultdict(int)  # by task key
        self._reasons: dict[str, str] = {}  # why the last attempt ended
        self._died: set[str] = set()  # groups whose task was given to another group
        self._settled: set[str] = set()  # trials that no group works on any more
        self._posted: deque[tuple[int, Event]] = deque()
        self._numbers = itertools.count()
        self._verdicts: dict[tuple[str, int], bool] = {}
        self._changed = asyncio.Condition()
        self._halted = False
        self._held = self._handing = 0
        self._leaving: set[str] = set()

    # --- the study

    async def events(self, heard: int) -> list[tuple[int, Event]]:
        """Return the events from number `heard` on, at least one, each with its number. An answer may be lost if its
        receiver dies, so an event stays here until the study confirms it by a higher `heard`."""
        async with self._changed:
            while self._posted and self._posted[0][0] < heard:
                self._posted.popleft()
            await self._changed.wait_for(lambda: self._posted)
            return [*self._posted]

    async def offer(self, task: WorkerTask) -> None:
        """Store a task, which a trainable will assign to its worker group."""
        self._tasks[task.key] = task

    async def settled(self, keys: Iterable[str]) -> None:
        """Mark trials as settled: the study has written their record or failure."""
        async with self._changed:
            self._settle(keys)

    async def answer(self, key: str, rung: int, goes_on: bool) -> None:
        """Store the scheduler's verdict on a trial at a rung."""
        async with self._changed:
            self._verdicts.setdefault((key, rung), goes_on)  # a restarted trial asks again
            self._changed.notify_all()

    async def halt(self, seconds: float) -> None:
        """Order all groups that train to write a checkpoint and stop. Return when the groups have stopped and all
        handed-over trials are reported to the study, or after that many seconds."""
        async with self._changed:
            self._halted = True
            self._order(self._groups.values(), HALT)
            self._changed.notify_all()

            def done() -> bool:
                return not self._handing and all(group.state is not State.TRAINING for group in self._groups.values())

            # One step may take longer. Steps after the last checkpoint are repeated.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(done), seconds)

    async def died(self, key: str, reason: str) -> None:
        """Note that the actor to which Tune gave this task died. `key`: the task's key."""
        self._reasons[key] = reason

    async def watch_machines(self) -> None:
        """Order a checkpoint on every machine that Ray reports as about to be shut down. Never returns."""
        from study.engine.ray_internals import machines_that_leave

        while True:
            try:
                leaving = await asyncio.to_thread(machines_that_leave)
            except Exception as error:  # Ray's own control service may be away for a while
                leaving = None
                print(f"machines that leave are not known now: {error}", flush=True)
            if leaving is not None:
                async with self._changed:
                    new, self._leaving = leaving - self._leaving, leaving
                    self._order((group for group in self._groups.values() if group.nodes & new), SAVE)
                    self._changed.notify_all()
            await asyncio.sleep(DRAIN_SECONDS)

    # --- a trainable

    async def assign(self, name: str, key: str, trainable: ActorHandle) -> None:
        """Give the task to the trainable's worker group."""
        died = {
            other: group.placement
            for other, group in self._groups.items()
            if other != name and group.task is not None and group.task.key == key
        }
        if name not in self._groups:  # a new group needs places
            died |= await self._dead_between_tasks()
        # Ray Train frees a placement group only if Ray's dashboard reports the trainable's death. Without a dashboard
        # the next group would wait for ever. If Ray fails here, the trainable restarts and tries again.
        for placement in died.values():
            if placement is not None:
                await asyncio.to_thread(remove_placement_group, placement)
        async with self._changed:
            for other in died:
                self._groups.pop(other, None)
            self._died.update(died)
            group, task = self._groups[name], self._tasks.get(key)
            group.trainable = trainable
            if task is None:  # all trials were settled, and its trainable died before it knew
                group.outcomes.put_nowait(Done())
                return
            group.task, group.number = task, group.number + 1
            group.open = {*task.keys} - task.done - self._settled
            group.change(Change.ASSIGNED)
            if not group.open:
                self._finish(group, Change.FINISHED)
            elif group.state is State.LOST:
                group.outcomes.put_nowait(Lost(group.error or "its workers were renewed", taken=False))
                self._not_started(group, group.error)
            else:
                self._check_attempts(group)
            self._changed.notify_all()

    async def outcome(self, name: str) -> Done | Lost:
        """Wait for the outcome of the group's task, and return it."""
        return await self._groups[name].outcomes.get()

    async def ended(self, name: str, reason: str, failed: bool = False) -> None:
        """Handle the end of the group's workers. `failed`: whether an error that the workers raised ended them."""
        async with self._changed:
            group = self._groups[name]
            taken = group.state in TAKEN
            error = reason if failed and group.state in (State.IDLE, State.ASSIGNED) else None
            self._interrupt(group)
            if group.change(Change.ENDED) and group.state is State.LOST:
                assert group.task is not None
                self._reasons[group.task.key] = reason
                group.outcomes.put_nowait(Lost(reason, taken))
                self._not_started(group, error)
            else:
                group.error = error
            self._changed.notify_all()

    async def interrupted(self, name: str, nodes: frozenset[str] = frozenset(), reason: str = "") -> None:
        """Note that workers of the group died or failed; Train restarts all of them once machines have room. `nodes`:
        the machines of the dead processes, if Ray reports no dead machine. `reason`: Ray's description."""
        async with self._changed:
            group = self._groups.get(name)
            if group is None:
                return
            if nodes and group.task is not None:
                self._reasons[group.task.key] = reason
                if group.state in (State.ASSIGNED, State.INTERRUPTED):  # not taken since the workers' last start
                    self._post(Died(tuple(sorted(group.open)), nodes, reason))
            self._interrupt(group)

    async def abandon(self, name: str, reason: str) -> None:
        """Fail the open trials of the group's task, which cannot be begun."""
        async with self._changed:
            self._finish(self._groups[name], Change.FINISHED, reason)
            self._changed.notify_all()

    async def dismiss(self, name: str) -> None:
        """Tell the group's workers to return."""
        async with self._changed:
            self._groups[name].dismissed = True
            self._changed.notify_all()

    # --- a worker

    async def note_placement(self, name: str, placement: PlacementGroup | None) -> None:
        """Store the placement group of the group's workers."""
        if name in self._died:
            await asyncio.to_thread(remove_placement_group, placement)
        else:
            self._groups[name].placement = placement

    async def not_started(self, name: str, error: str) -> None:
        """Report that the group's workers raised an error before they could take a task. Train restarts them."""
        async with self._changed:
            self._not_started(self._groups[name], error)

    async def take(self, name: str, rank: int, life: str, node: str, after: int) -> WorkerTask | None:
        """Wait for a task of the group with a number above `after`, and return it; None if the worker must end. `life`:
        id of the worker's process.

        `RuntimeError` if the workers were started too often for this task: they are restarted for the next task.
        """
        group = self._groups[name]
        async with self._changed:
            group.nodes.add(node)
            group.lives[rank] = life

            def ends() -> bool:
                is_over = self._halted or group.dismissed or group.lives[rank] != life
                return is_over or group.state in WITHOUT_WORKERS

            await self._changed.wait_for(lambda: ends() or (group.number > after and group.state in AT_WORK))
            if ends():
                return None
            task = group.task
            assert task is not None
            if rank == 0:
                if not self._check_attempts(group):
                    self._changed.notify_all()
                    # Other workers of the group may have taken the task, and would wait for this worker.
                    raise RuntimeError(f"{task.key} is given up")
                self._attempts[task.key] += 1
                group.change(Change.TAKEN)
                self._post(Started(tuple(sorted(group.open))))
            self._changed.notify_all()
            done = (task.done | self._settled) & {*task.keys}
            return dataclasses.replace(task, number=group.number, done=done)

    async def tell(self, name: str, event: Event) -> None:
        """Pass an event on to the study."""
        async with self._changed:
            if isinstance(event, Checkpointed):
                self._attempts[event.files] = 0  # machines that die now and then must not end a long trial
                return
            self._post(event)
            group = self._groups.get(name)  # None: its trainable died, and another trainable has its task
            if group is not None and isinstance(event, Step):
                group.change(Change.TRAINS if event.step < event.steps else Change.TRAINED)
            elif group is not None and isinstance(event, DiskFull):
                group.change(Change.TRAINED)  # the group stops, and follows no order
            self._changed.notify_all()

    async def hand_over(self, key: str, handed_trial: object) -> None:
        """Store a trial's embeddings until the study has them scored. From now on the trial belongs to no group, and it
        is reported to the study even if the caller dies. Waits while `MOST_HELD_TRIALS` other trials wait for their
        scores (`release`)."""
        async with self._changed:
            if key in self._settled:  # by a group that was believed dead
                return
            self._settle([key])
            self._handing += 1
            await self._changed.wait_for(lambda: self._held < MOST_HELD_TRIALS)
            self._held += 1
        event: Event
        try:  # the coordinator owns the object, so it outlives the group
            event = HandedOver(key, [await asyncio.to_thread(ray.put, handed_trial)])
        except Exception as error:
            event = Failed(key, f"its embeddings were not kept: {error}")
        async with self._changed:
            self._held -= isinstance(event, Failed)
            self._handing -= 1
            self._post(event)
            self._changed.notify_all()

    async def release(self) -> None:
        """Note that a handed-over trial has its scores, or has failed."""
        async with self._changed:
            self._held -= 1
            self._changed.notify_all()

    async def finish(
        self, name: str, number: int, reason: str | None = None, details: str = "", renew: bool = False
    ) -> None:
        """Note that the workers are done with the task of that number. `reason`: why its open trials failed; None if
        the workers reported each trial, or were ordered to halt. `details`: a traceback. `renew`: whether new workers
        replace these workers."""
        async with self._changed:
            group = self._groups[name]
            if group.number == number:  # else another worker of the group reported it before
                self._finish(group, Change.RENEWED if renew else Change.FINISHED, reason, details)
                self._changed.notify_all()

    async def note_error(self, name: str, number: int, reason: str) -> None:
        """Store the error that a worker is about to raise. With several workers only a restart helps."""
        group = self._groups[name]
        if group.task is not None and group.number == number:
            self._reasons[group.task.key] = reason

    async def wait_for_verdict(self, key: str, rung: int) -> bool:
        """Wait for the scheduler's verdict on the trial at that rung; return whether the trial goes on."""
        async with self._changed:
            await self._changed.wait_for(lambda: (key, rung) in self._verdicts or self._halted)
            return self._verdicts.get((key, rung), True)

    async def orders(self, name: str, heard: int) -> list[str]:
        """Wait for orders to the group after the first `heard` ones, and return them."""
        group = self._groups[name]
        async with self._changed:
            await self._changed.wait_for(lambda: len(group.orders) > heard)
            return group.orders[heard:]

    # --- large data, for `study.engine.transport.CoordinatorTransport`; threads wait for disks, not the event loop

    async def put_piece(self, delivery: str, file: str, offset: int, data: bytes) -> None:
        await asyncio.to_thread(self._deliveries.put_piece, delivery, file, offset, data)

    async def commit(self, name: str, delivery: str, sizes: Mapping[str, int]) -> None:
        await asyncio.to_thread(self._deliveries.commit, name, delivery, sizes)

    async def listing(self, name: str) -> dict[str, tuple[int, int]] | None:
        return await asyncio.to_thread(self._deliveries.listing, name)

    async def piece(self, name: str, file: str, offset: int, size: int) -> bytes:
        return await asyncio.to_thread(self._deliveries.piece, name, file, offset, size)

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self._deliveries.remove, name)

    async def _dead_between_tasks(self) -> dict[str, PlacementGroup]:
        """Return placement groups of groups whose trainable died without a task. Nobody reports these deaths."""
        idle = {
            name: group for name, group in self._groups.items() if group.task is None and group.placement is not None
        }
        # A group may report its places before its trainable has assigned a task.
        groups = [(name, group) for name, group in idle.items() if group.trainable is not None]
        return {name: group.placement for name, group in groups if not await asyncio.to_thread(lives, group.trainable)}

    # --- inside, with the condition held

    def _check_attempts(self, group: _Group) -> bool:
        """Return whether the group may begin its task. A task that was begun too often is given up."""
        assert group.task is not None
        key = group.task.key
        if self._attempts[key] < ATTEMPTS:
            return True
        why = self._reasons.get(key, "its worker died")
        self._finish(group, Change.FINISHED, f"it was begun {ATTEMPTS} times; the last time: {why}")
        return False

    def _post(self, event: Event) -> None:
        self._posted.append((next(self._numbers), event))
        self._changed.notify_all()

    def _interrupt(self, group: _Group) -> None:
        if group.change(Change.INTERRUPTED):
            self._post(TrialsInterrupted(tuple(sorted(group.open))))

    def _not_started(self, group: _Group, error: str | None) -> None:
        if error is not None and group.open:
            self._post(NotStarted(tuple(sorted(group.open)), error))

    def _finish(self, group: _Group, change: Change, reason: str | None = None, details: str = "") -> None:
        if not group.change(change):
            return
        if reason is not None:
            for key in sorted(group.open):
                self._post(Failed(key, reason, details))
        self._close(group)  # if nothing is open, nothing will be settled any more

    def _settle(self, keys: Iterable[str]) -> None:
        self._settled.update(keys)
        for key in [key for key, task in self._tasks.items() if self._settled.issuperset({*task.keys} - task.done)]:
            del self._tasks[key]
        for group in self._groups.values():
            group.open.difference_update(keys)
            self._close(group)
        self._changed.notify_all()

    def _close(self, group: _Group) -> None:
        """Free the group's trainable if no trial is open and the workers are done."""
        if not group.open and group.change(Change.SETTLED):
            group.task = None
            group.outcomes.put_nowait(Done())

    def _order(self, groups: Iterable[_Group], order: str) -> None:
        for group in groups:
            group.orders.append(order)


def lives(trainable: ActorHandle) -> bool:
    """Return whether a trainable without a task lives. One that does not answer soon is believed busy."""
    try:
        ray.get(trainable.__ray_ready__.remote(), timeout=ANSWER_SECONDS)
    except ray.exceptions.ActorDiedError:
        return False
    except (ray.exceptions.GetTimeoutError, ray.exceptions.ActorUnavailableError):
        return True
    return True


def open_coordinator(name: str, folder: Path) -> ActorHandle:
    """Start the coordinator of a study on the machine of this process, so that `folder` exists there."""
    strategy = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, max_concurrency=100_000)(Coordinator)
    return actor.options(name=name, scheduling_strategy=strategy).remote(folder)
