"""What a gain is by the other reader of the same embeddings (`TaskKind.checked`), for which nothing is fitted: a gain
that a classifier alone makes does not stand there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reports.answer_parts import Check
from reports.evidence import Evidence
from reports.gain import Gain
from reports.quantity import Quantity
from reports.statistics.finals import gain_over
from reports.statistics.spreads import Common
from trainables.senteval.tasks import kind_of


def checked(
    evidence: Evidence,
    lent: Callable[[Quantity], Common],
    figure: Quantity,
    recipe_hash: str,
    references: Mapping[str, str],
    looks: float,
) -> Check | None:
    """Of a recipe over each of the references, by name; all low ends hold at once, and all high ones. None where the
    figure, or a part of it, has no second reader. `lent`: by figure what recipes of one seed borrow."""
    other = Quantity(
        ", ".join(f"{task} {kind_of(task).checked}" for task in sorted(figure.tasks)),
        {(task, kind_of(task).checked): weight for (task, _), weight in figure.weights.items()},
    )
    if any(number != kind_of(task).main or not kind_of(task).checked for task, number in figure.weights):
        return None
    samples = {name: evidence.sample(key, other) for name, key in references.items()}
    own, against = evidence.sample(recipe_hash, other), {name: sample for name, sample in samples.items() if sample}
    if own is None:
        return None
    borrowed = lent(other)
    gains = {
        name: Gain.of(gain_over(own, reference, borrowed, looks * len(against))) for name, reference in against.items()
    }
    return Check(other.name, Gain.level(own, other, borrowed), gains)
