"""Would more data help? Scores of the recipe to use on parts of its data, and the gain of each doubling.

A gain is from `reports.statistics.compare`, which pairs the test items. The parts have the finals' seeds. The recipe
was picked among K finalists by scores of these seeds, which may flatter the recipe, but not its parts: so each interval
is at 1/K of the level, as in the finals. A part counts only with all of its seeds, so that nobody stops early.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from reports.facts.evidence import Evidence
from reports.facts.gain import Gain
from reports.facts.quantity import Quantity
from reports.facts.recipe_names import name_of
from reports.facts.remembered import OVERLAP, on_unseen, same_verdict
from reports.facts.unfinished import Extent
from reports.ledger import Record
from reports.ledger.finals import CURVE_SHARES
from reports.statistics import Comparison, Sample, compare
from reports.statistics.spreads import common_spread

ALL = "all"
UNITS = ("pairs", "texts", "documents")
"""Units in which a record may count its training data."""
VARIED_BY_DATA = frozenset({"steps", "tokens", "caps"})
"""Guards that check what the amount of data changes: a learning curve varies it on purpose."""


@dataclass(frozen=True)
class DataPart:
    """The recipe on a share of its data."""

    share: str
    """The share in words: `1/8`, or `all`."""
    rows: int | None
    """Number of training rows; None if no trial stores it."""
    steps: int | None
    seeds: int
    """Number of fresh seeds, without those under which training collapsed."""
    figure: Gain | None
    """Score with its own interval; None if trials of this part are missing, and for a part that is too small."""
    gain: Gain | None = None
    """Gain over the recipe on half as much data; None if one of the two has no score."""
    flags: tuple[str, ...] = ()
    """Names of the guards that forbid a verdict on `gain`."""


@dataclass(frozen=True)
class DataCurve:
    """A learning curve: scores of one recipe on growing parts of its data."""

    name: str
    """Name of the recipe."""
    unit: str
    """Unit of `DataPart.rows`: anchors, pairs, texts or documents."""
    trials: Extent
    """Done and planned trials on parts of the data. The point for all of the data uses the finals' own trials."""
    parts: tuple[DataPart, ...]
    """Points of the curve, the smallest part first, all of the data last."""


def data_curve(evidence: Evidence, figure: Quantity, p_factor: float) -> DataCurve | None:
    """Return the learning curve of a study in this figure. `evidence` is of the finals; `p_factor`, as in `compare`,
    includes the number of finalists. None if nobody asked for a curve, and if no recipe is known to train."""
    results = evidence.results
    finals = results.info.finals
    if finals is None or finals.curve is None or finals.curve.whole not in results.recipes:
        return None
    parts = {share: finals.curve.parts.get(share) for share in reversed([*CURVE_SHARES])}
    done = {key: min(len(results.finals.get(key, ())), finals.seeds) for key in parts.values() if key}
    whole = {key for key, count in done.items() if count == finals.seeds}
    further = [trial for key in whole for trial in results.finals[key] if trial.status == "finished"]
    evidence = Evidence(dataclasses.replace(results, records=[*results.records, *further]))
    keys = {**parts, ALL: finals.curve.whole}
    samples = {share: evidence.sample(key, figure) if key else None for share, key in keys.items()}
    records = {share: evidence.results.recipes.get(key or "", []) for share, key in keys.items()}
    common = common_spread(filter(None, (evidence.sample(key, figure) for key in evidence.results.recipes)))
    compared = partial(compare, common=common, p_factor=p_factor)
    of_shares = {share: _part(share, records[share], sample, figure) for share, sample in samples.items()}
    for smaller, larger in pairwise(keys):
        half, twice = samples[smaller], samples[larger]
        if half is not None and twice is not None:
            gain, pair = compared(twice, half), (keys[larger] or "", keys[smaller] or "")
            flags = _forbidding(evidence, pair, figure, gain, compared)
            of_shares[larger] = dataclasses.replace(of_shares[larger], gain=Gain.of(gain), flags=flags)
    _, unit = trained_on(records[ALL])
    trials = Extent(sum(done.values()), finals.seeds * len(done))
    return DataCurve(name_of(results, finals.curve.whole or ""), unit, trials, tuple(of_shares.values()))


def _part(share: str, records: list[Record], sample: Sample | None, figure: Quantity) -> DataPart:
    rows, _ = trained_on(records)
    steps = next((record.training["steps"] for record in records if "steps" in record.training), None)
    return DataPart(
        share,
        rows,
        None if steps is None else int(steps),
        sample.count if sample else 0,
        Gain.level(sample, figure) if sample else None,
    )


def trained_on(records: Sequence[Record]) -> tuple[int | None, str]:
    """Return the amount of training data and its unit; None and `rows` if no record stores it. If some anchors have
    several pairs, those with negatives included, the unit is anchors instead of pairs."""
    for corpus in (record.data.get("corpus", {}) for record in records):
        if unit := next((unit for unit in UNITS if unit in corpus), None):
            amount: int = corpus[unit]  # type: ignore[literal-required]
            anchors = corpus.get("anchors") if unit == "pairs" else None
            return (int(anchors), "anchors") if anchors and anchors < amount else (amount, unit)
    return None, "rows"


def _forbidding(
    evidence: Evidence,
    pair: tuple[str, str],
    figure: Quantity,
    gain: Comparison,
    compared: Callable[[Sample, Sample], Comparison],
) -> tuple[str, ...]:
    """Names of the guards that forbid a verdict on the pair, without `VARIED_BY_DATA`. `compared` made their `gain`."""
    guards = dict.fromkeys(flag.guard for flag in evidence.between(*pair, figure) if flag.guard not in VARIED_BY_DATA)
    unseen = on_unseen(evidence, *pair, figure) if OVERLAP in guards else None
    if unseen and same_verdict(gain, compared(unseen.own, unseen.other)):
        del guards[OVERLAP]
    return tuple(guards)
