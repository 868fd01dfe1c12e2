"""Scores of smaller embeddings of the model to ship, and the smallest size that is good enough.

    python -m reports size RESULTS --budget loss=0.5

All sizes are computed from the same embeddings. Development scores decide the order in which sizes are tried. Each is
then judged on test items, the largest first, until one is not shown to be within the budget. So the chance that the
chosen size breaks the budget is 5 %, however many sizes there are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.document import Block, DataTable, Picture, WrittenSection, markdown
from reports.facts.answer import Answer
from reports.facts.best_model import best_first, ranking, with_model
from reports.facts.evidence import SURE
from reports.facts.predictions import protocol_of
from reports.facts.quantity import Quantity, development_quantity, part_of
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.formats import FORMATS, Document
from reports.ledger import Record
from reports.ledger.location import ResultsLocation
from reports.ledger.names import writable_path
from reports.plots.courses import size_picture
from reports.statistics import Sample, compare
from reports.statistics.fronts import on_front
from reports.statistics.influence import group_effects
from reports.statistics.sample import pairable
from reports.words.comparisons import interval
from reports.words.markdown import DASH, code, count, number, text
from trainables.encoders import load_encoder
from trainables.encoders.contract import for_documents
from trainables.encoders.own_modules import original_config
from trainables.errors import UserError, shown
from trainables.registry import load
from trainables.senteval.evaluation import MIN_CALIBRATION_TEXTS, SentEvalResult, embed, score_embeddings
from trainables.senteval.sizes import DOCUMENTS, MILLION, SIZE_FORMATS, Sizes, Variant, blas_threads, query_ms
from trainables.senteval.tasks import TASKS, kind_of

UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
WRITTEN = ("md", "html")


@dataclass(frozen=True)
class SizeBudget:
    """The limit on the size: the largest loss in points, or the most bytes of a million vectors. The other is None."""

    loss: float | None = None
    bytes: float | None = None

    @classmethod
    def of(cls, words: str) -> SizeBudget:
        """Parse `loss=0.5` or `bytes=300MB`. Raise `UserError` for anything else."""
        parts = re.fullmatch(r"(loss|bytes)=(\d+(?:\.\d+)?)\s*([KMGT]?B)?", words.strip(), re.IGNORECASE)
        is_loss = parts is not None and parts[1].lower() == "loss"
        if parts is None or (is_loss and parts[3]) or float(parts[2]) <= 0:
            raise UserError(f"--budget {shown(words)} is none; give points as in loss=0.5, or bytes as in bytes=300MB")
        if is_loss:
            return cls(loss=float(parts[2]))
        return cls(bytes=float(parts[2]) * UNITS[(parts[3] or "B").upper()])


@dataclass(frozen=True)
class ScoredSize:
    """The scores of the model with embeddings of one size."""

    variant: Variant
    test: Sample
    dev: Sample | None
    """Development scores; None if the tasks have none."""

    @property
    def bytes(self) -> int:
        """Bytes that a million vectors of this size take."""
        return self.variant.size * MILLION

    @property
    def capacity(self) -> tuple[int, int, bool]:
        """Sort key without scores: bytes, then the width, then whether queries stay whole."""
        return self.bytes, self.variant.width, SIZE_FORMATS[self.variant.numbers].queries_whole


@dataclass(frozen=True)
class Choice:
    """The size that a budget chooses."""

    sized: ScoredSize | None
    """The chosen size; None if no smaller size is shown to be within the budget."""
    loss_bound: float
    """Upper bound, at 95 %, of that size's loss in points. Without a size: the bound of the first size tried."""


def sample_of(result: SentEvalResult, figure: Quantity) -> Sample | None:
    """Return a figure of one model as a sample with the effects of its items; None if a part of the figure is
    missing."""
    value = figure.of(result.tasks)
    if value is None:
        return None
    protocol = protocol_of(result.protocol)
    effects: dict[str, np.ndarray] = {}
    for (task, name), weight in sorted(figure.weights.items()):
        part = part_of(task, name)
        answers = result.answers.get(part)
        if answers is None:
            return None
        own = kind_of(task).effects(TASKS[task], name, answers, protocol)
        if own is not None and answers.groups is not None:
            own = group_effects(own, answers.groups)
        if own is None:
            return None
        items = f"{part} {answers.items_digest}"
        effects[items] = effects.get(items, np.zeros(len(own))) + weight * own
    return Sample(np.array([value]), (0,), True, np.concatenate([*effects.values()])[None], " ".join(effects))


