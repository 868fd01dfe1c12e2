"""Whether a temperature that is trained with the encoder, as in CLIP, makes a search for it unnecessary.

All rows see the same pairs in the same batches. `trials.csv` has the final learned temperatures.
"""

from __future__ import annotations

from search_spaces.paper import Overrides
from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import Recipe

_LEARNED: Overrides = {"objective.temperature": "learned"}

SPACES = (
    Space(
        name="learned_temperature",
        title="Does a learned temperature spare the search for a good one?",
        paper="no single one: CLIP's learned temperature (Radford 2021), with multiple negatives ranking",
        base=Recipe().preferring({**RANKING, "objective.temperature_rate": 1e-2}),
        evaluation=STS_EVALUATION,
        laptop=LAPTOP,
        rows=(
            Row("tau 0.02", {"objective.temperature": 0.02}),
            Row("tau 0.05", {}),
            Row("tau 0.1", {"objective.temperature": 0.1}),
            Row("tau 0.2", {"objective.temperature": 0.2}),
            Row("learned from 0.07", _LEARNED),
            Row("learned from 0.2", {**_LEARNED, "objective.temperature_start": 0.2}),
            Row("learned from 0.07, slower", {**_LEARNED, "objective.temperature_rate": 1e-3}),
        ),
        baseline="tau 0.05",
        domains=(
            Domain("objective.temperature", choices=("learned", 0.02, 0.05, 0.1, 0.2)),
            Domain("objective.temperature_start", low=0.02, high=0.5, log=True, grid=(0.07, 0.2)),
            Domain("objective.temperature_rate", low=1e-4, high=1e-1, log=True, grid=(1e-3, 1e-2)),
        ),
        goals=("sts",),
    ),
)
