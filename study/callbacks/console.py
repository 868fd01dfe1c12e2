"""The console of a running study: a line per ended trial, and the running trials.

On a terminal the running trials are a block of lines at the bottom, which is updated in place; in a notebook the block
is above the other lines. Elsewhere a plain line with all running trials is printed, at growing intervals.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Sequence

import rich.console
from rich.cells import cell_len, set_cell_size
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reports.facts.standings import RecordStandings, in_study_order
from reports.ledger import Record, is_fresh, seed_in_words
from reports.ledger.finals import PART_SEED, recipe_on_all_data, share_in_words
from reports.words.comparisons import STAGES_IN_WORDS
from reports.words.markdown import DASH, count, duration, number, time_left
from search_spaces.averages import average
from search_spaces.goals import Goal, in_words
from search_spaces.limits import exceeded
from study.callbacks.base import Callback
from study.callbacks.notebook import notebook_cell
from study.callbacks.state import RunningTrial, StudyState
from study.cli.terminal import printable, say
from study.trial import Trial

DRAWN_SECONDS = 0.5
"""Least number of seconds between two updates of the block of running trials."""
DRAWN = 8
"""The block shows at most this many running trials."""
TOLD_SECONDS = (20.0, 60.0)
"""Seconds after which plain lines are printed: after the study began, and again after its first trial began. From then
on, one line a minute is printed."""
FEW_TRIALS = 3
"""A plain line names at most this many running trials."""
LONGEST_NAME, SHORTEST_NAME = 40, 12
"""Most characters of a trial's name, and fewest in a narrow terminal, so that the text beside the name fits."""
BESIDE = 50
"""Number of characters for seed, step and loss, which are beside a trial's name."""
BAR = 30


