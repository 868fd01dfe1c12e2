"""The desk of a study: where crews take trials, and tell what becomes of them.

One small actor beside the process that runs the study. It holds no result for long and decides nothing: it passes
trials from Tune's drivers to their crews, what crews tell to the study, and verdicts and orders back. All of it waits
without polling, so that a thousand crews cost it little.

Who calls what:

    the study       post, settled, judge, halt, release, watch_machines
    a driver        assign, event, lost, interrupted, abandon, dismiss
    a crew          sits, take, tell, hand_over, finish, stumbled, verdict, orders
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from study.engine.transport import Deliveries

HELD = 16
"""Trials that wait for their scores at most, as their embeddings lie in the head's memory; then crews wait."""
ATTEMPTS = 4
"""How often a trial is begun at most without a new checkpoint, since its machine or process died."""
DRAIN_SECONDS = 5.0
"""How often Ray is asked which machines are about to go."""
SAVE, HALT = "save", "halt"
"""Orders to a crew: write a checkpoint now; write one and stop."""


@dataclass
class _Crew:
    """What the desk knows of one."""

    task: dict[str, Any] | None = None
    number: int = -1
    """Of its last task, counted from 0."""
    open: set[str] = field(default_factory=set)
    """Trials of this task that are neither kept nor failed nor handed over."""
    finished: bool = True
    """Whether its workers are done with the task."""
    taken: bool = False
    """Whether its first worker has taken the task."""
    training: bool = False
    """Whether it is between the first step and the last, where an order to halt is heard."""
    dismissed: bool = False
    gone: bool = False
    """Whether its workers have ended, or end now."""
    lives: dict[int, str] = field(default_factory=dict)
    """By rank, which process is the worker now: calls of one that died may still wait here."""
    events: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)
    """For its driver."""
    orders: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    """Machines of its workers."""
    places: Any = None
    """Ray's placement group that its workers are in; None where they sit in their driver's."""


