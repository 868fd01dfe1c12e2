"""Which batch size is best: SCL with 16 to 2,048 pairs a batch, and therefore few or many negatives per anchor.

Each size is trained with a learning rate that grows with the square root of the batch size, and with multiples of that
rate. So no size wins by its rate alone. The gradient cache makes every size fit in memory.
"""

from __future__ import annotations

import math

from search_spaces.paper import Column, Figure, Overrides, Row, Table
from search_spaces.shared import ON_SCENES, STS_EVALUATION, YEARS, averaged, scored
from search_spaces.space import Space
from trainables.recipe import Recipe

SIZES = (16, 64, 256, 1024, 2048)
BASE_SIZE, BASE_RATE = 64, 2e-5
"""Liao's batch size and learning rate, from which the rule starts."""
RULES: dict[int, str] = {1: "by the rule", 3: "3 times the rule's", 10: "10 times the rule's"}
"""Learning rates to train each size with, as multiples of the rule's rate, and the name of each."""


def rate(size: int, multiple: int) -> float:
    """Return the learning rate, which grows with the square root of the batch size."""
    return float(f"{multiple * BASE_RATE * math.sqrt(size / BASE_SIZE):.3g}")


def _label(size: int, multiple: int) -> str:
    return f"{size} pairs, rate {RULES[multiple]}"


def _row(size: int, multiple: int) -> Row:
    return Row(
        _label(size, multiple),
        {"optimisation.batch_size": size, "optimisation.learning_rate": rate(size, multiple)},
    )


def _line(multiple: int) -> tuple[Overrides, ...]:
    return tuple(_row(size, multiple).overrides for size in SIZES)


_DEVELOPMENT = "STS-B, development"
_TABLE = Table(
    number="B1",
    title="Batch sizes and learning rates",
    columns=(
        *averaged(*scored(YEARS, "spearman_wmean")),
        Column(_DEVELOPMENT, ("STSBenchmark", "dev_spearman_cosine")),
    ),
    rows=tuple((_label(size, multiple), _label(size, multiple)) for multiple in RULES for size in SIZES),
    aggregation="Spearman correlation x 100 by cosine, mean over sub-corpora weighted by size",
    topic="STS",
    footnotes=(
        "A batch's tuned rate is the one with the highest score on the development part of STS-B, which the average "
        "does not hold.",
    ),
)
_KEYS = ("optimisation.batch_size", "optimisation.learning_rate")

SPACES = (
    Space(
        name="scl_batch_size",
        title="SCL: batch sizes from 16 to 2,048",
        paper="no paper: Liao 2021's objective and data",
        base=Recipe(),
        evaluation=STS_EVALUATION,
        laptop=ON_SCENES,
        rows=tuple(_row(size, multiple) for multiple in RULES for size in SIZES),
        tables=(_TABLE,),
        baseline=_label(BASE_SIZE, 1),
        figures=tuple(
            Figure(
                number,
                title,
                "lines",
                _KEYS,
                "B1",
                column,
                lines={f"rate {RULES[multiple]}": _line(multiple) for multiple in RULES},
            )
            for number, title, column in (
                ("B1a", "STS12 to STS16 over the batch size", "Avg."),
                ("B1b", "The development score, by which a rate is chosen", _DEVELOPMENT),
            )
        ),
    ),
)
