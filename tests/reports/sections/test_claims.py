"""What a claim's verdict may say: by direction, by size, by equivalence, and only of what was tested."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reports.document import markdown
from reports.facts.claim_verdicts import JudgedClaim, judge_claims, judged_claims, open_claims
from reports.facts.evidence import Evidence
from reports.facts.guards import GUARDS, Flag, Flags
from reports.facts.results import Results
from reports.facts.same_recipe import RecipeTrials, SameRecipe, one_in_effect
from reports.ledger import Record, StudyInfo
from reports.sections import open_claims as open_section
from reports.sections.claims import direction_in_words, how_to_read, verdict_in_words
from reports.testing import changed, made_record
from reports.words.comparisons import more_seeds, not_varied, one_recipe
from search_spaces import Claim, spaces
from tests.populations import Population
from tests.synthetic_results import make_results
from trainables.errors import UserError
from trainables.senteval.tasks import GROUPS

SCL = spaces()["scl_ablation"]
BASELINE, BEST, OTHER, AUGMENT = "SBERT baseline", "allpalln-lambda0.3-SCL", "3p3n-lambda0.5-SCL", "3p3n-Augment"
ROWS = (BASELINE, BEST, OTHER, AUGMENT, "allpalln-lambda1.0-SCL")
STS = Population(rows=ROWS, tasks=GROUPS["sts"], seeds=5, seed_spread=0.05, items=300)
ABOVE = Claim("c", "2", "Avg.", better=(BEST,), worse=(BASELINE,))
CLAIMS = (
    Claim("above", "3", "SST2", better=(BEST,), worse=(BASELINE,)),
    Claim("stated", "3", "TREC", better=(BEST,), worse=(BASELINE,), stated=2.8),
    Claim("all", "3", "SST2", better=(BEST,), worse=(BASELINE, OTHER, AUGMENT)),
    Claim("most", "3", "SST5", better=(BEST, OTHER), worse=(BASELINE, AUGMENT), quantifier="most"),
    Claim("chain", "3", "TREC", chain=(BEST, OTHER, BASELINE, AUGMENT)),
    Claim("against", "2", "STS13", better=(BASELINE,), worse=(BEST, OTHER)),
    Claim("single", "3", "SST5", better=(AUGMENT,), worse=(OTHER,)),
    Claim("smaller", "3", "SST2", better=(BEST,), worse=(BASELINE,), smaller_in=("3", "TREC")),
    Claim("slightly", "2", "STS13", better=(OTHER,), worse=(AUGMENT,), relation="slightly above"),
)
NONE = dataclasses.replace(
    STS,
    rows=ROWS[:4],
    tasks=("SST2", "SST5", "TREC", "STS13"),
    items=60,
    seed_spread=0.2,
    space=dataclasses.replace(SCL, claims=CLAIMS),
)
"""No effects at all."""


def judge_one(results: Results, claim: Claim) -> JudgedClaim:
    return judge_claims(Evidence.of(results), [claim])[0]


def with_records(results: Results, records: list[Record]) -> Results:
    """The study with other records, and the predictions that it has."""
    study = Results(results.folder, results.info, results.space, records)
    vars(study)["predictions"] = results.predictions
    return study


def gap(results: Results) -> float:
    return judge_one(results, ABOVE).gaps[0]


@pytest.fixture(scope="module")
def better() -> Results:
    """The best row is surely above, the others are equal."""
    return dataclasses.replace(STS, gains={BEST: 1.0}).study(1)


@pytest.fixture(scope="module")
def equal() -> Results:
    """All rows are equal, and measured well."""
    return dataclasses.replace(STS, seed_spread=0.0, items=3000, rows=ROWS[:4]).study(1)


class TestChance:
    def test_one_seed_never_agrees_or_disagrees(self):
        """20 studies without any effect: verdicts by sign gave dozens of agrees and disagrees in each of them."""
        alone = dataclasses.replace(NONE, seeds=1)
        counts = Counter(item.verdict for study in range(20) for item in judged_claims(alone.study(study)))
        assert counts == {"undecided: one seed": 20 * len(CLAIMS)}

    @pytest.mark.slow
    def test_studies_without_effect_have_false_verdicts_as_rarely_as_said(self):
        """At most 5 % of them have any, of nine claims each; noise pooled over rows, sign by sign, gave far more."""
        none = dataclasses.replace(NONE, seeds=3)
        wrong = sum(
            any(item.direction in ("as claimed", "against") for item in judged_claims(none.study(study)))
            for study in range(60)
        )
        assert wrong <= 6  # of 60, of which 3 are expected at most: more would come three times in a hundred

    def test_two_rows_that_no_seed_changes_are_judged_by_items(self, better: Results):
        fixed = with_records(better, [record for record in better.records if record.seed == 0])
        assert judge_one(fixed, ABOVE).verdict == "undecided: one seed"
        evidence = Evidence(fixed)
        vars(fixed)["fixed"] = set(fixed.info.row_hashes.values())
        assert judge_claims(evidence, [ABOVE])[0].verdict == "agrees"


SINGLE, REST = (BEST,), (BASELINE, OTHER, AUGMENT)
ABSENT = "allpalln-lambda0.1-SCL"
EQUAL, NOT_BELOW, SLIGHTLY = ({"relation": relation} for relation in ("equal", "not below", "slightly above"))
JUDGED: list[tuple[str, dict[str, Any], str]] = [
    # All must hold, and one against refutes.
    ("better", {"worse": REST}, "agrees"),
    ("better", {"better": (BEST, OTHER)}, "undecided"),
    ("better", {"better": (OTHER, BASELINE), "worse": (AUGMENT, BEST)}, "disagrees"),
    ("better", {"worse": REST, "quantifier": "most"}, "agrees"),
    ("better", {"better": REST, "worse": SINGLE, "quantifier": "most"}, "disagrees"),
    # Sizes: of the gain, where they are numbers.
    ("better", {"stated": 1.0}, "agrees, as stated"),
    ("better", {"stated": 3.0}, "agrees in part, smaller"),
    ("better", {"stated": 0.1}, "agrees in part, larger"),
    ("equal", {"stated": "15"}, "disagrees, smaller"),
    ("better", {"margin": 0.5}, "agrees"),
    ("better", {"margin": 2.0}, "disagrees"),
    # "Not better" is shown by a difference that is surely small, not by one that is not surely large.
    ("equal", EQUAL | {"margin": "3"}, "agrees"),
    ("equal", EQUAL | {"margin": "0.01"}, "undecided"),
    ("equal", NOT_BELOW | {"margin": "3"}, "agrees"),
    ("equal", NOT_BELOW | {"margin": "0.01"}, "undecided"),
    ("better", EQUAL, "disagrees"),
    ("better", NOT_BELOW, "agrees"),
    ("better", NOT_BELOW | {"better": (BASELINE,), "worse": SINGLE}, "disagrees"),
    ("better", SLIGHTLY | {"margin": 2.0}, "agrees"),
    ("better", SLIGHTLY | {"margin": "0.1"}, "disagrees"),
    ("equal", SLIGHTLY | {"margin": "8"}, "undecided"),
    # Rows that are not there.
    ("better", {"worse": (BASELINE, ABSENT)}, "not finished"),
    ("better", {"better": (BASELINE,), "worse": (BEST, ABSENT)}, "disagrees"),
    ("better", {"better": ("allpalln-Augment",), "worse": (ABSENT,)}, "not run"),
]
"""The study, how its claim differs from `ABOVE`, and the verdict. A size counts gains of `ABOVE`; as text, points."""


@pytest.mark.parametrize(("study", "changes", "verdict"), JUDGED)
def test_a_claim_has_its_verdict(study: str, changes: dict[str, Any], verdict: str, request: pytest.FixtureRequest):
    results: Results = request.getfixturevalue(study)
    sizes = {name: changes[name] for name in ("stated", "margin") if name in changes}
    sizes = {name: float(size) if isinstance(size, str) else size * gap(results) for name, size in sizes.items()}
    item = judge_one(results, dataclasses.replace(ABOVE, **{**changes, **sizes}))
    assert ", ".join([item.verdict, item.size] if "stated" in changes else [item.verdict]) == verdict
    assert item.direction == "as claimed" or not verdict.startswith("agrees")


def test_a_smaller_difference_elsewhere(better: Results):
    """A gain less itself is no smaller one."""
    claim = Claim("c", "2", "STS12", better=SINGLE, worse=(BASELINE,), smaller_in=("2", "STS12"))
    verdict = judge_one(better, claim)
    assert verdict.verdict == "undecided"
    assert (verdict.compared[1].comparison.gain, verdict.compared[1].published) == (0, 0)


def test_more_claims_make_each_one_harder(better: Results):
    assert judge_claims(Evidence.of(better), [ABOVE, *CLAIMS])[0].p >= judge_one(better, ABOVE).p > 0


def test_a_relation_must_make_sense():
    with pytest.raises(UserError, match="relation must be"):
        dataclasses.replace(ABOVE, relation="better")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="needs a margin above 0"):
        dataclasses.replace(ABOVE, relation="equal", margin=0.0)
    with pytest.raises(UserError, match="its relation must be 'above'"):
        dataclasses.replace(ABOVE, relation="equal", stated=1.0)


class TestWhatWasTested:
    CAPS = Claim("c", "2", "Avg.", better=("allpalln-lambda0.5-SCL",), worse=("3palln-lambda0.5-SCL",))

    def study(self, measured: dict[str, float]) -> Results:
        rows = (*self.CAPS.better, *self.CAPS.worse)
        results = dataclasses.replace(STS, rows=rows, gains={rows[0]: 1.0}).study(1)
        return with_records(results, [dataclasses.replace(r, training=r.training | measured) for r in results.records])

    def test_a_cap_that_never_binds(self):
        """N+ was 1.08 with and without the cap of 3; the claim on that cap agreed or disagreed all the same."""
        verdict = judge_one(self.study({"positives_per_anchor": 1.08, "negatives_per_anchor": 61.0}), self.CAPS)
        assert verdict.verdict == "not tested here"
        assert "N+ 1.08 and 1.08" in one_recipe(verdict.compared[0].why)
        assert judge_one(self.study({}), self.CAPS).verdict == "agrees"  # here it binds

    def test_rows_that_differ_in_more_are_compared(self):
        records = STS.study(1).records
        caps = {"positives_per_anchor": 1.0, "negatives_per_anchor": 60.0}
        first, second = (
            [dataclasses.replace(r, training=caps) for r in records if r.recipe.get("objective.weight") == weight]
            for weight in (0.3, 1.0)
        )
        assert one_in_effect(RecipeTrials(first), RecipeTrials(second)) is None
        again = changed(second[0], scores=first[0].scores, finished_at="2026-01-02T00:00:00Z")
        assert one_in_effect(RecipeTrials(first), RecipeTrials([again]))
        copied = dataclasses.replace(again, finished_at=first[0].finished_at)
        assert one_in_effect(RecipeTrials(first), RecipeTrials([copied])) is None

    def test_equal_scores_under_every_shared_seed(self):
        numbers = {"spearman_all": 50.0, "spearman_mean": 51.0, "pearson_all": 52.0, "pearson_mean": 53.0}
        first = made_record({"a": 1}, "0" * 12, 0, scores={"STS12": {**numbers, "seconds": 1.0}})
        second = made_record({"a": 2}, "1" * 12, 0, scores={"STS12": {**numbers, "seconds": 2.0}})
        other = dataclasses.replace(second, seed=1)
        assert one_in_effect(RecipeTrials([first]), RecipeTrials([second, other])) == SameRecipe("scores")
        assert one_in_effect(RecipeTrials([first]), RecipeTrials([other])) is None
        few = [changed(r, scores={"MR": {"test_accuracy": 50.0}}) for r in (first, second)]
        assert one_in_effect(RecipeTrials(few[:1]), RecipeTrials(few[1:])) is None  # one number may agree by chance

    def test_a_flag_forbids_the_verdict(self, better: Results):
        recipe = better.info.row_hashes[BASELINE] or ""
        evidence = Evidence(better)
        vars(evidence)["flags"] = Flags((Flag("mine", "elsewhere", frozenset({recipe})),))
        verdicts = judge_claims(evidence, [ABOVE, dataclasses.replace(ABOVE, worse=(BASELINE, OTHER))])
        assert [item.verdict for item in verdicts] == ["no verdict", "agrees in part"]
        assert [flag.guard for flag in verdicts[0].flags] == ["mine"]

    def test_one_counterexample_refutes_however_many_comparisons_are_missing(self, better: Results):
        """Missing comparisons made the counterexample's p larger, as if they had been looked at."""
        alone = judge_one(better, Claim("c", "2", "Avg.", better=(BASELINE,), worse=(BEST,)))
        absent = tuple(label for label in SCL.labels if label not in ROWS)
        many = judge_one(better, Claim("c", "2", "Avg.", better=(BASELINE,), worse=(BEST, *absent)))
        assert many.verdict == "disagrees"
        assert many.p == alone.p
        assert "surest against" in verdict_in_words(many)

    def test_missing_comparisons_prove_nothing(self, better: Results):
        absent = ("allpalln-lambda0.1-SCL", "3palln-lambda0.5-SCL")
        claim = Claim("c", "2", "Avg.", better=(BEST,), worse=(BASELINE, *absent))
        for quantifier in ("all", "most"):
            verdict = judge_one(better, dataclasses.replace(claim, quantifier=quantifier))
            assert verdict.verdict == "not finished"
            assert "so far 1 of 3 decided as claimed" in verdict_in_words(verdict)
            assert "undecided" not in direction_in_words(verdict)
            assert " to " not in direction_in_words(verdict)  # one figure is no range

    def test_a_limit_that_was_not_varied_is_said(self):
        """N+ was 1.08 under every limit, and nothing said so beside "Increasing N+ and N-"."""
        rows = ("allpalln-lambda0.5-SCL", "3p3n-lambda0.5-SCL")
        claim = Claim("c", "2", "Avg.", better=rows[:1], worse=rows[1:])
        results = dataclasses.replace(STS, rows=rows).study(1)
        for caught, words in ((1.08, "N+ was not varied in effect (1.08"), (3.0, "")):
            records = [
                dataclasses.replace(
                    record,
                    training=record.training
                    | (
                        {"positives_per_anchor": caught, "negatives_per_anchor": 61.0}
                        if record.recipe["objective.positives"] is None
                        else {"positives_per_anchor": 1.08, "negatives_per_anchor": 3.0}
                    ),
                )
                for record in results.records
            ]
            missed = judge_one(with_records(results, records), claim).not_varied
            assert (not_varied(missed) if missed else "").startswith(words)
            assert bool(missed) == bool(words)


