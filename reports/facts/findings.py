"""What a study found, worked out once: the facts that report, page, live page, diff and JSON share, without words.

found = Findings.of(results)
found.boards[0].best                      # the rows that may be the best
json.dumps(found.as_json())

How they are said: `reports/words/comparisons.py`, and the section that each belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reports.facts.best_model import best_first, ranking
from reports.facts.boards import Board, Standing, boards
from reports.facts.cached import cached
from reports.facts.claim_verdicts import Judged, judged, open_claims
from reports.facts.evidence import Evidence
from reports.facts.guards import Flag
from reports.facts.looks import look, trials
from reports.facts.more_seeds import SeedsWanted
from reports.facts.results import Results
from reports.facts.unfinished import Extent, extents
from reports.ledger import Record
from reports.statistics import Sample


@dataclass(frozen=True)
class Findings:
    """Everything that is decided about a study."""

    finished: int
    """Trials."""
    extents: Mapping[str, Extent]
    """Of every row that can be run, by label, how much of it is there."""
    missing: Mapping[str, str]
    """By label why a row has no figures, as the study kept it."""
    look: int | None
    """Which look at the study this is; None where it can hold no verdict."""
    flags: tuple[Flag, ...]
    """All that guards found, in their order."""
    boards: tuple[Board, ...]
    claims: tuple[Judged, ...]
    """The paper's, in the space's order."""
    more_seeds: SeedsWanted
    """For the claims that are open; each board has its own."""
    praised: str | None
    """By hash the recipe that rows and search speak for: see `_praised`."""
    best: Record | None
    """Of its trials the one whose model is the study's best; None where none was kept."""

    @staticmethod
    @cached
    def of(results: Results) -> Findings:
        """The one value of these results."""
        evidence, claims = Evidence.of(results), judged(results)
        made = boards(evidence)
        praised = _praised(results, made)
        saved = [record for record in results.of_hash(praised) if record.checkpoint]
        return Findings(
            finished=sum(record.status == "finished" for record in results.records),
            extents=extents(results),
            missing={label: results.why_missing(label) for label in results.asked_rows if not results.of_row(label)},
            look=look(results) if trials(results) else None,
            flags=evidence.flags.all,
            boards=made,
            claims=claims,
            more_seeds=open_claims(claims),
            praised=praised,
            best=next(iter(best_first(results, saved)), None),
        )

    @property
    def unfinished(self) -> dict[str, Extent]:
        """The rows that lack trials."""
        return {label: extent for label, extent in self.extents.items() if extent.done < extent.planned}

    def as_json(self) -> dict[str, Any]:
        """For `json.dumps`. Figures in points; what is unknown is None."""
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


def _praised(results: Results, boards: Sequence[Board]) -> str | None:
    """Within the limits, the highest of the rows that are shown to be better than the baseline by the first figure.
    Where none is: of a search the best by development scores; of rows the baseline, or the one that is the best alone;
    and where test scores tell nothing, again the best by development scores."""
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


def _claim(item: Judged) -> dict[str, Any]:
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
