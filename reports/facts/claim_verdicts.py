"""The paper's claims, judged by our figures: by direction, by size, and by what was really tested.

Facts, without words: `reports/sections/claims.py` makes the sentences.

All claims of a report are judged together: the chance that any of their verdicts is false is at most 5 % (Holm).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reports.facts.claim_comparisons import ClaimComparison, Direction, compare_claim, recipes_of
from reports.facts.evidence import SURE, Evidence
from reports.facts.guards import Flag
from reports.facts.more_seeds import SeedsWanted
from reports.facts.results import Results
from reports.facts.same_recipe import CAPS, NotVaried, differing, not_varied
from reports.statistics import holm
from search_spaces.space import Claim

Verdict = Literal[
    "agrees",
    "agrees in part",
    "disagrees",
    "undecided",
    "undecided: one seed",
    "no verdict",
    "not tested here",
    "not finished",
    "not run",
]
"""`not finished`: the finished trials do not refute the claim, but comparisons that the claim needs are missing."""
Lack = Literal["every row", "a row", "an input", "trials", "scores"]
"""`every row`, `a row`: the study did not run all, or some, of the claim's rows. `an input`, `trials`: rows lack an
input, or a finished trial. `scores`: tasks have no scores."""
Size = Literal["as stated", "smaller", "larger", "undecided", ""]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the paper with our comparisons and our verdict."""

    claim: Claim
    compared: tuple[ClaimComparison, ...]
    verdict: Verdict
    direction: Direction
    """Whether the claimed relation holds, at 5 % error; empty if it was not tested."""
    size: Size
    """How our difference compares with the stated one; empty if none is stated, or nothing was tested."""
    p: float | None
    """Two-sided p of the direction, adjusted (Holm) over all claims of the report."""
    more_seeds: float | None = None
    """For an undecided claim: how many more seeds of its rows would settle its direction at power 80 %, if all
    differences are as measured. Infinity if no number would; None if unknown, or decided."""
    not_varied: NotVaried | None = None
    """Limits that the claim's rows set differently without any effect, as far as the rows have run."""
    missing_rows: tuple[str, ...] = ()
    """Rows of the claim without a finished trial."""
    lacks: Lack | None = None
    """The main reason why the claim was not run; None if it was run."""

    @property
    def deciding(self) -> ClaimComparison | None:
        """The comparison that decides the verdict: the one that refutes a failing claim most surely, or that supports
        any other claim least surely.

        Comparisons with a single seed are considered only if there are no others. None if nothing was compared.
        """
        pairs = [item for item in self.compared if item.comparison is not None and not item.of_gaps]
        taking_part = [item for item in pairs if not item.excluded] or pairs
        seeded = [item for item in taking_part if item.status == "compared"] or taking_part
        if not seeded:
            return None
        p_values = [item.p_values(self.claim) for item in seeded]
        if self.direction == "against":
            return seeded[min(range(len(seeded)), key=lambda index: p_values[index][1])]
        return seeded[max(range(len(seeded)), key=lambda index: p_values[index][0])]

    @property
    def gaps(self) -> tuple[float | None, ...]:
        """Our differences in points, better minus worse row, of comparisons of two rows; None if a row is missing."""
        comparisons = (item.comparison for item in self.compared if not item.of_gaps)
        return tuple(None if comparison is None else comparison.gain for comparison in comparisons)

    @property
    def published(self) -> tuple[float | None, ...]:
        """The paper's differences in points, for the same comparisons as `gaps`; None where the paper has none."""
        return tuple(item.published for item in self.compared if not item.of_gaps)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Rows of the claim that lack an input, such as word vectors."""
        return tuple(sorted({row for item in self.compared for row in item.lacking}))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags that keep comparisons out of the claim's verdict."""
        return tuple(dict.fromkeys(flag for item in self.compared for flag in item.flags))


def judged_claims(results: Results) -> tuple[JudgedClaim, ...]:
    """Return every claim of the study's space with its verdict, in the space's order."""
    return judge_claims(Evidence.of(results), results.space.claims)


