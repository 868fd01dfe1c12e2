"""Tells how far the study is, in `RESULTS/progress.json`, for whoever looks at it while it runs (`reports.live`)."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reports.ledger import Progress, Record, Running, Waiting, add_losses, read_failures
from reports.ledger.progress import now
from study.callbacks.base import Outlook
from study.callbacks.state import Course, Run
from study.cli.terminal import say
from study.dry_run import differences
from study.trial import Trial

EVERY_SECONDS = 5.0
"""How often the file is written at least."""
SOON_SECONDS = 1.0
"""And how soon after a trial told something."""
LISTED = 200
"""Trials of the queue that are listed by name."""


class ProgressFile(Course):
    """Writes the file, and the losses of trials beside it."""

    def __init__(self, outlook: Outlook) -> None:
        super().__init__(outlook)
        self.results = outlook.plan.results
        self.failures = {failure.key for failure in read_failures(self.results)} - self.statuses.keys()
        self.base = outlook.plan.base.flat()
        self.began_at = now()
        self.begun: dict[str, Running] = {}  # those that run as they were when they began, by trial
        self.waiting: dict[Trial, Waiting] = {}  # those that are listed, put into words once: it takes long
        self.losses: dict[str, list[tuple[int, float]]] = {}  # that are not written yet, by trial
        self.steps: dict[str, int] = {}
        self.written = float("-inf")
        self.changed = True
        self.warned = False

    def started(self, trials: Sequence[Trial]) -> None:
        super().started(trials)
        for trial in trials:
            words = self._words(trial.key, trial.name, trial.recipe.flat(), trial.seed)
            self.begun[trial.key] = Running(**words, since=now())
            self.failures.discard(trial.key)
        self.changed = True

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        super().step(trial, step, steps, scalars)
        loss = scalars.get("loss")
        if loss is not None and math.isfinite(loss):
            self.losses.setdefault(trial.key, []).append((step, loss))
            self.steps[trial.key] = steps
        self.changed = True

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        super().rung(trial, number, scores)
        self.changed = True

    def finished(self, trial: Trial, record: Record) -> None:
        super().finished(trial, record)
        self.begun.pop(trial.key, None)
        self.failures.discard(trial.key)
        self.changed = True

    def failed(self, trial: Trial, reason: str) -> None:
        super().failed(trial, reason)
        self.begun.pop(trial.key, None)
        self.failures.add(trial.key)
        self.changed = True

    def tick(self) -> None:
        super().tick()
        if time.monotonic() - self.written > (SOON_SECONDS if self.changed else EVERY_SECONDS):
            self.write()

    def close(self) -> None:
        """Say that this run of the study is over."""
        self.write(ended=True)

    def write(self, ended: bool = False) -> None:
        """Write the file, and the losses that are new. On a full disk it warns once, lets these losses go, and tries
        again the next time."""
        self.written, self.changed = time.monotonic(), False
        losses, self.losses = self.losses, {}
        try:
            for key, points in losses.items():
                add_losses(self.results, key, self.steps[key], points)
            self.progress(ended).save(self.results)
        except OSError as error:
            if not self.warned:
                say(f"warning: what runs cannot be shown: {error}")
            self.warned = True

    def progress(self, ended: bool = False) -> Progress:
        """The study as it stands."""
        running = [] if ended else [self._running(run) for run in self.running.values()]
        statuses = Counter(self.statuses.values())
        forecast = self.forecast()
        listed = itertools.islice(self.outlook.waiting(), LISTED)
        self.waiting = {planned: self._waiting(planned) for planned in listed}
        return Progress(
            written_at=now(),
            began_at=self.began_at,
            counts={
                "queued": self.queued + (len(self.running) if ended else 0),
                "running": len(running),
                "finished": statuses["finished"],
                "stopped": statuses["pruned"],
                "failed": len(self.failures),
            },
            running=running,
            queued=[*self.waiting.values()],
            at_once=self.outlook.at_once,
            seconds_left=None if ended else forecast.seconds,
            estimate="" if ended else forecast.how,
            ended=ended,
        )

    def _running(self, run: Run) -> Running:
        return dataclasses.replace(
            self.begun[run.trial.key],
            step=run.step,
            steps=run.steps,
            loss=run.loss,
            rung=run.rung,
            scores={**run.scores},
            attempt=run.attempt,
        )

    def _waiting(self, planned: Trial) -> Waiting:
        known = self.waiting.get(planned)
        return known or Waiting(**self._words(planned.key, planned.name, planned.recipe.flat(), planned.seed))

    def _words(self, key: str, name: str, recipe: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"key": key, "name": name, "changes": differences(self.base, recipe), "seed": seed}
