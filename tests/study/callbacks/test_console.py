"""What a person sees of each trial, and of those that run."""

from __future__ import annotations

import dataclasses
import datetime
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from reports.ledger.finals import FIRST_FRESH_SEED, PART_SEED
from reports.testing import changed, made_record
from search_spaces import load_space
from search_spaces.goals import SELECTION, searched
from study.callbacks import console
from study.callbacks.console import Console, clock_time, describe, legend, passed
from study.callbacks.notebook import notebook_cell
from tests.simulated_study import SCORES, Machine, Study, planned, record_of, simulate
from trainables.recipe import Value

SHOWN = load_space("scl_ablation").shown


BAR = "━" * console.BAR


class Terminal(io.StringIO):
    """A terminal's screen, as far as the console uses one: it draws lines, goes up, and erases lines."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.raw += text
        return len(text)

    def screen(self) -> list[str]:
        """The lines that a person sees now, with those that have scrolled away."""
        lines, row, column = [""], 0, 0
        rest = self.raw
        while rest:
            if rest.startswith("\x1b["):
                end = next(at for at, sign in enumerate(rest[2:], 2) if sign.isalpha())
                code, rest = rest[2 : end + 1], rest[end + 1 :]
                if code.endswith("A"):
                    row -= int(code[:-1] or 1)
                elif code == "2K":
                    lines[row] = ""
                else:  # the cursor is hidden or shown, or a colour begins
                    assert code in ("?25l", "?25h") or code.endswith("m"), code
                continue
            sign, rest = rest[0], rest[1:]
            if sign == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif sign == "\r":
                column = 0
            else:
                lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
                column += 1
        return lines


Begin = Callable[..., tuple[Study, Console]]


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    def make(
        rows: int = 4,
        at_once: int = 2,
        name: Callable[[int], str] = "row {}".format,
        screen: Terminal | None = None,
    ) -> tuple[Study, Console]:
        if screen is not None:
            monkeypatch.setattr(sys, "stdout", screen)
        study = Study(tmp_path, monkeypatch, planned(rows, name=name), at_once)
        return study, Console(study.begin())

    return make


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    return Terminal()


def test_a_line_has_the_spaces_averages_whose_scores_are_there() -> None:
    record = made_record({}, "a", 0, scores=SCORES, cost={"seconds": 24.3})
    assert describe(record, (SELECTION,), SHOWN) == "dev 65.00  STS 50.00  took 24 s"
    parts = {"train_seconds": 9.0, "evaluation_seconds": 15.0, "evaluating_seconds": 10.0}
    whole = changed(record, cost={**record.cost, **parts}, training={**record.training, "seconds": 8.0})
    text = "dev 65.00  STS 50.00  took 24 s: preparing 1, training 8, encoding 5, scoring 10"
    assert describe(whole, (SELECTION,), SHOWN) == text
    assert describe(made_record({}, "a", 0), (SELECTION,), SHOWN) == "dev —"
    stopped = made_record({}, "a", 0, status="pruned", training={"stopped": "diverged: nan"})
    assert describe(stopped, (SELECTION,), SHOWN) == "diverged: nan"


def test_a_line_has_every_goal_that_is_looked_for() -> None:
    record = made_record({}, "a", 0, scores=SCORES, cost={"seconds": 24.3})
    goals = searched(("sts", "seconds"))
    assert describe(record, goals, ()) == "sts 60.00  seconds 24.30  took 24 s"
    assert legend(goals, ()) == (
        "sts: a development score that searches look at, in %, higher is better; "
        "seconds: a cost that searches look at, in s, lower is better"
    )


def best_so_far(
    shown: Console, score: float, seed: int = 0, seconds: float = 1.0, judged: bool = False, **changes: Value
) -> list[str]:
    """What is said once a trial of these settings has that score."""
    scores = {task: dict.fromkeys(numbers, score) for task, numbers in SCORES.items() if score}
    recipe = shown.state.plan.base.preferring(changes)
    record = made_record(recipe.flat(), recipe.hash, seed, scores=scores, cost={"seconds": seconds})
    shown._count(dataclasses.replace(record, training={"rungs": [{}]} if judged else {}))
    return shown._best_so_far()


def test_the_best_so_far_is_of_the_largest_share_that_was_trained_on(begin: Begin) -> None:
    _, shown = begin(rows=1)
    part, other = {"corpus.share": 0.125, "objective.temperature": 0.3}, {"objective.temperature": 0.3}
    untrained = {"optimisation.epochs": 0}
    assert best_so_far(shown, 90.0, **untrained) == []
    assert best_so_far(shown, 95.0, **untrained, **{"encoder.name": "of a row"}) == []
    beside = " (original encoder 90.00)"
    assert best_so_far(shown, 50.0, PART_SEED, **part) == [f"best so far on 1/8 of the data: dev 50.00{beside}"]
    assert best_so_far(shown, 0.0, **other) == [f"best so far on 1/8 of the data: dev 50.00{beside}"], "without a score"
    assert best_so_far(shown, 40.0, 1, **other) == [f"best so far: dev 40.00{beside}"]
    assert best_so_far(shown, 60.0, **part) == [f"best so far: dev 60.00{beside}"], "a search may choose the share, too"


def test_the_best_so_far_stands_beside_the_base_settings(begin: Begin) -> None:
    _, shown = begin(rows=1)
    assert best_so_far(shown, 50.0) == ["best so far: dev 50.00 (the base settings)"]
    other, third = {"objective.temperature": 0.3}, {"objective.temperature": 0.2}
    assert best_so_far(shown, 40.0, **other) == ["best so far: dev 50.00 (the base settings)"]
    assert best_so_far(shown, 60.0, **third) == ["best so far: dev 60.00 (base settings 50.00)"]
    assert best_so_far(shown, 70.0, FIRST_FRESH_SEED) == [], "the finals have begun, and judge anew"


def test_a_recipe_that_trains_alone_is_not_the_best_of_any(begin: Begin) -> None:
    _, shown = begin(rows=1)
    shown.state.plan.trains_several = False
    assert best_so_far(shown, 50.0) == []
    assert best_so_far(shown, 60.0, 1) == [], "another seed"
    other = {"objective.temperature": 0.3}
    assert best_so_far(shown, 40.0, **other) == ["best so far: dev 55.00 (the base settings)"], "of an earlier run"


def test_the_best_so_far_is_the_recipe_that_leads_in_the_report(begin: Begin) -> None:
    """By its mean over seeds, and within the limits of trials; of equals the base settings."""
    _, shown = begin(rows=1)
    shown.state.plan.limits = {"seconds": 9.0}
    other = {"objective.temperature": 0.3}
    assert best_so_far(shown, 50.0, **other) == ["best so far: dev 50.00"]
    assert best_so_far(shown, 50.0) == ["best so far: dev 50.00 (the base settings)"]
    assert best_so_far(shown, 60.0, 1) == ["best so far: dev 55.00 (the base settings)"]
    assert best_so_far(shown, 62.0, 1, **other) == ["best so far: dev 56.00 (base settings 55.00)"]
    slow = {"objective.temperature": 0.2}
    assert best_so_far(shown, 90.0, seconds=10.0, **slow) == ["best so far: dev 56.00 (base settings 55.00)"]
    shown.state.plan.seeds = [0, 1]
    assert best_so_far(shown, 80.0, judged=True, **other) == ["best so far: dev 56.00 (base settings 55.00)"]
    two = Console(shown.state)
    two.goals = searched(("sts", "seconds"))
    assert best_so_far(two, 70.0, seconds=5.0) == ["best so far: sts 70.00, seconds 5.00"]
    assert best_so_far(two, 60.0, **other) == ["best so far: sts 70.00, seconds 5.00"], "both are of one recipe"


def test_words_are_explained_once_before_the_first_line(begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
    study, shown = begin(rows=3, at_once=1)
    (first,) = study.start(shown)
    study.now += 60
    study.finish(shown, first, record_of(first, 40, 20))
    (second,) = study.start(shown)
    study.now += 1
    study.fail(shown, second, "no such file")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "dev: the development score that searches look at, in %, higher is better; "
        "STS, transfer: averages of test scores",
        "[1/3] row 0 seed 0  dev 65.00  STS 50.00  took 60 s: preparing 40, encoding 20  "
        "(after 60 s, about 2 min left)",
        "[2/3] row 1 seed 0  FAILED: no such file  (after 61 s, about 2 min left)",
    ]
    assert study.state.failed_now == 1


class TestPlainLines:
    def test_what_runs_is_said_soon_and_then_at_growing_intervals(
        self, begin: Begin, capsys: pytest.CaptureFixture[str]
    ) -> None:
        study, shown = begin(rows=4)
        printed: list[tuple[float, str]] = []
        running = simulate(study, shown, Machine(2), lambda trial: 200.0, lambda trial: 100.0, every=0.25)
        for at in running:
            printed += [(at, line) for line in capsys.readouterr().out.splitlines()]
        status = [(at, line) for at, line in printed if "running" in line or "start" in line]
        _, line = status[0]
        assert line.startswith("[0/4] 2 running, ")
        assert re.search(r"about 1\d min left \(rough guess, until .*\), [\d.]+ trials an hour; now: ", line)
        assert line.endswith("; now: row 0 seed 0 step 10/100, loss 3.3406; row 1 seed 0 step 8/100, loss 3.4523")
        assert [at - 12 for at, _ in status[:4]] == [20, 60, 120, 180]  # the first trial began after 12 seconds
        assert "row 0 seed 0 step 100/100, loss 2.0366, scoring" in status[4][1]
        assert len(printed) < 20

    def test_of_many_a_few_are_named(self, begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
        study, shown = begin(rows=12, at_once=10)
        for _ in range(10):
            study.start(shown)
        study.wait(shown, 20)
        (line,) = capsys.readouterr().out.splitlines()
        assert line.endswith("; now: row 0 seed 0 starting; row 1 seed 0 starting; row 2 seed 0 starting; and 7 more")

    def test_a_silent_time_is_not_made_up_for(self, begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
        study, shown = begin()
        study.start(shown)
        study.now += 3600
        for _ in range(10):
            shown.tick()
        assert len(capsys.readouterr().out.splitlines()) == 1

    def test_no_code_of_a_label_reaches_the_log(self, begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
        study, shown = begin(name=lambda row: f"\x1b[2J\nrow\u202e {row}")
        (trial,) = study.start(shown)
        study.wait(shown, 20)
        study.fail(shown, trial, "two\nlines\x07")
        out = capsys.readouterr().out
        assert "\\x1b[2J\\nrow\\u202e 0 seed 0 starting" in out
        assert "FAILED: two\\nlines\\x07" in out
        assert all(sign.isprintable() or sign == "\n" for sign in out)
        assert len(out.splitlines()) == 3


class TestTerminal:
    @pytest.mark.slow
    def test_what_runs_is_drawn_in_place_below_what_ended(self, begin: Begin, terminal: Terminal) -> None:
        study, shown = begin(rows=4, screen=terminal)
        screens = []
        for _ in simulate(study, shown, Machine(2, start=0), lambda t: 20.0, lambda t: 10.0, every=0.5):
            screens.append(terminal.screen())
        study.tell(shown, "close")
        assert "2 running" in screens[0][-2]
        early = next(screen for screen in screens if "step  50/100" in "".join(screen))
        assert [line[:48] for line in early[:2]] == [
            "  row 0 seed 0  step  50/100  loss 2.2707",
            "  row 1 seed 0  step  50/100  loss 2.2707",
        ]
        assert early[2].startswith("[0/4] 2 running, about 70 s left (rough guess, until ")
        assert early[2].endswith("), 180 trials an hour")
        assert early[3:] == [f"{BAR}   0 %"]
        bars = {screen[-1] for screen in screens}
        assert any(bar.endswith("  50 %  best so far: dev 65.00") for bar in bars)
        scoring = next(screen for screen in screens if "scoring" in "".join(screen))
        assert scoring[0] == "  row 0 seed 0  step 100/100  loss 2.0366  scoring"
        ended = "\n".join(terminal.screen()).rstrip().splitlines()
        assert [line[:12] for line in ended[:-1]] == ["dev: the dev", *[f"[{n}/4] row {n - 1} " for n in (1, 2, 3, 4)]]
        assert "about to end" in ended[3]
        assert "about" not in ended[4]
        assert ended[-1] == "4 trials done in 61 s, none failed"
        assert terminal.raw.count("\x1b[?25l") == terminal.raw.count("\x1b[?25h") == 1

    def test_it_is_drawn_at_most_twice_a_second(self, begin: Begin, terminal: Terminal) -> None:
        study, shown = begin(screen=terminal)
        study.start(shown)
        for _ in range(100):
            study.wait(shown, 0.1)
        assert terminal.raw.count("1 running") <= 20

    def test_it_is_short_narrow_and_clean(
        self, begin: Begin, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "44")
        study, shown = begin(
            rows=40, at_once=30, name=lambda row: f"row \x1b[31m{row} with a very long label 語語語", screen=terminal
        )
        for _ in range(20):
            (trial,) = study.start(shown)
            study.tell(shown, "step", trial, 1, 1000, {"loss": 1.0})
        study.wait(shown, 1)
        lines = terminal.screen()
        assert len(lines) == console.DRAWN + 3
        assert lines[0] == "  row \\x1b[31… seed 0  step     1/1,000  lo…"
        assert lines[-3] == "  and 12 more"
        assert max(map(len, lines)) <= 44

    def test_a_low_terminal_keeps_the_summary(
        self, begin: Begin, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LINES", "6")
        study, shown = begin(rows=40, at_once=30, screen=terminal)
        study.start(shown, members=20)
        study.wait(shown, 1)
        assert [line.strip()[:11] for line in terminal.screen()] == [
            *(f"row {row}  seed" for row in (0, 1)),
            "and 18 more",
            "[ 0/40] 20 ",
            BAR[:11],
        ]

    def test_other_words_appear_above_the_block(self, begin: Begin, terminal: Terminal) -> None:
        study, shown = begin(screen=terminal)
        study.start(shown)
        shown.tick()
        print("warning: [bold]something[/bold]")
        study.wait(shown, 1)
        assert terminal.screen()[0] == "warning: [bold]something[/bold]"
        assert len(terminal.screen()) == 4
        study.tell(shown, "close")
        assert sys.stdout is terminal

    def test_a_terminal_that_gets_narrower(
        self, begin: Begin, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("COLUMNS", "LINES"):
            monkeypatch.delenv(variable)
        columns = 90
        monkeypatch.setattr(os, "get_terminal_size", lambda handle: os.terminal_size((columns, 30)))
        study, shown = begin(name="a row with quite a long label {}".format, screen=terminal)
        study.start(shown)
        study.wait(shown, 1)
        assert terminal.screen()[0] == "  a row with quite a long label 0 seed 0  starting"
        columns = 40
        study.wait(shown, 1)
        assert terminal.screen()[0] == "  a row with … seed 0  starting"

    def test_a_terminal_that_cannot_move_its_cursor_gets_lines(
        self, begin: Begin, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TERM", "dumb")
        study, shown = begin(screen=terminal)
        study.start(shown)
        study.wait(shown, 20)
        study.tell(shown, "close")
        assert terminal.raw == "[0/4] 1 running (20 s so far); now: row 0 seed 0 starting\n"


def test_starts_that_fail_are_told_with_the_last_reason_until_one_succeeds(
    begin: Begin, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    study, shown = begin()
    (trial,) = study.start(shown)
    study.tell(shown, "interrupted", [trial])
    study.tell(shown, "not_started", [trial], 1, "ImportError: no torch")
    study.wait(shown, 20)
    assert capsys.readouterr().out.endswith(" (20 s so far); the last start failed: ImportError: no torch\n")
    study.tell(shown, "not_started", [trial], 3, "ModuleNotFoundError: No module\x1b[31m named 'study'")
    study.wait(shown, 40)
    text = capsys.readouterr().out
    assert text.startswith("[0/4] 0 running, 1 waiting for a new worker group")
    assert text.endswith("; the last 3 starts failed: ModuleNotFoundError: No module\\x1b[31m named 'study'\n")
    study.tell(shown, "started", [trial])
    study.wait(shown, 60)
    assert "failed" not in capsys.readouterr().out
    study, shown = begin(screen=terminal)
    study.tell(shown, "not_started", study.queue, 3, "ImportError: no torch")
    shown.tick()
    assert "the last 3 starts failed: ImportError: no torch" in terminal.screen()
    study.finish(shown, study.queue[0], record_of(study.queue[0], 20, 10))
    study.wait(shown, 1)
    assert "failed" not in " ".join(terminal.screen())


def test_a_trial_whose_workers_died_runs_no_more_until_another_begins_it(
    begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where its machine is gone that may take hours, and nobody knows how many."""
    study, shown = begin()
    (trial,) = study.start(shown)
    study.tell(shown, "step", trial, 50, 100, {"loss": 2.5})
    study.tell(shown, "interrupted", [trial])
    study.tell(shown, "step", trial, 51, 100, {"loss": 2.5})  # told late
    study.wait(shown, 20)
    text = capsys.readouterr().out
    assert text == "[0/4] 0 running, 1 waiting for a new worker group (1 worker of 1 CPU) (20 s so far)\n"
    study.tell(shown, "started", [trial])
    study.wait(shown, 40)
    assert capsys.readouterr().out.endswith("1 running (60 s so far); now: row 0 seed 0 starting, again (2)\n")
    study.tell(shown, "step", trial, 60, 100, {"loss": 2.5})
    study.tell(shown, "rung", trial, 1, {"sts": 61.234, "transfer": 80.0})
    study.wait(shown, 60)
    text = capsys.readouterr().out
    assert text.startswith("[0/4] 1 running, about ")
    assert text.endswith("row 0 seed 0 step 60/100, loss 2.5000, dev 61.23 and 80.00 at rung 1, again (2)\n")
    study.tell(shown, "interrupted", [trial])
    study.fail(shown, trial, "it was begun 4 times")
    capsys.readouterr()
    study.wait(shown, 20)
    assert "waiting" not in capsys.readouterr().out


