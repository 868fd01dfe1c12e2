"""The answer of a study: which it is, what its lines say, what `answer.json` holds."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reports.check import check
from reports.document import markdown
from reports.document.inline import as_html
from reports.export import _best_first
from reports.facts import looks
from reports.facts.answer import FILE, SCHEMA, Answer
from reports.facts.answer_parts import TaskGain
from reports.facts.best_model import ranking
from reports.facts.gain import Gain
from reports.facts.guards import sentence
from reports.facts.part_scores import Ahead, PartScore, PassedOver, busy, misleading_part
from reports.facts.predictions import Predictions
from reports.facts.recipe_names import BASE, name_of
from reports.facts.results import Results
from reports.ledger import FAILURES, LEDGER, Ledger, Record, StudyInfo, fresh_seeds
from reports.ledger.finals import PART_SEED, SHARE
from reports.ledger.request import Request
from reports.made_up import VERSIONS
from reports.report import write_report
from reports.sections import SECTIONS, finals
from reports.statistics.finals import Reference
from reports.testing import changed
from reports.words.answer import lines
from reports.words.comparisons import interval
from reports.words.lines import as_text
from reports.words.markdown import duration, text
from search_spaces import spaces
from search_spaces.own_data import TF_IDF
from tests.conftest import slow_case
from tests.facts import sentences
from tests.guarded import put
from tests.guarded import rewrite as put_in_row
from tests.synthetic_results import add_finals, keeps_its_contract, lifted, made_once, make_results, shared
from trainables.senteval.tasks import GROUPS, TASKS, kind_of

Make = Callable[..., Results]
FULL = (3.0, 1.0, 0.5)
STUDIES: dict[str, tuple[tuple[float, ...], dict[str, Any]]] = {
    "use": (FULL, {}),
    "base": ((0.0, -0.5, -0.3), {}),
    "as it came": ((0.1, -0.5, -0.3), {"base_over_encoder": -3.0}),
    "open": ((0.5, 0.2, 0.1), {"std": 0.6}),
    "unfinished": (FULL, {"missing": 3}),
}
"""By the answer that should come, what the finalists gain over the base."""
EXAMPLES = sorted(file.parent for file in Path(__file__).parents[3].glob("docs/examples/*/study.json"))
ROWS = ["SBERT baseline", "3p3n-Augment", "3palln-lambda0.5-SCL"]
HEADS = {
    "use": ["Use", "Gain", "Beside", "Base", "Sure", "Worse", "Cost", "Model", "Again"],
    "base": ["Keep", "Gain", "Search", "Beside", "Most", "Base", "Sure", "Model", "Again"],
    "as it came": ["Keep", "Score", "Search", "Beside", "Base", "Sure"],
    "open": ["Open", "Best", "Gain", "Beside", "Most", "Base", "Sure", "Next", "Worse", "Cost", "Model", "Or", "Again"],
    "unfinished": ["Wait", "Go on"],
}


def what(
    gains: tuple[float, ...] = FULL, goals: list[str] | None = None, **parts: Any
) -> tuple[object, Callable[[Path], None]]:
    """A search of six recipes with finals of the first ones: what it is, and who makes it."""

    def fill(folder: Path) -> None:
        make_results(folder, rows=["SBERT baseline"], explored=6, seeds=(0,))
        if goals:
            dataclasses.replace(StudyInfo.load(folder), goals=goals).save(folder)
        if gains:
            add_finals(folder, gains, **parts)

    return ("six recipes", gains, goals, parts), fill


def made(*gains: Any, **parts: Any) -> Results:
    """To be read only."""
    return shared(*what(*gains, **parts))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """To be written to."""

    def copied(*gains: Any, **parts: Any) -> Results:
        made_once(tmp_path, *what(*gains, **parts))
        return Results.load(tmp_path)

    return copied


def text_of(results: Results) -> str:
    return "\n".join(as_text(lines(Answer.of(results), results.info, str)))


@pytest.mark.parametrize("kind", STUDIES)
def test_each_answer_comes_where_it_should(kind: str) -> None:
    gains, parts = STUDIES[kind]
    results = made(gains, **parts)
    assert Answer.of(results).kind == kind
    sentences = lines(Answer.of(results), results.info, str)
    assert [line.head for line in sentences] == HEADS[kind]
    words = text_of(results)
    assert not any(key in words for key in [*results.recipes, *results.finals])
    assert "Use " not in words or kind == "use"
    for line in sentences:
        assert line.command or len(line.words.split()) <= 29
        assert line.command or line.words.count("(") <= 1
    assert check_model(results) is (kind in ("use", "base", "open"))
    keeps_its_contract(SECTIONS["answer"], results)


LIMITED = {"limit": "minutes", "number": 40.0, "spent": 40.0, "a_trial": 2.5, "left_out": 9}


def limited(folder: Path, **finals: Any) -> Results:
    """The study as a limit has ended it."""
    info = StudyInfo.load(folder)
    assert info.finals is not None
    dataclasses.replace(info, limited=LIMITED, finals=dataclasses.replace(info.finals, **finals)).save(folder)
    return Results.load(folder)


@pytest.mark.parametrize(("missing", "judged"), [(2, 3), (5, 2), (8, 2), (14, 1), (15, 0), (18, 0)])
def test_a_limit_that_ends_the_finals_leaves_an_answer_of_what_is_there(
    missing: int, judged: int, make: Make, tmp_path: Path
) -> None:
    """Trials are missing of the first finalist, then of the next, then of the base."""
    make(missing=missing)
    assert Answer.of(Results.load(tmp_path)).kind == "unfinished"  # as long as the study runs
    assert looks.judged_trials(Results.load(tmp_path), "finals") == []
    results = limited(tmp_path)
    answer = Answer.of(results)
    assert (len(answer.finalists), len(answer.left_out)) == (judged, 3 - judged)
    assert answer.kind in ("use", "open", "base")
    assert len(looks.judged_trials(results, "finals")) == sum(
        row.seeds for row in (*answer.finalists, *answer.references.values())
    )
    ended = f"the limit ended the finals before {3 - judged} finalist{'s' * (judged != 2)} had run"
    words = text_of(results)
    assert (ended in words) == (judged < 3)
    assert "6 recipes tried beside the base settings" in words
    assert "Wait" not in words
    assert ("3 fresh seeds of it, 5 of the base settings" in words) == (missing == 2)
    assert {line.head for line in lines(answer, results.info, str)} >= {"Model", "Again"}


def rerun(results: Results, seed: int, **parts: Any) -> Results:
    """The results with one more trial of the base, beside its fresh ones."""
    base = results.info.finals.base if results.info.finals else ""
    record = changed(results.finals[base or ""][0], **parts)
    Ledger(results.folder / LEDGER).write(dataclasses.replace(record, seed=seed))
    return Results.load(results.folder)


def test_one_seed_each_borrows_what_seeds_move_in_recorded_trainings_and_where_something_ran_twice(
    make: Make, tmp_path: Path
) -> None:
    """The base runs in the search, too: its seed there chose nothing."""
    make((9.0,), seeds=1, std=0.1)
    before = Answer.of(Results.load(tmp_path))
    assert (before.kind, before.lent, before.noise) == ("use", pytest.approx(0.9), ())
    words = "intervals of one seed assume that another moves a score by"
    assert f"{words} 0.90 points (a guess from other data)" in text_of(Results.load(tmp_path))
    results = Results.load(tmp_path)
    results = rerun(results, 0, scores=lifted(results.finals[results.base.hash][0], 9.0).scores)
    answer = Answer.of(results)
    assert answer.kind == "open"
    assert answer.lent > 1
    assert f"{words} {answer.lent:.2f} points (by what ran twice)" in text_of(results)


def test_three_seeds_borrow_too_and_references_are_compared_with_each_other(make: Make, tmp_path: Path) -> None:
    results = make((9.0,), seeds=3, std=0.1)
    info, row = results.info, results.info.row_hashes["SBERT baseline"]
    dataclasses.replace(info, finals=dataclasses.replace(info.finals, baseline=row)).save(tmp_path)
    for seed in fresh_seeds(3):
        Ledger(tmp_path / LEDGER).write(dataclasses.replace(results.recipes[row][0], seed=seed))
    answer = Answer.of(Results.load(tmp_path))
    assert answer.lent == pytest.approx(0.9)
    assert {name: [*other.gains] for name, other in answer.references.items()} == {
        "base": ["encoder", "baseline"], "encoder": ["baseline"], "baseline": [],
    }  # fmt: skip
    base, baseline = (answer.references[name].figure for name in ("base", "baseline"))
    assert answer.references["base"].gains["baseline"].gain == pytest.approx(base.gain - baseline.gain)
    assert answer.references["base"].settings == {
        domain.key: results.base.flat()[domain.key]
        for domain in results.space.domains
        if domain.key in results.base.flat()
    }


@pytest.mark.parametrize(("ahead", "noted"), [(2.5, True), (-2.5, False)])
def test_what_no_model_reaches_is_said_and_warns_where_it_is_more(
    ahead: float, noted: bool, make: Make, tmp_path: Path
) -> None:
    make((9.0,), seeds=3, std=0.1)
    results = Results.load(tmp_path)
    answer = Answer.of(results)
    (picked,) = answer.picked
    counts = Gain(*(np.float64(picked.figure.gain + ahead + move) for move in (0, -1, 1)))
    row = dataclasses.replace(answer.references["base"], name=TF_IDF, figure=counts)
    gained = dataclasses.replace(picked, gains={**picked.gains, "baseline": Gain(-ahead, -ahead - 1, -ahead + 1)})
    answer = dataclasses.replace(answer, picked=(gained,), references={**answer.references, "baseline": row})
    words = "\n".join(as_text(lines(answer, results.info, str)))
    assert f"{-ahead:+.2f} [{-ahead - 1:+.2f}, {-ahead + 1:+.2f}] over TF-IDF (no model)" in words
    without = "Note   TF-IDF without any model scores 2.50 higher: try another encoder"
    assert (words.splitlines()[1] == without) == noted == (without in words)
    kept = "\n".join(as_text(lines(dataclasses.replace(answer, kind="base"), results.info, str)))
    assert re.search(r"Gain   STS Avg. of the base settings \d.*: \+\d.* over the original encoder\n", kept)
    unsure = dataclasses.replace(row, figure=dataclasses.replace(counts, low=counts.gain - 5))
    answer = dataclasses.replace(answer, references={**answer.references, "baseline": unsure})
    words = "\n".join(as_text(lines(answer, results.info, str)))
    assert "without any model" not in words
    assert ("Note   no gain over TF-IDF is shown" in words) == (ahead >= -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "kind", "fresh"), [(5.0, "open", False), (-5.0, "as it came", True), (0.05, "open", True)]
)
def test_where_no_finalist_ran_the_base_is_held_against_the_encoder(
    over: float, kind: str, fresh: bool, make: Make, tmp_path: Path
) -> None:
    """Also where its only seeds are those of the search, in which other recipes were above it: they were not judged."""
    results = make((1.0,), base_over_encoder=over, seeds=2)
    if not fresh:
        for record in results.finals[results.base.hash]:
            rerun(results, record.seed % 10, scores=record.scores)
            (tmp_path / LEDGER / f"{record.key}.json").unlink()
    results = limited(tmp_path, finalists=[])
    answer = Answer.of(results)
    assert (answer.kind, answer.picked, answer.finalists) == (kind, (), ())
    assert answer.references["base"].seeds == 2
    assert answer.to_train == (None if kind == "as it came" else answer.references["base"])
    words = text_of(results)
    assert "Sure   2 seeds of the base settings; " in words
    assert "Search" not in words
    assert "Wait" not in words
    assert all(line.command or len(line.words.split()) <= 29 for line in lines(answer, results.info, str))
    write_report(tmp_path)
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8"))["kind"] == kind


@pytest.mark.parametrize(("over", "kind"), [(5.0, "base"), (-5.0, "as it came")])
def test_where_no_recipe_is_above_the_base_the_search_is_over(
    over: float, kind: str, make: Make, tmp_path: Path
) -> None:
    """There are no finalists, and it is known that there are none."""
    results = make((1.0,), base_over_encoder=over, seeds=5)
    finals = results.info.finals
    dataclasses.replace(results.info, finals=dataclasses.replace(finals, finalists=[])).save(tmp_path)
    assert Answer.of(Results.load(tmp_path)).kind == "unfinished"
    dataclasses.replace(results.info, finals=dataclasses.replace(finals, finalists=[], chosen=True)).save(tmp_path)
    assert Answer.of(Results.load(tmp_path)).kind == kind


@pytest.mark.parametrize(("ahead", "named"), [(-9.0, True), (9.0, False)])
def test_without_finalists_it_is_told_whether_none_was_better_or_a_limit_had_no_room(
    ahead: float, named: bool, make: Make, tmp_path: Path
) -> None:
    """By the development score of the base on all of the data, which lies below those of recipes, or above them."""
    results = make((1.0,), seeds=2)
    rerun(results, 0, scores=lifted(results.finals[results.base.hash][0], ahead, numbers=("dev_",)).scores)
    results = limited(tmp_path, finalists=[], chosen=True)
    best = name_of(results, ranking(results)[0].recipe_hash)
    line = "Keep   the base settings, and train with them: no recipe of the search scored above them in development"
    if named:
        line = "Best   so far: the base settings; limits left out the recipes of the search"
    answer, text = Answer.of(results), text_of(results)
    assert line in text
    assert answer.kind == ("open" if named else "base")
    assert answer.keeps_base
    if named:
        assert "Open   keep the base settings for now (" in text
        assert "Next   the same command with --limit minutes=" in text
        assert " goes on, and may have time to judge a recipe\n" in text
    assert (f"Note   before the finals {best} scored " in text_of(results)) == named
    assert (finals.NONE_CHOSEN in markdown(finals.write(results, tmp_path))) != named


def test_what_a_flag_forbids_is_no_verdict_on_the_base_alone_either(make: Make, tmp_path: Path) -> None:
    make((1.0,), seeds=2)
    results = limited(tmp_path, finalists=[])
    assert Answer.of(results).kind == "base"
    answer = Answer.of(rewrite(results, results.base.hash, geometry={"anisotropy": 0.999}))
    assert (answer.kind, answer.flags) == ("open", ("degenerate",))


@pytest.mark.parametrize(("least", "minutes"), [(None, 80), (60, 80), (95, 95)])
def test_without_the_base_a_limit_leaves_nothing_to_tell(
    least: float | None, minutes: int, make: Make, tmp_path: Path
) -> None:
    """The next limit is twice as large, or what a search needs at least."""
    results = make((1.0,), seeds=1)
    (tmp_path / LEDGER / f"{results.finals[results.base.hash][0].key}.json").unlink()
    info = limited(tmp_path).info
    dataclasses.replace(info, limited={**info.limited, "least": least}).save(tmp_path)
    results = Results.load(tmp_path)
    assert Answer.of(results).kind == "open"
    assert text_of(results) == (
        "Open   nothing can be told: the limit ended the study before the base settings had run\n"
        f"Next   --limit minutes={minutes} in all goes on with what is done"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leaks", "marked", "dev", "kind"),
    [
        slow_case(0, "not", 0, "use"),
        (2, "evenly", 0, "use"),
        (2, "not", 0, "open"),
        (30, "evenly", 0, "use"),
        slow_case(40, "evenly", 0, "open"),
        (30, "where it gained", 0, "open"),
        (2, "the whole of STS14", 0, "open"),
        slow_case(60, "evenly", 0, "open"),
        slow_case(50, "evenly", 10, "open"),
        (10, "evenly", 20, "use"),
        slow_case(10, "evenly", 21, "open"),
        (0, "evenly", 30, "use"),
        (0, "evenly", 31, "open"),
    ],
)
def test_what_training_saw_of_the_test_forbids_no_verdict_that_stands_without_it(
    leaks: int, marked: str, dev: int, kind: str, make: Make, tmp_path: Path
) -> None:
    """By at least half of the items, which neither training nor the choice of recipes saw; where trials do not say
    which these are, there is none."""
    _remember(make((6.0, 1.0, 0.5), base_over_encoder=25.0, predictions=True), leaks, marked, dev=dev)
    results = Results.load(tmp_path)
    answer = Answer.of(results)
    assert answer.kind == kind, (answer.flags, answer.picked)
    words = "test items; on the others it gains +"
    stands = kind == "use" and leaks > 0
    assert (words in text_of(results)) == stands
    assert (answer.remembered is not None) == stands
    flags = [flag for flag in answer.warnings if flag.kind == "mostly held"]
    assert [flag.blocks for flag in flags] == [True] * (dev > 0 and kind == "open")
    assert all("hold most test items" in sentence(results, flag) for flag in flags)
    if answer.remembered:
        assert answer.remembered.items == (leaks + dev) * len(GROUPS["sts"])
    for own, drop in ((True, False), (True, True), (False, False)):
        request = {"search": "optuna", **({"train": ["mine.csv"]} if own else {}), "drop_leaks": drop}
        written = lines(answer, dataclasses.replace(results.info, requests=[request]), str)
        mends = any(line.head == "Next" and line.words.startswith("--drop-leaks") for line in written)
        assert mends == (kind == "open" and own and not drop and not dev)
        assert not dev or any(line.words.startswith("a test of other items") for line in written) == (kind == "open")


@pytest.mark.slow
@pytest.mark.parametrize("unmarked", [False, True])
def test_a_base_that_would_be_kept_is_asked_too(unmarked: bool, make: Make, tmp_path: Path) -> None:
    before = make((-4.0, -5.0, -6.0), base_over_encoder=25.0, predictions=True)
    _remember(before, 30, "evenly", spared=before.info.finals.base if unmarked else "")
    results = Results.load(tmp_path)
    answer = Answer.of(results)
    assert (answer.kind, answer.flags) == (("open", ("overlap",)) if unmarked else ("base", ()))
    assert ("test items; on the others the base settings gain +" in text_of(results)) is not unmarked


def _remember(results: Results, leaks: int, marked: str, spared: str = "", dev: int = 0) -> None:
    """Let every training have seen so many items of each task, and the dev part hold further ones; trials keep which
    these are, but for those of a recipe that is spared."""
    finals = results.info.finals
    tried, untrained = (results.finals[key][0] for key in (finals.finalists[0], finals.as_it_came))
    for record in Ledger(results.folder / LEDGER).read():
        if not record.recipe["optimisation.epochs"]:
            continue
        overlap = {task: {"items": 60, "seen": leaks} for task in record.scores}
        Ledger(results.folder / LEDGER).write(changed(record, data={**record.data_read, "overlap": overlap}))
        for file in record.predictions if marked != "not" and record.recipe_hash != spared else ():
            with np.load(results.folder / file) as arrays:
                tasks = [task for task in record.scores if task in arrays]
                order = {task: np.arange(60) * 7 % 60 for task in tasks}
                if marked == "where it gained":
                    order = {task: np.argsort(-_moves(results, tried, untrained, task)) for task in tasks}
                most = {task: 60 if marked.endswith(task) else leaks for task in tasks}
                seen = {
                    f"seen.{task}": sum(
                        mark * np.isin(np.arange(60), items).astype(np.int8)
                        for mark, items in enumerate(np.split(own, [most[task], most[task] + dev])[:2], 1)
                    )
                    for task, own in order.items()
                }
                content = {**arrays, **seen}
            np.savez_compressed(results.folder / file, **content)


def _moves(results: Results, record: Record, other: Record, task: str) -> np.ndarray:  # (items,)
    """What each item adds to a gain in the task's main number."""
    own, before = (results.predictions.effects(each, task, TASKS[task].metric) for each in (record, other))
    assert own is not None
    assert before is not None
    return own[0] - before[0]


