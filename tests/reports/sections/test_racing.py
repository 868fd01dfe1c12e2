"""The race over seeds in a report: its section, and what unequal numbers of seeds do to verdicts."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from reports.document import markdown
from reports.facts.best_model import ranking
from reports.facts.boards import boards
from reports.facts.evidence import Evidence
from reports.facts.results import Results
from reports.facts.seed_race import study_race
from reports.ledger import FAILURES, LEDGER, fresh_seeds, write_json
from reports.sections import racing
from reports.words.guards import rows_in_words
from tests.synthetic_results import make_results, section_text

MOST = 4


@pytest.fixture
def raced(tmp_path: Path) -> Path:
    """A study that raced from one seed to four: its last row and half of what it explored got one."""
    info = make_results(tmp_path, seeds=range(MOST), spread=0.3, explored=6)
    few = [key for key in info.row_hashes.values() if key][-1:] + info.explored[:3]
    for recipe_hash in few:
        for seed in range(1, MOST):
            (tmp_path / LEDGER / f"{recipe_hash}-{seed}.json").unlink()
    dataclasses.replace(info, seeds=[0], most_seeds=MOST).save(tmp_path)
    return tmp_path


def test_what_holds_for_many_recipes_is_said_once(raced: Path) -> None:
    results = Results.load(raced)
    section = markdown(racing.write(results, raced))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len({tuple(line.split("|")[2:]) for line in lines}) == len(lines)
    assert len(lines) < 2 + len(study_race(results))
    assert re.search(r"`, \d+ more +\|", section)
    assert "trials of the" in section
    assert "1 to 4 seeds each" in section_text(raced, "sure")
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_a_study_without_a_race_has_no_section_and_no_wider_intervals(tmp_path: Path, raced: Path) -> None:
    results = Results.load(raced)
    plain = dataclasses.replace(results, info=dataclasses.replace(results.info, seeds=[0, 1, 2, 3], most_seeds=None))
    assert markdown(racing.write(plain, raced)) == ""
    assert not study_race(plain)
    pairs = zip(*(_gains(study) for study in (results, plain)), strict=True)
    wider = [(ours, theirs) for ours, theirs in pairs if ours.p is not None and theirs.p is not None]
    assert wider
    for ours, theirs in wider:
        assert ours.gain == theirs.gain
        assert ours.p == min(1.0, 2 * theirs.p)
        assert ours.low < theirs.low < theirs.high < ours.high


def _gains(results: Results) -> list:  # type: ignore[type-arg]
    return [s.gain for board in boards(Evidence.of(results))[:1] for s in board.standings if s.gain is not None]


def test_a_seed_that_failed_in_the_finals_takes_nobody_out_of_the_race(tmp_path: Path) -> None:
    """The best recipe lacks a seed, as a limit ended the race. A seed of the race itself that failed takes it out."""
    info = make_results(tmp_path, seeds=range(MOST), spread=3.0)
    dataclasses.replace(info, seeds=[0], most_seeds=MOST).save(tmp_path)
    best = ranking(Results.load(tmp_path))[0].recipe_hash
    (tmp_path / LEDGER / f"{best}-{MOST - 1}.json").unlink()
    assert not study_race(Results.load(tmp_path))[best].lost
    failed = tmp_path / FAILURES / f"{best}-{fresh_seeds(1)[0]}.json"
    write_json(failed, {"name": "a final", "reason": "no memory"})
    results = Results.load(tmp_path)
    assert results.failures == {}
    assert not study_race(results)[best].lost
    failed.rename(tmp_path / FAILURES / f"{best}-{MOST - 1}.json")
    results = Results.load(tmp_path)
    assert study_race(results)[best].lost
    lost = [recipe.lost for recipe in ranking(results)]
    assert lost == sorted(lost)  # it is not the best any longer
    dataclasses.replace(results.info, limits={"seconds": 1e6}).save(tmp_path)
    named = rows_in_words(results, [ranking(results)[0].recipe_hash])
    assert re.search(rf"within is [\d.]+, of {re.escape(named)}\.", section_text(tmp_path, "sure"))
