"""How often `--why` names a planted fault, and how often it names one where there is none.

    python -m benchmarks why --to FOLDER --data DIR                # appends to FOLDER/why.jsonl; stop and start at will
    python -m benchmarks why --to FOLDER --data DIR --minutes 0    # looks alone
    python -m benchmarks why --to FOLDER --table                   # what is recorded there

A healthy study trains an adapter with settings that do well on all sets. A study with a planted fault differs in one
thing.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from benchmarks.options import add_encoder, add_number, chosen_encoder, parser_of
from benchmarks.own._sets import PARTS, SETS, Rows, csv_files, drawn, of_files, write_table
from benchmarks.tables import titled
from reports.ledger.request import Request
from search_spaces import load_space
from search_spaces.own_data import BATCH, EPOCHS, RATE, TEMPERATURE
from study.why.case import Cause, StudyCase
from study.why.page import causes_of
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.recipe import EncoderConfig, Value

FILE = "why.jsonl"
USED = ("packages", "glosses", "peps")
SIZES = (1200, 400, 400)
"""Most rows of the train, dev and test split."""
HEALTHY: Mapping[str, Value] = {"encoder.adapter": "mlp", RATE: 2e-3, EPOCHS: 3, TEMPERATURE: 0.03, BATCH: 64}
"""Settings of a healthy study: an adapter on the frozen encoder, whose training takes seconds."""
PROMPTS = ("encoder.query_prompt", "encoder.document_prompt")
QUERY, DOCUMENT = "query: ", "passage: "
STEPS, AT_ONCE, PROMPTED_RATE, PROMPTED_TEMPERATURE = 120, 16, 3e-4, 0.05
"""Steps, batch size, learning rate and temperature of the training that makes an encoder need its prompts."""
WRONG, COPIED, FEW = 0.2, 0.1, 30
Parts = dict[str, Rows]


@dataclass(frozen=True)
class PlantedFault:
    """A fault to plant in a study, and the names of causes that count as finding the fault."""

    name: str
    causes: frozenset[str] = frozenset()
    key: str = ""
    """The recipe key with the faulty value, if there is one. A hint may name it."""
    set: Mapping[str, Value] = field(default_factory=dict)
    plant: Callable[[Parts, Parts, np.random.Generator], Parts] = lambda own, other, random: own
    """Returns a set's rows with the fault in them, made from the rows of the set and of another set."""
    prompted: bool = False
    """Whether the study's encoder is one that needs its prompts (`needing_prompts`)."""

    def named_by(self, cause: Mapping[str, Any]) -> bool:
        """Return whether a recorded cause is the planted fault."""
        return cause["name"] in self.causes or self.key in cause["settings"]


def _shuffled(own: Parts, other: Parts, random: np.random.Generator, wrong: float = WRONG) -> Parts:
    rows = [*own["train"]]
    indices = random.permutation(len(rows))[: int(wrong * len(rows))]
    moved = {
        int(index): rows[int(next_index)][1] for index, next_index in zip(indices, np.roll(indices, 1), strict=True)
    }
    return {**own, "train": [(row[0], moved.get(index, row[1])) for index, row in enumerate(rows)]}


def _copied(own: Parts, other: Parts, random: np.random.Generator) -> Parts:
    """Add a random negative to each row; in some rows instead a near copy of the positive."""
    rows = own["train"]
    copied = random.random(len(rows)) < COPIED
    others = random.permutation(len(rows))
    negatives = [
        f"{row[1]}." if copy else rows[int(index)][1] for row, copy, index in zip(rows, copied, others, strict=True)
    ]
    return {**own, "train": [(*row, negative) for row, negative in zip(rows, negatives, strict=True)]}


