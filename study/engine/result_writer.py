"""The one writer of a study: takes what crews tell from the desk, writes it into the results, and tells the watchers.

It works on the thread of Tune's own loop, which calls it several times a second, so that nothing here needs a lock. A
trial's record is written last; from then on the trial survives whatever happens, and only then it is shown.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import ray
from ray import tune

from reports.ledger import FAILURES, LEDGER, MODELS, Ledger, Record
from reports.ledger.folders import POPULATIONS
from reports.ledger.location import Place
from reports.ledger.names import to_write
from study.callbacks.dispatch import Audience
from study.engine.checkpoints import places
from study.engine.scoring import score_apart
from study.engine.transport import Courier
from study.results_folder.redact import redacted
from study.trial import TrialSpec, specs_of
from trainables.errors import UserError, sentence
from trainables.files import write_whole

HALT_SECONDS = 20.0
"""How long crews may take for a last checkpoint when the study is stopped."""
PUSH_SECONDS = 30.0
"""How often small files, such as progress, are brought to a URL."""


class Keeper(tune.Callback):
    """Writes the results of a running study."""

    def __init__(
        self,
        place: Place,
        desk: Any,
        courier: Courier,
        audience: Audience,
        settle: Callable[[str, Record | None], object],
    ) -> None:
        """`settle` is told each trial's key and record, None where it failed."""
        self.place, self.desk, self.courier, self.audience, self.settle = place, desk, courier, audience, settle
        self.ledger = Ledger(place.folder / LEDGER)
        self.specs: dict[str, TrialSpec] = {}  # of trials that have neither a record nor failed
        self.files: dict[str, str] = {}  # by such a trial, what names its checkpoint
        self.open: dict[str, set[str]] = {}  # by that name, the trials that still need it
        self.failed = 0
        self.problem: BaseException | None = None
        """What ends the study, such as a full disk."""
        self._writes, self._halted = True, False  # whether results can be written; whether crews were told to stop
        self._heard = 0
        """Messages that are dealt with. A person may stop the study in the midst of one, which then comes again."""
        self._told = desk.post.remote(self._heard)
        self._failures = {path.stem for path in (place.folder / FAILURES).glob("*.json")}
        self._scoring: dict[str, Any] = {}  # by trial, the task that makes its scores
        self._orphans: deque[str] = deque()
        self._pushed = time.monotonic()
        self._remover = ThreadPoolExecutor(1, "removals")
        """Removes checkpoints. The desk, or a URL, may take a while to answer; other trials need not wait for it."""
        self._removals: deque[Future[None]] = deque()

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles its callbacks beside a state of its own, which nobody reads."""
        return {}

    def begin(self, config: dict[str, Any]) -> bool:
        """A task is about to be given to a crew. False where the results cannot be written, which ends the study."""
        try:
            self._begin(config)
        except (OSError, UserError) as error:
            self.problem, self._writes = error, False
        return self.problem is None

    def _begin(self, config: dict[str, Any]) -> None:
        specs = specs_of(config)
        for spec in specs:
            if spec.key in self._failures:
                self._failures.discard(spec.key)
                self.place.remove(f"{FAILURES}/{spec.key}.json")
        undone = {spec.key: spec for spec in specs if spec.key not in config["done"]}
        self.specs |= undone
        self.files |= dict.fromkeys(undone, config["key"])
        self.open[config["key"]] = {*undone}
        if len(specs) > 1:  # said before they begin: only together they can resume
            name = f"{POPULATIONS}/{config['key']}.json"
            write_whole(to_write(self.place.folder, name), json.dumps([spec.key for spec in specs]))
            self.place.push(name)

    # --- Tune's callbacks

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Tune calls this about ten times a second."""
        self.drain()

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Tune keeps every trial that was. What this one was given, and Tune's statistics of it, nobody wants any more:
        four fifths of its memory."""
        for kept in (trial.config, trial.evaluated_params, trial.metric_analysis, trial.metric_n_steps):
            kept.clear()
        trial.last_result.pop("config", None)

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Its actor died, and Tune starts another one as soon as a machine has room."""
        self.audience.interrupted([self.specs[key] for key in sorted(self.open.get(trial.config["key"], ()))])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Tune gave a trial up, which it does only where its actor cannot be started, or was dead before it was given
        the trial."""
        for key in sorted(self.open.get(trial.config["key"], ())):
            self._orphans.append(key)

    # --- the study

    def drain(self, wait: float = 0.0) -> bool:
        """Take what there is, and what comes within so many seconds. False where the study must end by a `problem`.

        What is wrong with the results' place ends it at once; what is wrong with a worker's machine, as a person's stop
        does. Crews are told to stop here, since Tune would end them without a checkpoint.
        """
        if not self._writes:
            return False
        try:
            while ray.wait([self._told], timeout=wait)[0]:
                for number, message in ray.get(self._told):
                    if number >= self._heard:
                        self._receive(message)
                        self._heard = number + 1
                self._told = self.desk.post.remote(self._heard)
            while self._removals and self._removals[0].done():
                self._removals.popleft().result()
            while self._orphans:
                self._fail(
                    self._orphans.popleft(), "Ray Tune could not run it; see the log in Ray's session folder", ""
                )
            ready = set(_ready(list(self._scoring.values())))
            for key in [key for key, reference in self._scoring.items() if reference in ready]:
                self._scored(self._scoring[key], key)
                del self._scoring[key]
                self.desk.release.remote()
            self.audience.tick()
            if time.monotonic() - self._pushed > PUSH_SECONDS:
                self.place.push_changed()
                self._pushed = time.monotonic()
        except Exception as error:
            self.problem, self._writes = error, False
        if self.problem is not None and self._writes and not self._halted:
            self.halt()
        return self.problem is None

    def finish(self) -> None:
        """Wait for scores that are made apart, and for checkpoints to be removed."""
        while (self._scoring or self._removals or any(self.open.values())) and self.problem is None:
            self.drain()
            time.sleep(0.05)

    def halt(self) -> None:
        """Have the crews write a last checkpoint, and keep what they told until then."""
        self._halted = True
        halted = self.desk.halt.remote(HALT_SECONDS)
        deadline = time.monotonic() + HALT_SECONDS + 5
        done: list[Any] = []
        while self._writes and time.monotonic() < deadline and (self._scoring or not done):
            done = _ready([halted])
            self.drain(wait=1.0 if done else 0.05)  # what was told before the halt may still be on its way

    # --- what is told

    def _receive(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "started":
            self.audience.started([self.specs[key] for key in message["keys"] if self._is_open(key)])
        elif kind == "interrupted":
            self.audience.interrupted([self.specs[key] for key in message["keys"] if self._is_open(key)])
        elif kind == "step":
            keys = message["keys"]
            for number, key in enumerate(keys):
                scalars = message["scalars"]
                if len(keys) > 1:  # a population tells the losses of its members, those that diverged left out
                    scalars = {"loss": scalars[f"loss/{number}"]} if f"loss/{number}" in scalars else {}
                if scalars and self._is_open(key):
                    self.audience.step(self.specs[key], message["step"], message["steps"], scalars)
        elif kind == "rung":
            if self._is_open(message["key"]):
                self.audience.rung(self.specs[message["key"]], message["number"], message["scores"])
        elif kind == "record":
            self._keep(message)
        elif kind == "unscored":
            if message["key"] not in self._scoring:
                self._scoring[message["key"]] = score_apart.remote(message["content"])
        elif kind == "failed":
            if self.problem is None:  # else it may come of that, and the next run begins the trial again
                self._fail(message["key"], message["reason"], message["details"])
        elif kind == "full":
            self.problem = self.problem or UserError(message["reason"])

    def _scored(self, reference: Any, key: str) -> None:
        try:
            message = ray.get(reference)
        except ray.exceptions.RayError as error:
            cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
            self._fail(key, f"its scores were not made: {cause}", str(error))
        else:
            self._keep(message)

    def _keep(self, message: dict[str, Any]) -> None:
        key = message["key"]
        if not self._is_open(key):
            return  # told twice, since a crew died between telling and the end
        record: Record = message["record"]
        if message["predictions"] is not None:
            (name,) = record.predictions
            write_whole(to_write(self.place.folder, name), message["predictions"])
            self.place.push(name)
        if message["card"] is not None:
            self.place.add(f"{MODELS}/{key}/README.md", message["card"])
            self.place.push(f"{MODELS}/{key}")
        self.ledger.write(record.beside(self.ledger.get(record.recipe_hash, record.seed)))
        self.place.push(f"{LEDGER}/{key}.json")
        spec, files = self._close(key)
        if files not in self.open:  # the last of those that train together: their checkpoints are of no use any more
            for path in places(files):
                self._removals.append(self._remover.submit(self.courier.remove, path))
            self.place.remove(f"{POPULATIONS}/{files}.json")
        self.settle(key, record)
        self.audience.finished(spec, record)
        self.desk.settled.remote([key])

    def _fail(self, key: str, reason: str, details: str) -> None:
        if not self._is_open(key):
            return
        spec = self.specs[key]
        reason, details = sentence(redacted(reason)), redacted(details)  # a machine that died had no time for it
        content = {"trial": key, "name": spec.name, "reason": reason, "details": details}
        name = f"{FAILURES}/{key}.json"
        write_whole(to_write(self.place.folder, name), json.dumps(content, indent=1))
        self.place.push(name)
        self._failures.add(key)
        self.failed += 1
        self._close(key)
        self.settle(key, None)
        self.audience.failed(spec, reason)
        self.desk.settled.remote([key])

    def _is_open(self, key: str) -> bool:
        """Whether it was begun, and has neither a record nor failed."""
        return key in self.specs

    def _close(self, key: str) -> tuple[TrialSpec, str]:
        """The trial is done, one way or the other: what it was, and what names its checkpoint."""
        spec, files = self.specs.pop(key), self.files.pop(key)
        self.open[files].discard(key)
        if not self.open[files]:
            del self.open[files]
        return spec, files


class StopFor(tune.Stopper):
    """Ends Tune's loop once the keeper has a problem."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return self.keeper.problem is not None


def _ready(references: list[Any]) -> list[Any]:
    done: list[Any] = ray.wait(references, num_returns=len(references), timeout=0)[0] if references else []
    return done
