"""Scores of released models of current losses, measured here, beside their published scores and a plain training.

Published models are evaluated by their hub id at the paper's scale, or from a folder that `--evaluate` names.
"""

from __future__ import annotations

from pathlib import Path

from search_spaces.paper import ALL_PAIRS, Overrides, Row, Table
from search_spaces.published import by_label, read_figures, same
from search_spaces.shared import LAPTOP, NO_TRAINING, RANKING, SICK, STSB, YEARS, averaged, scored
from search_spaces.space import Domain, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, Recipe

_FIGURES = read_figures(Path(__file__).with_name("figures.csv"))
_PUBLISHED = by_label(_FIGURES, {"1": same(_FIGURES["1"])})
_GUIDE = "sentence-transformers/all-MiniLM-L6-v2"
_OURS = ("MNRL", "MNRL, guided masks")
_OTHERS: dict[str, tuple[Overrides, str]] = {
    "AnglE-BERT-base": (
        {"encoder.kind": "transformer", "encoder.name": "SeanLee97/angle-bert-base-uncased-nli-en-v1"},
        "its authors pool by what they call cls_avg, here it is the mean; so ours is not quite their model",
    ),
    "all-MiniLM-L6-v2": ({"encoder.kind": "pipeline", "encoder.name": _GUIDE}, "what GISTEmbed started from"),
    "GIST-all-MiniLM-L6-v2": (
        {"encoder.kind": "pipeline", "encoder.name": "avsolatorio/GIST-all-MiniLM-L6-v2"},
        "GISTEmbed, trained further on MEDI and MTEB's classification data",
    ),
}

SPACES = (
    Space(
        name="modern_published",
        title="Do released models of today's losses score here what is printed of them?",
        paper="no single one: AnglE and GISTEmbed, beside multiple negatives ranking",
        base=Recipe().preferring({**RANKING, "objective.guide": _GUIDE}),
        evaluation=EvaluationConfig(tasks=("sts", "STSBenchmark", "SICKRelatedness")),
        laptop={**LAPTOP, "objective.guide": SCENES_ENCODER},
        rows=(
            Row(_OURS[0], {}),
            Row(_OURS[1], {"objective.false_negatives": "guide"}),
            *(
                Row(label, {**NO_TRAINING, **model}, _PUBLISHED[label], needs="checkpoint", note=note)
                for label, (model, note) in _OTHERS.items()
            ),
        ),
        tables=(
            Table(
                number="1",
                title="Released models, and a training here, on the STS tasks",
                columns=averaged(*scored(YEARS, "spearman_all"), STSB, SICK),
                rows=tuple(same((*_OURS, *_OTHERS)).items()),
                aggregation=ALL_PAIRS,
                topic="STS",
            ),
        ),
        baseline=_OURS[0],
        domains=(
            Domain("objective.temperature", low=0.01, high=0.5, log=True, grid=(0.02, 0.05, 0.2)),
            Domain("objective.false_negatives", choices=("mask", "guide")),
        ),
        goals=("sts",),
    ),
)
