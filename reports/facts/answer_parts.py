"""What an answer is made of: a recipe of the finals, what it does on another task, what rows say without finals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.facts.gain import Gain
from trainables.recipe import Value


@dataclass(frozen=True)
class Finalist:
    """One recipe of the finals; so are the base and the untrained encoder."""

    recipe: str
    """Its hash."""
    name: str
    """What people call it."""
    settings: Mapping[str, Value]
    """What it changes of the base, the farthest apart first; of the base what it has of what is searched."""
    figure: Gain | None
    """The figure itself, with its own interval."""
    development: tuple[float | None, ...]
    """By the study's goals, the mean over fresh seeds."""
    seeds: int
    """Fresh ones; of the base, where none of these has run, those of the search."""
    collapsed: int
    """So many more, under which its training collapsed or diverged: they are in no figure."""
    seconds: float | None
    """What one training takes."""
    gains: Mapping[str, Gain] = field(default_factory=dict)
    """Over `base`, `baseline` and `encoder`; for each of them the low ends of all finalists hold at once, and the high
    ones. Of the base over `encoder` and `baseline`, of the encoder over `baseline`."""
    beside: Mapping[str, Gain] = field(default_factory=dict)
    """Over the base, by the other parts of the goals; all of all finalists hold at once. What a flag forbids is not
    there."""
    model: str | None = None
    """The folder of its best model, within the results folder."""


@dataclass(frozen=True)
class Other:
    """What the picked recipe does on a task that is not in the figure; the intervals of all tasks hold at once."""

    task: str
    over: str
    gain: Gain


@dataclass(frozen=True)
class Remembered:
    """What training saw of the test, which the encoder did not."""

    items: int
    """Test items of which it saw a text."""
    gain: Gain
    """Over the encoder, on the others."""


@dataclass(frozen=True)
class Ahead:
    """A recipe that scored higher than a finalist before the finals, or without one than the base, and had no room
    there."""

    name: str
    value: float
    """Its development score."""
    last: str
    """The name of the finalist, or of the base."""
    last_value: float
    share: float
    """Of the data, on which both trained."""
    error: float | None = None
    """By how many points chance in the development items alone moves the two apart, in studies of such tasks
    (`TaskKind.varies`, a standard error); None where it is not known how many these are."""


@dataclass(frozen=True)
class Check:
    """What a recipe does by another reader of its embeddings, for which nothing is fitted."""

    recipe: str
    """Its hash."""
    figure: str
    numbers: tuple[str, ...]
    """Those of the tasks (`TaskKind.checked`)."""
    level: Gain
    gains: Mapping[str, Gain]
    """Over `base`, `baseline` and `encoder`; the intervals of all hold at once."""


@dataclass(frozen=True)
class RowsAnswer:
    """What the rows say, where there are no finals."""

    figure: str | None
    baseline: str | None
    compared: int
    """Rows with a gain over the baseline."""
    unjudged: int
    """Those of them that a flag forbids to judge."""
    better: tuple[str, ...]
    """Those that are shown to be, by name, the highest first."""
    best: str | None
    """Of the rows that may be judged the one that gains most."""
    gain: Gain | None
    one_seed: bool
    """Whether that one or the baseline has one seed alone."""
    claims: Mapping[str, int]
    """By verdict, how many of the paper's."""
    explored: str | None
    """Of a search the recipe of the best development scores, which nothing fresh has judged."""
    model: str | None
    """By name, `Findings.praised`, where its model was kept."""