def test_the_lines_of_a_gain() -> None:
    assert text_of(made(tasks={"MRPC": -9.0})) == (
        "Use    positives per anchor 1, negatives per anchor 8, pooling mean, temperature 0.1, "
        "weight of the contrastive loss 0.047, batch size 128\n"
        "Gain   STS Avg. 50.51 [50.14, 50.89]: +2.89 [+2.18, +3.61] over the base settings; "
        "+7.90 [+7.39, +8.40] over the original encoder\n"
        "Beside transfer (MRPC, SST2, SST5, TREC) +0.64 [-0.07, +1.36] over the base settings\n"
        "Base   allpalln-lambda0.5-SCL: positives per anchor none, negatives per anchor none, weight of the "
        "contrastive loss 0.5, temperature 1, batch size 64, pooling mean_without_cls, and 1 more\n"
        "Sure   5 fresh seeds each; 6 recipes tried beside the base settings, 28 min of trials added up; "
        "seeds move STS Avg. by 0.18 to 0.44 (standard deviation)\n"
        "Worse  MRPC -6.11 [-6.99, -5.22] against the base settings; "
        "MRPC -1.10 [-1.78, -0.43] against the original encoder\n"
        "Cost   one training takes 36 s, with the base settings 36 s\n"
        "Model  python -m reports export results/scl_ablation-laptop '#1'\n"
        "Again  python study/run.py --recipe results/scl_ablation-laptop"
    )


