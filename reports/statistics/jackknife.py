"""How far other seeds would move what is made of several seeds' models at once, such as their average.

It is made again without each model in turn. With S models the value of seed i is

    whole + (S - 1) * (mean of all - without i)        (Tukey 1958, about the whole)

whose mean is the whole, and whose spread over seeds says what it does for a mean of S values: of a plain mean of the
seeds' scores these are the scores themselves. So whatever compares samples over seeds compares this one, too.
"""

from __future__ import annotations

from dataclasses import replace

from reports.statistics.sample import Array, Sample


def jackknifed(whole: Sample, without: Sample) -> Sample:
    """`whole`: of all models, with one value. `without`: a value for each seed, with that seed's model left out."""
    if whole.count != 1 or without.count < 2:
        raise ValueError("a jackknife takes one value of all, and one without each of at least two")
    effects = None
    if whole.effects is not None and without.effects is not None and whole.items == without.items:
        effects = _about(whole.effects, without.effects)
    return replace(
        without,
        values=_about(whole.values, without.values),
        effects=effects,
        items="" if effects is None else whole.items,
    )


def _about(whole: Array, without: Array) -> Array:  # (1, ...), (seeds, ...) -> (seeds, ...)
    return whole + (len(without) - 1) * (without.mean(axis=0, keepdims=True) - without)
