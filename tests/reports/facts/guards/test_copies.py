"""Rows that are one recipe in effect: they count once, wherever rows are counted, compared or put in order."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reports.facts.boards import boards
from reports.facts.claim_verdicts import judge_claims
from reports.facts.evidence import Evidence
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.sections.conclusions import conclusion
from search_spaces.space import Claim
from tests.boards import board, standing
from tests.guarded import AUGMENT, BASELINE, LAMBDA, ROWS, SCL, SEEDS, put, rewrite
from tests.reports.facts.guards.test_guards import copy_trial
from tests.synthetic_results import make_results


def study(folder: Path, *copies: str) -> Path:
    """Four rows under three seeds, with predictions; `copies` are one recipe in effect with SCL."""
    make_results(folder, rows=ROWS, seeds=SEEDS, spread=1.0, predictions=True)
    rewrite(folder, known)
    for row in copies:
        seconds = {"seconds": 60.0 + len(row)}
        for seed in SEEDS:
            copy_trial(folder, (SCL, seed), (row, seed))
        rewrite(folder, put(cost=seconds), row)
    return folder


def known(record: Record) -> Record:
    """With a loss of its own, which tells one recipe in effect from a copied trial."""
    return put(training={"loss": int(record.recipe_hash, 16) % 997 + record.seed})(record)


def test_copies_of_a_recipe_count_once(tmp_path: Path):
    """With a row that is another one in effect the others are judged as without it, and it as what it is a copy of."""
    folder = study(tmp_path, LAMBDA)
    info, ledger = StudyInfo.load(folder), Ledger(folder / LEDGER)
    with_copy = Evidence.of(Results.load(folder))
    for record in ledger.read():
        if record.recipe_hash == info.row_hashes[LAMBDA]:
            ledger.path(record.recipe_hash, record.seed).unlink()
    without = Evidence.of(Results.load(folder))
    assert boards(without)
    for whole, bare in zip(boards(with_copy), boards(without), strict=True):
        together, alone = ({item.name: item for item in board.standings} for board in (whole, bare))
        assert [item.name for item in whole.counted if item.sample] == [
            item.name for item in bare.standings if item.sample
        ]
        assert together[LAMBDA].copy_of == SCL
        for name in (BASELINE, AUGMENT, SCL):
            assert (together[name].p_holm, together[name].ranks) == (alone[name].p_holm, alone[name].ranks)
            assert together[name].in_best_set == alone[name].in_best_set
        assert (together[LAMBDA].p_holm, together[LAMBDA].ranks) == (together[SCL].p_holm, together[SCL].ranks)
        assert whole.more_seeds == bare.more_seeds
        assert with_copy._scatter(whole.quantity) == without._scatter(bare.quantity)
        assert conclusion(whole)[1] == conclusion(bare)[1]


def test_an_order_counts_copies_once_with_the_mean_of_what_the_paper_prints():
    rows = [standing(name, mean, published=mean) for name, mean in zip("abcde", (61, 62, 63, 64, 65), strict=True)]
    copy = dataclasses.replace(rows[4], name="f", copy_of="e", published=67.0)
    alone, both = board(*rows).order, board(*rows, copy).order
    assert (both.rows, both.tau, both.p) == (5, alone.tau, alone.p)
    several = board(*rows, dataclasses.replace(copy, copy_of="")).order
    assert several.p < both.p  # what it said before


def test_copies_do_not_look_like_seeds_that_move_rows_together(tmp_path: Path):
    evidence = Evidence.of(Results.load(study(tmp_path, LAMBDA, AUGMENT)))
    hashes = evidence.results.info.row_hashes
    figure = evidence.figures[0]
    samples = [evidence.sample(hashes[label] or "", figure) for label in (SCL, LAMBDA, AUGMENT)]
    assert len({sample.values.tobytes() for sample in samples if sample}) == 1
    assert {evidence.results.counted_as(hashes[label] or "") for label in (SCL, LAMBDA, AUGMENT)} == {hashes[AUGMENT]}
    assert not evidence._seeds_move_together(figure)


def test_a_copy_of_the_baseline_counts_as_that(tmp_path: Path) -> None:
    results = Results.load(study(tmp_path, LAMBDA))
    hashes = results.info.row_hashes
    for baseline in (SCL, LAMBDA):
        of = dataclasses.replace(results, space=dataclasses.replace(results.space, baseline=baseline))
        assert {of.counted_as(hashes[label] or "") for label in (SCL, LAMBDA)} == {hashes[baseline]}


def test_claims_count_copies_once(tmp_path: Path):
    """Two of three comparisons are one; and a claim on a copy is the same test as that on its original."""
    evidence = Evidence.of(Results.load(study(tmp_path, LAMBDA)))
    claims = [Claim("c", "2", "Avg.", better=(row,), worse=(BASELINE,)) for row in (SCL, LAMBDA)]
    single, both = judge_claims(evidence, claims[:1]), judge_claims(evidence, claims)
    assert single[0].p is not None
    assert {item.p for item in both} == {single[0].p}
    most = Claim("c", "2", "Avg.", better=(AUGMENT, SCL, LAMBDA), worse=(BASELINE,), quantifier="most")
    assert [item.repeated for item in judge_claims(evidence, [most])[0].compared] == [False, False, True]
    bare = Claim("c", "2", "Avg.", better=(AUGMENT, SCL), worse=(BASELINE,), quantifier="most")
    assert judge_claims(evidence, [most])[0].p == judge_claims(evidence, [bare])[0].p
