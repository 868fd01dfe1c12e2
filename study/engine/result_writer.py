"""The study's loop: handles events of trials, asks the scheduler, writes results, and calls callbacks.

Tune's loop calls it on its own thread, several times a second, so nothing here needs a lock. A trial's record is
written last; from then on the trial survives any crash, and only then callbacks show it. No other part of the code
writes records, predictions and failures.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import ray
from ray import ObjectRef
from ray.actor import ActorHandle

from reports.ledger import FAILURES, LEDGER, MODELS, Ledger, Record, split_key
from reports.ledger.folders import POPULATIONS
from reports.ledger.location import ResultsLocation
from reports.ledger.names import writable_path
from study.callbacks.dispatch import Dispatch
from study.engine.checkpoints import checkpoint_folders
from study.engine.messages import (
    Died,
    DiskFull,
    Event,
    Failed,
    HandedOver,
    NotStarted,
    Rung,
    Scored,
    Step,
    TrialsInterrupted,
    WorkerTask,
)
from study.engine.models_kept import ModelsKept, left_behind
from study.engine.ray_internals import death_of, machines_that_stay
from study.engine.scoring import score_apart
from study.engine.starts import FailedStarts, is_raised, last_line
from study.engine.transport import Transport
from study.results_folder.redact import redacted
from study.search.schedulers import Scheduler
from study.trial import Trial
from trainables.errors import MAX_REASON_LENGTH, UserError, sentence
from trainables.files import write_whole

HALT_SECONDS = 20.0
"""Seconds that worker groups have for a last checkpoint when the study is stopped."""
PUSH_SECONDS = 30.0
"""Seconds between uploads of small files, such as progress, to a URL."""


class ResultWriter:
    """Asks the scheduler, writes the ledger and calls the callbacks, while a study runs."""

    def __init__(
        self,
        location: ResultsLocation,
        coordinator: ActorHandle,
        transport: Transport,
        scheduler: Scheduler,
        callbacks: Dispatch,
        settle: Callable[[str, Record | None], object],
        models: ModelsKept,
        seconds_left: Callable[[], float] = lambda: math.inf,
        on_step: Callable[[str, int, int], object] = lambda *_: None,
    ) -> None:
        """`settle` is called with each trial's key and record; the record is None if the trial failed. Trials are
        halted once `seconds_left` returns 0 or less. `on_step` is called with a trial's key, its step and its number of
        steps, if it trains alone."""
        self.location, self.coordinator, self.transport = location, coordinator, transport
        self.scheduler, self.callbacks, self.settle, self.models = scheduler, callbacks, settle, models
        self.ledger = Ledger(location.folder / LEDGER)
        self.trials: dict[str, Trial] = {}  # trials that were begun, and have neither a record nor failed
        self.files: dict[str, str] = {}  # by such a trial, the key of its task, which names its checkpoint
        self.open: dict[str, set[str]] = {}  # by task key, the trials that are still open
        self.failed = 0
        self.problem: BaseException | None = None
        """The error that ends the study, such as a full disk."""
        self.late = False
        """Whether the study's time ended before its trials did."""
        self.starts = FailedStarts()
        self._seconds_left, self._on_step = seconds_left, on_step
        self._writes, self._halted = True, False  # whether results can be written; whether groups were told to stop
        self._deadline = math.inf  # the latest time for the wait after a halt
        self._heard = 0
        """Number of handled events. An event during which the user stops the study is sent again."""
        self.awaited = coordinator.events.remote(self._heard)
        """Ray's reference to the next events."""
        self._verdicts: dict[tuple[str, int], bool] = {}  # the scheduler's verdicts, by trial and rung
        self._failures = {path.stem for path in (location.folder / FAILURES).glob("*.json")}
        self._scoring: dict[str, ObjectRef] = {}  # by trial, the Ray task that scores it
        self._given_up: deque[str] = deque()
        self._pushed = time.monotonic()
        self._remover = ThreadPoolExecutor(1, "removals")
        """Removes checkpoints and models in a thread: the coordinator, or a URL, may answer slowly, and other trials
        need not wait."""
        self._removals: deque[Future[None]] = deque()
        for key in left_behind(location.folder, self.ledger.sift()[0]):
            self._remove(f"{MODELS}/{key}")

    def begin(self, task: WorkerTask) -> bool:
        """Prepare a task for a worker group. Return False, and end the study, if the results cannot be written."""
        try:
            self._begin(task)
        except (OSError, UserError, ray.exceptions.RayError) as error:
            self.problem, self._writes = error, False
        return self.problem is None

    def _begin(self, task: WorkerTask) -> None:
        for key in task.keys:
            if key in self._failures:
                self._failures.discard(key)
                self.location.remove(f"{FAILURES}/{key}.json")
        undone = {trial.key: trial for trial in task.trials if trial.key not in task.done}
        self.trials |= undone
        self.files |= dict.fromkeys(undone, task.key)
        self.open[task.key] = {*undone}
        if len(task.trials) > 1:  # written before they begin: they can resume only together
            name = f"{POPULATIONS}/{task.key}.json"
            write_whole(writable_path(self.location.folder, name), json.dumps(task.keys))
            self.location.push(name)
        ray.get(self.coordinator.offer.remote(task))

    def lost_actor(self, task: str, error: BaseException | None) -> None:
        """Handle the death of the actor that had this task, by that error if it is known. Tune starts another actor
        once a machine has room."""
        keys = tuple(sorted(self.open.get(task, ())))
        begun = self.starts.begun(keys)
        self._tell(TrialsInterrupted(keys), keys)
        if error is None:
            return
        if is_raised(error):
            self._not_started(keys, last_line(error))
        elif (death := death_of(error)) is not None:
            node, reason = death
            self.coordinator.died.remote(task, reason)
            if not begun:
                self._tell(Died(keys, frozenset([node]), reason), keys)

    def given_up(self, task: str) -> None:
        """Fail a task that Tune gave up. Tune does so only if the task's actor cannot be started, or died before it had
        the task."""
        self._given_up.extend(sorted(self.open.get(task, ())))

    def drain(self, wait: float = 0.0) -> bool:
        """Handle events that have arrived, and those of the next `wait` seconds. Return False if the study must end.

        If the results folder cannot be written, the study ends at once. Otherwise worker groups are told to stop first:
        Tune would end them without a checkpoint.
        """
        if not self._writes:
            return False
        try:
            while ray.wait([self.awaited], timeout=wait)[0]:
                for number, event in ray.get(self.awaited):
                    if number >= self._heard:
                        self._receive(event)
                        self._heard = number + 1
                self.awaited = self.coordinator.events.remote(self._heard)
            while self._removals and self._removals[0].done():
                self._removals.popleft().result()
            while self._given_up:
                reason = "Ray Tune could not run it; see the log in Ray's session folder"
                self._fail(Failed(self._given_up.popleft(), reason))
            ready = set(_ready(list(self._scoring.values())))
            for key in [key for key, reference in self._scoring.items() if reference in ready]:
                self._scored(self._scoring[key], key)
                del self._scoring[key]
                self.coordinator.release.remote()
            for death in self.starts.take_confirmed_deaths(_own_machine, machines_that_stay):
                self._not_started([key for key in death.members if key in self.trials], death.reason)
            self.callbacks.tick()
            if time.monotonic() - self._pushed > PUSH_SECONDS:
                self.location.push_changed()
                self._pushed = time.monotonic()
        except Exception as error:
            self.problem, self._writes = error, False
        if self.problem is None and not self._halted and self._seconds_left() <= 0:
            self.late = True
        if (self.problem is not None or self.late) and self._writes and not self._halted:
            self.halt()
        return self.problem is None and not self.late

    def finish(self) -> None:
        """Wait until handed-over trials are scored and removals of checkpoints are done. Once the study's time is over,
        wait at most until the deadline that `halt` set."""
        while (self._scoring or self._removals or self._awaits_trials()) and self.problem is None:
            if self.late and time.monotonic() >= self._deadline:
                return
            self.drain()
            time.sleep(0.05)

    def _awaits_trials(self) -> bool:
        return any(self.open.values()) and not self.late

    def halt(self) -> None:
        """Have the worker groups write a last checkpoint and stop. Handle their events until then, 25 seconds at
        most."""
        self._halted = True
        halted = self.coordinator.halt.remote(HALT_SECONDS)
        self._deadline = time.monotonic() + HALT_SECONDS + 5
        done: list[ObjectRef] = []
        while self._writes and time.monotonic() < self._deadline and (self._scoring or not done):
            done = _ready([halted])
            self.drain(wait=1.0 if done else 0.05)  # events from before the halt may still arrive

    def _receive(self, event: Event) -> None:
        open_keys = [key for key in event.keys if key in self.trials]
        match event:
            case Scored():
                self._keep(event)
            case Failed():
                if self.problem is None:  # else the problem may be the cause, and the next run tries again
                    self._fail(event)
            case HandedOver():
                if event.key not in self._scoring:
                    self._scoring[event.key] = score_apart.remote(event.trial_reference)
            case DiskFull():
                self.problem = self.problem or UserError(event.reason)
            case Step():
                if len(event.members) == 1:
                    self._on_step(event.members[0], event.step, event.steps)
                for each in event.each():
                    if each.members[0] in self.trials:
                        self._tell(each, each.members)
            case NotStarted():
                self._not_started(open_keys, event.reason)
            case Rung():
                self._answer(event)
                if open_keys:
                    self._tell(event, open_keys)
            case _:
                self._tell(event, open_keys)

    def _tell(self, event: Event, keys: Sequence[str]) -> None:
        self._handle(event, [self.trials[key] for key in keys])

    def _handle(self, event: Event, trials: Sequence[Trial]) -> None:
        if trials:
            self.starts.add_event(event, [trial.key for trial in trials])
            self.callbacks.handle(event, trials)

    def _not_started(self, keys: Sequence[str], reason: str) -> None:
        """Count a failed start of a worker group for these trials: an error was raised, or a process died."""
        reason = sentence(redacted(reason), MAX_REASON_LENGTH)
        self._tell(NotStarted(tuple(keys), reason, self.starts.count + 1), keys)
        if self.starts.hopeless and self.problem is None:
            self.problem = UserError(
                f"no worker of the study starts any more: the last {self.starts.count} starts failed with no "
                f"progress of any trial between them, the last one by {reason!r}; mend that, and run the same command "
                "again: finished trials are kept"
            )

    def _answer(self, rung: Rung) -> None:
        """Ask the scheduler for its verdict at a rung, and send it to the worker that waits."""
        where = rung.key, rung.number
        if where not in self._verdicts:  # a restarted trial is not asked about again
            self._verdicts[where] = self.scheduler.goes_on(*where, [*rung.scores.values()])
        self.coordinator.answer.remote(*where, self._verdicts[where])

    def _scored(self, reference: ObjectRef, key: str) -> None:
        try:
            event = ray.get(reference)
        except ray.exceptions.RayError as error:
            cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
            self._fail(Failed(key, f"its scores were not made: {cause}", str(error)))
        else:
            self._keep(event)

    def _keep(self, event: Scored) -> None:
        key = event.key
        if key not in self.trials:
            return  # reported twice, since a worker died after the report and before the end
        if event.predictions is not None:
            (name,) = event.record.predictions
            write_whole(writable_path(self.location.folder, name), event.predictions)
            self.location.push(name)
        if event.card is not None:
            self.location.add(f"{MODELS}/{key}/README.md", event.card)
            self.location.push(f"{MODELS}/{key}")
        replaced = self.models.replaced_by(event.record)
        if key in replaced:
            event = dataclasses.replace(event, record=dataclasses.replace(event.record, checkpoint=None))
        self._write(event.record.with_earlier_evaluations(self.ledger.get(*split_key(key))))
        for other in replaced:  # the record first, so that no record names a model that is gone
            if other != key and (record := self.ledger.get(*split_key(other))):
                self._write(dataclasses.replace(record, checkpoint=None))
            self._remove(f"{MODELS}/{other}")
        trial, files = self._close(key)
        if files not in self.open:  # the last trial of its population: nobody needs their checkpoints any more
            for path in checkpoint_folders(files):
                self._remove(path)
            self.location.remove(f"{POPULATIONS}/{files}.json")
        self._end(event, trial, event.record)

    def _write(self, record: Record) -> None:
        self.ledger.write(record)
        self.location.push(f"{LEDGER}/{record.key}.json")

    def _remove(self, name: str) -> None:
        """Remove a folder with large files, in the background."""
        self._removals.append(self._remover.submit(self.transport.remove, name))

    def _fail(self, event: Failed) -> None:
        key = event.key
        if key not in self.trials:
            return
        # A machine that died had no time to remove secrets from its text.
        event = Failed(key, sentence(redacted(event.reason)), redacted(event.details))
        trial = self.trials[key]
        content = {"trial": key, "name": trial.name, "reason": event.reason, "details": event.details,
                   "recipe": dict(trial.recipe.flat())}  # fmt: skip
        name = f"{FAILURES}/{key}.json"
        write_whole(writable_path(self.location.folder, name), json.dumps(content, indent=1))
        self.location.push(name)
        self._failures.add(key)
        self.failed += 1
        self._close(key)
        self._end(event, trial, None)

    def _end(self, event: Scored | Failed, trial: Trial, record: Record | None) -> None:
        """Report the trial's end, now that all its files are written."""
        self.settle(trial.key, record)
        self._handle(event, [trial])
        self.coordinator.settled.remote([trial.key])

    def _close(self, key: str) -> tuple[Trial, str]:
        """Forget the trial, and return it with the key of its task."""
        trial, files = self.trials.pop(key), self.files.pop(key)
        self.open[files].discard(key)
        if not self.open[files]:
            del self.open[files]
        return trial, files


def _own_machine() -> str:
    """Return Ray's id of the study's own machine."""
    return str(ray.get_runtime_context().get_node_id())


def _ready(references: list[ObjectRef]) -> list[ObjectRef]:
    done: list[ObjectRef] = ray.wait(references, num_returns=len(references), timeout=0)[0] if references else []
    return done