class Desk:
    """Made a Ray actor by `open_desk`; all its state lives on its event loop."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the study's results, for large things that crews send."""
        self._deliveries = Deliveries(folder)
        self._crews: dict[str, _Crew] = defaultdict(_Crew)
        self._attempts: dict[str, int] = defaultdict(int)  # by the key of a task's files
        self._reasons: dict[str, str] = {}  # why the last attempt ended
        self._died: set[str] = set()  # crews whose task another one has
        self._settled: set[str] = set()  # trials that no crew has to do with any more
        self._posted: deque[tuple[int, dict[str, Any]]] = deque()
        self._numbers = itertools.count()
        self._verdicts: dict[tuple[str, int], bool] = {}
        self._changed = asyncio.Condition()
        self._halted = False
        self._held = self._handing = 0
        self._leaving: set[str] = set()

    # --- the study

    async def post(self, heard: int) -> list[tuple[int, dict[str, Any]]]:
        """What crews have told after the first `heard` messages, at least one, each with its number. An answer may be
        lost with whoever waited for it, so a message stays here until the study says that it was heard."""
        async with self._changed:
            while self._posted and self._posted[0][0] < heard:
                self._posted.popleft()
            await self._changed.wait_for(lambda: self._posted)
            return [*self._posted]

    async def settled(self, keys: Iterable[str]) -> None:
        """These trials are kept or have failed: the study has written it."""
        async with self._changed:
            self._settle(keys)

    async def judge(self, key: str, rung: int, going_on: bool) -> None:
        """The scheduler's verdict on a trial at a rung."""
        async with self._changed:
            self._verdicts.setdefault((key, rung), going_on)  # a trial that is begun again asks again
            self._changed.notify_all()

    async def halt(self, seconds: float) -> None:
        """Have all crews that train write a checkpoint and stop; returns when they have, and the study is told of all
        that is handed over, or after so many seconds."""
        async with self._changed:
            self._halted = True
            self._order(self._crews.values(), HALT)
            self._changed.notify_all()

            def done() -> bool:
                return not self._handing and not any(crew.training for crew in self._crews.values())

            # A step may take longer than that; what came after the last checkpoint is repeated.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(done), seconds)

    async def watch_machines(self) -> None:
        """Order a checkpoint wherever Ray says that a machine is about to go. Never returns."""
        import ray._private.state

        while True:
            try:
                leaving = await asyncio.to_thread(ray._private.state.state.get_draining_nodes)
            except Exception as error:  # Ray's own control service may be away for a while
                leaving = None
                print(f"machines that leave are not known now: {error}", flush=True)
            if leaving is not None:
                async with self._changed:
                    new = set(leaving) - self._leaving
                    self._leaving = set(leaving)
                    self._order((crew for crew in self._crews.values() if crew.nodes & new), SAVE)
                    self._changed.notify_all()
            await asyncio.sleep(DRAIN_SECONDS)

    # --- a driver

    async def assign(self, name: str, task: dict[str, Any]) -> None:
        """Give a crew its next task: `key` of its files, its `trials`, and keys of those that are `done`."""
        died = {
            other: crew.places
            for other, crew in self._crews.items()
            if other != name and crew.task is not None and crew.task["key"] == task["key"]
        }
        for places in died.values():
            if places is not None:  # where Ray fails at it the driver begins anew, and it is tried again
                await asyncio.to_thread(give_back, places)
        async with self._changed:
            for other in died:
                self._crews.pop(other, None)
            self._died.update(died)
            crew = self._crews[name]
            crew.task, crew.number = task, crew.number + 1
            crew.finished = crew.taken = crew.training = False
            crew.open = {trial["key"] for trial in task["trials"]} - set(task["done"]) - self._settled
            if not crew.open:  # it was kept, and its driver died before it knew
                crew.finished = True
                self._close(crew, [])
            elif crew.gone:
                self._lose(crew, "its workers were renewed")
            else:
                self._begin(crew)
            self._changed.notify_all()

    async def event(self, name: str) -> dict[str, Any]:
        """The next that a driver must know: a `rung` with its scores, or that the task is `done`, or its workers are
        `lost`."""
        return await self._crews[name].events.get()

    async def lost(self, name: str, reason: str) -> None:
        """The crew's workers have ended."""
        async with self._changed:
            crew = self._crews[name]
            known = crew.gone  # it is renewed; whatever was assigned meanwhile has nothing to do with it
            crew.gone, crew.training = True, False
            if not known and crew.task is not None and not crew.finished:
                self._reasons[crew.task["key"]] = reason
                self._lose(crew, reason)
            self._changed.notify_all()

    async def interrupted(self, name: str) -> None:
        """Workers of the crew died or failed, and all of them are started anew once machines have room."""
        async with self._changed:
            if name in self._crews:
                self._interrupt(self._crews[name])

    async def abandon(self, name: str, reason: str) -> None:
        """The crew's task cannot be begun; its trials have failed."""
        async with self._changed:
            self._give_up(self._crews[name], reason)
            self._changed.notify_all()

    async def dismiss(self, name: str) -> None:
        """Have the crew's workers return."""
        async with self._changed:
            self._crews[name].dismissed = True
            self._changed.notify_all()

    # --- a crew

    async def sits(self, name: str, places: Any) -> None:
        """The crew's workers are in that placement group of Ray's, which is its own."""
        if name in self._died:
            await asyncio.to_thread(give_back, places)
        else:
            self._crews[name].places = places

    async def take(self, name: str, rank: int, life: str, node: str, after: int) -> dict[str, Any] | None:
        """The crew's task with a number above `after`, as soon as there is one; None where the worker is to end.
        `life` names its process.

        `RuntimeError` where its workers were started too often for it: they are started once more, for the next task.
        """
        crew = self._crews[name]
        async with self._changed:
            crew.nodes.add(node)
            crew.lives[rank] = life

            def ends() -> bool:
                return crew.dismissed or crew.gone or self._halted or crew.lives[rank] != life

            await self._changed.wait_for(lambda: ends() or (crew.number > after and not crew.finished))
            if ends():
                return None
            task = crew.task
            assert task is not None
            if rank == 0:
                if crew.taken and not self._begin(crew):
                    self._changed.notify_all()
                    # Others of its workers may have taken it already, and would wait for this one.
                    raise RuntimeError(f"{task['key']} is given up")
                crew.taken = True
                self._post({"kind": "started", "keys": sorted(crew.open)})
            self._changed.notify_all()
            done = sorted({*task["done"], *self._settled} & {trial["key"] for trial in task["trials"]})
            return {**task, "number": crew.number, "done": done}

    async def tell(self, name: str, message: dict[str, Any]) -> None:
        """A message for the study; see `study.engine.result_writer` for the kinds."""
        async with self._changed:
            if message["kind"] == "checkpoint":
                self._attempts[message["files"]] = 0  # a machine that goes now and then must not end a long trial
                return
            self._post(message)
            crew = self._crews.get(name)
            if crew is None:  # its driver died, and another one has its task
                return
            if message["kind"] == "step":
                crew.training = message["step"] < message["steps"]
            elif message["kind"] == "full":
                crew.training = False  # it does no more, and hears no order
            elif message["kind"] == "rung":
                crew.events.put_nowait(message)
            self._changed.notify_all()

    async def hand_over(self, key: str, content: Any) -> None:
        """Take a trial's embeddings, for the study to have them scored: from now on it is no crew's, and the study is
        told of it whatever becomes of the one that called. Waits while `HELD` others wait for their scores
        (`release`)."""
        import ray

        async with self._changed:
            if key in self._settled:  # by a crew that was thought dead
                return
            self._settle([key])
            self._handing += 1
            await self._changed.wait_for(lambda: self._held < HELD)
            self._held += 1
        try:  # the desk owns it, so it outlives the crew; in a list, since Ray would pass on what a bare one stands for
            message = {"kind": "unscored", "content": [await asyncio.to_thread(ray.put, content)]}
        except Exception as error:
            message = {"kind": "failed", "reason": f"its embeddings were not kept: {error}", "details": ""}
        async with self._changed:
            self._held -= message["kind"] == "failed"
            self._handing -= 1
            self._post({"key": key, **message})
            self._changed.notify_all()

    async def release(self) -> None:
        """One that was handed over has its scores, or has failed."""
        async with self._changed:
            self._held -= 1
            self._changed.notify_all()

    async def finish(
        self, name: str, number: int, reason: str | None = None, details: str = "", renew: bool = False
    ) -> None:
        """The crew's workers are done with the task of that number. `reason`: why its open trials failed; None where
        they have told what became of each, or were ordered to halt. `renew`: they end, and others take their place."""
        async with self._changed:
            crew = self._crews[name]
            if crew.number != number or crew.finished:
                return  # a further worker that failed by the same error
            crew.finished, crew.training, crew.gone = True, False, renew
            if reason is not None:
                for key in sorted(crew.open):
                    self._post({"kind": "failed", "key": key, "reason": reason, "details": details})
            self._close(crew, [])
            self._changed.notify_all()

    async def stumbled(self, name: str, number: int, reason: str) -> None:
        """A worker raises this error now; with several workers only a new start helps."""
        crew = self._crews[name]
        if crew.task is not None and crew.number == number:
            self._reasons[crew.task["key"]] = reason

    async def verdict(self, key: str, rung: int) -> bool:
        """Whether the trial goes on after that rung, as soon as the scheduler has said so."""
        async with self._changed:
            await self._changed.wait_for(lambda: (key, rung) in self._verdicts or self._halted)
            return self._verdicts.get((key, rung), True)

    async def orders(self, name: str, heard: int) -> list[str]:
        """Orders to the crew after the first `heard`, at least one."""
        crew = self._crews[name]
        async with self._changed:
            await self._changed.wait_for(lambda: len(crew.orders) > heard)
            return crew.orders[heard:]

    # --- large things, for `study.engine.transport.DeskCourier`; disks are waited for beside the event loop

    async def put_piece(self, *piece: Any) -> None:
        await asyncio.to_thread(self._deliveries.put_piece, *piece)

    async def commit(self, *delivery: Any) -> None:
        await asyncio.to_thread(self._deliveries.commit, *delivery)

    async def listing(self, name: str) -> Any:
        return await asyncio.to_thread(self._deliveries.listing, name)

    async def piece(self, *piece: Any) -> bytes:
        return await asyncio.to_thread(self._deliveries.piece, *piece)

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self._deliveries.remove, name)

    # --- inside, with the condition held

    def _begin(self, crew: _Crew) -> bool:
        """Count an attempt at the crew's task; False, and the task is given up, where there were too many."""
        assert crew.task is not None
        key = crew.task["key"]
        self._attempts[key] += 1
        if self._attempts[key] > ATTEMPTS:
            why = self._reasons.get(key, "its worker died")
            self._give_up(crew, f"it was begun {ATTEMPTS} times; the last time: {why}")
        return self._attempts[key] <= ATTEMPTS

    def _post(self, message: dict[str, Any]) -> None:
        self._posted.append((next(self._numbers), message))
        self._changed.notify_all()

    def _interrupt(self, crew: _Crew) -> None:
        if crew.taken and not crew.finished:
            crew.training = False
            self._post({"kind": "interrupted", "keys": sorted(crew.open)})

    def _lose(self, crew: _Crew, reason: str) -> None:
        self._interrupt(crew)
        crew.events.put_nowait({"kind": "lost", "reason": reason, "taken": crew.taken})

    def _give_up(self, crew: _Crew, reason: str) -> None:
        for key in sorted(crew.open):
            self._post({"kind": "failed", "key": key, "reason": reason, "details": ""})
        crew.finished = True
        self._close(crew, [])  # where nothing is open, nothing will be settled any more

    def _settle(self, keys: Iterable[str]) -> None:
        self._settled.update(keys)
        for crew in self._crews.values():
            self._close(crew, keys)
        self._changed.notify_all()

    def _close(self, crew: _Crew, keys: Iterable[str]) -> None:
        """These are no longer the crew's; with the last one, and its workers done, its driver is free."""
        if crew.task is None:
            return
        crew.open.difference_update(keys)
        if crew.finished and not crew.open:
            crew.task = None
            crew.events.put_nowait({"kind": "done"})

    def _order(self, crews: Iterable[_Crew], order: str) -> None:
        for crew in crews:
            crew.orders.append(order)


def give_back(places: Any) -> None:
    """Let Ray have the places of a crew whose driver died. Ray Train does so only where Ray's dashboard tells it of the
    death; without a dashboard the next crew would wait for them for ever."""
    import ray.util

    ray.util.remove_placement_group(places)


def open_desk(name: str, folder: Path) -> Any:
    """The desk of a study, on the machine where its process runs, so that `folder` is there."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    desk = ray.remote(num_cpus=0, max_concurrency=100_000)(Desk).options(name=name, scheduling_strategy=here)
    return desk.remote(folder)