def test_recipes_that_trained_on_a_part_of_the_data_alone_are_told_apart() -> None:
    results = made()
    answer = dataclasses.replace(Answer.of(results), tried=28)
    words = "\n".join(as_text(lines(answer, results.info, str)))
    assert (
        "; 27 recipes tried beside the base settings, 6 of them on all of the data, 28 min of trials added up" in words
    )


@pytest.mark.slow
def test_what_another_seed_moves_is_told_of_rows_too(tmp_path: Path) -> None:
    make_results(tmp_path, rows=["SBERT baseline", "3p3n-Augment"], seeds=(0, 1, 2), predictions=True)
    assert len(Answer.of(Results.load(tmp_path)).noise) == 2
    assert "\nSure   seeds move STS Avg. by " in text_of(Results.load(tmp_path))


def test_what_another_seed_moves_is_of_the_figure_and_of_rows_that_have_not_collapsed(tmp_path: Path) -> None:
    make_results(tmp_path, spaces()["clsr_pooling"], seeds=(0, 1, 2), spread=0.5)
    every = Answer.of(Results.load(tmp_path)).noise
    put_in_row(tmp_path, put(geometry={"anisotropy": 0.999}), "CLSR-BERT-base, CLS")
    results = Results.load(tmp_path)
    assert len(Answer.of(results).noise) == len(every) - 1
    assert "Sure   seeds move STS-B dev by " in text_of(results)