def development_figure(figure: Quantity) -> Quantity | None:
    """Return the same figure on development splits; None if one of its numbers has no development score."""
    if not all(name.startswith("test_") for _, name in figure.weights):
        return None
    weights = {(task, name.replace("test_", "dev_", 1)): weight for (task, name), weight in figure.weights.items()}
    return Quantity(f"{figure.name}, development", weights)


def loss_bound(whole: Sample, smaller: Sample) -> float:
    """Return the upper bound, one-sided at 95 %, of the loss in points from `whole` to `smaller`, two samples of the
    same items.

    If no item differs, the bound is the largest share of differing items that a sample of this size may miss.
    """
    if not pairable(whole, smaller) or whole.effect is None or smaller.effect is None:
        raise ValueError("the two are not of the same items")
    gap = compare(smaller, whole)
    if gap.gain == 0 and np.array_equal(whole.effect, smaller.effect):
        return float(100 * (1 - SURE ** (1 / len(whole.effect))))
    return float(-gap.gain + (gap.error.half_width(2 * SURE) if gap.error else math.inf))


def choose_size(sizes: Sequence[ScoredSize], budget: SizeBudget) -> Choice:
    """Return the size that fits the budget. The first of `sizes` is the whole embedding."""
    whole, *smaller = sizes
    if budget.bytes is not None:
        inside = [sized for sized in sizes if sized.bytes <= budget.bytes]
        if not inside:
            least = min(sized.bytes for sized in sizes)
            raise UserError(f"--budget: no size takes so little; the smallest takes bytes={least / 1e6:g}MB")
        best = max(inside, key=lambda sized: (sized.dev.mean if sized.dev else 0.0, sized.capacity))
        return Choice(best, 0.0 if best is whole else loss_bound(whole.test, best.test))
    assert budget.loss is not None
    choice = Choice(None, 0.0)
    for sized in _candidate_sizes(smaller):
        bound = loss_bound(whole.test, sized.test)
        if bound > budget.loss:
            return choice if choice.sized else Choice(None, bound)
        choice = Choice(sized, bound)
    return choice


def _candidate_sizes(smaller: Sequence[ScoredSize]) -> list[ScoredSize]:
    """Return the sizes to judge, the largest first: those on the Pareto front of bytes and development score or,
    without development scores, those of full width, which differ in the precision of numbers alone. Of equal bytes only
    the highest `capacity` is judged."""
    if all(sized.dev for sized in smaller):
        values = np.array([[-sized.bytes, sized.dev.mean] for sized in smaller if sized.dev])
        tried = [smaller[index] for index in on_front(values)]
    else:
        widest = max(sized.variant.width for sized in smaller)
        tried = [sized for sized in smaller if sized.variant.width == widest]
    by_bytes = {sized.bytes: sized for sized in sorted(tried, key=lambda sized: sized.capacity)}
    return [*by_bytes.values()][::-1]


def write(location: ResultsLocation, budget: SizeBudget | None, formats: Sequence[str]) -> Iterator[str]:
    """Score the model in every size and write the page; yield lines for a console.

    Raise `UserError` if there is no kept model or no test figure, and for an unknown format.
    """
    if unknown := [name for name in formats if name not in WRITTEN]:
        raise UserError(f"--format {unknown[0]}: the sizes are written as {' or '.join(WRITTEN)}")
    results = Results.load(location.folder)
    if not results.figures:
        raise UserError(f"{location.shown} has no test score, so no size can be judged")
    record, figure = model_to_ship(results, location), results.figures[0]
    sizes = score_sizes(results, record, figure)
    blocks = [*blocks_of(results, record, figure, sizes, budget)]
    title = f"How small: {name_of(results, record.recipe_hash)}"
    document = Document(results, title, (WrittenSection("size", "", blocks, False),))
    yield markdown([block for block in blocks if not isinstance(block, Picture)])
    for name in formats:
        path = writable_path(results.folder, f"size.{name}")
        load(FORMATS[name].writer)(document, path)
        yield str(location.address_of(path.name))


def model_to_ship(results: Results, location: ResultsLocation) -> Record:
    """Return the trial or soup to use whose model was kept, else the next best. Raise `UserError` if none was kept."""
    answer = Answer.of(results)
    averaged = [record for record in results.soups if answer.averaged and record.checkpoint == answer.averaged]
    first = [answer.to_train.recipe] if answer.to_train else []
    recipes = dict.fromkeys([*first, *(ranked.recipe_hash for ranked in ranking(results))])
    trials = [trial for key in recipes for trial in best_first(results, results.trials_of(key))]
    record = with_model(results, [*averaged, *trials], location.fetch)
    if record is None:
        raise UserError(f"{location.shown} holds no trained model; run the study with --keep-models all")
    return record


