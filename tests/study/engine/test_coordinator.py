"""The desk as a plain object on an event loop, without Ray: drivers, crews and the study are coroutines here."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest

from study.engine.coordinator import ATTEMPTS, HALT, HELD, Desk


class Heard(Desk):
    """A desk whose study hears what it posts."""

    heard = 0

    async def news(self) -> list[dict[str, Any]]:
        told = await self.post(self.heard)
        self.heard = told[-1][0] + 1
        return [message for _, message in told]


Scene = Callable[[Heard], Coroutine[Any, Any, None]]


def task(key: str, *members: str, done: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"key": key, "trials": [{"key": member} for member in (members or (key,))], "done": list(done)}


def record(key: str) -> dict[str, Any]:
    return {"kind": "record", "key": key}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray's memory, and without threads, so that things happen in the same order each time."""

    async def at_once(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    monkeypatch.setattr("ray.put", lambda content: content)
    monkeypatch.setattr("asyncio.to_thread", at_once)


def play(scene: Scene, folder: Path) -> None:
    """What waits for ever fails."""

    async def within() -> None:
        await asyncio.wait_for(scene(Heard(folder)), 20)

    asyncio.run(within())


async def waits(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A call that has no answer yet."""
    waiting = asyncio.create_task(call)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    return waiting


async def failed(desk: Heard) -> list[tuple[str, str]]:
    return [(told["key"], told["reason"]) for told in await desk.news() if told["kind"] == "failed"]


def test_a_task_goes_to_its_crew_and_comes_back(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        taking, other = (
            await waits(desk.take("a", 0, "life", "node", -1)),
            await waits(desk.take("b", 0, "life", "node", -1)),
        )
        await desk.assign("a", task("t"))
        taken = await taking
        assert (taken["key"], taken["number"], taken["done"]) == ("t", 0, [])
        assert await desk.news() == [{"kind": "started", "keys": ["t"]}]
        await desk.tell("a", record("t"))
        await desk.finish("a", 0)
        event = await waits(desk.event("a"))  # the driver is free only once the record is kept
        assert await desk.news() == [record("t")]
        await desk.settled(["t"])
        assert await event == {"kind": "done"}
        again = await waits(desk.take("a", 0, "life", "node", 0))
        await desk.assign("a", task("u"))
        assert (await again)["number"] == 1
        assert not other.done()
        await desk.dismiss("b")
        assert await other is None

    play(scene, tmp_path)


def test_what_nobody_heard_is_told_again(tmp_path: Path) -> None:
    """The answer is lost where a person stops the study as it comes."""

    async def scene(desk: Heard) -> None:
        lost = await waits(desk.post(0))
        for key in ("t", "u"):
            await desk.tell("a", record(key))
        assert await lost == await desk.post(0) == [(0, record("t")), (1, record("u"))]
        assert await desk.post(1) == [(1, record("u"))]
        later = await waits(desk.post(2))
        await desk.tell("a", record("v"))
        assert await later == [(2, record("v"))]

    play(scene, tmp_path)


def test_all_workers_of_a_crew_take_the_same_task(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        taken = [await desk.take("a", rank, "life", f"node {rank}", -1) for rank in (2, 0, 1)]
        assert taken[0] == taken[1] == taken[2]
        assert await desk.news() == [{"kind": "started", "keys": ["t"]}]  # said once
        await waits(desk.take("a", 1, "life", "node 1", 0))

    play(scene, tmp_path)


def test_a_crew_that_died_takes_its_task_again_without_what_is_settled(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("p", "p-0", "p-1", "p-2", done=("p-0",)))
        first = await desk.take("a", 0, "life", "node", -1)
        assert first is not None
        assert first["done"] == ["p-0"]
        await desk.tell("a", record("p-1"))
        await desk.settled(["p-1"])
        again = await desk.take("a", 0, "life", "node", -1)  # its workers have been started anew
        assert again is not None
        assert again["done"] == ["p-0", "p-1"]
        started = [told["keys"] for told in await desk.news() if told["kind"] == "started"]
        assert started == [["p-1", "p-2"], ["p-2"]]

    play(scene, tmp_path)


def test_after_so_many_attempts_a_trial_fails_with_the_last_reason(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        for attempt in range(ATTEMPTS):
            await desk.assign(f"crew {attempt}", task("t"))
            assert await desk.take(f"crew {attempt}", 0, "life", "node", -1) is not None
            await desk.lost(f"crew {attempt}", f"killed {attempt}")
            assert (await desk.event(f"crew {attempt}"))["kind"] == "lost"
        assert await failed(desk) == []
        await desk.assign("last", task("t"))
        assert await failed(desk) == [("t", f"it was begun {ATTEMPTS} times; the last time: killed {ATTEMPTS - 1}")]
        await desk.settled(["t"])
        assert await desk.event("last") == {"kind": "done"}

    play(scene, tmp_path)


def test_workers_that_are_started_too_often_for_a_trial_go_on_with_the_next(tmp_path: Path) -> None:
    """Train starts them anew under the crew's old name."""

    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        for _ in range(ATTEMPTS):
            assert await desk.take("a", 0, "life", "node", -1) is not None
        await desk.stumbled("a", 0, "no memory")
        await desk.stumbled("a", 7, "of another task")
        assert await desk.take("a", 1, "life", "node", -1) is not None  # it would wait for the first worker for ever
        with pytest.raises(RuntimeError, match="given up"):
            await desk.take("a", 0, "life", "node", -1)
        assert await failed(desk) == [("t", f"it was begun {ATTEMPTS} times; the last time: no memory")]
        workers = [await waits(desk.take("a", rank, "life", "node", -1)) for rank in (0, 1)]
        await desk.settled(["t"])
        assert await desk.event("a") == {"kind": "done"}
        await desk.assign("a", task("u"))
        assert [(await worker)["key"] for worker in workers] == ["u", "u"]

    play(scene, tmp_path)


def test_a_crew_that_always_dies_after_its_record_does_not_hold_its_driver(tmp_path: Path) -> None:
    """Nothing is left to fail, so nothing will be settled any more."""

    async def scene(desk: Heard) -> None:
        for attempt in range(ATTEMPTS):
            await desk.assign(f"crew {attempt}", task("t"))
            await desk.take(f"crew {attempt}", 0, "life", "node", -1)
        await desk.tell(f"crew {ATTEMPTS - 1}", record("t"))
        await desk.settled(["t"])
        await desk.assign("last", task("t"))
        assert await desk.event("last") == {"kind": "done"}
        assert await failed(desk) == []

    play(scene, tmp_path)


def test_a_trial_that_was_handed_over_is_no_crews_any_more(tmp_path: Path) -> None:
    """Its scores are being made elsewhere: a crew that dies afterwards neither runs it again nor makes it fail."""

    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("p", "p-0", "p-1"))
        await desk.take("a", 0, "life", "node", -1)
        await desk.hand_over("p-0", "embeddings")
        await desk.lost("a", "killed")
        await desk.assign("b", task("p", "p-0", "p-1"))
        taken = await desk.take("b", 0, "life", "node", -1)
        assert taken is not None
        assert taken["done"] == ["p-0"]
        await desk.news()
        await desk.finish("b", 0, "no such file")
        assert await failed(desk) == [("p-1", "no such file")]

    play(scene, tmp_path)


def test_a_verdict_is_waited_for(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        await desk.tell("a", {"kind": "rung", "key": "t", "number": 1, "scores": {"sts": 40.0}})
        assert (await desk.event("a"))["scores"] == {"sts": 40.0}
        waiting = await waits(desk.verdict("t", 1))
        await desk.judge("t", 2, True)
        await desk.judge("other", 1, True)
        assert not waiting.done()
        await desk.judge("t", 1, False)
        assert await waiting is False
        assert await desk.verdict("t", 2) is True

    play(scene, tmp_path)


def test_a_halt_waits_for_those_that_train(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        for name in ("a", "b"):
            await desk.assign(name, task(name))
            await desk.take(name, 0, "life", "node", -1)
        await desk.tell("a", {"kind": "step", "keys": ["a"], "step": 1, "steps": 9})
        orders, verdict = await waits(desk.orders("a", 0)), await waits(desk.verdict("a", 1))
        idle = await waits(desk.take("c", 0, "life", "node", -1))
        halting = await waits(desk.halt(60))
        assert await orders == [HALT]
        assert await verdict is True  # goes on to its checkpoint
        assert await idle is None
        await desk.finish("a", 0)  # `b` evaluates: an order is not heard there
        await halting
        assert await desk.take("a", 0, "life", "node", 0) is None

    play(scene, tmp_path)


def test_a_halt_waits_for_what_is_handed_over(tmp_path: Path) -> None:
    """Also for what waits for room: no crew has it any more."""

    async def scene(desk: Heard) -> None:
        for number in range(HELD):
            await desk.hand_over(f"t{number}", number)
        await desk.news()
        waiting = await waits(desk.hand_over("one more", "embeddings"))
        halting = await waits(desk.halt(60))
        await desk.release()
        await waiting
        await halting
        assert unscored(await desk.news()) == ["one more"]

    play(scene, tmp_path)


def test_a_halt_does_not_wait_for_a_crew_whose_disk_is_full(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("a"))
        await desk.tell("a", {"kind": "step", "keys": ["a"], "step": 1, "steps": 9})
        await desk.tell("a", {"kind": "full", "reason": "the disk is full"})
        await asyncio.wait_for(desk.halt(60), 1)

    play(scene, tmp_path)


def test_a_halt_ends_after_its_seconds(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("a"))
        await desk.tell("a", {"kind": "step", "keys": ["a"], "step": 1, "steps": 9})
        await desk.halt(0.01)

    play(scene, tmp_path)


def test_an_error_fails_what_is_open_once(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("p", "p-0", "p-1", "p-2", done=("p-0",)))
        await desk.take("a", 0, "life", "node", -1)
        await desk.settled(["p-1"])
        await desk.finish("a", 0, "no such file")
        await desk.finish("a", 0, "a further worker's")
        await desk.finish("a", 7, "of another task")
        assert await failed(desk) == [("p-2", "no such file")]
        await waits(desk.event("a"))
        await desk.settled(["p-2", "p-2"])

    play(scene, tmp_path)


def test_done_is_said_once_also_where_things_are_told_twice(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        await desk.take("a", 0, "life", "node", -1)
        for _ in range(2):
            await desk.tell("a", record("t"))
            await desk.settled(["t"])
            await desk.finish("a", 0)
        assert await desk.event("a") == {"kind": "done"}
        await waits(desk.event("a"))

    play(scene, tmp_path)


def test_what_cannot_be_begun_is_abandoned(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("p", "p-0", "p-1"))
        await desk.settled(["p-0"])
        await desk.abandon("a", "its workers did not start")
        assert await failed(desk) == [("p-1", "its workers did not start")]

    play(scene, tmp_path)


class Cluster:
    """A study, its drivers and their crews, where any worker may die between any two things that it does."""

    def __init__(self, desk: Heard, random: Random, mortality: float) -> None:
        self.desk, self.random, self.mortality = desk, random, mortality
        self.outcomes: Counter[str] = Counter()
        self.kept: set[str] = set()
        self.names = (f"crew {number}" for number in itertools.count())
        self.apart: set[asyncio.Task[None]] = set()
        """Scores that are made, and calls of crews that may die meanwhile."""

    async def study(self) -> None:
        while True:
            for message in await self.desk.news():
                if message["kind"] == "unscored":
                    self.apart.add(asyncio.create_task(self.score(message["key"])))
                elif message["kind"] in ("record", "failed"):
                    await self.settle(message["key"])

    async def score(self, key: str) -> None:
        await self.pause()
        await self.settle(key)
        await self.desk.release()

    async def settle(self, key: str) -> None:
        if key not in self.kept:  # as the keeper does
            self.kept.add(key)
            self.outcomes[key] += 1
            await self.pause()
            await self.desk.settled([key])

    async def driver(self, tasks: list[dict[str, Any]]) -> None:
        crew = None
        for item in tasks:
            given = False
            while True:
                if crew is None:
                    name = next(self.names)
                    crew = name, asyncio.create_task(self.crew(name))
                if not given:
                    await self.desk.assign(crew[0], item)
                    given = True
                event = await self.desk.event(crew[0])
                if event["kind"] == "done":
                    break
                crew, given = None, False  # its workers are lost
        if crew is not None:
            await self.desk.dismiss(crew[0])
            await crew[1]

    async def crew(self, name: str) -> None:
        number = -1
        try:
            while True:
                taken = await self.desk.take(name, 0, "life", "node", number)
                if taken is None:
                    return
                number = taken["number"]
                await self.pause()
                for trial in taken["trials"]:
                    if trial["key"] not in taken["done"]:
                        key = trial["key"]
                        given = self.random.random() < 0.5
                        call = self.desk.hand_over(key, "embeddings") if given else self.desk.tell(name, record(key))
                        told = asyncio.create_task(call)
                        self.apart.add(told)
                        await self.pause()
                        self.die()  # the desk goes on with what a dead one asked for
                        await told
                        await self.pause()
                        self.die()
                error = self.random.random() < self.mortality
                renew = self.random.random() < self.mortality
                await self.desk.finish(name, number, "an error" if error else None, renew=renew)
                self.die()
        except RuntimeError as death:
            await self.desk.lost(name, str(death))

    def die(self) -> None:
        if self.random.random() < self.mortality:
            raise RuntimeError("killed")

    async def pause(self) -> None:
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)


@pytest.mark.parametrize("mortality", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(20))
def test_no_driver_waits_for_ever_and_each_trial_has_one_outcome(
    seed: int, mortality: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all room for embeddings is free in the end."""
    monkeypatch.setattr("study.engine.coordinator.HELD", 2)

    async def scene(desk: Heard) -> None:
        cluster = Cluster(desk, Random(seed), mortality)
        tasks = [task(f"t{n}", *(f"t{n}-{member}" for member in range(1 + n % 3))) for n in range(12)]
        study = asyncio.create_task(cluster.study())
        await asyncio.gather(*(cluster.driver(tasks[start::3]) for start in range(3)))
        each = {trial["key"]: 1 for item in tasks for trial in item["trials"]}
        while cluster.outcomes.keys() < each.keys() or not all(call.done() for call in cluster.apart):
            await asyncio.sleep(0)
        study.cancel()
        assert cluster.outcomes == each
        for number in range(2):
            await desk.hand_over(f"later {number}", "embeddings")

    play(scene, tmp_path)


def test_a_crew_that_ends_is_given_nothing_more(tmp_path: Path) -> None:
    """It is renewed, or dead while its driver does not know yet: the task goes to another crew at once, and that counts
    neither as an attempt nor as the reason of a failure."""

    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        await desk.take("a", 0, "life", "node", -1)
        await desk.finish("a", 0, renew=True)
        assert await desk.take("a", 0, "life", "node", 0) is None
        await desk.settled(["t"])
        assert await desk.event("a") == {"kind": "done"}
        await desk.assign("a", task("u"))
        assert (await desk.event("a"))["kind"] == "lost"
        await desk.lost("a", "the end of the old one")
        for attempt in range(ATTEMPTS):
            await desk.assign(f"b{attempt}", task("u"))
            assert await desk.take(f"b{attempt}", 0, "life", "node", -1) is not None

    play(scene, tmp_path)


def test_a_crew_whose_workers_died_runs_nothing_until_they_are_back(tmp_path: Path) -> None:
    """They may wait for a machine for hours; meanwhile nobody is told that their trials run."""

    async def scene(desk: Heard) -> None:
        await desk.interrupted("unknown")
        await desk.assign("a", task("t"))
        await desk.interrupted("a")  # nobody had taken it
        await desk.take("a", 0, "life", "node", -1)
        await desk.tell("a", {"kind": "step", "keys": ["t"], "step": 1, "steps": 9})
        await desk.interrupted("a")
        await desk.halt(60)  # nothing trains
        kinds = [told["kind"] for told in await desk.news()]
        assert kinds == ["started", "step", "interrupted"]

    async def lost(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        await desk.take("a", 0, "life", "node", -1)
        await desk.lost("a", "no machine")
        assert [(told["kind"], told["keys"]) for told in await desk.news()] == [
            ("started", ["t"]),
            ("interrupted", ["t"]),
        ]

    play(scene, tmp_path)
    play(lost, tmp_path)


def test_the_places_of_a_dead_driver_s_crew_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next crew would wait for them. Those of a crew that lives, and of one in its driver's place, stay."""
    given: list[str] = []
    monkeypatch.setattr("study.engine.coordinator.give_back", given.append)

    async def scene(desk: Heard) -> None:
        for crew, key in (("a", "t"), ("b", "u")):
            await desk.sits(crew, f"places of {crew}")
            await desk.assign(crew, task(key))
            await desk.take(crew, 0, "life", "node", -1)
        await desk.assign("alone", task("v"))
        await desk.take("alone", 0, "life", "node", -1)
        await desk.assign("c", task("t"))
        await desk.assign("d", task("v"))
        assert given == ["places of a"]
        await desk.assign("e", task("u2"))
        await desk.assign("f", task("u2"))  # the driver of e died before its workers sat
        await desk.sits("e", "places of e")
        assert given == ["places of a", "places of e"]

        def fails(places: str) -> None:
            raise ConnectionError

        monkeypatch.setattr("study.engine.coordinator.give_back", fails)
        with pytest.raises(ConnectionError):
            await desk.assign("g", task("u"))
        monkeypatch.setattr("study.engine.coordinator.give_back", given.append)
        await desk.assign("h", task("u"))
        assert given[2:] == ["places of b"]

    play(scene, tmp_path)


def test_a_trial_that_was_kept_is_not_begun_again(tmp_path: Path) -> None:
    """Its driver died before it knew; the new one is free at once."""

    async def scene(desk: Heard) -> None:
        await desk.assign("a", task("t"))
        await desk.take("a", 0, "life", "node", -1)
        await desk.tell("a", {"kind": "record", "key": "t"})
        await desk.settled(["t"])
        await desk.assign("b", task("t"))
        assert await desk.event("b") == {"kind": "done"}
        still = await waits(desk.take("b", 0, "life", "node", -1))
        still.cancel()

    play(scene, tmp_path)


def test_a_dead_worker_s_calls_take_nothing_from_the_living(tmp_path: Path) -> None:
    """Train starts workers anew under the crew's old name; what the dead one waited for still waits at the desk."""

    async def scene(desk: Heard) -> None:
        dead = await waits(desk.take("a", 0, "first life", "node", -1))
        deaf = await waits(desk.orders("a", 0))
        living = await waits(desk.take("a", 0, "second life", "node", -1))
        await desk.assign("a", task("t"))
        assert await dead is None
        assert (await living)["key"] == "t"
        await desk.tell("a", {"kind": "step", "key": "t", "step": 1, "steps": 9})
        await desk.halt(0.01)
        assert await deaf == [HALT]
        assert await desk.orders("a", 0) == [HALT]
        await desk.judge("t", 1, False)
        assert [await desk.verdict("t", 1), await desk.verdict("t", 1)] == [False, False]

    play(scene, tmp_path)


def unscored(told: list[dict[str, Any]]) -> list[str]:
    return [message["key"] for message in told if message["kind"] == "unscored"]


def test_only_so_many_wait_for_their_scores(tmp_path: Path) -> None:
    async def scene(desk: Heard) -> None:
        for number in range(HELD):
            await desk.hand_over(f"t{number}", number)
        assert await desk.news() == [
            {"kind": "unscored", "key": f"t{number}", "content": [number]} for number in range(HELD)
        ]
        waiting = await waits(desk.hand_over("one more", "embeddings"))
        await desk.release()
        await waiting
        assert unscored(await desk.news()) == ["one more"]

    play(scene, tmp_path)


def test_groups_that_die_leave_no_room_taken(tmp_path: Path) -> None:
    """What they gave is scored all the same, and nobody begins it again, not even while it waits for room."""

    async def scene(desk: Heard) -> None:
        for number in range(2 * HELD):
            name, key = f"crew {number}", f"t{number}"
            await desk.assign(name, task(key))
            await desk.take(name, 0, "life", "node", -1)
            asyncio.create_task(desk.hand_over(key, "embeddings"))  # noqa: RUF006
            await asyncio.sleep(0)
            await desk.lost(name, "killed")
            await desk.assign(f"next {number}", task(key))
            assert await desk.event(f"next {number}") == {"kind": "done"}
        given: list[str] = []
        while len(given) < 2 * HELD:
            told = unscored(await desk.news())
            given += told
            for _ in told:
                await desk.release()
        assert given == [f"t{number}" for number in range(2 * HELD)]
        for number in range(HELD):
            await desk.hand_over(f"later {number}", "embeddings")

    play(scene, tmp_path)


def test_embeddings_that_nobody_can_keep_fail_their_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("ray.put", full)

    async def scene(desk: Heard) -> None:
        for number in range(HELD + 1):
            await desk.hand_over(f"t{number}", "embeddings")
        assert await failed(desk) == [
            (f"t{number}", "its embeddings were not kept: no room") for number in range(HELD + 1)
        ]

    play(scene, tmp_path)