def test_a_line_that_would_be_too_long_goes_on_in_the_next() -> None:
    results = made(tasks={"MRPC": -9.0})
    answer = Answer.of(results)
    worse = tuple(TaskGain(f"a task of many words, number {place}", "base", Gain(-3, -4, -2)) for place in range(9))
    front = dataclasses.replace(answer.finalists[1], name="a row whose name has some ten words, and then some more")
    long = dataclasses.replace(answer, others=worse, picked=(answer.picked[0], front))
    sentences = [line for line in lines(long, results.info, str) if not line.command]
    assert [line.head for line in sentences].count("Worse") > 1
    assert [line.head for line in sentences][:6] == ["Use", "Gain", "Beside", "Or", "Gain", "Beside"]
    assert all(len(line.words.split()) <= 29 and line.words.count("(") <= 1 for line in sentences)
    assert "; 6 more tasks" in sentences[-2].words


def test_a_search_that_its_development_scores_misled_says_so() -> None:
    results = made((0.0, -0.1, -0.2), base_over_encoder=-9.0)
    answer = Answer.of(results)
    for development, misled in ((0.0, False), (99.0, True)):
        picked = tuple(dataclasses.replace(finalist, development=(development,)) for finalist in answer.picked)
        sentences = lines(dataclasses.replace(answer, picked=picked), results.info, str)
        heads = {line.head: line.words for line in sentences}
        assert heads["Keep"] == "the original encoder: every training of the finals is shown to be worse on STS Avg."
        assert re.search(r"^STS Avg\. of the original encoder \d.*: the base settings -\d.* against it", heads["Score"])
        assert re.search(r"^its best, #\d.*: -\d.* against the original encoder", heads["Search"])
        assert any("had found better settings" in line.words for line in sentences) is misled