class Console(Callback):
    """Prints a line when a trial ends, and shows the running trials."""

    def __init__(self, state: StudyState) -> None:
        self.state = state
        self.shown = state.plan.space.shown
        """Labels and names of the averages in a finished trial's line (`Space.shown`)."""
        self.goals = state.plan.space.searched_goals
        on_terminal = sys.stdout.isatty()
        self.screen = rich.console.Console(highlight=False, force_terminal=on_terminal, force_jupyter=False)
        interactive = self.screen.is_interactive  # False if the terminal cannot move its cursor
        self.live = Live(console=self.screen, auto_refresh=False, transient=True) if interactive else None
        self.cell = None if interactive else notebook_cell()
        self.longest = max((cell_len(printable(planned.name)) for planned in state.waiting()), default=0)
        self.drawn = float("-inf")
        self.clock = state.began
        """Time from which the intervals between plain lines are counted."""
        self.lines = 0
        """Number of plain lines printed since `clock`."""
        self.begun = False
        """Whether a trial has begun."""
        self.trained: dict[float, list[Record]] = {}
        """Records by the share of the data that they trained on, without those under the finals' fresh seeds."""
        self.judging = False
        """Whether a trial of the finals has ended. From then on the best recipe of the search is not shown any more."""
        self.base: dict[float, str] = {}
        """Hash of the base settings' recipe, by the share of the data that it trains on."""
        self.of_encoder: list[Record] = []
        """The record of the original encoder, if there is one. It counts for every share of the data."""
        self.best: list[str] | None = []
        """The text on the best recipe so far; None if it must be computed again."""
        for record in state.ledger.sift()[0]:
            self._count(record)

    def started(self, trials: Sequence[Trial]) -> None:
        if not self.begun:
            self.begun, self.clock, self.lines = True, time.monotonic(), 0
        self.longest = max([self.longest, *(cell_len(printable(trial.name)) for trial in trials)])

    def finished(self, trial: Trial, record: Record) -> None:
        self._count(record)
        above = exceeded(self.state.plan.limits, [record.cost]) if record.status == "finished" else {}
        limits = f"  above the limit of {' and '.join(above)}" if above else ""
        self._line(trial, describe(record, self.goals, self.shown) + limits)

    def _count(self, record: Record) -> None:
        base = self.state.plan.base
        self.judging, self.best = self.judging or is_fresh(record.seed), None
        if is_fresh(record.seed):
            return
        if base.trains and not record.recipe["optimisation.epochs"]:
            if record.status == "finished" and record.recipe["encoder.name"] == base.encoder.name:
                self.of_encoder = [record]
            return
        part = recipe_on_all_data(record.recipe, base.flat()) if record.seed == PART_SEED else None
        share, whole = (part[0], part[1].flat()) if part else (1.0, record.recipe)
        self.trained.setdefault(share, []).append(record)
        if whole == base.flat():
            self.base[share] = record.recipe_hash

    def failed(self, trial: Trial, reason: str) -> None:
        self._line(trial, f"FAILED: {printable(reason)}")

    def tick(self) -> None:
        now = time.monotonic()
        if self.live is not None or self.cell is not None:
            if now - self.drawn >= DRAWN_SECONDS:
                self.drawn = now
                self._draw()
        elif now - self.clock >= _line_after(self.lines):
            while now - self.clock >= _line_after(self.lines):
                self.lines += 1
            say(self._plain())

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
        if self.cell is not None:
            self.cell.show([self._end()], *self._bar())
        elif self.state.ended:
            say(self._end())

    def _line(self, trial: Trial, text: str) -> None:
        """Print the line of an ended trial."""
        if self.state.ended == 1:
            self._say(legend(self.goals, self.shown))
        state, seconds = self.state, self.state.forecast().seconds
        left = "" if seconds is None or not (state.running or state.coming) else f", {time_left(seconds)}"
        name = printable(trial.name)
        name += " " * (self._name_width - cell_len(name))
        self._say(f"{self._done()} {name} {seed_in_words(trial.seed)}  {text}  (after {passed(state.seconds)}{left})")

    def _say(self, text: str) -> None:
        if self.live is None:
            say(text)
        else:  # above the block; the terminal breaks long lines
            self.screen.print(Text(text), soft_wrap=True)

    def _draw(self) -> None:
        """Show the running trials, the progress and a progress bar. On a terminal, cut lines to its width."""
        if self.cell is not None:
            self.cell.show(self._block(DRAWN), *self._bar())
        elif self.live is not None:
            lines = [_cut(line) for line in self._block(max(1, min(DRAWN, self.screen.height - 4)))]
            done, total, words = self._bar()
            bar = Table.grid(padding=(0, 1))
            bar.add_row(ProgressBar(total, done, width=BAR), _cut(words))
            self.live.start()
            self.live.update(rich.console.Group(*lines, bar), refresh=True)

    def _block(self, most: int) -> list[str]:
        """Return the lines of at most `most` running trials, and of the progress."""
        runs = [*self.state.running.values()]
        lines = ["  ".join(["", _named(run.trial, self._name_width), *_state(run, align=True)]) for run in runs[:most]]
        lines += [f"  and {len(runs) - most} more"] if len(runs) > most else []
        return [*lines, *self._failed_starts(), self._summary()]

    def _bar(self) -> tuple[int, int, str]:
        """Return the numbers of ended and of all trials, and a text such as `40 %  best so far: dev 61.20`."""
        ended, total = self.state.ended, max(self.state.total, self.state.ended, 1)
        return ended, total, "  ".join([f"{100 * ended // total:>3} %", *self._best_so_far()])

    def _best_so_far(self) -> list[str]:
        if self.best is None:
            shares = [] if self.judging else sorted(self.trained, reverse=True)
            self.best = next(filter(None, map(self._best_on, shares)), [])
        return self.best

    def _best_on(self, share: float) -> list[str]:
        """Return a text on the best recipe that trained on that share of the data, by mean scores over seeds. It is
        empty if only one recipe trains."""
        plan, records = self.state.plan, in_study_order(self.trained[share], [self.base.get(share)])
        standings = RecordStandings(records, self.goals, plan.limits, len(plan.seeds) > 1)
        if not (ranked := standings.ranked()) or (len(standings.recipes) == 1 and not plan.trains_several):
            return []
        names = {goal: name for goal, (name, _) in zip(self.goals, in_words(self.goals, {}, {}), strict=True)}
        values = zip(standings.measured_goals, ranked[0].values, strict=True)
        best, beside = [f"{names[goal]} {number(value.mean)}" for goal, value in values], []
        base = standings.recipes.get(self.base.get(share, ""), [])
        of_base, of_encoder = (standings.goal(each, self.goals[0]) for each in (base, self.of_encoder))
        if of_base:
            leads = base is ranked[0].records
            beside = ["the base settings" if leads else f"base settings {number(of_base.mean)}"]
        beside += [f"original encoder {number(of_encoder.mean)}"] if of_encoder else []
        if len(self.goals) == 1 and beside:
            best[0] += f" ({', '.join(beside)})"
        where = "" if share == 1.0 else f" on {share_in_words(share)}"
        return [f"best so far{where}: {', '.join(best)}"]

    @property
    def _name_width(self) -> int:
        """Number of characters for a trial's name, the same in every line of the block."""
        most = LONGEST_NAME if self.live is None else min(LONGEST_NAME, self.screen.width - BESIDE)
        return max(min(self.longest, most), min(self.longest, SHORTEST_NAME))

    def _plain(self) -> str:
        """Return the whole block of running trials as one line."""
        runs = [*self.state.running.values()]
        first = runs[:FEW_TRIALS]
        states = [f"{_named(run.trial, LONGEST_NAME, padded=False)} {', '.join(_state(run))}" for run in first]
        states += [f"and {len(runs) - len(first)} more"] if len(runs) > len(first) else []
        totals = "; ".join([self._summary(), *self._best_so_far(), *self._failed_starts()])
        return "; now: ".join(part for part in (totals, "; ".join(states)) if part)

    def _failed_starts(self) -> list[str]:
        return [printable(self.state.failed_starts)] if self.state.failed_starts else []

    def _end(self) -> str:
        """Return `20 trials done in 3 min 5 s, none failed`; `4 of 20 trials done` if the study was stopped."""
        ended, failed, total = self.state.ended, self.state.failed_now, self.state.total
        done = ended - failed
        of = f"{done:,} of {count(total, 'trial')}" if ended < total else count(done, "trial")
        return f"{of} done in {passed(self.state.seconds)}, {f'{failed:,}' if failed else 'none'} failed"

    def _done(self) -> str:
        plan, ended = self.state.plan, self.state.ended
        if (minutes := plan.limits.get("minutes")) is not None:  # the time decides how many trials run
            spent = minutes - self.state.seconds_left() / 60
            return f"[{spent:>{len(f'{minutes:.0f}')}.0f}/{minutes:g} min]"
        total = max(self.state.total, ended)
        perhaps = "up to " if (plan.races or plan.first_decides) and ended < total else ""
        return f"[{ended:>{len(str(total))}}/{perhaps}{total}]"

    def _summary(self) -> str:
        """Return `[ 3/24] 2 running, 1 failed, about 5 min left (until 14:32), 246 trials an hour`. Without the time if
        no trial can run, as nobody knows when a machine comes; without trials an hour if minutes limit the study."""
        state, forecast = self.state, self.state.forecast()
        running, orphans = state.running, state.orphans
        begun = running or state.ended or orphans
        parts = [f"{len(running)} running" if begun else "starting the first trials"]
        parts += [f"{len(orphans)} waiting for {_worker_group(*orphans.values())}"] if orphans else []
        parts += [f"{state.failed_now} failed"] if state.failed_now else []
        if forecast.a_minute is not None and forecast.seconds is not None and (running or not orphans):
            guess = "" if state.statuses else "rough guess, "
            ahead = [f"{STAGES_IN_WORDS[stage.name]} {duration(stage.left)}" for stage in state.stages() if stage.left]
            stages = f"{', '.join(ahead)}; " if len(ahead) > 1 else ""
            until = f"({stages}{guess}until {clock_time(forecast.seconds)})"
            parts.append(f"{time_left(forecast.seconds)} {until}")
            if state.plan.limits.get("minutes") is None:
                parts.append(f"{forecast.a_minute * 60:.0f} trials an hour")
        else:
            parts[-1] += f" ({passed(state.seconds)} so far)"
        return f"{self._done()} {', '.join(parts)}"


