"""Where a recipe's data lies, and what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.recipe import SCENES, Recipe

if TYPE_CHECKING:
    from trainables.corpora.nli import NLIPairs


@dataclass(frozen=True)
class Data:
    """Resolved places; `description` fills with counts and fingerprints as data is read."""

    nli: str
    limit: int | None
    senteval: Path
    description: dict[str, Any] = field(default_factory=dict)

    def load_pairs(self) -> NLIPairs:
        """The training pairs."""
        from trainables.corpora.nli import load_nli

        pairs = load_nli(self.nli, self.limit)
        self.description["nli"] = {
            "source": pairs.source,
            "pairs": len(pairs),
            "without_gold_label": pairs.dropped,
            "moved_to_their_premise": pairs.moved,
            "fingerprint": pairs.fingerprint,
        }
        return pairs


def locate(recipe: Recipe) -> Data:
    """The places that a recipe's words mean; `scenes` writes the built-in corpus on its first use."""
    senteval = Path(recipe.evaluation.senteval)
    if recipe.evaluation.senteval == SCENES:
        from trainables.corpora import scenes

        senteval = scenes.ensure() / "senteval"
    return Data(recipe.corpus.nli, recipe.corpus.limit, senteval)


def check_data(recipe: Recipe) -> None:
    """Refuse, quickly and before anything runs, data that is missing or of the wrong kind."""
    from trainables.corpora.nli import check_nli
    from trainables.senteval import check_data as check_senteval
    from trainables.senteval import task_names

    task_names(recipe.evaluation.tasks)
    if recipe.optimisation.epochs and recipe.encoder.kind == "transformer":
        check_nli(recipe.corpus.nli)
    if recipe.evaluation.senteval != SCENES:
        check_senteval(Path(recipe.evaluation.senteval), recipe.evaluation.tasks)
