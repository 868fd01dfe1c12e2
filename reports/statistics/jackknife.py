"""The uncertainty over seeds of a value that several seeds' models give together, such as the score of their average.

The value is computed again without each model in turn. With S models the value of seed i is

    whole + (S - 1) * (mean of all - without i)        (Tukey 1958, about the whole)

These values have the mean `whole`, and their spread over seeds counts as that of S single scores: for a plain mean of
the seeds' scores they are the scores themselves. So functions that compare samples over seeds also compare this one.
"""

from __future__ import annotations

from dataclasses import replace

from reports.statistics.sample import Array, Sample


def jackknifed(whole: Sample, without: Sample) -> Sample:
    """Return a sample with a value per seed. `whole`: one value, of all models. `without`: values with one model left
    out."""
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
