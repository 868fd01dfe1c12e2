"""The findings of a study, computed once: facts that report, page, live page, diff and JSON share, without words.

found = Findings.of(results)
found.boards[0].best                      # the rows that may be the best
json.dumps(found.as_json())

`reports/words/comparisons.py`, and the section of each finding, make the sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reports.facts.best_model import best_first, ranking
from reports.facts.boards import Board, Standing, boards
from reports.facts.cached import cached
from reports.facts.claim_verdicts import JudgedClaim, judged_claims, open_claims
from reports.facts.evidence import Evidence
from reports.facts.guards import Flag
from reports.facts.looks import FAMILIES, Family, look_number, trials_digest
from reports.facts.more_seeds import SeedsWanted
from reports.facts.results import Results
from reports.facts.unfinished import Extent, extents
from reports.ledger import Record
from reports.statistics import Sample


@dataclass(frozen=True)
class Findings:
    """All facts and verdicts of a study."""

    finished: int
    """Number of finished trials."""
    extents: Mapping[str, Extent]
    """By label, the done and the planned trials of every row that can be run."""
    missing: Mapping[str, str]
    """By label, the reason why a row has no figures."""
    looks: Mapping[Family, int]
    """By family of verdicts the number of this look, from 1: a look is one set of trials that a report judges. Without
    the families of which nothing can be judged."""
    flags: tuple[Flag, ...]
    """The flags of all guards, in the guards' order."""
    boards: tuple[Board, ...]
    claims: tuple[JudgedClaim, ...]
    """The paper's claims, in the space's order."""
    more_seeds: SeedsWanted
    """Further seeds that the undecided claims need; seeds for gains are in each board."""
    recommended: str | None
    """Hash of the recipe that rows and search recommend: see `_recommended`."""
    best: Record | None
    """The best trial of `recommended` with a stored model, which is the study's best model; None if none was kept."""

    @staticmethod
    @cached
    def of(results: Results) -> Findings:
        """Return the findings of these results; computed once."""
        evidence, claims = Evidence.of(results), judged_claims(results)
        made = boards(evidence)
        recommended = _recommended(results, made)
        saved = [record for record in results.of_hash(recommended) if record.checkpoint]
        return Findings(
            finished=sum(record.status == "finished" for record in results.records),
            extents=extents(results),
            missing={label: results.why_missing(label) for label in results.asked_rows if not results.of_row(label)},
            looks={family: look_number(results, family) for family in FAMILIES if trials_digest(results, family)},
            flags=evidence.flags.all,
            boards=made,
            claims=claims,
            more_seeds=open_claims(claims),
            recommended=recommended,
            best=next(iter(best_first(results, saved)), None),
        )

    @property
    def look(self) -> int | None:
        """Number of this look at the rows, without judged rows at the finals; None if nothing can be judged."""
        return next(iter(self.looks.values()), None)

    @property
    def unfinished(self) -> dict[str, Extent]:
        """By label, the done and the planned trials of the rows that lack trials."""
        return {label: extent for label, extent in self.extents.items() if extent.done < extent.planned}

    def as_json(self) -> dict[str, Any]:
        """Return the findings for `json.dumps`. Figures in points; unknown values are None."""
        best = self.best
        return {
            "finished": self.finished,
            "unfinished": {label: asdict(extent) for label, extent in self.unfinished.items()},
            "missing": dict(self.missing),
            "look": self.look,
            "boards": [_board(board) for board in self.boards],
            "claims": [_claim(item) for item in self.claims],
            "more_seeds": _seeds(self.more_seeds),
            "best": None if best is None else {"key": best.key, "model": best.checkpoint},
        }


def _recommended(results: Results, boards: Sequence[Board]) -> str | None:
    """Hash of the highest row within the study's limits that is shown to be better than the baseline in the first
    figure. If there is none: in a search the best recipe by development scores; for rows the baseline, or the only row
    that may be the best; and if test scores decide nothing, again the best by development scores."""
    board = next(iter(boards), None)
    better = [item for item in board.counted if item.verdict == "above"] if board else []
    alone = [item for item in board.counted if item.verdict == "baseline"] or board.best if board else ()
    ranked = [recipe.recipe_hash for recipe in ranking(results)]
    of_rows = [item.recipe_hash for item in better if item.recipe_hash not in results.above_limits]
    if board and not of_rows and not results.explored and len(alone) == 1:
        of_rows = [alone[0].recipe_hash]
    return next(iter([*of_rows, *ranked]), None)


def _board(board: Board) -> dict[str, Any]:
    return {
        "figure": board.quantity.name,
        "baseline": board.baseline,
        "best": [item.name for item in board.best],
        "rows": [_row(item, item.sample) for item in board.standings if item.sample is not None],
        "flags": [flag.as_json() for flag in board.flags],
        "more_seeds": _seeds(board.more_seeds),
    }


def _row(item: Standing, sample: Sample) -> dict[str, Any]:
    gain = item.gain
    return {
        "name": item.name,
        "recipe": item.recipe_hash,
        "copy_of": item.copy_of or None,
        "seeds": list(sample.seeds),
        "mean": sample.mean,
        "gain": None if gain is None else gain.gain,
        "low": None if gain is None else gain.low,
        "high": None if gain is None else gain.high,
        "p": item.p_holm,
        "verdict": item.verdict,
        "ranks": item.ranks,
        "collapsed": item.collapsed,
        "flags": sorted({flag.guard for flag in item.flags}),
    }


def _claim(item: JudgedClaim) -> dict[str, Any]:
    claim = item.claim
    return {
        "claim": claim.text,
        "table": claim.table,
        "column": claim.column,
        "gains": list(item.gaps),
        "direction": item.direction or None,
        "size": item.size or None,
        "p": item.p,
        "verdict": item.verdict,
        "flags": sorted({flag.guard for flag in item.flags}),
    }


def _seeds(needed: SeedsWanted) -> dict[str, Any]:
    return {"seeds": needed.seeds, "settle": list(needed.settled), "never": list(needed.never)}