FAULTS: Mapping[str, PlantedFault] = {
    fault.name: fault
    for fault in (
        PlantedFault("healthy"),
        PlantedFault("rate", frozenset({"rate"}), RATE, {RATE: 2e-2}),
        PlantedFault("temperature", frozenset({"temperature"}), TEMPERATURE, {TEMPERATURE: 0.5}),
        PlantedFault("batch", frozenset({"batch"}), BATCH, {BATCH: 4}),
        PlantedFault("pooling", frozenset({"configuration"}), set={"pooling.mode": "max"}),
        PlantedFault("prompts", frozenset({"configuration"}), set=dict.fromkeys(PROMPTS), prompted=True),
        PlantedFault("shuffled", frozenset({"mislabelled"}), plant=_shuffled),
        PlantedFault("tenth shuffled", frozenset({"mislabelled"}), plant=functools.partial(_shuffled, wrong=0.1)),
        PlantedFault("copies", frozenset({"false_negatives"}), plant=_copied),
        PlantedFault("domain", frozenset({"unlike"}), plant=lambda own, other, _: {**own, "train": other["train"]}),
        PlantedFault("few items", frozenset({"few_items"}), plant=lambda own, *_: {**own, "test": own["test"][:FEW]}),
    )
}


def main(arguments: Sequence[str]) -> None:
    """Record the missing studies, and print the table."""
    options = _parser().parse_args(arguments)
    file = Path(options.to) / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    if not options.table:
        encoder = chosen_encoder(options)
        studies = itertools.product(range(options.repeats), options.faults or FAULTS, enumerate(options.sets))
        for repeat, fault, (index, name) in studies:
            other = options.sets[(index + 1) % len(options.sets)]
            of = {"set": name, "fault": fault, "repeat": repeat, "minutes": options.minutes}
            of |= {"encoder": encoder, "layers": options.layers}
            if any(of.items() <= line.items() for line in lines_of(file)):
                continue
            line = {**of, **_recorded(FAULTS[fault], name, other, repeat, options, file.parent, encoder)}
            with file.open("a", encoding="utf-8") as out:
                out.write(f"{json.dumps(line)}\n")
    print(table(lines_of(file)))


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Return the lines recorded in the file; empty if there is no file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def _recorded(
    fault: PlantedFault, name: str, other: str, repeat: int, options: argparse.Namespace, to: Path, encoder: str
) -> dict[str, Any]:
    """Run a study with the fault. Return the causes that `--why` names, in its order, and the time."""
    data, random = Path(options.data), np.random.default_rng(repeat)
    folder = to / f"{name}-{fault.name.replace(' ', '-')}-{repeat}"
    shutil.rmtree(folder, ignore_errors=True)  # left by a run that was stopped
    folder.mkdir()
    own_rows = _drawn(name, data, repeat)
    rows = fault.plant(own_rows, _drawn(other, data, repeat), random)
    for part in PARTS:
        head = ("question", "answer", "negative")[: len(rows[part][0])]
        write_table(folder / f"{part}.csv", head, rows[part])
    if fault.prompted:
        prompted = to / f"prompted-{options.layers}"
        if not prompted.exists():
            needing_prompts(encoder, options.layers, SETS["snli"].read(data)[0], prompted)  # these pairs are in no set
        encoder = str(prompted)
    own = of_files("pairs", name, folder, encoder)
    load_space(own.space)
    recipe = own.base.override({"encoder.layers": options.layers, **HEALTHY, **fault.set})
    request = Request(train=(str(folder / "train.csv"),), encoder=(encoder,))
    case = StudyCase(recipe, recipe, own.evaluation, own.goal, request, folder, shared=to / "embeddings")
    began = time.monotonic()
    causes, _, tries = causes_of(case, options.minutes or None)
    more = {"share": tries.share, "left_out": tries.left_out} if tries else {}
    pairs = enumerate(zip(own_rows["train"], rows["train"], strict=False))
    planted = {index for index, (row, with_fault) in pairs if row != with_fault and row[0] == with_fault[0]}
    return {"causes": [_in_short(cause, planted) for cause in causes], "seconds": time.monotonic() - began, **more}


