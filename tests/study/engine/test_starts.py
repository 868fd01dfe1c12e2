"""When failed starts of worker groups end a study, and when not."""

from __future__ import annotations

import pytest
import ray.exceptions
from ray.core.generated.common_pb2 import ActorDiedErrorContext

from reports.testing import made_record
from study.engine.messages import Event, Failed, Interrupted, NotStarted, Rung, Scored, Started, Step
from study.engine.starts import STARTS, FailedStarts, is_raised, last_words

T, U = ("t",), ("u",)
PROGRESS = {
    "a group begins it and dies": (Started(U), Interrupted(U)),
    "a step": (Step(U, 1, 9, {}),),
    "a rung": (Rung("u", 1, {"sts": 40.0}),),
    "a record": (Scored("u", made_record({}, "a", 0), None, None),),
}


def after(*events: Event) -> FailedStarts:
    starts = FailedStarts()
    for event in events:
        starts.hear(event, event.keys)
    return starts


def not_started(*members: str) -> NotStarted:
    return NotStarted(members, "ImportError: the code was replaced")


def test_so_many_failed_starts_of_one_task_end_the_study() -> None:
    assert not after(*[not_started("t")] * (STARTS - 1)).hopeless
    failed = after(*[not_started("t")] * STARTS)
    assert failed.hopeless
    assert failed.count == STARTS
    began = [Started(T), Step(T, 1, 9, {}), Interrupted(T)]
    assert after(*began, *[not_started("t")] * STARTS).hopeless  # after hours of work, too
    assert after(*[not_started("t"), Interrupted(U), Failed("u", "its own")] * STARTS).hopeless  # neither is progress


@pytest.mark.parametrize("progress", PROGRESS)
def test_failures_between_which_anything_goes_well_never_do(progress: str) -> None:
    between = [not_started("t")] * (STARTS - 1)
    failed = after(*[*between, *PROGRESS[progress]] * 20)
    assert not failed.hopeless
    assert failed.count == 0
    assert after(*between * 20).hopeless


def test_deaths_of_machines_do_not_count() -> None:
    died = after(*[Started(T), Interrupted(T)] * 20, *[Interrupted(T)] * 20)
    assert not died.hopeless
    assert died.count == 0


def test_nobody_who_works_is_disturbed() -> None:
    working = after(Started(U), *[not_started("t")] * 20)
    assert not working.hopeless
    assert working.count == 20
    late = Step(U, 9, 9, {})  # told by one that died: it is not taken for one that works
    for event in [Interrupted(U), late, *[not_started("t")] * STARTS]:
        working.hear(event, event.keys)
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
    gone = ActorDiedErrorContext(error_message="The actor died because its node has died.", actor_id=b"a" * 16)
    assert not is_raised(ray.exceptions.ActorDiedError(gone))
    assert not is_raised(ray.exceptions.ActorUnavailableError("away", None))
    assert not is_raised(ray.exceptions.OutOfMemoryError("killed for memory"))


def test_an_error_is_told_in_its_last_line() -> None:
    raised = ray.exceptions.RayTaskError("setup", "Traceback ...\nImportError: replaced\n", ImportError("replaced"))
    assert last_words(ray.exceptions.ActorDiedError(raised)) == "ImportError: replaced"
    assert last_words(ImportError("replaced")) == "ImportError: replaced"
