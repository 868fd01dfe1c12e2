"""One space over all contrastive objectives, for a search beyond what the papers tried.

The objective decides which settings exist: only some objectives take several positives or any hard negatives, only SCL
has a lambda, only the losses over triplets have a margin.
"""

from __future__ import annotations

from search_spaces.shared import LAPTOP, RANKING
from search_spaces.space import Domain, Row, Space
from trainables.recipe import Recipe, Value

_OBJECTIVES = ("supmpn", "supcon", "mnrl", "simcse", "ntxent", "scl", "triplet", "batch_all", "batch_hard")
_SEVERAL_POSITIVES = tuple(name for name in _OBJECTIVES if name not in ("mnrl", "simcse"))
_SEVERAL_NEGATIVES = tuple(name for name in _OBJECTIVES if name not in ("supcon", "ntxent", "simcse"))


def _row(label: str, name: str, positives: int | None, negatives: int | None, **more: Value) -> Row:
    numbers = {"objective.positives": positives, "objective.negatives": negatives}
    return Row(label, {"objective.name": name, **numbers, **more})


SPACES = (
    Space(
        name="contrastive_all",
        title="Every contrastive objective, for STS and transfer tasks at once",
        paper="no single one: the objectives of all four, on SupMPN's data",
        base=Recipe().preferring(
            {
                **RANKING,
                "corpus.layout": "groups",
                "objective.name": "supmpn",
                "optimisation.clip_norm": 1.0,
            }
        ),
        laptop={**LAPTOP, "optimisation.batch_size": 32},
        # One row for each family of objectives; the search starts from them.
        rows=(
            _row("SupMPN, P 5, Q 5", "supmpn", 5, 5),
            _row("SupCon, P 5", "supcon", 5, None),
            _row("MNRL, P 1, Q 5", "mnrl", None, 5),
            _row("SimCSE, supervised", "simcse", None, None),
            _row("NT-Xent, P 1", "ntxent", 1, None),
            _row("SCL, lambda 0.3", "scl", 5, 5, **{"objective.weight": 0.3, "objective.temperature": 1.0}),
            _row("BatchHard, P 5, Q 5", "batch_hard", 5, 5),
        ),
        domains=(
            Domain("objective.name", choices=_OBJECTIVES),
            Domain("objective.positives", low=1, high=5, grid=(1, 5), when=("objective.name", _SEVERAL_POSITIVES)),
            Domain("objective.negatives", low=1, high=5, grid=(1, 5), when=("objective.name", _SEVERAL_NEGATIVES)),
            # A search sets these only if the chosen objective has them, so they need no `when`.
            Domain("objective.weight", low=0.1, high=1.0, grid=(0.3, 1.0)),
            Domain("objective.temperature", low=0.01, high=2.0, log=True, grid=(0.05, 0.5)),
            Domain("objective.margin", low=0.1, high=10.0, log=True, grid=(1.0, 5.0)),
            Domain("optimisation.batch_size", choices=(32, 64, 128, 256)),
            Domain("pooling.mode", choices=("mean", "cls", "first_last_mean")),
            Domain("head.kind", choices=("none", "linear", "mlp")),
            Domain("head.dim", choices=(64, 128, 256), when=("head.kind", ("linear", "mlp"))),
            # From the rate of a large pretrained encoder to that of the small built-in one.
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(2e-5, 5e-5, 5e-4)),
        ),
        goals=("sts", "transfer"),
    ),
)
