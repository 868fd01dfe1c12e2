"""When failed starts of worker groups end a study, and when not."""

from __future__ import annotations

import pytest
import ray.exceptions
from ray.core.generated.common_pb2 import ActorDiedErrorContext

from reports.testing import made_record
from study.engine.messages import Died, Event, Failed, NotStarted, Rung, Scored, Started, Step, TrialsInterrupted
from study.engine.starts import OUTLIVED_SECONDS, STARTS, FailedStarts, is_raised, last_line

T, U = ("t",), ("u",)
PROGRESS = {
    "a group begins it and dies": (Started(U), TrialsInterrupted(U)),
    "a step": (Step(U, 1, 9, {}),),
    "a rung": (Rung("u", 1, {"sts": 40.0}),),
    "a record": (Scored("u", made_record({}, "a", 0), None, None),),
}


def after(*events: Event) -> FailedStarts:
    starts = FailedStarts()
    for event in events:
        starts.add_event(event, event.keys)
    return starts


def not_started(*members: str) -> NotStarted:
    return NotStarted(members, "ImportError: the code was replaced")


def test_so_many_failed_starts_of_one_task_end_the_study() -> None:
    assert not after(*[not_started("t")] * (STARTS - 1)).hopeless
    failed = after(*[not_started("t")] * STARTS)
    assert failed.hopeless
    assert failed.count == STARTS
    began = [Started(T), Step(T, 1, 9, {}), TrialsInterrupted(T)]
    assert after(*began, *[not_started("t")] * STARTS).hopeless  # after hours of work, too
    assert after(
        *[not_started("t"), TrialsInterrupted(U), Failed("u", "its own")] * STARTS
    ).hopeless  # neither is progress


@pytest.mark.parametrize("progress", PROGRESS)
def test_failures_between_which_anything_goes_well_never_do(progress: str) -> None:
    between = [not_started("t")] * (STARTS - 1)
    failed = after(*[*between, *PROGRESS[progress]] * 20)
    assert not failed.hopeless
    assert failed.count == 0
    assert after(*between * 20).hopeless


def test_deaths_of_machines_do_not_count() -> None:
    died = after(*[Started(T), TrialsInterrupted(T)] * 20, *[TrialsInterrupted(T)] * 20)
    assert not died.hopeless
    assert died.count == 0


class Clock:
    """Seconds that pass when the test says so."""

    now = 1000.0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("study.engine.starts.time.monotonic", lambda: self.now)


def died(*nodes: str, task: str = "t") -> Died:
    return Died((task,), frozenset(nodes), f"killed on {' and '.join(nodes)}")


def outlived(starts: FailedStarts, *living: str) -> list[str]:
    return [event.reason for event in starts.take_confirmed_deaths(lambda: "head", lambda: {"head", *living})]


def test_a_process_that_died_is_a_failed_start_once_its_machine_outlived_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    starts = after(died("a"), died("a", "b"), TrialsInterrupted(T), Failed("u", "its own"))
    clock.now += OUTLIVED_SECONDS - 1
    assert outlived(starts, "a", "b") == []
    clock.now += 1
    assert outlived(starts, "a", "b") == ["killed on a", "killed on a and b"]
    assert outlived(starts, "a", "b") == []  # told once
    assert starts.count == 0  # whoever is told of it says that it was a failed start


def test_on_the_study_s_own_machine_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had it died, so had the study."""
    Clock(monkeypatch)
    assert outlived(after(died("head"), died("head", "a")), "a") == ["killed on head"]


def test_a_machine_that_goes_takes_its_deaths_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray tells first of its processes; its end is known later, and its notice was a while before."""
    clock = Clock(monkeypatch)
    starts = after(*[died("a"), died("a", "b")] * STARTS, died("b"))
    clock.now += OUTLIVED_SECONDS
    assert outlived(starts, "b") == ["killed on b"]
    assert outlived(starts, "a", "b") == []  # it came back under its name too late


@pytest.mark.parametrize("progress", PROGRESS)
def test_deaths_before_anything_went_well_never_count(progress: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    starts = after(died("head"), died("a"), *PROGRESS[progress])
    clock.now += OUTLIVED_SECONDS
    assert outlived(starts, "a") == []


def test_which_trials_were_begun() -> None:
    starts = after(Started(("t", "u")))
    assert starts.begun(["u"])
    assert not after(Started(T), TrialsInterrupted(T)).begun(["t"])
    assert not starts.begun([])


def test_nobody_who_works_is_disturbed() -> None:
    working = after(Started(U), *[not_started("t")] * 20)
    assert not working.hopeless
    assert working.count == 20
    late = Step(U, 9, 9, {})  # told by one that died: it is not taken for one that works
    for event in [TrialsInterrupted(U), late, *[not_started("t")] * STARTS]:
        working.add_event(event, event.keys)
    assert working.hopeless


def test_a_thousand_tasks_that_fail_at_once_have_failed_once_each() -> None:
    once = [not_started(f"t{number}") for number in range(1000)]
    assert not after(*once).hopeless
    assert after(*once).count == 1000
    assert after(*once * STARTS).hopeless


def test_what_code_raised_is_told_from_a_death() -> None:
    raised = ray.exceptions.RayTaskError("setup", "Traceback ...\nImportError: replaced\n", ImportError("replaced"))
    assert is_raised(ImportError("replaced"))
    assert is_raised(raised)
    assert is_raised(raised.as_instanceof_cause())
    assert is_raised(ray.exceptions.ActorDiedError(raised))
    assert not is_raised(ray.exceptions.ActorDiedError())
    death = ActorDiedErrorContext(error_message="The actor died because its node has died.", actor_id=b"a" * 16)
    assert not is_raised(ray.exceptions.ActorDiedError(death))
    assert not is_raised(ray.exceptions.ActorUnavailableError("away", None))
    assert not is_raised(ray.exceptions.OutOfMemoryError("killed for memory"))


def test_an_error_is_told_in_its_last_line() -> None:
    raised = ray.exceptions.RayTaskError("setup", "Traceback ...\nImportError: replaced\n", ImportError("replaced"))
    assert last_line(ray.exceptions.ActorDiedError(raised)) == "ImportError: replaced"
    assert last_line(ImportError("replaced")) == "ImportError: replaced"
