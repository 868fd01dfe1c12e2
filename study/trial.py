"""A trial, from the plan to its record; and the names of files that those share who plan it and who run it.

It is the lowest module of `study`: planning, searching, scheduling and workers all import it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.ledger import is_fresh, is_soup, trial_key
from reports.ledger.finals import PART
from trainables.evaluation_config import EvaluationConfig
from trainables.plugins import run_source
from trainables.recipe import Recipe
from trainables.training.rungs import RungPlan

SOUP = "soup"


def cost_key(recipe_hash: str, seed: int) -> str:
    """Trials of one key take about as long: the seeds of a recipe, and all soups, which train nothing."""
    return SOUP if is_soup(seed) else recipe_hash


@dataclass(frozen=True)
class SourceFile:
    """A plugin or a person's space file. It travels as text: a worker's machine may not have the file."""

    what: str
    path: str
    text: str

    def run(self) -> None:
        """Run it, once in this process; `UserError` with the line where it fails."""
        run_source(self.text, self.path, self.what)


@dataclass(frozen=True)
class Resources:
    """What a trial runs on."""

    workers: int = 1
    """The least that it runs with."""
    most_workers: int = 1
    """The most; as `workers`, unless it is elastic."""
    cpus: int = 1
    """Of one worker."""
    gpus: float = 0.0
    """Of one worker, perhaps a share of one."""
    hardware: str = ""
    """The whole cluster, in a line for the report."""

    @property
    def per_worker(self) -> dict[str, float]:
        """As Ray is asked for it."""
        return {"CPU": self.cpus, **({"GPU": self.gpus} if self.gpus else {})}


@dataclass(frozen=True)
class Trial:
    """A recipe under a seed."""

    recipe: Recipe
    seed: int
    name: str
    """What people call it."""
    row: bool = False
    """Whether it is one of the paper's rows; those are never stopped early."""
    part: bool = False
    """Whether it trains on a part of its data, of a learning curve: nobody wants its model."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """How its model is scored."""
    saves_model: bool = True
    resources: Resources = Resources()
    rungs: RungPlan | None = None
    """Where a scheduler may stop it; None where none may."""
    averaged: tuple[str, ...] = ()
    """Keys of the trials whose models are averaged, of a soup: nothing is trained (`reports.ledger.finals`)."""
    recipe_hash: str = ""
    """The recipe's; it travels with the trial, as a worker's machine may not have the files that count in it."""

    def __post_init__(self) -> None:
        if not self.recipe_hash:
            object.__setattr__(self, "recipe_hash", self.recipe.hash)

    @property
    def stage(self) -> str:
        """In which of `reports.ledger.progress.STAGES` it runs."""
        if self.averaged or (self.part and self.seed != PART):
            return "further"
        return "finals" if is_fresh(self.seed) else "search"

    @property
    def trains(self) -> bool:
        return self.recipe.trains and not self.averaged

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)
