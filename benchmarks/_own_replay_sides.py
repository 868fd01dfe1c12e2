"""What proposes recipes in a replay: the portfolio of the other sets, and Optuna's samplers or our own.

Whatever a sampler asks for becomes the nearest recorded recipe that was not tried, and the sampler is told that it
asked for that one.
"""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import TrialState

from benchmarks._own_replay_table import Replayed
from study.search.ask_tell import AskTell, memory_study


class Proposer:
    """Proposes recorded recipes, each once."""

    def __init__(
        self,
        table: Replayed,
        sampler: BaseSampler,
        *,
        conditional: bool = True,
        pruner: BasePruner | None = None,
        first: Sequence[int] = (),
    ) -> None:
        """`first`: numbers of the recipes that come first. `conditional` as of `SamplerEntry`."""
        self.study = memory_study(sampler)
        self.study.pruner = pruner or optuna.pruners.NopPruner()
        self.table = table
        self.ask_tell = AskTell(self.study, table.space_base, table.domains, conditional=conditional)
        self.first = [table.numbers.index(number) for number in first if number in table.numbers]
        self.tried: set[int] = set()
        self._sampler = sampler

    def has_more(self) -> bool:
        return len(self.tried) < len(self.table.recipes)

    def ask(self) -> tuple[optuna.Trial, int]:
        """Optuna's trial, and the place of its recipe."""
        place = next((one for one in self.first if one not in self.tried), None)
        if place is None:
            draw, chosen = self.ask_tell.draw()
            self.study.tell(draw, state=TrialState.FAIL)
            place = self.table.nearest(chosen, self.tried)
        self.tried.add(place)
        self.ask_tell.enqueue(self.table.points[place])
        self.study.sampler = RandomSampler(0)  # all is chosen, and nothing is to be thought about
        trial, _ = self.ask_tell.ask()
        self.study.sampler = self._sampler
        return trial, place

    def tell(self, trial: optuna.Trial, score: float | None) -> None:
        """None: it failed."""
        self.study.tell(trial, score, state=TrialState.FAIL if score is None else TrialState.COMPLETE)

    def stop(self, trial: optuna.Trial) -> None:
        """It was pruned."""
        self.study.tell(trial, state=TrialState.PRUNED)

    def add(self, place: int, score: float) -> None:
        """A recipe that ran without having been asked for."""
        self.tried.add(place)
        self.ask_tell.add(self.table.points[place], [score])
