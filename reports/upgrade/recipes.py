"""Flat recipes of versions before the first schema: what they were called by, and what they are now.

There every recipe had every key, also those that nothing in it read, and its evaluation was a part of it. The tables
are of that time, and change no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from trainables.errors import UserError, shown
from trainables.evaluation_config import EvaluationConfig, split
from trainables.recipe import FIDELITY, Recipe, keys
from trainables.sections import SENTEVAL_KEY

FIRST = {
    "encoder": "kind name layers max_length",
    "pooling": "mode",
    "head": "kind dim",
    "corpus": "nli limit",
    "objective": "name positives negatives weight temperature fidelity",
    "optimisation": "learning_rate batch_size epochs max_steps warmup schedule weight_decay clip_norm precision",
    "evaluation": "senteval tasks protocol",
}
"""By section the keys that every recipe had."""
LATER: dict[str, Any] = {
    "encoder.adapter": "none", "encoder.query_prompt": None, "encoder.document_prompt": None, "encoder.dtype": "fp32",
    "encoder.lora_rank": 8, "encoder.lora_alpha": None, "encoder.lora_targets": (), "pooling.after": "none",
    "pooling.padding": None, "corpus.columns": None, "corpus.labels": None, "corpus.layout": "rows",
    "corpus.augmentation": "none", "corpus.paraphraser": None, "corpus.documents": "Skylion007/openwebtext",
    "corpus.share": 1.0, "spans.anchors": 2, "spans.positives": 2, "spans.shortest": 32, "spans.longest": 512,
    "spans.document": None, "spans.strategy": "default", "spans.places": None, "objective.false_negatives": None,
    "objective.anchors": None, "objective.own_positives": None, "objective.workers": None, "objective.margin": 5.0,
    "objective.mlm": 0.0, "objective.bank": 0, "objective.bank_warmup": 0, "optimisation.optimiser": "adamw",
    "optimisation.keep": "last", "optimisation.keep_every": 125, "optimisation.keep_share": 0.25,
    "optimisation.chunk": "auto", "evaluation.heat_map": "none", "evaluation.precision": "fp32",
}  # fmt: skip
"""Keys that came later, and their defaults, at which they were no part of the hash."""
_AS_FIDELITY_SAYS = (
    "pooling.padding",
    "spans.places",
    "objective.false_negatives",
    "objective.anchors",
    "objective.own_positives",
    "objective.workers",
)
"""Keys whose `none` meant: as `objective.fidelity` says."""


def old_hash(flat: Mapping[str, Any]) -> str:
    """What the recipe was called; `UserError` for one that no recipe was."""
    for name in (f"{section}.{key}" for section, names in FIRST.items() for key in names.split()):
        if name not in flat:
            raise UserError(f"its recipe lacks {name}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in flat.items()}
    content = {name: value for name, value in values.items() if name not in LATER or value != LATER[name]}
    text = json.dumps(dict(sorted(content.items())), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def evaluation_of(flat: Mapping[str, Any]) -> EvaluationConfig:
    """How it was scored, which was a part of it."""
    own = split(flat)[1]
    own.pop("evaluation.precision", None)
    return EvaluationConfig.from_flat(own)


def upgraded(flat: Mapping[str, Any]) -> Recipe:
    """The recipe that trains the same: keys that its components do not have are dropped, those that it lacks have their
    defaults. `UserError` for what is no recipe, also for unknown components: a study's plugins must have run."""
    own, evaluation = split(flat)
    senteval = evaluation.get("evaluation.senteval", EvaluationConfig().senteval)
    if not isinstance(senteval, str):
        raise UserError(f"evaluation.senteval must be text, not {shown(senteval)}")
    given = {name: value for name, value in own.items() if name == FIDELITY or not _is_left(name, value)}
    precision = evaluation.get("evaluation.precision", LATER["evaluation.precision"])
    whole = Recipe({**given, "encoder.precision": precision, SENTEVAL_KEY: senteval})
    return Recipe.from_flat(whole.flat())


def _is_left(name: str, value: Any) -> bool:
    """Whether a key was left at its default, which a preset could change."""
    if name in _AS_FIDELITY_SAYS:
        return value is None
    known = keys().get(name)
    return known is not None and (tuple(value) if isinstance(value, list) else value) == known.default
