"""Cosines of a few sentences before and after training (SupMPN, Figure 2), from the stored predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.document import Block, Bullets, DataTable, Picture
from reports.facts.best_model import ranking
from reports.facts.results import Results
from reports.ledger import Record
from reports.plots.cosine_panels import heat_map_picture
from reports.statistics import Measured
from reports.words.markdown import code, spread, text
from trainables.arrays import arrays_in, read_content
from trainables.errors import UserError

TOPICS = "topics"
"""Value of `evaluation.heat_map` for four topics of three sentences: an anchor, one that agrees, one that does not."""
MAX_SENTENCE_LENGTH = 60
"""Characters of a sentence that fit beside an axis of the picture; the rest is cut."""
WHEN = {"before": "before training", "after": "after training"}


@dataclass(frozen=True)
class HeatMap:
    """Cosines of the sentences under one row: for each seed the arrays `before` and `after` training, if stored, of
    shape (sentences, sentences)."""

    label: str
    recipe_hash: str
    seeds: list[dict[str, np.ndarray]]


def write(results: Results, pictures: Path) -> list[Block]:
    """Draw the cosines of the baseline and the best row; write every row's cosines of topics. Empty without cosines."""
    records = [record for label in results.asked_rows for record in results.of_row(label)]
    sentences = next((listed for record in records if (listed := _sentences(record))), [])
    if not sentences:
        return []
    maps = [heat_map for label in results.asked_rows if (heat_map := _read(results, label, sentences)) is not None]
    if not maps:
        return ["The stored cosines are gone: the trials' prediction files are not in the results folder."]
    maps = [item for item in maps if not results.is_untrained(item.label)] or maps
    first = next((item for item in maps if item.label == results.space.baseline), maps[0])
    ranked = [item for recipe in ranking(results) for item in maps if item.recipe_hash == recipe.recipe_hash]
    best = next(iter(ranked), maps[0])
    shown = list({item.label: item for item in (first, best)}.values())
    topics = results.evaluation.heat_map == TOPICS
    names = [f"{1 + n // 3}{'abc'[n % 3]}" if topics else f"{n + 1}" for n in range(len(sentences))]
    labels = [f"{name}  {_short(sentence)}" for name, sentence in zip(names, sentences, strict=True)]
    path = heat_map_picture(_panels(shown), labels, pictures / "heat-map.svg")
    of_best = f" and {code(best.label)}, the best row by what the study looked for" if best.label != first.label else ""
    blocks: list[Block] = [
        f"Cosines of {len(sentences)} sentences under {code(first.label)}{of_best}; of several seeds the first is "
        "drawn.",
        Picture(path, "Cosines before and after training"),
    ]
    if topics:
        blocks += [
            "In each topic, b agrees with the anchor a, and c does not. In the first two topics that is plain; in the "
            "last two, c shares most words with a, and b few.",
            _table(maps),
        ]
    if any(len(sentence) > MAX_SENTENCE_LENGTH for sentence in sentences):
        blocks.append(Bullets([f"{name}: {text(sentence)}" for name, sentence in zip(names, sentences, strict=True)]))
    return blocks


def _sentences(record: Record) -> list[str]:
    return list(record.data_read.get("heat_map", {}).get("sentences", []))


def _read(results: Results, label: str, sentences: list[str]) -> HeatMap | None:
    """Return a row's cosines of these sentences; None if no trial of the row has them."""
    records = [record for record in results.of_row(label) if _sentences(record) == sentences]
    seeds = [arrays for record in records if (arrays := _arrays(results, record, len(sentences)))]
    return HeatMap(label, records[0].recipe_hash, seeds) if seeds else None


def _arrays(results: Results, record: Record, size: int) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for path in filter(Path.is_file, (results.folder / file for file in record.predictions)):
        try:
            stored = arrays_in(read_content(path))
        except ValueError as error:
            raise UserError(f"{path} is not a file of a trial's predictions ({error})") from None
        arrays |= {name: stored[f"heat_map.{name}"] for name in WHEN if f"heat_map.{name}" in stored}
        for name, values in arrays.items():
            if values.shape != (size, size):
                raise UserError(f"{path}: heat_map.{name} has shape {values.shape}, not that of {size} sentences")
    return arrays


def _panels(shown: list[HeatMap]) -> list[tuple[str, np.ndarray]]:
    """Return title and cosines of each panel, for first seeds. Equal encoders before training share one panel."""
    panels: list[tuple[str, np.ndarray]] = []
    for when, words in WHEN.items():
        for item in shown:
            values = item.seeds[0].get(when)
            if values is None:
                continue
            if when == "before" and any((values == other).all() for _, other in panels):
                panels = [(words, other) for _, other in panels]
            else:
                panels.append((f"{item.label}, {words}", values))
    return panels


def _table(maps: list[HeatMap]) -> DataTable:
    """Return the topics' cosines, means over seeds. Rows with equal cosines before training share one line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for when, words in WHEN.items():
        for item in maps:
            cosines = [_pairs(arrays[when]) for arrays in item.seeds if when in arrays]
            if cosines:
                figures = tuple(spread(Measured.of(values)) for values in zip(*cosines, strict=True))
                lines.setdefault((words, *figures), []).append(item.label)
    head = ["Mean cosine", "", "anchor and agreeing", "anchor and disagreeing", "across topics"]
    rows = [[text(names[0]) if len(names) < 2 else f"{len(names)} rows", *cells] for cells, names in lines.items()]
    return DataTable([*head, "topics with the agreeing one closer"], rows, left=2)


def _pairs(values: np.ndarray) -> tuple[float, float, float, float]:
    """Return mean cosines: of anchors with the agreeing sentences, of anchors with the disagreeing ones, and across
    topics. Return also the number of topics in which the agreeing sentence is closer."""
    anchors = np.arange(0, len(values), 3)
    agreeing, other = values[anchors, anchors + 1], values[anchors, anchors + 2]
    topic = np.arange(len(values)) // 3
    across = values[topic[:, None] != topic]
    return float(agreeing.mean()), float(other.mean()), float(across.mean()), float((agreeing > other).sum())


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE_LENGTH else sentence[: MAX_SENTENCE_LENGTH - 1].rstrip() + "…"