def judge_claims(evidence: Evidence, claims: Sequence[Claim]) -> tuple[JudgedClaim, ...]:
    """Judge claims together: p-values are adjusted (Holm) over the directions and the stated sizes of all claims."""
    pairs = [(claim, compare_claim(evidence, claim)) for claim in claims]
    p_values = [_claim_p_values(*pair) for pair in pairs]
    directions = [None if both is None else min(1.0, 2 * min(both)) for both in p_values]
    sizes = [_size_p(*pair) for pair in pairs]
    tests = [_test(evidence, *pair) for pair in pairs]
    sizes_tested = [(claim.stated, *test) for claim, test in zip(claims, tests, strict=True)]
    adjusted = holm([*directions, *sizes], [*tests, *sizes_tested])
    judgements = [
        _judged(*pair, both, adjusted[index], adjusted[len(claims) + index])
        for index, (pair, both) in enumerate(zip(pairs, p_values, strict=True))
    ]
    return tuple(_with_rows(evidence, _with_seeds(evidence, item, len(claims))) for item in judgements)


def open_claims(claims: Sequence[JudgedClaim]) -> SeedsWanted:
    """Return how many more seeds each undecided claim needs; each claim is named by its text."""
    undecided = [item for item in claims if item.verdict in ("undecided", "undecided: one seed")]
    return SeedsWanted({item.claim.text: item.more_seeds for item in undecided})


def _with_rows(evidence: Evidence, item: JudgedClaim) -> JudgedClaim:
    """Set `missing_rows`, `lacks` and `not_varied` of a judged claim."""
    results, labels = evidence.results, item.claim.labels
    missing_rows = tuple(label for label in sorted(labels) if not results.of_row(label))
    lacks = _lacks(item, set(results.asked_rows), missing_rows) if item.verdict == "not run" else None
    return replace(item, not_varied=_unvaried(evidence, item), missing_rows=missing_rows, lacks=lacks)


def _lacks(item: JudgedClaim, rows: set[str], missing_rows: Sequence[str]) -> Lack:
    if not item.claim.labels & rows:
        return "every row"
    if not item.claim.labels <= rows:
        return "a row"
    return "an input" if item.left_out else "trials" if missing_rows else "scores"


def _unvaried(evidence: Evidence, item: JudgedClaim) -> NotVaried | None:
    """Return the limits that the claim's rows set differently without effect; None if the claim is not on limits."""
    results = evidence.results
    recipes = {label: results.recipe(label) for label in sorted(item.claim.labels)}
    if not all(differing(recipes[better], recipes[worse]) <= CAPS.keys() for better, worse in item.claim.comparisons):
        return None
    return not_varied([(recipe, results.of_row(label)) for label, recipe in recipes.items()])


def _test(evidence: Evidence, claim: Claim, items: Sequence[ClaimComparison]) -> tuple[Hashable, ...]:
    """Return what the claim tests: its relation and its recipes. Claims for which these are equal count as one test."""
    recipes = frozenset((recipes_of(evidence, item), item.figure) for item in items)
    return claim.relation, claim.points, claim.quantifier, recipes


# P-values


def _claim_p_values(claim: Claim, items: Sequence[ClaimComparison]) -> tuple[float, float] | None:
    """Return the one-sided p of two hypotheses: the claim is false, and it is true. None if nothing was tested.

    Of m comparisons the claim needs n to hold; m - n + 1 that fail refute it. Comparisons that are missing, or have one
    seed, count neither way. The others may decide alone: one counterexample is enough if all must hold.
    """
    taking_part = [item for item in items if item.counts]
    compared = [item.p_values(claim) for item in taking_part if item.status == "compared"]
    if not compared:
        return None
    total = len(taking_part)
    needed = total if claim.quantifier == "all" else total // 2 + 1
    holding, failing = zip(*compared, strict=True)
    return _at_least(needed, holding), _at_least(total - needed + 1, failing)


