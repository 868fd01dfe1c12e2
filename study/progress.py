"""Tells how far the study is, in `RESULTS/progress.json`, for whoever looks at it while it runs (`reports.live`)."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import Counter
from typing import Any

from ray.tune import Callback

from reports.ledger import FAILURES, Curves, Ledger, Progress, Running, Waiting, split_key
from reports.ledger.folders import is_key
from reports.ledger.progress import now, with_curve
from reports.ledger.record import read_record
from reports.markdown import count
from study.console import say
from study.plan import Plan, PlannedTrial
from study.preview import differences
from study.searcher import StudySearcher, files_key
from study.spec import METRIC, RUNG

EVERY_SECONDS = 5.0
"""How often the file is written at least while Tune does its rounds."""
SOON_SECONDS = 1.0
"""And how soon after a trial began or ended."""
USUAL_SHARE = 0.5
"""How much of a trial is its training, the rest its evaluation, as long as no record tells."""
LISTED = 200
"""Trials of the queue that are listed by name."""


class ProgressFile(Callback):
    """Follows the study through Tune's callbacks, and through the ledger where its trials' workers leave records."""

    def __init__(self, plan: Plan, searcher: StudySearcher, ledger: Ledger, at_once: int) -> None:
        self.plan, self.searcher, self.ledger, self.at_once = plan, searcher, ledger, at_once
        self.curves = Curves(plan.results)
        self.statuses: dict[str, str] = {}  # of the ledger's records, by trial
        self.training_shares: dict[str, float] = {}
        self.running: dict[str, list[Running]] = {}  # by Tune's trial
        self.files: dict[str, str] = {}  # by Tune's trial, what names its files
        self.ended = 0
        self.base = plan.base.flat()
        self.began_at, self.began = now(), time.monotonic()
        self.written = float("-inf")
        self.changed = True
        self.warned = False

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        members = self.searcher.running.get(trial.trial_id, [])
        since = now()
        undone = [planned for planned in members if not self._done(planned.key)]
        self.running[trial.trial_id] = [Running(**self._words(planned), since=since) for planned in undone]
        self.files[trial.trial_id] = files_key(members) if members else ""
        self.changed = True

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        rung, score = result.get(RUNG, -1), result.get(METRIC)
        if rung > 0:
            members = self.running.get(trial.trial_id, [])
            self.running[trial.trial_id] = [dataclasses.replace(one, rung=rung, score=score) for one in members]
            self.changed = True

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.ended += len(self.running.pop(trial.trial_id, []))
        self.changed = True

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.on_trial_complete(iteration, trials, trial)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Tune calls this about ten times a second."""
        if time.monotonic() - self.written > (SOON_SECONDS if self.changed else EVERY_SECONDS):
            self.write()

    def close(self) -> None:
        """Say that this run of the study is over."""
        self.write(ended=True)

    def write(self, ended: bool = False) -> None:
        """Write the file. That it cannot be written is said once, and ends no study, whatever the reason."""
        self.written, self.changed = time.monotonic(), False
        try:
            self.progress(ended).save(self.plan.results)
        except Exception as error:
            if not self.warned:
                say(f"warning: what runs cannot be shown: {error}")
            self.warned = True

    def progress(self, ended: bool = False) -> Progress:
        """The study as it stands."""
        running = [] if ended else [one for started in self.running for one in self._members(started)]
        chosen = [
            planned for key, those in self.searcher.running.items() if key not in self.running for planned in those
        ]
        queued = itertools.chain(chosen, *self.searcher.interrupted, self.searcher.queue)
        waiting = (planned for planned in queued if not self._done(planned.key))
        left, estimate = self.time_left()
        return Progress(
            written_at=now(),
            began_at=self.began_at,
            counts={
                "queued": max(0, self.searcher.remaining - len(running)),
                "running": len(running),
                **self._ended_counts(),
            },
            running=running,
            queued=[Waiting(**self._words(planned)) for planned in itertools.islice(waiting, LISTED)],
            at_once=self.at_once,
            seconds_left=None if ended else left,
            estimate="" if ended else estimate,
            ended=ended,
        )

    def time_left(self) -> tuple[float | None, str]:
        """Seconds, None before a trial has ended, and how that is known."""
        running = [one for started in self.running for one in self._members(started)]
        ended = self.ended + sum(map(len, self.running.values())) - len(running)  # of a population some may be done
        if not ended:
            return None, "known once a trial of this run has ended"
        shares = list(self.training_shares.values())
        share = sum(shares) / len(shares) if shares else USUAL_SHARE
        partly = sum(share * one.step / one.steps for one in running if one.step and one.steps)
        seconds = time.monotonic() - self.began
        left = seconds / (ended + partly) * max(0.0, self.searcher.remaining - partly)
        return left, (
            f"from {count(ended, 'trial')} that ended in {seconds / 60:.1f} minutes of this run; those that run count "
            "by their steps, and all are taken to be equally long"
        )

    def _members(self, started: str) -> list[Running]:
        """The trials of one of Tune's that run still, with their last losses."""
        curves = self.curves.of(self.files[started])
        members = [one for one in self.running[started] if not self._done(one.key)]
        return [with_curve(one, curves.get(one.key)) for one in members]

    def _words(self, planned: PlannedTrial) -> dict[str, Any]:
        changes = differences(self.base, planned.recipe)
        return {"key": planned.key, "name": planned.name, "changes": changes, "seed": planned.seed}

    def _done(self, key: str) -> bool:
        return self.ledger.has(*split_key(key))

    def _ended_counts(self) -> dict[str, int]:
        """Over all runs of the study. A record is read once."""
        for path in self.ledger.folder.glob("*.json"):
            if path.stem not in self.statuses and is_key(path.stem):
                record = read_record(path)
                self.statuses[path.stem] = record.status
                seconds, training = record.cost.get("seconds"), record.cost.get("train_seconds")
                if seconds and training:
                    self.training_shares[path.stem] = training / seconds
        counts = Counter(self.statuses.values())
        failed = {path.stem for path in (self.plan.results / FAILURES).glob("*.json")} - self.statuses.keys()
        return {"finished": counts["finished"], "stopped": counts["pruned"], "failed": len(failed)}
