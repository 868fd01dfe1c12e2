"""Trials as they are planned, with their keys, resources and source files.

This is the lowest module of `study`: planning, searching, scheduling and workers all import it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.ledger import is_fresh, is_soup, trial_key
from reports.ledger.finals import PART_SEED
from trainables.evaluation_config import EvaluationConfig
from trainables.plugins import run_source
from trainables.recipe import Recipe
from trainables.training.rungs import RungPlan

SOUP = "soup"


def cost_key(recipe_hash: str, seed: int) -> str:
    """Return a key that trials of about equal cost share: the seeds of a recipe, and all soups, which train nothing."""
    return SOUP if is_soup(seed) else recipe_hash


@dataclass(frozen=True)
class SourceFile:
    """A plugin or a person's space file. Workers get it as text, because their machines may not have the file."""

    what: str
    path: str
    text: str

    def run(self) -> None:
        """Run the source, at most once per process. `UserError` with the line that fails."""
        run_source(self.text, self.path, self.what)


@dataclass(frozen=True)
class Resources:
    """The resources of a trial."""

    workers: int = 1
    """Smallest number of workers."""
    most_workers: int = 1
    """Largest number of workers; equal to `workers` unless the trial is elastic."""
    cpus: int = 1
    """CPU cores of one worker."""
    gpus: float = 0.0
    """GPUs of one worker, perhaps a fraction of one."""
    hardware: str = ""
    """A line about the whole cluster, for the report."""

    @property
    def per_worker(self) -> dict[str, float]:
        """Resources of one worker, as Ray names them."""
        return {"CPU": self.cpus, **({"GPU": self.gpus} if self.gpus else {})}


@dataclass(frozen=True)
class Trial:
    """A recipe under a seed."""

    recipe: Recipe
    seed: int
    name: str
    row: bool = False
    """Whether the trial is a row; rows are never stopped early."""
    part: bool = False
    """Whether the trial trains on a part of the data (in the search or for a learning curve): its model is not kept."""
    evaluation: EvaluationConfig = EvaluationConfig()
    saves_model: bool = True
    resources: Resources = Resources()
    rungs: RungPlan | None = None
    """Rungs where a scheduler may stop the trial; None if none may."""
    averaged: tuple[str, ...] = ()
    """For a soup, the keys of the trials whose models are averaged: nothing is trained (`reports.ledger.finals`)."""
    recipe_hash: str = ""
    """The recipe's hash. It is stored, as a worker's machine may not have the files from which it is computed."""

    def __post_init__(self) -> None:
        if not self.recipe_hash:
            object.__setattr__(self, "recipe_hash", self.recipe.hash)

    @property
    def stage(self) -> str:
        """The stage in which the trial runs, one of `reports.ledger.progress.STAGES`."""
        if self.averaged or (self.part and self.seed != PART_SEED):
            return "further"
        return "finals" if is_fresh(self.seed) else "search"

    @property
    def trains(self) -> bool:
        return self.recipe.trains and not self.averaged

    @property
    def key(self) -> str:
        """The name of the trial's files."""
        return trial_key(self.recipe_hash, self.seed)
