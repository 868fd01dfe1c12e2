"""Sentences and short names that several sections use."""

from __future__ import annotations

from reports.ledger import Record
from reports.markdown import count
from reports.results import Results
from reports.statistics import Noise
from trainables.recipe import Value


def bars_in_words(results: Results) -> str:
    """What the bars of a picture are, to follow its caption."""
    return "; bars are a row's own standard deviation over seeds" if len(results.info.seeds) > 1 else ", one seed"


def noise_sentence(noise: Noise | None, what: str, seeds: int) -> str:
    """How large a difference must be, in plain words."""
    if noise is None:
        return f"One seed only: how far {what} moves from seed to seed is unknown, so small differences mean nothing."
    return (
        f"Differences in {what} below {noise.threshold(seeds, seeds):.2f} points are within the noise between seeds "
        f"(95 %, {count(seeds, 'seed')} a row, pooled standard deviation {noise.std:.2f})."
    )


def changes(results: Results, record: Record) -> str:
    """What the record's recipe changes of the base recipe, among the keys that the search may change."""
    base = {**results.space.base.flat(), **results.info.base}
    changed = [
        f"{_name(domain.key)}={short(record.recipe[domain.key])}"
        for domain in results.space.domains
        if record.recipe[domain.key] != base[domain.key]
    ]
    return ", ".join(changed) or "as the base"


def _name(key: str) -> str:
    """A domain's key, without the section where that is `objective` or `optimisation`."""
    return key.removeprefix("objective.").removeprefix("optimisation.")


def short(value: Value) -> str:
    """A recipe's value in few letters."""
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)
