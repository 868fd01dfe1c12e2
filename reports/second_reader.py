"""What a gain is by the other reader of the same embeddings (`TaskKind.checked`), for which nothing is fitted: a gain
that a classifier alone makes does not stand there."""

from __future__ import annotations

from reports.answer_parts import Check
from reports.finals_evidence import FinalsEvidence
from reports.gain import Gain
from reports.quantity import Quantity
from trainables.senteval.tasks import kind_of


def checked(finals: FinalsEvidence, figure: Quantity, recipe_hash: str) -> Check | None:
    """Of a recipe over each of the references; all low ends hold at once, and all high ones. None where the figure, or
    a part of it, has no second reader."""
    other = Quantity(
        ", ".join(f"{task} {kind_of(task).checked}" for task in sorted(figure.tasks)),
        {(task, kind_of(task).checked): weight for (task, _), weight in figure.weights.items()},
    )
    if any(number != kind_of(task).main or not kind_of(task).checked for task, number in figure.weights):
        return None
    level, against = finals.level(recipe_hash, other), finals.compared(other)
    if level is None:
        return None
    keys = {name: finals.references[name] for name in against}
    gains = {name: finals.gain(recipe_hash, key, other, finals.looks * len(against)) for name, key in keys.items()}
    return Check(other.name, level, {name: Gain.of(gain) for name, gain in gains.items() if gain})
