"""The comparisons of a paper's claim: what each compares, whether it tests anything, and its p-values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from reports.facts.evidence import SURE, Evidence
from reports.facts.guards import Flag
from reports.facts.quantity import Quantity, quantity
from reports.facts.same_recipe import SameRecipe, one_in_effect
from reports.statistics import Comparison
from reports.statistics.equivalence import p_above, p_below, tost
from search_spaces.space import Claim

Status = Literal["compared", "one seed", "missing", "no input", "flagged", "one recipe"]
"""`no input`: a row lacks an input, such as word vectors. `flagged`: a flag forbids a verdict. `one recipe`: the two
rows are one recipe in effect, so that nothing was tested."""
Direction = Literal["as claimed", "against", "undecided", ""]


@dataclass(frozen=True)
class ClaimComparison:
    """One of a claim's comparisons: the better row minus the worse one."""

    better: str
    worse: str
    status: Status
    comparison: Comparison | None
    """Our gain of the better row over the worse one; None if a row is missing."""
    published: float | None
    why: SameRecipe | None = None
    """Why the two rows are one recipe in effect; None if they are two."""
    flags: tuple[Flag, ...] = ()
    """Flags that forbid a verdict on the two rows."""
    lacking: tuple[str, ...] = ()
    """The rows that lack an input, such as word vectors."""
    of_gaps: bool = False
    """Whether the two rows' difference here is compared with their difference in another table (`Claim.smaller_in`)."""
    figure: Quantity | None = None
    """The figure in which the rows are compared."""
    hashes: tuple[str, str] = ("", "")
    """Recipe hashes of the better and of the worse row."""
    repeated: bool = False
    """Whether an earlier comparison is of the same two recipes under other names: then this one does not count."""

    @property
    def excluded(self) -> bool:
        """Whether the comparison is kept out of the verdict."""
        return self.status in ("no input", "flagged", "one recipe")

    @property
    def counts(self) -> bool:
        """Whether the comparison counts in the verdict."""
        return not self.excluded and not self.repeated

    def decided(self, claim: Claim) -> Direction:
        """Return the direction of this comparison alone at 95 %, without a correction for other comparisons."""
        if self.status != "compared":
            return ""
        holding, failing = self.p_values(claim)
        if 2 * min(holding, failing) >= SURE:
            return "undecided"
        return "as claimed" if holding < failing else "against"

    def more_seeds(self, evidence: Evidence, bound: float, alpha: float) -> float | None:
        """Return how many more seeds decide the comparison (`Evidence.more_seeds`); 0 if it is decided already."""
        if self.figure is None:
            return None
        if self.comparison is not None:
            sides = p_above(self.comparison, bound), p_below(self.comparison, bound)
            if any(p is not None and 2 * p < alpha for p in sides):
                return 0
        return evidence.more_seeds(*self.hashes, self.figure, bound, alpha)

    def p_values(self, claim: Claim) -> tuple[float, float]:
        """Return the one-sided p of two hypotheses: that the claimed relation fails, and that it holds."""
        relation, points = ("above", 0.0) if self.of_gaps else (claim.relation, claim.points)
        if relation in ("above", "not below"):
            low = points if relation == "above" else -points
            return self.above(low), self.below(low)
        low, high = (0.0, points) if relation == "slightly above" else (-points, points)
        assert self.comparison is not None
        inside = tost(self.comparison, (high - low) / 2, around=(high + low) / 2)
        return 1.0 if inside is None else inside, min(1.0, 2 * min(self.below(low), self.above(high)))

    def above(self, bound: float) -> float:
        """Return the p of the claim that the difference is above the bound: small if the claim is shown."""
        return self._one_sided(bound, p_above, 1)

    def below(self, bound: float) -> float:
        """Return the p of the claim that the difference is below the bound: small if the claim is shown."""
        return self._one_sided(bound, p_below, -1)

    def _one_sided(self, bound: float, chance: Callable[[Comparison, float], float | None], sign: int) -> float:
        """Return `chance` at the bound. With a bound of 0: half of the comparison's own p, which may be an exact p."""
        comparison = self.comparison
        if comparison is None or comparison.p is None:
            return 1.0
        if bound == 0:
            return comparison.p / 2 if sign * comparison.gain > 0 else 1 - comparison.p / 2
        p = chance(comparison, bound)
        return 1.0 if p is None else p


def compare_claim(evidence: Evidence, claim: Claim) -> tuple[ClaimComparison, ...]:
    """Return all comparisons of a claim."""
    results = evidence.results
    paper = results.space.table(claim.table)
    figure = quantity(paper, paper.column(claim.column))
    items = [_pair(evidence, claim, better, worse, figure) for better, worse in claim.comparisons]
    pairs = [recipes_of(evidence, item) for item in items]
    items = [replace(item, repeated=pairs[index] in pairs[:index]) for index, item in enumerate(items)]
    if claim.smaller_in is not None:
        number, column = claim.smaller_in
        other = results.space.table(number)
        own = quantity(other, other.column(column))
        better, worse = claim.comparisons[0]
        gap, other_gap = items[0].published, _published(evidence, number, column, better, worse)
        item = _pair(evidence, claim, better, worse, figure.minus(own))
        published = None if gap is None or other_gap is None else gap - other_gap
        items.append(replace(item, published=published, of_gaps=True))
    return tuple(items)


def _pair(evidence: Evidence, claim: Claim, better: str, worse: str, figure: Quantity) -> ClaimComparison:
    info = evidence.results.info
    published = _published(evidence, claim.table, claim.column, better, worse)
    lacking = tuple(label for label in (better, worse) if info.row_hashes.get(label, "") is None)
    if lacking:
        return ClaimComparison(better, worse, "no input", None, published, lacking=lacking)
    first, second = info.row_hashes.get(better) or "", info.row_hashes.get(worse) or ""
    comparison = evidence.compare(first, second, figure)
    if comparison is None:
        return ClaimComparison(better, worse, "missing", None, published)
    pair = ClaimComparison(better, worse, "compared", comparison, published, figure=figure, hashes=(first, second))
    flags = evidence.between(first, second, figure)
    # A copied trial has the copied training's measurements, so these prove nothing about its limits.
    copied = any(flag.guard == "copies" and flag.crossed_by == "any" for flag in flags)
    same = (
        None if copied else one_in_effect(evidence.results.recipe_trials[first], evidence.results.recipe_trials[second])
    )
    if same:
        return replace(pair, status="one recipe", why=same)
    if flags:
        return replace(pair, status="flagged", flags=flags)
    return replace(pair, status="one seed") if comparison.one_seed else pair


def _published(evidence: Evidence, table: str, column: str, better: str, worse: str) -> float | None:
    results = evidence.results
    paper = results.space.table(table)
    first, second = results.published(paper, better, column), results.published(paper, worse, column)
    return None if first is None or second is None else first - second


def recipes_of(evidence: Evidence, item: ClaimComparison) -> tuple[str, ...]:
    """Return the hashes of both recipes, for a copy that of its original; the rows' names if a recipe is missing."""
    return tuple(map(evidence.results.counted_as, item.hashes)) if all(item.hashes) else (item.better, item.worse)