def test_members_of_a_resumed_population_that_were_done_do_not_run(begin: Begin) -> None:
    study, _ = begin(rows=3)
    done = study.queue.popleft()
    study.ledger.write(record_of(done, 1, 1))
    study.begin()
    study.tell(study.state, "started", [done, *study.queue])
    assert [run.trial.name for run in study.state.running.values()] == ["row 1", "row 2"]
    assert study.state.total == 2


def test_the_end_says_what_is_not_done(begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
    study, shown = begin(rows=3, at_once=1)
    study.tell(shown, "close")
    assert capsys.readouterr().out == ""  # nothing ended
    for end in (
        lambda trial: study.finish(shown, trial, record_of(trial, 1, 1)),
        lambda trial: study.fail(shown, trial, "no"),
    ):
        (trial,) = study.start(shown)
        study.now += 54
        end(trial)
    study.tell(shown, "close")
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 3 trials done in 1 min 48 s, 1 failed"


def test_words_for_times() -> None:
    assert [passed(seconds) for seconds in (40, 99, 108, 3599, 7200)] == [
        "40 s",
        "99 s",
        "1 min 48 s",
        "59 min 59 s",
        "2 h 0 min",
    ]
    assert clock_time(0) == datetime.datetime.now().strftime("%H:%M")
    days = datetime.datetime.now() + datetime.timedelta(days=2)
    assert clock_time(2 * 86400) == days.strftime("%a %d %b %H:%M")


class Notebook(ModuleType):
    """As much of IPython as a kernel's process has: what one cell shows, each time that it is written."""

    def __init__(self, kernel: object) -> None:
        super().__init__("IPython")
        self.written: list[str] = []
        self.displays = 0
        self.get_ipython = lambda: SimpleNamespace(kernel=kernel)
        self.display = ModuleType("IPython.display")
        vars(self.display).update(HTML=str, display=self.begin)

    def begin(self, content: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        self.displays += 1
        self.written.append(content)
        return SimpleNamespace(update=self.written.append)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Notebook:
        monkeypatch.setitem(sys.modules, "IPython", self)
        monkeypatch.setitem(sys.modules, "IPython.display", self.display)
        return self


def test_a_notebook_shows_one_block_that_is_written_again(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Notebook(kernel=object()).install(monkeypatch)
    study, shown = begin(rows=4, at_once=2, name="<b>row</b> {} & more".format)
    for _ in simulate(study, shown, Machine(2), lambda trial: 60.0, lambda trial: 10.0):
        pass
    shown.close()
    text = capsys.readouterr().out
    assert notebook.displays == 1
    assert len(notebook.written) > 20
    assert "<b>" not in "".join(notebook.written)
    assert any("&lt;b&gt;row&lt;/b&gt; 1 &amp; more" in block and "step" in block for block in notebook.written)
    half = next(block for block in notebook.written if '<progress value="2" max="4">' in block)
    assert " 50 %  best so far: dev 65.00</pre>" in half
    assert "4 trials done in" in notebook.written[-1]
    assert '<progress value="4" max="4"></progress> 100 %' in notebook.written[-1]
    assert [line[:5] for line in text.splitlines()][-4:] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    assert "running" not in text


def test_in_ipythons_terminal_and_without_ipython_there_is_no_such_block(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Notebook(kernel=None).install(monkeypatch)
    study, shown = begin(rows=1)
    for _ in simulate(study, shown, Machine(1), lambda trial: 60.0, lambda trial: 10.0):
        pass
    shown.close()
    assert notebook.displays == 0
    assert "1 running" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "IPython")
    assert notebook_cell() is None
    assert "IPython" not in sys.modules
