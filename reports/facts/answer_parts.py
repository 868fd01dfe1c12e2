"""Parts of an answer: a recipe of the finals, its gains on other tasks, and the results of rows without finals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.facts.gain import Gain
from trainables.recipe import Value


@dataclass(frozen=True)
class Finalist:
    """A recipe of the finals; also used for the base and the untrained encoder."""

    recipe: str
    """Hash of the recipe."""
    name: str
    """Name of the recipe (`recipe_names`)."""
    settings: Mapping[str, Value]
    """Keys that the recipe changes of the base, the farthest apart first; for the base, its searched keys."""
    figure: Gain | None
    """The recipe's figure, with its own interval."""
    development: tuple[float | None, ...]
    """Mean over fresh seeds for each of the study's goals."""
    seeds: int
    """Number of fresh seeds; of the base, if it has none, the number of seeds in the search."""
    collapsed: int
    """Number of further seeds, under which training collapsed or diverged: they are in no figure."""
    seconds: float | None
    """Mean time of one training."""
    gains: Mapping[str, Gain] = field(default_factory=dict)
    """Gains over `base`, `baseline` and `encoder`. Over each of them the low ends of all finalists hold at once, and so
    do the high ends. The base has gains over `encoder` and `baseline`, the encoder over `baseline`."""
    beside: Mapping[str, Gain] = field(default_factory=dict)
    """Gains over the base in the other parts of the goals; those of all finalists hold at once. Gains that a flag
    forbids are left out."""
    model: str | None = None
    """Folder of the recipe's best model, within the results folder."""


@dataclass(frozen=True)
class TaskGain:
    """Gain of the picked recipe on a task, or a part of the goals; the intervals of all of them hold at once."""

    task: str
    over: str
    gain: Gain


@dataclass(frozen=True)
class Remembered:
    """Test items that training saw and the encoder did not, and the gain without them."""

    items: int
    """Number of test items of which training saw a text."""
    gain: Gain
    """Gain over the encoder, on the other test items."""


@dataclass(frozen=True)
class Ahead:
    """A recipe without room in the finals that had scored higher than a finalist; without finalists, than the base."""

    name: str
    value: float
    """Development score of the recipe."""
    last: str
    """Name of the finalist, or of the base."""
    last_value: float
    share: float
    """Share of the data on which both trained."""
    error: float | None = None
    """Standard error, in points, of the difference between both scores that chance in the development items alone
    makes, in studies of such tasks (`TaskKind.least_deviation`). None if the number of items is unknown."""


@dataclass(frozen=True)
class Check:
    """A recipe's figure by a second reader of its embeddings, for which nothing is fitted."""

    recipe: str
    """Hash of the recipe."""
    figure: str
    numbers: tuple[str, ...]
    """Names of the tasks' numbers (`TaskKind.checking_number`)."""
    level: Gain
    gains: Mapping[str, Gain]
    """Gains over `base`, `baseline` and `encoder`; the intervals of all hold at once."""


@dataclass(frozen=True)
class RowsAnswer:
    """The results of the rows in a study without finals."""

    figure: str | None
    baseline: str | None
    compared: int
    """Number of rows with a gain over the baseline."""
    unjudged: int
    """Number of these rows that a flag forbids to judge."""
    better: tuple[str, ...]
    """Names of the rows that are shown to be better, the highest first."""
    best: str | None
    """Name of the row with the largest gain among those that may be judged."""
    gain: Gain | None
    one_seed: bool
    """Whether that row or the baseline has one seed only."""
    claims: Mapping[str, int]
    """Number of the paper's claims by verdict."""
    explored: str | None
    """Name of the recipe with the best development scores of a search, which no fresh scores have judged."""
    model: str | None
    """Name of `Findings.recommended`, if its model was kept."""