def legend(goals: Sequence[Goal], shown: Sequence[tuple[str, str]]) -> str:
    """Return an explanation of the names of scores that `describe` prints."""
    words = []
    for (name, _), goal in zip(in_words(goals, {}, {}), goals, strict=True):
        what = "the development score" if name == "dev" else "a cost" if goal.cost else "a development score"
        better = "lower" if goal.lower_is_better else "higher"
        words.append(f"{name}: {what} that searches look at, in {goal.unit}, {better} is better")
    words += ["test: what judges it, no search looks there"] * any(goal.is_own for goal in goals)
    labels = ", ".join(label for label, _ in shown)
    return "; ".join([*words, *([f"{labels}: averages of test scores"] if labels else [])])


def describe(record: Record, goals: Sequence[Goal], shown: Sequence[tuple[str, str]]) -> str:
    """Return `dev 61.20  STS 55.10  transfer 70.20  took 24 s: training 8, encoding 5, scoring 10`, with the
    averages whose scores exist."""
    seconds = record.cost.get("seconds")
    took = "" if seconds is None else f"  took {seconds:.0f} s{parts_of(record)}"
    if record.status == "pruned":
        return f"{printable(str(record.training.get('stopped') or 'stopped early'))}{took}"
    values = [(label, average(name, record.scores)) for label, name in shown]
    development = in_words(goals, record.scores, record.cost)
    numbers = [*development, *((label, value) for label, value in values if value is not None)]
    return "  ".join(f"{label} {number(value)}" for label, value in numbers) + took


