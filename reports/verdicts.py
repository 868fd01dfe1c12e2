"""What the paper says in words, held against our figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reports.results import Results, minus
from search_spaces.space import Claim

Verdict = Literal["agrees", "agrees in part", "disagrees", "within noise", "not run"]


@dataclass(frozen=True)
class Judged:
    """A claim with our comparisons. `gaps` are better minus worse in points, None where a row is missing.

    `noise_known` says whether seeds tell how far a gap may move by chance; if not, only its sign was judged.
    `left_out` are rows that lack an input, such as word vectors. They take no part in the comparison; what the
    others say for the claim is then an agreement in part.
    """

    claim: Claim
    verdict: Verdict
    gaps: tuple[float | None, ...]
    published: tuple[float | None, ...]
    noise_known: bool
    left_out: tuple[str, ...] = ()


def judge(results: Results, claim: Claim) -> Judged:
    """Agrees, agrees in part, disagrees, within noise, or not run.

    A comparison counts for or against the claim only if it is larger than the noise between seeds, or by its
    sign where there is one seed only. A claim on all comparisons is refuted by one, which must then be larger than
    what the noise makes of so many (Bonferroni); nothing is confirmed as long as a row is not finished.
    """
    paper = results.space.table(claim.table)
    noise = results.noise(paper, claim.column)
    left_out = {label for label in claim.labels if results.info.row_hashes.get(label, "") is None}
    compared = [pair for pair in claim.comparisons if not left_out & set(pair)]
    gaps: list[float | None] = []
    marks: list[int | None] = []  # 1 for, -1 against, 0 within noise, None missing
    for better, worse in compared:
        first, second = results.cell(paper, better, claim.column), results.cell(paper, worse, claim.column)
        gap = minus(first, second)
        gaps.append(gap)
        if first is None or second is None or gap is None:
            marks.append(None)
        else:
            chances = len(compared) if gap < 0 and claim.quantifier == "all" else 1
            threshold = noise.threshold(first.draws, second.draws, chances) if noise else 0.0
            marks.append(0 if abs(gap) <= threshold else 1 if gap > 0 else -1)
    if claim.smaller_in is not None and compared:
        marks.append(_smaller(results, claim, gaps[0]))
    published = tuple(
        None if a is None or b is None else a - b
        for a, b in (
            (results.published(paper, better, claim.column), results.published(paper, worse, claim.column))
            for better, worse in claim.comparisons
        )
    )
    verdict = _verdict(marks, claim) if marks else "not run"
    if verdict == "agrees" and left_out:
        verdict = "agrees in part"
    return Judged(claim, verdict, tuple(gaps), published, noise is not None, tuple(sorted(left_out)))


def _smaller(results: Results, claim: Claim, gap: float | None) -> int | None:
    """Whether the same rows' gap is smaller in the other table, by more than both gaps' noise."""
    number, column = claim.smaller_in or ("", "")
    paper, other = results.space.table(claim.table), results.space.table(number)
    better, worse = claim.comparisons[0]
    first, second = results.cell(other, better, column), results.cell(other, worse, column)
    there = minus(first, second)
    if gap is None or there is None or first is None or second is None:
        return None
    noises = results.noise(paper, claim.column), results.noise(other, column)
    squares = sum(noise.threshold(first.draws, second.draws) ** 2 for noise in noises if noise)
    return 0 if abs(gap - there) <= squares**0.5 else 1 if there < gap else -1


def _verdict(marks: list[int | None], claim: Claim) -> Verdict:
    needed = len(marks) if claim.quantifier == "all" else len(marks) // 2 + 1
    for_it, against, missing = marks.count(1), marks.count(-1), marks.count(None)
    if for_it >= needed:
        return "agrees"
    if against > len(marks) - needed:
        return "disagrees"
    return "not run" if missing else "within noise"