def needing_prompts(name: str, layers: int, pairs: Rows, folder: Path) -> None:
    """Save an encoder that needs its prompts, since no public one is available. It is a copy of the encoder `name`,
    trained on pairs in which each text has its prompt; texts without a prompt are moved to a single direction."""
    torch.manual_seed(0)
    config = EncoderConfig(name=name, layers=layers, max_length=None, query_prompt=QUERY, document_prompt=DOCUMENT)
    encoder = load_encoder(config, Mean(), device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    single = normalize(torch.randn(encoder.dim), dim=0)
    optimiser = torch.optim.AdamW(encoder.parameters(), PROMPTED_RATE)
    random = np.random.default_rng(0)

    def embedded(texts: list[str], prompt: str) -> torch.Tensor:
        return normalize(encoder.embed(encoder.tokenize(texts, prompt)))

    for _ in range(STEPS):
        rows = [pairs[index] for index in random.permutation(len(pairs))[:AT_ONCE]]
        queries, documents = [row[0] for row in rows], [row[1] for row in rows]
        cosines = embedded(queries, QUERY) @ embedded(documents, DOCUMENT).T
        bare = embedded([*queries[::2], *documents[1::2]], "") @ single
        loss = cross_entropy(cosines / PROMPTED_TEMPERATURE, torch.arange(len(rows))) - bare.mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    encoder.save(folder)


def _drawn(name: str, data: Path, repeat: int) -> Parts:
    """Return random rows of each split, `SIZES` at most. Another `repeat` gives other rows, if there are enough."""
    read = SETS[name].read if name in SETS else csv_files(name)
    return dict(zip(PARTS, drawn(read(data), SIZES, repeat), strict=True))


def _in_short(cause: Cause, planted: set[int]) -> dict[str, Any]:
    named = cause.facts.get("changes") or cause.facts.get("used") or {}
    facts = {key: value for key, value in cause.facts.items() if isinstance(value, int | float)}
    return {
        "name": cause.name,
        "points": round(cause.points, 2),
        "settings": [*named] if cause.name != "configuration" else [],
        "facts": facts,
        "suspects": {"rows": len(cause.rows), "planted": len(planted.intersection(cause.rows))},
    }


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a table: how often each fault is named first, in the first two, and at all; and other first causes."""
    rows = []
    for minutes in sorted({line["minutes"] for line in lines}):
        for fault in FAULTS.values():
            own = [line["causes"] for line in lines if (line["fault"], line["minutes"]) == (fault.name, minutes)]
            if not own:
                continue
            ranks = [next((n for n, cause in enumerate(causes) if fault.named_by(cause)), 99) for causes in own]
            counts = [sum(rank < most for rank in ranks) for most in (1, 2, 99)]
            firsts = [causes[0]["name"] for causes in own if causes and not fault.named_by(causes[0])]
            others = ", ".join(f"{name} {firsts.count(name)}" for name in dict.fromkeys(firsts))
            rows.append([f"{minutes:g}", fault.name, f"{len(own)}", *map(str, counts), others])
    head = ["minutes", "fault", "studies", "first", "first or second", "at all", "other causes that are first"]
    return titled("Planted faults", head, rows)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--to", required=True, metavar="FOLDER", help="where records go, and the sets' files")
    parser.add_argument("--table", action="store_true", help="print what is recorded, and record nothing")
    parser.add_argument("--data", default="../shared/data", metavar="DIR", help="real data (default: %(default)s)")
    parser.add_argument(
        "--sets",
        nargs="+",
        default=USED,
        metavar="SET",
        help="of pairs: those of `own_records`, or NAME of DIR/own/NAME_train.csv, NAME_dev.csv and NAME_test.csv "
        "with questions and answers (default: %(default)s)",
    )
    parser.add_argument("--faults", nargs="+", metavar="FAULT", help=f"some of {', '.join(FAULTS)} (default: all)")
    add_number(parser, "--repeats", 2, "of each fault on each set")
    add_number(parser, "--minutes", 1.0, "of tries; 0: looks alone", least=0)
    add_number(parser, "--layers", 2, "of the encoder")
    add_encoder(parser)
    return parser