def parts_of(record: Record) -> str:
    """Return `: preparing 1, training 8, encoding 5, scoring 10`: the trial's seconds by activity, from half a second.
    Scoring is all after the last embedding, such as classifiers. Preparing is all else."""
    cost, training = record.cost, record.training.get("seconds") or 0.0
    whole, scoring = cost.get("evaluation_seconds", 0.0), cost.get("evaluating_seconds", 0.0)
    preparing = cost.get("train_seconds", training) - training
    spent = {"preparing": preparing, "training": training, "encoding": whole - scoring, "scoring": scoring}
    seconds = ", ".join(f"{name} {took:.0f}" for name, took in spent.items() if took >= 0.5)
    return f": {seconds}" if seconds else ""


def passed(seconds: float) -> str:
    """Return `40 s` or `1 min 48 s`; from an hour on as `duration` does. Seconds make consecutive lines differ."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if 100 <= seconds < 3600 else duration(seconds)


def clock_time(seconds: float) -> str:
    """Return the local time `seconds` from now: such as `14:32`; with the day if that is not today."""
    today = datetime.datetime.now()
    then = today + datetime.timedelta(seconds=seconds)
    return then.strftime("%H:%M" if then.date() == today.date() else "%a %d %b %H:%M")


def _line_after(lines: int) -> float:
    """Return after how many seconds the next plain line is due, if this many lines were printed."""
    later = lines - len(TOLD_SECONDS)
    return TOLD_SECONDS[lines] if later < 0 else TOLD_SECONDS[-1] + 60.0 * (later + 1)


def _state(run: RunningTrial, align: bool = False) -> list[str]:
    """Return a trial's progress: `step 120/400`, `loss 2.3145`. `align` pads numbers to form columns."""
    parts = []
    if run.step is None or not run.steps:
        parts.append("starting")
    else:
        steps = f"{run.steps:,}"
        parts.append(f"step {f'{run.step:,}':>{len(steps) if align else 0}}/{steps}")
        parts.append(f"loss {DASH if run.loss is None else f'{run.loss:.4f}'}")
        if run.step >= run.steps:
            parts.append("scoring")
    if run.rung is not None:
        parts.append(f"dev {' and '.join(map(number, run.scores.values()))} at rung {run.rung}")
    if run.attempt > 1:
        parts.append(f"again ({run.attempt})")
    return parts


def _worker_group(trial: Trial, *others: Trial) -> str:
    """Return `a new worker group (2 workers of 1 CPU and 1 GPU each)`: what a trial that lost its group needs."""
    each = " and ".join(f"{number:g} {name}" for name, number in trial.resources.per_worker.items())
    workers = trial.resources.workers
    return f"a new worker group ({count(workers, 'worker')} of {each}{' each' if workers > 1 else ''})"


def _named(trial: Trial, width: int, padded: bool = True) -> str:
    name = _fit(printable(trial.name), width)
    return f"{name if padded else name.strip()} {seed_in_words(trial.seed)}"


def _cut(line: str) -> Text:
    """Return the line, cut at the terminal's width."""
    return Text(line, no_wrap=True, overflow="ellipsis")


def _fit(name: str, width: int) -> str:
    """Return the name cut or padded to `width` columns."""
    return set_cell_size(name, width) if cell_len(name) <= width else f"{set_cell_size(name, width - 1)}…"