def test_the_papers_own_figures(tmp_path: Path):
    """Scores that are the published ones show every claim but those that the paper itself contradicts."""
    make_results(tmp_path, seeds=(1, 2, 3), spread=0.002)
    info = StudyInfo.load(tmp_path)
    dataclasses.replace(info, across=list(GUARDS)).save(tmp_path)  # no predictions were kept, among others
    for item in judged_claims(Results.load(tmp_path)):
        assert item.direction == ("against" if item.claim.contradicted else "as claimed"), item.claim.text
        assert (item.verdict == "disagrees") is bool(item.claim.contradicted)


@pytest.mark.slow
def test_more_seeds_for_claims():
    loud = dataclasses.replace(STS, seeds=3, gains={BEST: 0.4}, seed_spread=0.3)
    verdicts = [item for study in range(6) for item in judge_claims(Evidence.of(loud.study(study)), [ABOVE])]
    needs = [item.more_seeds for item in verdicts if item.verdict == "undecided"]
    assert needs
    assert all(needed and needed >= 1 for needed in needs)
    assert all(item.more_seeds is None for item in verdicts if item.verdict == "agrees")
    needed_for_all = open_claims(verdicts)
    assert needed_for_all.seeds is None or f"{needed_for_all.seeds} more seed" in more_seeds(needed_for_all, "claim")


def test_of_one_seed_the_sections_say_so(tmp_path: Path):
    alone = dataclasses.replace(STS, seeds=1).study(1)
    text = markdown(open_section.write(alone, tmp_path))
    assert "undecided: one seed" in text
    assert "(items only)" in text
    assert "at most 5 %" not in markdown(how_to_read(judged_claims(alone), True))
