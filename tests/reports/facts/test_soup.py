"""Which model to ship: what is reckoned from soups, and what is said of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.check import check
from reports.document import markdown
from reports.export import export
from reports.facts.answer import FILE, Answer
from reports.facts.looks import trials_digest
from reports.facts.results import Results
from reports.facts.soup import KEPT_GAIN, Soups, chosen_share
from reports.ledger import LEDGER, Ledger
from reports.report import write_report
from reports.sections import SECTIONS, ship
from reports.words.answer import lines
from tests.facts import sentences
from tests.synthetic_results import add_finals, add_soups, keeps_its_contract, lifted, made_once, make_results, shared
from trainables.files import write_whole

BETTER = {1.0: 0.5, 0.75: 1.0, 0.5: 0.2, 0.25: -1.0}
WORSE = dict.fromkeys(BETTER, -0.2)


def what(gains: Mapping[float, float] | None = BETTER, **soups: Any) -> tuple[object, Callable[[Path], None]]:
    """A search whose first recipe is the one to use, and soups of it; and who makes it."""

    def fill(folder: Path) -> None:
        make_results(folder, rows=["SBERT baseline"], explored=4, seeds=(0,))
        add_finals(folder, (3.0, 1.0))
        whole = Answer.of(Results.load(folder)).to_train
        if gains:
            add_soups(folder, whole.recipe, gains, **soups)

    return ("soups", gains, soups), fill


def made(*gains: Any, **soups: Any) -> Results:
    """To be read only."""
    return shared(*what(*gains, **soups))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """To be written to."""
    made_once(tmp_path / "results", *what())
    return Results.load(tmp_path / "results")


def words_of(results: Results, head: str) -> list[str]:
    return [line.words for line in lines(Answer.of(results), results.info, str) if line.head == head]


@pytest.mark.parametrize(
    ("soups", "one_seed", "untrained", "share"),
    [
        ({1.0: 80.0, 0.5: 79.6, 0.25: 79.4}, 79.0, 70.0, 0.5),  # 95 % of ten points are kept to 79.5
        ({1.0: 80.0, 0.5: 79.4}, 79.0, 70.0, 1.0),
        ({1.0: 80.0, 0.5: 79.6}, 79.0, 79.0, 1.0),
        ({1.0: 80.0, 0.5: 79.6}, 79.0, None, 1.0),
        ({1.0: 80.0, 0.5: 80.0}, 79.0, 90.0, 0.5),
        ({1.0: 78.0, 0.5: 79.0}, 79.0, 70.0, None),
        ({}, 79.0, 70.0, None),
    ],
)
def test_the_least_training_that_keeps_the_gain(
    soups: dict[float, float], one_seed: float, untrained: float | None, share: float | None
) -> None:
    assert KEPT_GAIN == 0.95
    assert chosen_share(soups, one_seed, untrained, 1 - KEPT_GAIN) == share


def test_gain_is_given_up_only_where_a_check_tells_what_is_forgotten() -> None:
    """The synthetic goals look at STSBenchmark, which is then no check of what else the encoder knew."""
    results = made({1.0: 1.0, 0.75: 0.99, 0.5: 0.99, 0.25: -1.0})
    recipe = Answer.of(results).to_train.recipe
    transfer = dataclasses.replace(results, space=dataclasses.replace(results.space, goals=("transfer",)))
    without, beside = Soups(results, recipe), Soups(transfer, recipe)
    assert without.general is None
    assert without.share == 1.0
    assert beside.general is not None
    assert beside.general.tasks == {"STSBenchmark"}
    assert beside.share == 0.5


def test_the_shipped_one_has_its_gains() -> None:
    ship = Answer.of(made()).ship
    assert (ship.share, ship.seeds, len(ship.soups)) == (0.75, 5, len(BETTER))
    assert ship.over_seed.gain == pytest.approx(1.0, abs=0.01)
    assert 0 < ship.over_seed.low < ship.over_seed.gain
    assert {*ship.gains} == {"base", "encoder"}
    assert ship.gains["base"].gain == pytest.approx(3.7, abs=0.1)


def test_a_soup_whose_spread_is_not_known_borrows_one() -> None:
    """A limit may end the study before each seed was left out."""
    cut, whole = (Answer.of(made(missing=missing)).ship for missing in (2, 0))
    assert whole is not None
    assert cut is not None
    widths = [ship.over_seed.high - ship.over_seed.low for ship in (whole, cut)]  # type: ignore[union-attr, operator]
    assert widths[0] < widths[1]


def test_a_limit_leaves_the_averages_that_are_scored() -> None:
    begun = made({1.0: 1.0, 0.75: 0.5})
    assert Answer.of(begun).ship is None
    limited = {"limit": "minutes", "number": 40.0, "spent": 40.0, "left_out": 2}
    ship = Answer.of(dataclasses.replace(begun, info=dataclasses.replace(begun.info, limited=limited))).ship
    assert ship is not None
    assert (ship.share, [each.share for each in ship.soups]) == (1.0, [1.0, 0.75])


def test_where_no_soup_is_better_one_seed_is_shipped() -> None:
    results = made(WORSE)
    ship = Answer.of(results).ship
    assert (ship.share, ship.averaged, ship.over_seed) == (None, None, None)
    assert words_of(results, "Ship") == [
        "the model of one seed, the best by development scores: no average of 5 is better by these"
    ]
    assert "soup" not in words_of(results, "Model")[0]


def test_one_seed_is_shipped_where_the_test_shows_less_than_its_gain(results: Results) -> None:
    """Development scores choose the average, which loses a point on the test."""
    ledger = Ledger(results.folder / LEDGER)
    for record in results.soups:
        ledger.write(lifted(record, -2.0, numbers=("test", "spearman_w")))
    results = Results.load(results.folder)
    made = Answer.of(results).ship
    assert (made.share, made.averaged) == (0.75, None)
    assert made.over_seed.gain == pytest.approx(-1.0, abs=0.01)
    (words,) = words_of(results, "Ship")
    assert words.startswith("the model of one seed: the average of 5 measured -1.00 [")
    assert "soup" not in words_of(results, "Model")[0]


def test_it_changes_nothing_else() -> None:
    without, results = Answer.of(made(None)), made()
    assert without.ship is None
    assert dataclasses.replace(Answer.of(results), ship=None, seconds=0.0) == dataclasses.replace(without, seconds=0.0)
    assert trials_digest(results, "finals") == trials_digest(made(None), "finals")
    assert not any(record.seed >= 2_000_000 for record in results.of_all_trials)


def test_the_answer_names_it_and_exports_it(results: Results, tmp_path: Path) -> None:
    words = "; ".join(words_of(results, "Ship"))
    assert words.startswith("the average of the models of 5 trainings, mixed with 25% of the original encoder; +3.6")
    assert words_of(results, "Model")[0].endswith(" soup")
    made = Answer.of(results).ship
    assert made.averaged is not None
    write_whole(results.folder / made.averaged / "weights", "averaged")
    assert (export(results.folder, "soup", tmp_path / "model") / "weights").read_text() == "averaged"
    assert sentences(Answer.of(results)) == []


@pytest.mark.usefixtures("short_reports")
def test_the_files_hold_it(results: Results) -> None:
    write_report(results.folder)
    content = json.loads((results.folder / FILE).read_text())["ship"]
    assert (content["share"], content["seeds"]) == (0.75, 5)
    assert (results.folder / "trials.csv").read_text().count(",20000") == len(BETTER) + 5
    assert not [problem for problem in check(results.folder) if FILE in problem]


def test_it_says_what_is_forgotten() -> None:
    results = made()
    answer = Answer.of(results)
    soups = tuple(dataclasses.replace(each, general=82.0 - each.share) for each in answer.ship.soups)
    one_seed = dataclasses.replace(answer.ship.one_seed, general=80.0)
    ship = dataclasses.replace(answer.ship, general="STS-B", untrained_general=82.0, soups=soups, one_seed=one_seed)
    written = [line.words for line in lines(dataclasses.replace(answer, ship=ship), results.info, str)]
    assert any("STS-B -0.75 against the original encoder, one seed -2.00" in words for words in written)


@pytest.mark.parametrize("soups", [BETTER, WORSE, None], ids=["soup", "one seed", "none"])
def test_the_section_keeps_its_contract(soups: Mapping[float, float] | None) -> None:
    keeps_its_contract(SECTIONS["ship"], made(soups))


def test_it_has_a_row_for_each(tmp_path: Path) -> None:
    text = markdown(ship.write(made(), tmp_path / "pictures"))
    heads = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    assert heads[2:7] == [
        "one seed, the mean of 5",
        "average",
        *(f"average, mixed with {share}% of the original encoder" for share in (25, 50, 75)),
    ]
    (shipped,) = [line for line in text.splitlines() if line.endswith(" yes |")]
    assert "mixed with 25%" in shipped
    assert "over one seed" in text
