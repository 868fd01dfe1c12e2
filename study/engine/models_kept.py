"""Which trained models a study keeps (`--keep-models`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from reports.ledger import MODELS, Record, is_fresh, is_soup
from reports.ledger.option_values import KeepModels
from search_spaces.goals import Goal, ranking_key

ModelGroup = tuple[str, Literal["own", "finals", "soups"]]
"""A recipe, and the kind of its trials. A row that is in the finals too keeps a model of each kind."""


class ModelsKept:
    """The models of a running study. The caller deletes returned models, once the new record is written."""

    def __init__(
        self, policy: KeepModels, goals: Sequence[Goal], records: Iterable[Record] = (), averages: bool = False
    ) -> None:
        """`records`: records of earlier runs of the study. Their models stay until better ones replace them.
        `averages`: models of the finals stay until soups are made of them (`after_soups`)."""
        self.policy, self.goals, self.averages = policy, goals, averages
        self._models: dict[
            str, tuple[ModelGroup, tuple[float, ...]]
        ] = {}  # by trial key; the tuple is from `ranking_key`
        for record in records:
            self._keep(record)

    def saves(self, explored: bool) -> bool:
        """Return whether a trial saves its model in the results. `explored`: the search chose its recipe."""
        return not explored if self.policy == "rows" else self.policy != "none"

    def replaced_by(self, record: Record) -> list[str]:
        """Return keys of the trials whose models this new record replaces, perhaps the new trial's own model.

        With `rows`, each recipe keeps its best seed. With a number, the models of that many best trials are kept. Of
        equally good trials the first stays.
        """
        self._keep(record)
        if record.checkpoint is None or self.policy in ("all", "none") or (self.averages and is_fresh(record.seed)):
            return []
        candidates = [
            key for key, (group, _) in self._models.items() if self.policy != "rows" or group == self._group_of(record)
        ]
        return self._dropped(candidates, self.policy if isinstance(self.policy, int) else 1)

    def after_soups(self, shipped: str | None) -> list[str]:
        """Return keys of the trials whose models are removed once all soups are made or cancelled: in the finals all
        but each recipe's best seed, and all soups but the `shipped` one."""
        if self.policy != "rows":
            return []
        groups: dict[ModelGroup, list[str]] = {}
        for key, (group, _) in self._models.items():
            groups.setdefault(group, []).append(key)
        soups = [key for (_, what), keys in groups.items() if what == "soups" for key in keys if key != shipped]
        finals = [keys for (_, what), keys in groups.items() if what == "finals"]
        return [*self._dropped(soups, 0), *(key for keys in finals for key in self._dropped(keys, 1))]

    def _dropped(self, candidates: Sequence[str], most: int) -> list[str]:
        """Keep the `most` best of these trials; forget and return the others."""
        ranked = sorted(candidates, key=lambda key: self._models[key][1], reverse=True)
        removed = ranked[most:]
        for key in removed:
            del self._models[key]
        return removed

    def _keep(self, record: Record) -> None:
        self._models.pop(record.key, None)
        if record.checkpoint is not None:
            self._models[record.key] = self._group_of(record), ranking_key(self.goals, record.scores, record.cost)

    @staticmethod
    def _group_of(record: Record) -> ModelGroup:
        if is_soup(record.seed):
            return record.recipe_hash, "soups"
        return record.recipe_hash, "finals" if is_fresh(record.seed) else "own"


def left_behind(results: Path, records: Iterable[Record]) -> list[str]:
    """Return keys of models that no record names: a study was killed before it removed them."""
    folders = {path.name for path in (results / MODELS).glob("*") if path.is_dir()}
    return [record.key for record in records if record.checkpoint is None and record.key in folders]
