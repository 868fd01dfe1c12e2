"""The coordinator as a plain object on an event loop, without Ray: trainables, workers and the study are coroutines."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from study.engine.coordinator import ATTEMPTS, HALT, MOST_HELD_TRIALS, Coordinator
from study.engine.messages import (
    Died,
    DiskFull,
    Done,
    Event,
    Failed,
    HandedOver,
    Lost,
    NotStarted,
    Rung,
    Scored,
    Started,
    Step,
    TrialsInterrupted,
    WorkerTask,
)
from study.engine.states import AT_WORK, TAKEN, TRANSITIONS, WITHOUT_WORKERS, Change, State


class Heard(Coordinator):
    """A coordinator whose study hears what it is told, and which assigns tasks that were not offered before."""

    heard = 0

    async def news(self) -> list[Event]:
        numbered = await self.events(self.heard)
        self.heard = numbered[-1][0] + 1
        return [event for _, event in numbered]

    async def give(self, name: str, given: WorkerTask) -> None:
        await self.offer(given)
        await self.assign(name, given.key, f"trainable of {name}")

    async def begin(self, name: str, given: WorkerTask) -> WorkerTask | None:
        """The group is given the task, and its first worker takes it."""
        await self.give(name, given)
        return await self.take(name, 0, "life", "node", -1)


NOTHING: Any = None


def task(key: str, *members: str, done: tuple[str, ...] = ()) -> WorkerTask:
    trials: Any = tuple(SimpleNamespace(key=member) for member in members or (key,))
    return WorkerTask(key, trials, done=frozenset(done))


def record(key: str) -> Scored:
    return Scored(key, NOTHING, None, None)


def step(key: str) -> Step:
    """In the midst of a training."""
    return Step((key,), 1, 9, {})


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray's memory, and without threads, so that things happen in the same order each time."""

    async def at_once(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    monkeypatch.setattr("ray.put", lambda content: content)
    monkeypatch.setattr("asyncio.to_thread", at_once)


@pytest.fixture
def actor(tmp_path: Path) -> Heard:
    return Heard(tmp_path)


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine; what waits for ever fails."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), 20))

    return run


async def waits(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A call that has no answer yet."""
    waiting = asyncio.create_task(call)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    return waiting


def handed_over(events: list[Event]) -> list[str]:
    return [event.key for event in events if isinstance(event, HandedOver)]


async def failed(actor: Heard) -> list[tuple[str, str]]:
    return [(event.key, event.reason) for event in await actor.news() if isinstance(event, Failed)]


@on_a_loop
async def test_a_task_goes_to_its_group_and_comes_back(actor: Heard) -> None:
    taking, other = (
        await waits(actor.take("a", 0, "life", "node", -1)),
        await waits(actor.take("b", 0, "life", "node", -1)),
    )
    await actor.give("a", task("t"))
    taken = await taking
    assert (taken.key, taken.number, taken.done) == ("t", 0, frozenset())
    assert await actor.news() == [Started(("t",))]
    await actor.tell("a", record("t"))
    await actor.finish("a", 0)
    event = await waits(actor.outcome("a"))  # the trainable is free only once the record is kept
    assert await actor.news() == [record("t")]
    await actor.settled(["t"])
    assert await event == Done()
    again = await waits(actor.take("a", 0, "life", "node", 0))
    await actor.give("a", task("u"))
    assert (await again).number == 1
    assert not other.done()
    await actor.dismiss("b")
    assert await other is None


@on_a_loop
async def test_what_nobody_heard_is_told_again(actor: Heard) -> None:
    """The answer is lost where a person stops the study as it comes."""
    lost = await waits(actor.events(0))
    for key in ("t", "u"):
        await actor.tell("a", record(key))
    assert await lost == await actor.events(0) == [(0, record("t")), (1, record("u"))]
    assert await actor.events(1) == [(1, record("u"))]
    later = await waits(actor.events(2))
    await actor.tell("a", record("v"))
    assert await later == [(2, record("v"))]


@on_a_loop
async def test_all_workers_of_a_group_take_the_same_task(actor: Heard) -> None:
    await actor.give("a", task("t"))
    taken = [await actor.take("a", rank, "life", f"node {rank}", -1) for rank in (2, 0, 1)]
    assert taken[0] == taken[1] == taken[2]
    assert await actor.news() == [Started(("t",))]  # said once
    await waits(actor.take("a", 1, "life", "node 1", 0))


@on_a_loop
async def test_a_group_that_died_takes_its_task_again_without_what_is_settled(actor: Heard) -> None:
    first = await actor.begin("a", task("p", "p-0", "p-1", "p-2", done=("p-0",)))
    assert first.done == {"p-0"}
    await actor.tell("a", record("p-1"))
    await actor.settled(["p-1"])
    again = await actor.take("a", 0, "life", "node", -1)  # its workers have been started anew
    assert again.done == {"p-0", "p-1"}
    started = [event.keys for event in await actor.news() if isinstance(event, Started)]
    assert started == [("p-1", "p-2"), ("p-2",)]


@on_a_loop
async def test_after_so_many_attempts_a_trial_fails_with_the_last_reason(actor: Heard) -> None:
    for attempt in range(ATTEMPTS):
        assert await actor.begin(f"group {attempt}", task("t")) is not None
        await actor.ended(f"group {attempt}", f"killed {attempt}")
        assert isinstance(await actor.outcome(f"group {attempt}"), Lost)
    assert await failed(actor) == []
    await actor.give("last", task("t"))
    assert await failed(actor) == [("t", f"it was begun {ATTEMPTS} times; the last time: killed {ATTEMPTS - 1}")]
    await actor.settled(["t"])
    assert await actor.outcome("last") == Done()


@on_a_loop
async def test_workers_that_are_started_too_often_for_a_trial_go_on_with_the_next(actor: Heard) -> None:
    """Train starts them anew under the group's old name."""
    await actor.give("a", task("t"))
    for _ in range(ATTEMPTS):
        assert await actor.take("a", 0, "life", "node", -1) is not None
    await actor.note_error("a", 0, "no memory")
    await actor.note_error("a", 7, "of another task")
    assert await actor.take("a", 1, "life", "node", -1) is not None  # it would wait for the first worker for ever
    with pytest.raises(RuntimeError, match="given up"):
        await actor.take("a", 0, "life", "node", -1)
    assert await failed(actor) == [("t", f"it was begun {ATTEMPTS} times; the last time: no memory")]
    workers = [await waits(actor.take("a", rank, "life", "node", -1)) for rank in (0, 1)]
    await actor.settled(["t"])
    assert await actor.outcome("a") == Done()
    await actor.give("a", task("u"))
    assert [(await worker).key for worker in workers] == ["u", "u"]


@on_a_loop
async def test_a_group_that_always_dies_after_its_record_does_not_hold_its_trainable(actor: Heard) -> None:
    """Nothing is left to fail, so nothing will be settled any more; and the trial is not begun again."""
    for attempt in range(ATTEMPTS):
        await actor.begin(f"group {attempt}", task("t"))
    await actor.tell(f"group {ATTEMPTS - 1}", record("t"))
    await actor.settled(["t"])
    await actor.give("last", task("t"))
    assert await actor.outcome("last") == Done()
    assert await failed(actor) == []
    still = await waits(actor.take("last", 0, "life", "node", -1))
    still.cancel()


@on_a_loop
async def test_a_trial_that_was_handed_over_is_no_groups_any_more(actor: Heard) -> None:
    """Its scores are being made elsewhere: a group that dies afterwards neither runs it again nor makes it fail."""
    await actor.begin("a", task("p", "p-0", "p-1"))
    await actor.hand_over("p-0", "embeddings")
    await actor.ended("a", "killed")
    taken = await actor.begin("b", task("p", "p-0", "p-1"))
    assert taken.done == {"p-0"}
    await actor.news()
    await actor.finish("b", 0, "no such file")
    assert await failed(actor) == [("p-1", "no such file")]


@on_a_loop
async def test_a_verdict_is_waited_for(actor: Heard) -> None:
    await actor.give("a", task("t"))
    await actor.tell("a", Rung("t", 1, {"sts": 40.0}))
    waiting = await waits(actor.wait_for_verdict("t", 1))
    await actor.answer("t", 2, True)
    await actor.answer("other", 1, True)
    assert not waiting.done()
    await actor.answer("t", 1, False)
    assert await waiting is False
    assert await actor.wait_for_verdict("t", 2) is True


@on_a_loop
async def test_a_halt_waits_for_those_that_train(actor: Heard) -> None:
    for name in ("a", "b"):
        await actor.begin(name, task(name))
    await actor.tell("a", step("a"))
    orders, verdict = await waits(actor.orders("a", 0)), await waits(actor.wait_for_verdict("a", 1))
    idle = await waits(actor.take("c", 0, "life", "node", -1))
    halting = await waits(actor.halt(60))
    assert await orders == [HALT]
    assert await verdict is True  # goes on to its checkpoint
    assert await idle is None
    await actor.finish("a", 0)  # `b` evaluates: an order is not heard there
    await halting
    assert await actor.take("a", 0, "life", "node", 0) is None


@on_a_loop
async def test_only_so_many_wait_for_their_scores_and_a_halt_for_what_is_handed_over(actor: Heard) -> None:
    """Also for what waits for room: no group has it any more."""
    for number in range(MOST_HELD_TRIALS):
        await actor.hand_over(f"t{number}", number)
    assert await actor.news() == [HandedOver(f"t{number}", [number]) for number in range(MOST_HELD_TRIALS)]
    waiting = await waits(actor.hand_over("one more", "embeddings"))
    halting = await waits(actor.halt(60))
    await actor.release()
    await waiting
    await halting
    assert handed_over(await actor.news()) == ["one more"]


@on_a_loop
async def test_a_halt_does_not_wait_for_a_group_whose_disk_is_full(actor: Heard) -> None:
    await actor.begin("a", task("a"))
    await actor.tell("a", step("a"))
    await actor.tell("a", DiskFull("the disk is full"))
    await asyncio.wait_for(actor.halt(60), 1)


@on_a_loop
async def test_an_error_fails_what_is_open_once(actor: Heard) -> None:
    await actor.begin("a", task("p", "p-0", "p-1", "p-2", done=("p-0",)))
    await actor.settled(["p-1"])
    await actor.finish("a", 0, "no such file")
    await actor.finish("a", 0, "a further worker's")
    await actor.finish("a", 7, "of another task")
    assert await failed(actor) == [("p-2", "no such file")]
    await waits(actor.outcome("a"))
    await actor.settled(["p-2", "p-2"])


@on_a_loop
async def test_done_is_said_once_also_where_things_are_told_twice(actor: Heard) -> None:
    await actor.begin("a", task("t"))
    for _ in range(2):
        await actor.tell("a", record("t"))
        await actor.settled(["t"])
        await actor.finish("a", 0)
    assert await actor.outcome("a") == Done()
    await waits(actor.outcome("a"))


@on_a_loop
async def test_what_cannot_be_begun_is_abandoned(actor: Heard) -> None:
    await actor.give("a", task("p", "p-0", "p-1"))
    await actor.settled(["p-0"])
    await actor.abandon("a", "its workers did not start")
    assert await failed(actor) == [("p-1", "its workers did not start")]


class Cluster:
    """A study, its trainables and their workers, where any worker may die between any two things that it does."""

    def __init__(self, actor: Heard, random: Random, mortality: float) -> None:
        self.actor, self.random, self.mortality = actor, random, mortality
        self.outcomes: Counter[str] = Counter()
        self.kept: set[str] = set()
        self.names = (f"group {number}" for number in itertools.count())
        self.apart: set[asyncio.Task[None]] = set()
        """Scores that are made, and calls of workers that may die meanwhile."""

    async def study(self) -> None:
        while True:
            for event in await self.actor.news():
                if isinstance(event, HandedOver):
                    self.apart.add(asyncio.create_task(self.score(event.key)))
                elif isinstance(event, Scored | Failed):
                    await self.settle(event.key)

    async def score(self, key: str) -> None:
        await self.pause()
        await self.settle(key)
        await self.actor.release()

    async def settle(self, key: str) -> None:
        if key not in self.kept:  # as the result writer does
            self.kept.add(key)
            self.outcomes[key] += 1
            await self.pause()
            await self.actor.settled([key])

    async def trainable(self, tasks: list[WorkerTask]) -> None:
        group = None
        for item in tasks:
            await self.actor.offer(item)
            while True:
                if group is None:
                    name = next(self.names)
                    group = name, asyncio.create_task(self.worker(name))
                await self.actor.assign(group[0], item.key, None)
                if isinstance(await self.actor.outcome(group[0]), Done):
                    break
                group = None  # its workers are lost
        if group is not None:
            await self.actor.dismiss(group[0])
            await group[1]

    async def worker(self, name: str) -> None:
        number = -1
        try:
            while True:
                taken = await self.actor.take(name, 0, "life", "node", number)
                if taken is None:
                    return
                number = taken.number
                await self.pause()
                for key in taken.keys:
                    if key not in taken.done:
                        given = self.random.random() < 0.5
                        call = self.actor.hand_over(key, "embeddings") if given else self.actor.tell(name, record(key))
                        event = asyncio.create_task(call)
                        self.apart.add(event)
                        await self.pause()
                        self.die()  # the coordinator goes on with what a dead one asked for
                        await event
                        await self.pause()
                        self.die()
                error = self.random.random() < self.mortality
                renew = self.random.random() < self.mortality
                await self.actor.finish(name, number, "an error" if error else None, renew=renew)
                self.die()
        except RuntimeError as death:
            await self.actor.ended(name, str(death))

    def die(self) -> None:
        if self.random.random() < self.mortality:
            raise RuntimeError("killed")

    async def pause(self) -> None:
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)


def test_every_state_can_be_walked_to_and_left() -> None:
    """From the first one; and nothing waits for ever in one that no change leaves, but where a group has ended."""
    reached, ahead = {State.IDLE}, [State.IDLE]
    while ahead:
        state = ahead.pop()
        following = {after for (before, _), after in TRANSITIONS.items() if before is state} - reached
        reached |= following
        ahead += following
    assert reached == {*State}
    assert {change for _, change in TRANSITIONS} == {*Change}
    ends = {State.IDLE, State.ENDED, State.LOST}  # of a task: it is done, or another group will be given it
    for state in State:
        visited = {state}
        for _ in State:
            visited |= {after for (before, _), after in TRANSITIONS.items() if before in visited}
        assert visited & ends, state
    for state in AT_WORK:  # whatever it does, its workers may end, and it may be given up
        assert TRANSITIONS[state, Change.ENDED] is State.LOST
        assert TRANSITIONS[state, Change.FINISHED] is State.SETTLING
    assert {state for state in State if (state, Change.INTERRUPTED) in TRANSITIONS} == TAKEN - {State.INTERRUPTED}
    assert not AT_WORK & WITHOUT_WORKERS
    assert all((state, Change.TAKEN) not in TRANSITIONS for state in {*State} - AT_WORK)  # no trial is taken twice


@pytest.mark.parametrize("mortality", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(20))
@on_a_loop
async def test_no_trainable_waits_for_ever_and_each_trial_has_one_outcome(
    seed: int, mortality: float, actor: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all room for embeddings is free in the end."""
    monkeypatch.setattr("study.engine.coordinator.MOST_HELD_TRIALS", 2)
    cluster = Cluster(actor, Random(seed), mortality)
    tasks = [task(f"t{n}", *(f"t{n}-{member}" for member in range(1 + n % 3))) for n in range(12)]
    study = asyncio.create_task(cluster.study())
    await asyncio.gather(*(cluster.trainable(tasks[start::3]) for start in range(3)))
    each = {key: 1 for item in tasks for key in item.keys}
    while cluster.outcomes.keys() < each.keys() or not all(call.done() for call in cluster.apart):
        await asyncio.sleep(0)
    study.cancel()
    assert cluster.outcomes == each
    for number in range(2):
        await actor.hand_over(f"later {number}", "embeddings")


@on_a_loop
async def test_a_group_that_ends_is_given_nothing_more(actor: Heard) -> None:
    """It is renewed, or dead while its trainable does not know yet: the task goes to another group at once, and that
    counts neither as an attempt nor as the reason of a failure."""
    await actor.begin("a", task("t"))
    await actor.finish("a", 0, renew=True)
    assert await actor.take("a", 0, "life", "node", 0) is None
    await actor.settled(["t"])
    assert await actor.outcome("a") == Done()
    await actor.give("a", task("u"))
    assert isinstance(await actor.outcome("a"), Lost)
    await actor.ended("a", "the end of the old one")
    for attempt in range(ATTEMPTS):
        assert await actor.begin(f"b{attempt}", task("u")) is not None


@on_a_loop
async def test_a_group_whose_workers_died_runs_nothing_until_they_are_back(actor: Heard) -> None:
    """They may wait for a machine for hours; meanwhile nobody is told that their trials run."""
    await actor.interrupted("unknown")
    await actor.give("a", task("t"))
    await actor.interrupted("a")  # nobody had taken it
    await actor.take("a", 0, "life", "node", -1)
    await actor.tell("a", step("t"))
    await actor.interrupted("a")
    await actor.halt(60)  # nothing trains
    assert [type(event) for event in await actor.news()] == [Started, Step, TrialsInterrupted]


@pytest.mark.parametrize("early", [True, False])
@on_a_loop
async def test_an_error_before_a_task_is_taken_is_a_failed_start(early: bool, actor: Heard) -> None:
    """Also one of workers that ended before they were given it."""
    calls = [actor.ended("a", "ImportError: no", True), actor.give("a", task("p", "p-0", "p-1", done=("p-0",)))]
    for call in calls if early else reversed(calls):
        await call
    assert await actor.outcome("a") == Lost("ImportError: no", taken=False)
    assert await actor.news() == [NotStarted(("p-1",), "ImportError: no")]
    await actor.give("b", task("t"))
    await actor.not_started("b", "ImportError: of Train's workers")
    assert await actor.news() == [NotStarted(("t",), "ImportError: of Train's workers")]


@on_a_loop
async def test_workers_of_several_that_die_before_they_take_their_task_are_told_of(actor: Heard) -> None:
    """Also those of a later start; of ones that had taken it, and where a machine died, only the end is told."""
    death = frozenset({"node"}), "killed"
    await actor.interrupted("a", *death)  # it has no task yet
    await actor.give("a", task("p", "p-0", "p-1", done=("p-0",)))
    await actor.interrupted("a")
    await actor.interrupted("a", *death)
    assert await actor.news() == [Died(("p-1",), *death)]
    await actor.take("a", 0, "life", "node", -1)
    await actor.tell("a", Step(("p-1",), 1, 9, {}))
    await actor.interrupted("a", *death)
    assert [type(event) for event in await actor.news()] == [Started, Step, TrialsInterrupted]
    await actor.interrupted("a", *death)
    assert await actor.news() == [Died(("p-1",), *death)]


@on_a_loop
async def test_starts_before_a_task_is_taken_are_no_attempts(actor: Heard) -> None:
    """A machine may go ever again. What Ray says of a death is the reason where the attempts are used up."""
    for start in range(3 * ATTEMPTS):
        await actor.give(f"start {start}", task("t"))
    for attempt in range(ATTEMPTS):
        assert await actor.begin(f"attempt {attempt}", task("t")) is not None
        await actor.died("t", f"process {attempt} died")
    await actor.give("last", task("t"))
    reason = f"it was begun {ATTEMPTS} times; the last time: process {ATTEMPTS - 1} died"
    assert await failed(actor) == [("t", reason)]


@on_a_loop
async def test_deaths_and_what_comes_after_a_task_was_taken_are_no_failed_starts(actor: Heard) -> None:
    await actor.give("died", task("t"))
    await actor.ended("died", "its controller died")
    await actor.begin("a", task("t"))
    await actor.ended("a", "an error", True)
    await actor.begin("b", task("t"))
    await actor.tell("b", record("t"))
    await actor.settled(["t"])
    await actor.finish("b", 0)
    await actor.dismiss("b")
    await actor.ended("b", "its workers were renewed")
    assert {type(event) for event in await actor.news()} == {Started, TrialsInterrupted, Scored}


@on_a_loop
async def test_places_of_a_dead_trainable_are_given_back(actor: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next group would wait for them. Those of one that lives stay, and of one in its trainable's place."""
    given: list[str] = []
    monkeypatch.setattr("study.engine.coordinator.remove_placement_group", given.append)
    for group, key in (("a", "t"), ("b", "u")):
        await actor.note_placement(group, f"places of {group}")
        await actor.begin(group, task(key))
    await actor.begin("alone", task("v"))
    await actor.give("c", task("t"))
    await actor.give("d", task("v"))
    assert given == ["places of a"]
    await actor.give("e", task("u2"))
    await actor.give("f", task("u2"))  # the trainable of e died before its workers sat
    await actor.note_placement("e", "places of e")
    assert given == ["places of a", "places of e"]

    def fails(places: str) -> None:
        raise ConnectionError

    monkeypatch.setattr("study.engine.coordinator.remove_placement_group", fails)
    with pytest.raises(ConnectionError):
        await actor.give("g", task("u"))
    monkeypatch.setattr("study.engine.coordinator.remove_placement_group", given.append)
    await actor.give("h", task("u"))
    assert given[2:] == ["places of b"]


@pytest.mark.parametrize("dead", [True, False])
@on_a_loop
async def test_places_of_a_trainable_that_died_between_two_tasks_are_given_back(
    dead: bool, actor: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can tell nobody. Where Ray has no dashboard, the next group would wait for its places for ever."""
    given: list[str] = []
    monkeypatch.setattr("study.engine.coordinator.remove_placement_group", given.append)
    monkeypatch.setattr("study.engine.coordinator.lives", lambda trainable: not dead)
    await actor.give("a", task("t"))
    await actor.note_placement("a", "places of a")
    await actor.take("a", 0, "life", "node", -1)
    await actor.give("b", task("u"))  # while a is at work nobody asks
    assert given == []
    await actor.tell("a", record("t"))
    await actor.settled(["t"])
    await actor.finish("a", 0)
    await actor.note_placement("early", "places of early")  # its trainable has not assigned its first task yet
    await actor.give("b", task("v"))  # it has its places
    assert given == []
    await actor.give("c", task("w"))
    assert given == ["places of a"] * dead


@on_a_loop
async def test_a_dead_worker_s_calls_take_nothing_from_the_living(actor: Heard) -> None:
    """Train starts workers anew under the group's old name; what the dead one waited for still waits there."""
    dead = await waits(actor.take("a", 0, "first life", "node", -1))
    deaf = await waits(actor.orders("a", 0))
    living = await waits(actor.take("a", 0, "second life", "node", -1))
    await actor.give("a", task("t"))
    assert await dead is None
    assert (await living).key == "t"
    await actor.tell("a", step("t"))
    await actor.halt(0.01)
    assert await deaf == [HALT]
    assert await actor.orders("a", 0) == [HALT]
    await actor.answer("t", 1, False)
    assert [await actor.wait_for_verdict("t", 1), await actor.wait_for_verdict("t", 1)] == [False, False]


@on_a_loop
async def test_groups_that_die_leave_no_room_taken(actor: Heard) -> None:
    """What they gave is scored all the same, and nobody begins it again, not even while it waits for room."""
    for number in range(2 * MOST_HELD_TRIALS):
        name, key = f"group {number}", f"t{number}"
        await actor.begin(name, task(key))
        asyncio.create_task(actor.hand_over(key, "embeddings"))  # noqa: RUF006
        await asyncio.sleep(0)
        await actor.ended(name, "killed")
        await actor.give(f"next {number}", task(key))
        assert await actor.outcome(f"next {number}") == Done()
    given: list[str] = []
    while len(given) < 2 * MOST_HELD_TRIALS:
        event = handed_over(await actor.news())
        given += event
        for _ in event:
            await actor.release()
    assert given == [f"t{number}" for number in range(2 * MOST_HELD_TRIALS)]
    for number in range(MOST_HELD_TRIALS):
        await actor.hand_over(f"later {number}", "embeddings")


@on_a_loop
async def test_embeddings_that_nobody_can_keep_fail_their_trial(actor: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("ray.put", full)
    for number in range(MOST_HELD_TRIALS + 1):
        await actor.hand_over(f"t{number}", "embeddings")
    assert await failed(actor) == [
        (f"t{number}", "its embeddings were not kept: no room") for number in range(MOST_HELD_TRIALS + 1)
    ]
