"""The layout of labelled texts: texts of one label are positives of each other, texts of other labels negatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trainables.corpora.batch import Sampler
from trainables.corpora.layouts.valued_texts import TableLayout, ValuedRows
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import SameLabelSampler
from trainables.corpora.tables import OpenTable, Record
from trainables.errors import UserError
from trainables.keys import at_least, key
from trainables.tabular import as_label
from trainables.text_lines import numbered_lines


@dataclass(frozen=True)
class SameLabelLayout(TableLayout):
    """Units of `each` texts with one label (Khosla 2020).

    Units of one label in a batch are one group, so no text is a negative of a text with its label. The group's first
    text is its anchor; objective.contrast=all makes each text an anchor.
    """

    name = "same_label"
    meaning = "groups of texts with one label (Khosla 2020)"
    groups_are_classes = True
    roles = MappingProxyType({"sentence": ("sentence",), "label": ("label",)})

    each: int = key(
        2, "How many texts of one label stand together.", at_least(2), label="texts of a label", search=(2, 4, 8)
    )

    def value(self, cell: Any, where: str) -> str | None:
        return as_label(cell, where)

    def scenes(self, folder: Path) -> OpenTable:
        """Return TREC's questions, labelled with their classes."""
        file = folder / "downstream" / "TREC" / "train_5500.label"

        def read(columns: Sequence[str]) -> Iterator[tuple[str, Record]]:
            for at, line in numbered_lines(file):
                label, _, text = line.partition(" ")
                yield f"{file}, line {at}", {"label": label, "sentence": text}

        return OpenTable(str(file), ("sentence", "label"), f"{file}, line 1", read)

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        where = f"corpus.nli={self.nli!r}"
        if len(set(rows.values)) == 1:
            raise UserError(f"{where}: all labels are {rows.values[0]!r}, so there are no negatives")
        units = SameLabelSampler.units_of(list(Counter(rows.values).values()), self.each)
        if units == 0:
            raise UserError(f"{where}: no label has two texts, so there are no positives")
        check_batch_size(request.batch_size, units, where, f"{units} groups of {self.each} texts of one label")

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        texts = [text for (text,) in rows.texts]
        sampler = SameLabelSampler(texts, rows.values, request.batch_size, request.seed, self.each)
        return sampler, {"texts": len(texts), "labels": len(set(rows.values)), **sampler.counts}