def _at_least(needed: int, p_values: Sequence[float]) -> float:
    """Return the p of the hypothesis that fewer than `needed` of the effects are real (Benjamini and Heller 2008).

    It is the n-th smallest p of m, times m - n + 1: the largest p if all are needed, Bonferroni's p if one is needed.
    """
    if needed > len(p_values):
        return 1.0
    return min(1.0, (len(p_values) - needed + 1) * sorted(p_values)[needed - 1])


def _size_p(claim: Claim, items: Sequence[ClaimComparison]) -> float | None:
    """Return the two-sided p of the hypothesis that the difference is as stated; None if there is no such test."""
    if claim.stated is None or items[0].status != "compared":
        return None
    return min(1.0, 2 * min(items[0].above(claim.stated), items[0].below(claim.stated)))


# Verdicts


def _judged(
    claim: Claim,
    items: tuple[ClaimComparison, ...],
    p_values: tuple[float, float] | None,
    p: float | None,
    p_size: float | None,
) -> JudgedClaim:
    direction: Direction = ""
    if p_values is not None and p is not None:
        direction = "undecided" if p >= SURE else "as claimed" if p_values[0] < p_values[1] else "against"
    size = _size(claim, items, p_size) if direction else ""
    return JudgedClaim(claim, items, _verdict(items, direction, size), direction, size, p)


def _size(claim: Claim, items: Sequence[ClaimComparison], p_size: float | None) -> Size:
    """Compare our difference with the stated one: `as stated` if the 95 % interval contains it, else by Holm's p."""
    comparison = items[0].comparison
    if claim.stated is None or comparison is None or comparison.low is None or comparison.high is None:
        return ""
    if comparison.low <= claim.stated <= comparison.high:
        return "as stated"
    if p_size is None or p_size >= SURE:
        return "undecided"
    return "smaller" if comparison.gain < claim.stated else "larger"


def _verdict(items: Sequence[ClaimComparison], direction: Direction, size: Size) -> Verdict:
    """Return the verdict. If the direction holds, but the size differs or comparisons were excluded: agrees in part.

    An undecided direction with a size that surely differs from the stated one disagrees: the stated effect is excluded.
    """
    statuses = {item.status for item in items}
    if direction == "as claimed":
        whole = not any(item.excluded for item in items) and size in ("", "as stated")
        return "agrees" if whole else "agrees in part"
    if direction == "against" or (direction == "undecided" and size in ("smaller", "larger")):
        return "disagrees"
    if "missing" in statuses:
        return "not finished" if any(item.comparison is not None for item in items) else "not run"
    if "one seed" in statuses:
        return "undecided: one seed"
    if "compared" in statuses:
        return "undecided"
    if "flagged" in statuses:
        return "no verdict"
    return "not tested here" if "one recipe" in statuses else "not run"


def _with_seeds(evidence: Evidence, item: JudgedClaim, claims: int) -> JudgedClaim:
    """Set `more_seeds`: enough to decide the comparisons that settle an undecided claim, for or against it."""
    claim = item.claim
    taking_part = [pair for pair in item.compared if pair.counts]
    if item.verdict not in ("undecided", "undecided: one seed") or claim.relation in ("equal", "slightly above"):
        return item
    bound = claim.points if claim.relation == "above" else -claim.points
    holding: list[float] = []
    failing: list[float] = []
    for pair in taking_part:
        gain = 0.0 if pair.comparison is None else pair.comparison.gain
        over = 0.0 if pair.of_gaps else bound
        needed = pair.more_seeds(evidence, over, SURE / claims)
        if needed is None:
            return item
        (holding if gain > over else failing).append(needed)
    total = len(taking_part)
    deciding = total if claim.quantifier == "all" else total // 2 + 1
    ways = [
        sorted(side)[count - 1]
        for side, count in ((holding, deciding), (failing, total - deciding + 1))
        if len(side) >= count
    ]
    return replace(item, more_seeds=min(ways))
