"""Parts of an answer: a recipe of the finals, its gains on other tasks, and the results of rows without finals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.facts.gain import Gain
from trainables.recipe import Value


@dataclass(frozen=True)
class Finalist:
    """A recipe of the finals with its results; also used for the base and the original encoder."""

    recipe: str
    """Hash of the recipe."""
    name: str
    """Name of the recipe (`recipe_names`)."""
    settings: Mapping[str, Value]
    """The keys in which the recipe differs from the base, the largest difference first, and the recipe's values. For
    the base: the searched keys."""
    figure: Gain | None
    """The recipe's figure, with its own interval."""
    development: tuple[float | None, ...]
    """Mean over fresh seeds for each of the study's goals."""
    seeds: int
    """Number of fresh seeds. For a base without fresh seeds: its number of seeds in the search."""
    collapsed: int
    """Number of further seeds, under which training collapsed or diverged: no figure includes these seeds."""
    seconds: float | None
    """Mean time of one training."""
    gains: Mapping[str, Gain] = field(default_factory=dict)
    """Gains over `base`, `baseline` and `encoder`. For each of them, the low ends of the intervals of all finalists
    hold at once, and so do the high ends. The base has gains over `encoder` and `baseline`, the encoder over
    `baseline`."""
    beside: Mapping[str, Gain] = field(default_factory=dict)
    """Gains over the base in components of the goals that the figure lacks; the intervals of all finalists hold at
    once. Gains that a flag forbids are left out."""
    model: str | None = None
    """Folder of the recipe's best model, within the results folder."""


@dataclass(frozen=True)
class TaskGain:
    """Gain of the picked recipe over a reference, on a task or a goal's component; the intervals of one list hold at
    once."""

    task: str
    over: str
    gain: Gain


@dataclass(frozen=True)
class Remembered:
    """Test items that the recipe's training saw and the encoder's did not, or that a development part holds, and the
    gain without these items."""

    items: int
    """Number of test items of which training or a development part holds a text."""
    gain: Gain
    """Gain over the encoder on the other test items."""


@dataclass(frozen=True)
class Check:
    """A second score of a recipe's embeddings, for which no classifier is fitted (`TaskKind.checking_number`)."""

    recipe: str
    """Hash of the recipe."""
    figure: str
    numbers: tuple[str, ...]
    """Names of the scores of each task that the check uses (`TaskKind.checking_number`)."""
    level: Gain
    gains: Mapping[str, Gain]
    """Gains in this score over `base`, `baseline` and `encoder`; the intervals of all hold at once."""


@dataclass(frozen=True)
class RowsAnswer:
    """The results of the rows in a study without finals."""

    figure: str | None
    baseline: str | None
    compared: int
    """Number of rows with a gain over the baseline."""
    unjudged: int
    """Number of the `compared` rows that a flag forbids to judge."""
    better: tuple[str, ...]
    """Names of the rows that are shown to be better, the highest first."""
    best: str | None
    """Name of the row with the largest gain among those that may be judged."""
    gain: Gain | None
    one_seed: bool
    """Whether the `best` row or the baseline has one seed only."""
    claims: Mapping[str, int]
    """Number of the paper's claims by verdict."""
    explored: str | None
    """Name of the recipe with the best development scores in a search; no fresh scores have judged it."""
    model: str | None
    """Name of the recommended recipe (`Findings.recommended`); None if no model of it was kept."""