def test_what_development_scores_promised_is_told_task_by_task() -> None:
    """It may have carried over to the test of the very task that chose, and failed elsewhere."""
    results = made((0.0, -0.1, -0.2), base_over_encoder=-9.0)
    answer = Answer.of(results)
    assert {loss.task for loss in answer.lost} == {*GROUPS["sts"]}
    picked = (dataclasses.replace(answer.picked[0], development=(99.0,)),)
    chose = TaskGain("STSBenchmark", "base", Gain(7.52, 3.39, 11.64))
    shorter = dataclasses.replace(answer, picked=picked, others=(chose,), lost=answer.lost[:2])
    notes = [line.words for line in lines(shorter, results.info, str) if line.head == "Note"]
    first, second = (loss.task for loss in shorter.lost)
    assert notes == [
        "by the development scores the search had found better settings; the gain carried over to STSBenchmark, "
        "+7.52 [+3.39, +11.64] over the base settings",
        f"the best of the search is shown to be worse than the original encoder on {first}, {second}",
    ]


def test_a_null_says_what_is_possible_and_what_would_settle_it() -> None:
    words = text_of(made(*STUDIES["open"][:1], **STUDIES["open"][1]))
    assert "Open   keep the base settings for now (+5.01" in words
    assert re.search(
        r"Most   the 3 recipes judged gain at most \+\d\.\d\d over the base settings, by the .*\n(.*\n)+"
        r"Next   --search (optuna|grid|paper) --finals 3x\d+ would settle it in 4 of 5 cases",
        words,
    )


def test_items_that_chose_a_recipe_have_no_verdict(make: Make, tmp_path: Path) -> None:
    """Nested cross-validation scores development on the very sentences that are tested."""
    results = make(goals=["transfer"])
    answer = Answer.of(results)
    assert answer.kind == "use"
    assert answer.figure == "transfer Avg. without CR, MPQA, MR, SUBJ"
    assert answer.others
    assert not {gain.task for gain in answer.others} & {"CR", "MPQA", "MR", "SUBJ"}
    assert answer.beside == ()
    for record in results.of_all_trials:
        nested = {task: numbers for task, numbers in record.scores.items() if task in {"MR", "CR", "SUBJ", "MPQA"}}
        Ledger(tmp_path / LEDGER).write(changed(record, scores=nested))
    results = Results.load(tmp_path)
    answer = Answer.of(results)
    assert (answer.kind, answer.fresh_items, answer.most) == ("open", False, None)
    assert "on the data it was chosen by" in text_of(results)
    assert "shown" not in text_of(results).replace("is shown to be", "")


def better_by_transfer(results: Results, recipe_hash: str) -> Results:
    """The results where a finalist gains 8 points on the transfer tasks."""
    for record in results.finals[recipe_hash]:
        Ledger(results.folder / LEDGER).write(lifted(record, 8.0, GROUPS["transfer"]))
    return Results.load(results.folder)


class TestFront:
    """The answer of two goals."""

    GOALS = ("sts", "transfer")
    TRANSFER = "transfer (MRPC, SST2, SST5, TREC)"

    def test_each_member_says_what_it_gains_by_each_goal(self, make: Make, tmp_path: Path) -> None:
        """One that is shown to lose by the first goal is told, as it is shown to gain by the second."""
        results = make((3.0, -3.0, -4.0), goals=[*self.GOALS])
        first, second, _ = results.info.finals.finalists if results.info.finals else []
        results = better_by_transfer(results, second)
        answer = Answer.of(results)
        assert (answer.kind, answer.figure, [pick.recipe for pick in answer.picked]) == (
            "use", "STS Avg.", [first, second],
        )  # fmt: skip
        lost, won = answer.picked[1].gains["base"], answer.picked[1].beside[self.TRANSFER]
        assert lost.high < 0
        assert won.low > 0
        heads = [line.head for line in lines(answer, results.info, str)]
        assert heads[:7] == ["Use", "Gain", "Beside", "Or", "Gain", "Beside", "Base"]
        words = text_of(results)
        assert f"Beside {self.TRANSFER} {interval(won)} over the base settings\n" in words
        assert f" {interval(won)} |" in markdown(finals.write(results, tmp_path))
        assert all(len(line.split()) <= 30 for line in words.splitlines())

    def test_where_only_the_second_goal_shows_a_gain_it_is_told_by_that(self, make: Make) -> None:
        results = make((-3.0, -3.5, -4.0), goals=[*self.GOALS])
        assert Answer.of(results).kind == "base"
        second = results.info.finals.finalists[1] if results.info.finals else ""
        answer = Answer.of(better_by_transfer(results, second))
        assert (answer.kind, answer.figure, [pick.recipe for pick in answer.picked]) == ("use", self.TRANSFER, [second])
        assert [(gain.task, gain.over) for gain in answer.beside] == [("STS Avg.", "base")]
        assert answer.beside[0].gain.high < 0

    def test_intervals_are_wider_than_of_one_goal(self) -> None:
        """They hold for all finalists and both goals at once."""
        widths = []
        for goals in (["sts"], [*self.GOALS]):
            gain = Answer.of(made(FULL, goals=goals)).finalists[0].gains["base"]
            widths.append(gain.gain - gain.low)
        assert 1.05 < widths[1] / widths[0] < 1.5

    def test_a_cost_is_told_as_it_is(self, tmp_path: Path) -> None:
        results = made(goals=["sts", "seconds"])
        assert "| 60.00 |" in markdown(finals.write(results, tmp_path)).replace("    ", "")
        assert "-60" not in markdown(finals.write(results, tmp_path))


@pytest.mark.parametrize("open_against", [("base",), ("base", "encoder")])
def test_what_is_shown_over_the_encoder_alone_is_told(open_against: tuple[Reference, ...]) -> None:
    results = made((0.3,), std=0.6)
    unsettled = Gain(0.1, -1.0, 1.2)
    answer = Answer.of(results)
    base = dataclasses.replace(answer.references["base"], gains={"encoder": unsettled})
    answer = dataclasses.replace(answer, kind="open", open=open_against, references={**answer.references, "base": base})
    words = "\n".join(as_text(lines(answer, results.info, str)))
    shown = "what was picked is shown to be better than the original encoder; whether better than the base settings"
    shown += " is not decided"
    assert (f"Open   {shown}\n" in words) == (open_against == ("base",))