def score_sizes(results: Results, record: Record, figure: Quantity) -> list[ScoredSize]:
    """Score every size that the tasks allow, the whole embedding first. Each text is embedded once."""
    from trainables.trial.data_requests import senteval_folder

    encoder = load_encoder(*original_config(str(results.folder / (record.checkpoint or ""))))
    own, data = for_documents(encoder), senteval_folder(results.evaluation.senteval)
    own_goals = figure == results.own_figure
    before = development_quantity(results.goals) if own_goals else development_figure(figure)
    tasks = sorted(figure.tasks | (before.tasks if before else set()))
    made = Sizes(embed(encoder.encode, data, tasks, encode_documents=own.encode if own else None), data, tasks)
    every = []
    for variant in made.variants():
        result = score_embeddings(made.resize(variant), data, tasks, results.protocol)
        test, dev = sample_of(result, figure), None if before is None else sample_of(result, before)
        if test is None:
            raise UserError(f"{figure.name} has no items on which sizes could be compared")
        every.append(ScoredSize(variant, test, dev))
    return every


def blocks_of(
    results: Results, record: Record, figure: Quantity, sizes: Sequence[ScoredSize], budget: SizeBudget | None
) -> Iterator[Block]:
    """Yield the page's blocks: the recommended size, the table of sizes and their picture."""
    whole = sizes[0]
    front = {int(index) for index in on_front(np.array([[-sized.bytes, sized.test.mean] for sized in sizes]))}
    if budget is not None:
        yield choice_in_words(choose_size(sizes, budget), budget, sizes)
    lines = []
    for index, sized in enumerate(sizes):
        gap = compare(sized.test, whole.test)
        lines.append(
            [
                f"{sized.variant.width:,}",
                text(sized.variant.numbers),
                number(sized.test.mean),
                DASH if sized is whole else interval(gap),
                megabytes(sized.bytes),
                number(query_ms(sized.variant), 1),
                "yes" if index in front else DASH,
            ]
        )
    head = ["width", "numbers", text(figure.name), "against the whole", "a million vectors", "ms a query", "front"]
    yield DataTable(head, lines, left=2)
    path = writable_path(results.folder, "pictures/size.svg")
    path.parent.mkdir(exist_ok=True)
    points = [(sized.variant.numbers, sized.bytes / 1e6, sized.test.mean, n in front) for n, sized in enumerate(sizes)]
    yield Picture(size_picture(points, figure.name, path), "Scores and bytes of every size")
    items = 0 if whole.test.effect is None else len(whole.test.effect)
    threads = count(blas_threads(), "thread")
    yield (
        f"The model is {code(record.key)}; {count(items, 'test item')}, and 95 % intervals of differences on them. "
        f"A query is held against all of {DOCUMENTS:,} random vectors by numpy, with {threads} for products of floats; "
        "the median of several. `front`: nothing that takes no more scores more. Ranges of `int8` come from texts of "
        "no test. `binary, rescored`: documents are signs; those nearest by signs are held against the whole query."
    )
    if missing := [name for name in SIZE_FORMATS if all(sized.variant.numbers != name for sized in sizes)]:
        yield (
            f"Left out: {', '.join(map(code, missing))}. Ranges need {MIN_CALIBRATION_TEXTS} texts that no test has, "
            "as in `--dev`; rescoring needs searches."
        )


def choice_in_words(choice: Choice, budget: SizeBudget, sizes: Sequence[ScoredSize]) -> str:
    """Return a sentence on the size to use, or on why none is within the budget."""
    if choice.sized is None:
        return (
            f"Nothing smaller than {megabytes(sizes[0].bytes)} a million is shown to lose at most {budget.loss:g} "
            f"points; the largest that was judged may lose up to {choice.loss_bound:.2f}."
        )
    how = "its loss is at most" if choice.loss_bound > 0 else "it loses nothing that shows, at most"
    return (
        f"**Take {choice.sized.variant.width:,} numbers as {choice.sized.variant.numbers}**: "
        f"{megabytes(choice.sized.bytes)} a million vectors; {how} {max(0.0, choice.loss_bound):.2f} points (95 %)."
    )


def megabytes(size: float) -> str:
    """Return a number of bytes in words: `1,536 MB`."""
    return f"{size / 1e6:,.0f} MB"
