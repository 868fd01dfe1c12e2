"""What counts as a difference: noise between seeds, and verdicts on the paper's claims."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.results import Results
from reports.verdicts import judge
from search_spaces import Claim, spaces
from tests.synthetic_results import make_record, make_results
from trainables.recipe import Recipe

SPACES = spaces()
BASELINE, BEST = "SBERT baseline", "allpalln-lambda0.3-SCL"


def test_noise_makes_claims_undecided(tmp_path: Path):
    make_results(tmp_path, seeds=(1, 2), spread=5.0)
    results = Results.load(tmp_path)
    verdicts = {judge(results, claim).verdict for claim in results.space.claims if claim.column == "Avg."}
    assert "within noise" in verdicts
    claim = next(claim for claim in results.space.claims if claim.text.startswith("Increasing lambda from 0.5"))
    assert judge(results, claim).verdict == "within noise"


def test_nothing_is_refuted_by_noise(tmp_path: Path):
    """Of a claim with 15 true comparisons without any difference, some one in five would refute it at 95 % each."""
    refuted = 0
    for study in range(60):
        folder = tmp_path / str(study)
        make_results(folder, rows=[BASELINE, BEST], seeds=range(3))
        info, ledger, chance = StudyInfo.load(folder), Ledger(folder / LEDGER), random.Random(study)
        labels = [label for label, key in info.row_hashes.items() if key][:9]
        typical = ledger.read()[0]
        for label in labels:
            recipe = Recipe.from_flat(info.base).override(SPACES["scl_ablation"].row(label).overrides)
            for seed in range(3):
                figures = {("STS12", "spearman_wmean"): 50 + chance.gauss(0, 1)}
                ledger.write(dataclasses.replace(make_record(recipe, seed, figures), protocol=typical.protocol))
        claim = Claim("c", "2", "STS12", better=tuple(labels[:3]), worse=tuple(labels[3:8]))
        refuted += judge(Results.load(folder), claim).verdict == "disagrees"
    assert refuted <= 6


def test_rows_that_are_evaluated_as_they_are_have_no_noise(tmp_path: Path):
    make_results(tmp_path, seeds=(1, 2, 3), spread=1.0, word_vectors=True)
    results = Results.load(tmp_path)
    table = results.space.table("2")
    glove, best = results.cell(table, "Avg. GloVe embeddings", "Avg."), results.cell(table, BEST, "Avg.")
    assert glove is not None
    assert best is not None
    assert (glove.fixed, glove.std, best.fixed) == (True, None, False)
    noise = results.noise(table, "Avg.")
    assert noise is not None
    assert noise.threshold(best.draws, glove.draws) < noise.threshold(best.draws, best.draws)
    key = results.info.row_hashes["Avg. GloVe embeddings"]
    for seed in (2, 3):
        results.folder.joinpath(LEDGER, f"{key}-{seed}.json").unlink()
    assert Results.load(tmp_path).is_complete("Avg. GloVe embeddings")
    (results.folder / LEDGER / f"{results.info.row_hashes[BEST]}-2.json").unlink()
    assert not Results.load(tmp_path).is_complete(BEST)


def test_a_claim_with_a_tendency(tmp_path: Path):
    make_results(tmp_path)
    results = Results.load(tmp_path)
    claim = next(claim for claim in results.space.claims if claim.quantifier == "most" and claim.chain)
    assert judge(results, claim).verdict == "agrees"
    assert judge(results, dataclasses.replace(claim, quantifier="all")).verdict == "disagrees"
    assert judge(results, dataclasses.replace(claim, chain=claim.chain[::-1])).verdict == "disagrees"


def test_a_smaller_gap_elsewhere(tmp_path: Path):
    make_results(tmp_path)
    results = Results.load(tmp_path)
    claim = Claim("c", "2", "Avg.", better=(BEST,), worse=(BASELINE,), smaller_in=("3", "Avg."))
    assert judge(results, claim).verdict == "agrees"
    reverse = Claim("c", "3", "Avg.", better=(BEST,), worse=(BASELINE,), smaller_in=("2", "Avg."))
    assert judge(results, reverse).verdict == "disagrees"