def test_nothing_that_measured_below_the_base_is_called_the_best_so_far() -> None:
    results = made((-0.3, -0.4, -0.5), std=0.6, base_over_encoder=0.2)
    answer = Answer.of(results)
    assert (answer.kind, answer.keeps_base, answer.base_leads) == ("open", False, True)
    assert answer.to_train == answer.references["base"]
    words = text_of(results)
    assert (
        "Best   so far: the base settings; what the search picked measured no higher\nGain   STS Avg. of the base"
        in words
    )
    assert "\nCost   one training takes 36 s\n" in words


def rewrite(results: Results, recipe_hash: str, seeds: int = 99, **parts: Any) -> Results:
    """The results with other fields in the first so many final records of a recipe."""
    for record in results.finals[recipe_hash][:seeds]:
        Ledger(results.folder / LEDGER).write(changed(record, **parts))
    return Results.load(results.folder)


def test_seeds_under_which_a_finalist_diverged_are_counted(make: Make) -> None:
    results = make()
    first = results.info.finals.finalists[0] if results.info.finals else ""
    diverged = {"status": "pruned", "evaluations": [], "checkpoint": None}
    results = rewrite(results, first, 2, **diverged)
    answer = Answer.of(results)
    assert [(finalist.seeds, finalist.collapsed) for finalist in answer.finalists] == [(3, 2), (5, 0), (5, 0)]
    assert answer.kind == "use"
    assert "training collapsed under 2 seeds, left out here" in text_of(results)


def test_a_finalist_above_a_limit_is_picked_only_where_all_are(make: Make, tmp_path: Path) -> None:
    """By the mean of its fresh seeds: one slow trial is no reason."""
    results = make()
    first, second, third = results.info.finals.finalists if results.info.finals else []
    info = dataclasses.replace(results.info, limits={"seconds": 100.0})
    info.save(tmp_path)
    slow = {**results.finals[first][0].cost, "seconds": 130.0}
    results = rewrite(results, first, 2, cost=slow)
    assert Answer.of(results).picked[0].recipe == first
    results = rewrite(results, first, cost=slow)
    assert Answer.of(results).picked[0].recipe == second
    for recipe in (second, third):
        results = rewrite(results, recipe, cost=slow)
    answer = Answer.of(results)
    assert (answer.kind, answer.picked[0].recipe) == ("use", first)


@pytest.mark.parametrize(
    ("guard", "kind", "parts"),
    [
        ("code", "different", {"versions": {**VERSIONS, "trainables": "bbbb2222"}}),
        ("degenerate", "collapsed", {"geometry": {"anisotropy": 0.999}}),
    ],
)
def test_a_flag_between_the_picked_one_and_the_base_forbids_the_verdict(
    guard: str, kind: str, parts: dict[str, Any], make: Make, tmp_path: Path
) -> None:
    results = make()
    first, second, third = results.info.finals.finalists if results.info.finals else []
    assert (guard, kind) not in {(flag.guard, flag.kind) for flag in Answer.of(results).warnings}
    results = rewrite(results, first, **parts)
    answer = Answer.of(results)
    assert (answer.kind, answer.flags) == ("use", ())
    assert answer.picked[0].recipe == second  # another one is free of it
    for recipe in (second, third):
        results = rewrite(results, recipe, **parts)
    answer = Answer.of(results)
    assert (answer.kind, answer.flags) == ("open", (guard,))
    assert (guard, kind) in {(flag.guard, flag.kind) for flag in answer.warnings}
    assert answer.others == ()
    assert f"Open   no verdict, for the flag {guard}\nBest   so far: " in text_of(results)
    assert "what they name must be mended" in text_of(results)
    dataclasses.replace(results.info, across=["items", guard]).save(tmp_path)
    assert Answer.of(Results.load(tmp_path)).kind == "use"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["use", "as it came", "rows"])
