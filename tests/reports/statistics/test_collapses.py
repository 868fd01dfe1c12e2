"""Seeds under which training collapsed: judged apart, and said beside the verdict."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import beta

from reports.facts.boards import boards
from reports.facts.evidence import Evidence, chance_of
from reports.facts.quantity import average_quantity
from reports.facts.results import Results
from reports.sections.conclusions import conclusions
from reports.sections.rows_in_full import board_table, how_to_read
from reports.statistics.collapse import collapsed, rate_interval
from reports.testing import changed
from tests.populations import Population, with_predictions
from trainables.senteval.tasks import GROUPS

ROWS = ("SBERT baseline", "allpalln-lambda0.3-SCL", "3p3n-lambda0.5-SCL", "3p3n-Augment", "allpalln-lambda1.0-SCL")
STUDY = Population(rows=ROWS, tasks=GROUPS["sts"], seeds=4, items=80)


def with_fallen(results: Results, label: str, seeds: tuple[int, ...], share: float = 0.1) -> Results:
    """The same study, in which a row's training fell to a share of its scores under these seeds."""
    fallen = [
        changed(
            record,
            scores={task: {name: share * value for name, value in own.items()} for task, own in record.scores.items()},
        )
        if record.recipe_hash == results.info.row_hashes[label] and record.seed in seeds
        else record
        for record in results.records
    ]
    return with_predictions(dataclasses.replace(results, records=fallen), results.predictions)


def test_a_collapse_is_a_score_near_chance_beside_a_sound_one():
    assert collapsed([80, 79, 51, 64, 66], 50.0).tolist() == [False, False, True, True, False]
    assert not collapsed([51, 50, 49], 50.0).any()  # a recipe that never learns anything does not collapse
    assert not collapsed([-3.0, -1.0], 0.0).any()
    random = np.random.default_rng(0)
    assert not any(collapsed(random.normal(62, 2.29, 10), 0.0).any() for _ in range(1000))


def test_the_rate_has_clopper_and_pearsons_interval():
    assert rate_interval(1, 10) == pytest.approx((beta.ppf(0.025, 1, 10), beta.ppf(0.975, 2, 9)))
    assert rate_interval(0, 3)[0] == 0.0
    assert rate_interval(0, 3)[1] == pytest.approx(0.708, abs=1e-3)


def test_what_guessing_scores():
    assert 20 < chance_of(average_quantity("declutr_downstream")) < 60


def test_a_row_is_judged_given_no_collapse_and_its_rate_is_said():
    sound = STUDY.study(1)
    results = with_fallen(sound, ROWS[1], (2,))
    all_boards = boards(Evidence.of(results))
    row = next(item for item in all_boards[0].standings if item.name == ROWS[1])
    assert row.collapsed == 1
    assert row.sample.seeds == (0, 1, 3)
    whole = next(item for item in boards(Evidence.of(sound))[0].standings if item.name == ROWS[1])
    assert whole.collapsed == 0
    assert abs(row.sample.mean - whole.sample.mean) < 2  # and not the mean with a seed near zero
    words = "1 of 4 seeds collapsed (25 % [1, 81])"
    assert f"3; {words}" in board_table(results, all_boards[0]).markdown
    assert words in " ".join(conclusions(all_boards))
    assert "given no collapse" in how_to_read(all_boards)
    of_means = "tables and plots of means, and fronts, count every seed"
    assert of_means in how_to_read(all_boards)
    assert of_means not in how_to_read(boards(Evidence.of(sound)))
    assert "collapse" not in " ".join(conclusions(boards(Evidence.of(sound))))


def test_seeds_that_collapsed_were_run_and_finishing_the_study_brings_no_more_of_them():
    """Of a study whose every seed is there, one of them collapsed: what would settle a row is at least one more."""
    evidence = Evidence.of(with_fallen(STUDY.study(1), ROWS[1], (2,)))
    hashes = evidence.results.info.row_hashes
    figure = boards(evidence)[0].quantity
    more = evidence.more_seeds(hashes[ROWS[1]], hashes[ROWS[0]], figure, -20.0, 0.05)  # a difference easily shown
    assert more == 1


def test_dropping_collapses_never_leaves_a_verdict_on_one_seed():
    results = with_fallen(STUDY.study(1), ROWS[1], (0, 2, 3))
    row = next(item for item in boards(Evidence.of(results))[0].standings if item.name == ROWS[1])
    assert row.collapsed == 3
    assert row.gain.one_seed
    assert row.verdict not in ("above", "below")