def test_the_file_is_what_the_ledger_gives(kind: str, make: Make, tmp_path: Path) -> None:
    gains, parts = STUDIES.get(kind, ((), {}))
    results = make(gains, **parts)
    write_report(tmp_path)
    content = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    assert content["schema"] == SCHEMA
    assert content["kind"] == kind
    assert content == json.loads(json.dumps(Answer.of(results).as_json()))
    assert sentences(Answer.of(results)) == []
    page = (Path(__file__).parents[3] / "docs" / "answer.md").read_text(encoding="utf-8")
    assert [name for name in content if f"`{name}`" not in page] == []
    before = check(tmp_path)
    content["kind"] = "use" if kind != "use" else "base"
    (tmp_path / FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    more = [problem for problem in check(tmp_path) if problem not in before]
    assert len(more) == 1
    assert more[0].startswith(f"{FILE}, line 3")


@pytest.mark.usefixtures("short_reports")
def test_finals_are_a_look_once_they_are_complete(make: Make, tmp_path: Path) -> None:
    results = make(missing=1)
    assert looks.trials_digest(results, "finals") == ""
    add_finals(tmp_path, FULL)
    assert len(looks.judged_trials(Results.load(tmp_path), "finals")) == 3 * 5 + 5 + 1
    write_report(tmp_path)
    add_finals(tmp_path, FULL, seeds=6)
    later = Answer.of(Results.load(tmp_path))
    assert looks.look_number(Results.load(tmp_path), "finals") == 2
    assert later.kind == "use"


def test_the_report_as_data(make: Make, tmp_path: Path) -> None:
    results = make()
    content = json.loads(write_report(tmp_path, ["json"]).read_text(encoding="utf-8"))
    assert content["answer"] == json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    assert [recipe["recipe"] for recipe in content["recipes"]] == [*results.recipes]
    explored = [recipe for recipe in content["recipes"] if recipe["explored"]]
    assert len(explored) == 6
    assert all(row["name"].startswith("#") and row["seconds"] == [60.0] and row["goals"] for row in explored)
    assert {row["verdict"] for board in content["boards"] for row in board["rows"]} == {"baseline"}
    assert content["sections"][0]["name"] == "answer"


def test_words_from_outside_are_no_markup() -> None:
    nasty = "# x | <script>alert(1)</script> [a](http://e.x) `tick`"
    results = made()
    answer = Answer.of(results)
    named = dataclasses.replace(answer.picked[0], name=nasty, settings={"pooling.mode": nasty})
    worse = TaskGain(nasty, "base", Gain(-1, -2, -0.5))
    answer = dataclasses.replace(answer, figure=nasty, picked=(named,), others=(worse,))
    for variant in (answer, dataclasses.replace(answer, kind="open", open=("base",))):
        sentences = lines(variant, results.info, text)
        shown = "".join(as_html(line.words) for line in sentences if not line.command)
        assert shown.count("&lt;script&gt;") == 4
        assert not re.search(r"<(script|a|h1|code|table)\b", shown)


def praised(results: Results) -> str | None:
    """By hash what the lines say to use or to keep, or else call the best; None of the original encoder."""
    answer, heads = Answer.of(results), dict[str, str]()
    for line in lines(answer, results.info, str):
        heads.setdefault(line.head, line.words)
    if {"Use", "Keep", "Open"} & {*heads}:
        keeps = heads.get("Use") or heads.get("Keep") or f"{heads['Open']} {heads['Best']}"
        if re.search(r"(^|keep |so far: )the base settings", keeps):
            return answer.references["base"].recipe
        return None if keeps.startswith("the original encoder") else answer.picked[0].recipe
    shown = heads.get("These") or heads.get("Better", "").partition(": ")[2]
    row = shown.split("; ")[0] or ("" if "Search" in heads else results.space.baseline)
    named = row or heads["Search"].removeprefix("the best so far is ").partition(";")[0]
    return {name_of(results, key): key for key in results.recipes}.get(named)


def check_model(results: Results) -> bool:
    """`Model` exports what the lines praise, and is there wherever that kept one; whether it is there. `Or` exports the
    recipe that is called the best so far, if the lines keep the base."""
    kept, answer = {record.recipe_hash for record in results.of_all_trials if record.checkpoint}, Answer.of(results)
    best = {answer.undecided.recipe} if answer.undecided else set[str]()
    for head, keys in (("Model", {praised(results)}), ("Or", best)):
        names = [
            shlex.split(line.words)[-1]
            for line in lines(answer, results.info, str)
            if (line.head, line.command) == (head, True)
        ]
        assert {record.recipe_hash for name in names for record in _best_first(results, name)} == keys & kept
    return any(line.head == "Model" for line in lines(answer, results.info, str))


@pytest.mark.slow
@pytest.mark.usefixtures("own_spaces")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_the_model_of_an_example_is_that_of_what_its_answer_praises(example: Path) -> None:
    check_model(Results.load(example))


@pytest.mark.parametrize("best", [0, 2])
@pytest.mark.parametrize(("spread", "explored", "model"), [(0.05, 0, 2), (0.05, 3, 2), (9.0, 0, 0), (9.0, 3, None)])
def test_the_model_of_rows_is_that_of_what_is_shown_or_else_of_the_baseline(
    best: int, spread: float, explored: int, model: int | None, tmp_path: Path
) -> None:
    """Whichever row the development scores put first. Explored recipes, which come before the baseline, kept none."""
    info = make_results(tmp_path, rows=ROWS, explored=explored, seeds=(0, 1, 2), spread=spread)
    dataclasses.replace(info, across=["items"]).save(tmp_path)
    made = Results.load(tmp_path)
    for row, label in enumerate(ROWS):
        for record in made.of_row(label):
            scores = {task: dict(numbers) for task, numbers in record.scores.items()}
            scores["STSBenchmark"]["dev_spearman_cosine"] = 90.0 if row == best else 10.0
            Ledger(tmp_path / LEDGER).write(changed(record, scores=scores, checkpoint="models/x"))
    results = Results.load(tmp_path)
    key = praised(results)
    assert (results.labels.get(key or "") in ROWS) is check_model(results)
    assert model is None or results.labels[key or ""] == ROWS[model]


def test_under_a_spent_limit_a_larger_one_is_named(make: Make, tmp_path: Path) -> None:
    """As many times larger as the seeds that would settle it are more; twice where that is unknown."""
    gains, parts = STUDIES["open"]
    make(gains, **parts)
    results = limited(tmp_path)
    answer = Answer.of(results)
    assert answer.kind == "open"
    assert answer.seeds is not None
    minutes = math.ceil(40 * max(2.0, answer.seeds / 5))
    assert f"--finals 3x{answer.seeds} --limit minutes={minutes} would settle it" in text_of(results)
    for kind, error, more in (("open", None, ""), ("base", 0.8, "; --limit minutes=80 in all goes on")):
        ahead = dataclasses.replace(answer, kind=kind, ahead=Ahead("#9", 73.0, BASE, 71.0, 0.125, error))
        words = "\n".join(as_text(lines(ahead, results.info, str)))
        scores = "on 1/8 of the data #9 scored 73.00 in development, the base settings 71.00"
        chance = " (chance: ±1.60 or more)" if error else ""
        assert f"{scores}{chance}: a limit left it out{more}\n" in words
    many = "\n".join(as_text(lines(dataclasses.replace(answer, seeds=665), results.info, str)))
    assert (
        "Next   to show so small a gain would take 665 seeds each; more recipes (--limit minutes=80 in all) may find"
        in many
    )
    for rows, four_times in ((None, "800 items"), (200, "800 items"), (350, "1,400 such rows")):
        never = dataclasses.replace(answer, never=True, seeds=None, items=200, rows_of_items=rows, shows=1.5)
        written = " ".join("\n".join(as_text(lines(never, results.info, str))).split())
        assert f"200 test items show gains from 1.50 on, {four_times} from 0.75 on; more recipes (--limit m" in written


def test_a_finalist_whose_trials_failed_is_not_told_as_ended_by_the_limit(make: Make, tmp_path: Path) -> None:
    results = make(missing=5)  # all trials of the first finalist
    finals = results.info.finals
    name = "a finalist"
    for seed in fresh_seeds(finals.seeds):
        key = f"{finals.finalists[0]}-{seed}"
        (tmp_path / FAILURES).mkdir(exist_ok=True)
        (tmp_path / FAILURES / f"{key}.json").write_text(json.dumps({"trial": key, "name": name, "reason": "x"}))
    results = limited(tmp_path)
    answer = Answer.of(results)
    assert (len(answer.failed), answer.left_out) == (1, ())
    assert "all trials of 1 finalist in the finals failed" in text_of(results)
    assert "the limit ended the finals" not in text_of(results)


def test_an_answer_of_a_part_of_the_rows_says_so(make: Make, tmp_path: Path) -> None:
    """Of a person's own rows alone: in a space a share of the data is a setting as any other."""
    make()
    info = StudyInfo.load(tmp_path)
    info = dataclasses.replace(info, base={**info.base, SHARE: 0.073})
    info.save(tmp_path)
    assert Answer.of(Results.load(tmp_path)).share is None
    dataclasses.replace(info, requests=[Request(train=("mine.csv",)).values]).save(tmp_path)
    answer = Answer.of(Results.load(tmp_path))
    assert answer.share == 0.073
    assert "trained on 7.3% of the rows; Again trains on all of them" in text_of(Results.load(tmp_path))
    as_it_came = "\n".join(as_text(lines(dataclasses.replace(answer, kind="as it came"), info, str)))
    assert "on all of them the answer may be another" in as_it_came


@pytest.mark.parametrize(
    ("rows", "words"), [(500, "500 test items\n"), (900, "500 test items (of 900 rows: what shares a")]
)
def test_rows_that_share_a_text_are_told_from_items(rows: int, words: str) -> None:
    results = made(FULL)
    answer = dataclasses.replace(Answer.of(results), items=500, rows_of_items=rows)
    assert words in "\n".join(as_text(lines(answer, results.info, str))).replace(";", "\n").replace(",", "\n")


def test_items_count_texts_in_common_once() -> None:
    answer = Answer.of(made(FULL, predictions=True))
    assert answer.items is not None
    assert answer.rows_of_items == answer.items
    grouped = SimpleNamespace(gold=np.arange(40), groups=np.arange(40) // 4)
    single = SimpleNamespace(gold=np.arange(7), groups=None)
    predictions: Any = Predictions(Path())
    predictions.of_task = lambda record, part: {"a": grouped, "b": single}.get(part)
    assert predictions.items_and_rows(None, ["a", "b"]) == (17, 47)
    assert predictions.items_and_rows(None, ["a", "c"]) == (None, None)
    assert predictions.items_and_rows(None, []) == (None, None)


def test_who_was_ahead_and_had_no_room_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not where no limit ended the study, nor who gave way to a shorter training within 0.3 points."""
    make_results(tmp_path, rows=["SBERT baseline"], explored=3, seeds=(0,))
    add_finals(tmp_path, (3.0,))
    results = Results.load(tmp_path)
    first, second = results.explored[:2]
    limited = {"limit": "minutes", "number": 10.0}

    def ahead(by: dict[str, float], limit: dict[str, object] | None) -> Ahead | None:
        scores = {key: PartScore(70.0 + by.get(key, 0.0), 1.0, results.records[0]) for key in (first, second)}
        passed = PassedOver(first, 0.5, by, scores) if by else None
        monkeypatch.setattr("reports.facts.part_scores.passed_over", lambda results: passed)
        info = dataclasses.replace(results.info, limited=limit)
        return Answer.of(dataclasses.replace(results, info=info)).ahead

    assert ahead({second: 7.5}, limited) == Ahead(name_of(results, second), 77.5, name_of(results, first), 70.0, 0.5)
    monkeypatch.setattr(Predictions, "development_items", lambda predictions, record, tasks: 49)
    deviation = max(kind_of(task).least_deviation for task in results.goals[0].needs)
    assert ahead({second: 7.5}, limited).error == deviation / 7
    assert ahead({second: 7.5}, None) is None
    assert ahead({second: 0.2}, limited) is None
    assert ahead({}, limited) is None


def test_a_busy_machine_is_named_where_a_limit_ended_the_study(make: Make, tmp_path: Path) -> None:
    results = make((1.0,), seeds=2)
    record = results.finals[results.base.hash][0]
    assert busy(results) is None
    cost = {**record.cost, "train_seconds": 60 + 2 * float(record.cost["train_seconds"])}
    slow = dataclasses.replace(results, parts=[dataclasses.replace(record, seed=PART_SEED, cost=cost)])
    low, high = busy(slow) or (0.0, 0.0)
    assert (low, high) == (record.cost["train_seconds"], cost["train_seconds"])
    answer = Answer.of(slow)
    for limited, named in (({"limit": "minutes", "number": 10.0}, True), (None, False)):
        info = dataclasses.replace(slow.info, limited=limited)
        words = "\n".join(as_text(lines(answer, info, str)))
        sentence = f"the machine was busy: trainings of the same work took {duration(low)} and {duration(high)}"
        assert (sentence in words) == named


@pytest.mark.parametrize(("above", "misleads"), [(-1.0, True), (0.0, True), (1.0, False)])
def test_where_the_base_gains_nothing_on_the_part_that_recipes_began_on_the_answer_says_so(
    above: float, misleads: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the smallest part of other recipes: the pace is measured on a smaller one, which decides nothing."""
    results = make((1.0,), seeds=2)
    finals, goal = results.info.finals, results.goals[0]
    assert finals is not None
    assert finals.base is not None
    assert finals.as_it_came is not None
    (record, *_) = results.finals[finals.as_it_came]
    untrained = goal.of(record.scores, record.cost)
    assert untrained is not None
    of_base = {0.125: PartScore(untrained - 9, 1.0, record), 0.5: PartScore(untrained + above, 1.0, record)}
    scores = {finals.base: of_base, finals.finalists[0]: {0.5: PartScore(99.0, 1.0, record)}}
    monkeypatch.setattr("reports.facts.part_scores.part_scores", lambda results, goal: scores)
    part = misleading_part(results)
    assert (part is not None) == misleads
    if part:
        assert (part.share, part.base, part.encoder) == (0.5, untrained + above, untrained)
        assert "Note   on 1/2 of the data the base settings scored " in text_of(results)
    monkeypatch.setattr("reports.facts.part_scores.part_scores", lambda results, goal: {finals.base: of_base})
    assert misleading_part(results) is None, "no recipe trained on a part"
