"""Types of the objects in a record, with all their entries.

`trainables.typed_json` reads records by these types. Pydantic v2 is not used: it takes 0.1 s more at every start,
changes 3 into 3.0, so that a record would not be written as it was read, and could not replace our reader in its other
uses. Every entry may be absent. An entry that is not listed is from a plugin: it has the type of `__extra_items__`, or
any type without it. A missing number is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

from trainables.keys import at_least, between
from trainables.typed_json import Count

Amount = Annotated[float, at_least(0)]
Whole = Annotated[int, at_least(1)]


class TaskScores(TypedDict, total=False):
    """The numbers of a task, in percent except for ranks: `spearman_wmean`, `test_accuracy`."""

    examples: Count | list[Count | None] | None  # number of scored examples
    seconds: Amount
    reason: str | None  # why the task has no score
    __extra_items__: float | None


class RungNumbers(TypedDict):
    """The progress of a training at a rung, and its development scores by goal, in percent."""

    rung: Whole
    step: Amount
    seconds: Amount
    tokens: Amount
    scores: Annotated[dict[str, float], lambda scores: None if scores else "has no scores"]


class ChosenWeights(TypedDict, total=False):
    """The weights that a training kept. `best`: of the step with the best score, in percent, among `scored` scores.
    `average`: the mean of `steps` steps, starting with `from_step`."""

    keep: Literal["best", "average"]
    step: Whole
    score: float
    scored: Whole
    from_step: Whole
    steps: Whole


_KEPT_FIELDS = {"best": {"step", "score", "scored"}, "average": {"from_step", "steps"}}


def _whole(weights: ChosenWeights) -> str | None:
    expected = _KEPT_FIELDS.get(weights.get("keep", ""), {"keep"})
    return None if expected <= weights.keys() else "has not the steps of `best` or `average`"


def _in_order(rungs: Sequence[RungNumbers]) -> str | None:
    numbers = [rung["rung"] for rung in rungs]
    return None if numbers == sorted({*numbers}) else f"has the rungs {numbers}, which do not follow each other"


class TrainingNumbers(TypedDict, total=False):
    """Measured numbers of a training, also from plugins. A training that a scheduler may stop has `rungs`. A training
    that a scheduler or `optimisation.patience` may end has `planned_steps`, the steps of the whole training."""

    steps: Amount | None
    planned_steps: Amount
    rungs: Annotated[list[RungNumbers], _in_order]
    loss: float | None  # the mean of all steps
    last_loss: float | None
    pairs: Amount | None
    sentences: Amount | None
    tokens: Amount | None
    anchors: Amount | None
    positives_per_anchor: Amount | None
    negatives_per_anchor: Amount | None
    filtered_per_anchor: Amount | None
    judged_anchors: Amount  # this and the next three: sums, if a grammar decides which negatives are truly false
    false_negatives: Amount
    caught_false_negatives: Amount
    wrongly_masked_negatives: Amount
    batches_without_anchor: Amount | None
    seconds: Amount
    resumed_seconds: Amount  # the part of `seconds` in earlier processes
    population: Amount | None  # number of trials that trained together
    streams: Amount | None  # number of workers that drew dropout, each from its own stream; absent if none did
    chunk: Literal["passes"] | Whole | None  # division of a batch: into the encoder's passes, or by a number of tokens
    temperature: Amount  # a learned temperature after the last step
    kept: Annotated[ChosenWeights, _whole]  # if `optimisation.keep` is not `last`
    stopped: str | None  # why the training ended early
    __extra_items__: float | None


class TrialCost(TypedDict, total=False):
    """The cost of a trial. `peak_memory_mb`: peak memory of its first worker in MiB, beyond the memory before the
    trial: on the GPU if there is one, else resident (`trainables.trial.peak`). None if the system cannot measure it;
    older records have the peak of the process. `crew`: seconds of its workers since the trial before, by activity:
    `starting`, `busy` (training and encoding), `evaluating`, `waiting` (for the results to be written), `idle`."""

    seconds: Amount
    train_seconds: Amount
    evaluation_seconds: Amount
    evaluating_seconds: Amount  # the part of `evaluation_seconds` after the last embedding
    gpu_seconds: Amount | None  # a share of a GPU counts as this share
    peak_memory_mb: Amount | None
    workers: Amount
    threads: Amount  # of each worker
    crew: dict[str, Amount]
    encode_ms: Amount | None  # time per sentence in the evaluation; absent in older records, like the next
    embedding_dim: Amount | None
    __extra_items__: Amount | None


class TrialMachine(TypedDict, total=False):
    """The hardware of the trial's first worker. `device`: its GPU. `bf16`: whether the GPU computes in bf16; then the
    precision `auto` uses bf16."""

    processor: str | None
    device: str | None
    bf16: bool
    __extra_items__: str | None


class MixturePart(TypedDict):
    """One corpus of a mixture."""

    layout: str
    source: str
    fingerprint: str


class CorpusFiles(TypedDict, total=False):
    """The data files that were read, with counts; for a mixture, the share of each corpus."""

    source: str | None
    fingerprint: str | None
    layout: str | None
    pairs: Amount | None
    anchors: Amount | None  # anchors with a positive
    documents: Amount | None
    premises: dict[str, Any] | None
    parts: list[MixturePart]
    shares: list[Annotated[float, between(0, 1)]]
    __extra_items__: Annotated[Any, lambda value: at_least(0)(value) if isinstance(value, int | float) else None]


def _mixture(files: CorpusFiles) -> str | None:
    whole = files.get("layout") != "mix" or len(files.get("parts", ())) == len(files.get("shares", ())) > 0
    return None if whole else "has not the share of each of its parts"


class TrainedEncoder(TypedDict, total=False):
    """The encoder of a trial."""

    name: str | None
    fingerprint: str | None  # as loaded, without an adapter
    fresh: list[str]  # names of parameters that are not from a checkpoint
    left_out: str  # parts and settings of the base model that the encoder does not have
    saved_with: str  # parts that are left out of the scored encoder, but are in the saved model
    whole: bool  # whether the encoder is untrained and embeds as the base model does, except for lengths
    unsavable: str  # why the encoder cannot be saved as a model


class Averaged(TypedDict):
    """The source of a soup: the averaged models, and the weight of their average against the original encoder."""

    models: list[str]
    share: Annotated[float, between(0, 1)]


class Trained(TypedDict, total=False):
    """Encoder and data of a training. `widths`: scores of embeddings cut to a width of `objective.dims`, by width."""

    averaged: Averaged
    corpus: Annotated[CorpusFiles, _mixture]
    nli: CorpusFiles
    encoder: TrainedEncoder
    widths: dict[str, dict[str, TaskScores]]


class Overlap(TypedDict):
    """The number of a task's test items, and the number of these that contain a training sentence (`seen`)."""

    items: Count
    seen: Count


def _no_more_than_items(counts: Mapping[str, Overlap]) -> str | None:
    wrong = [(task, overlap) for task, overlap in counts.items() if overlap["seen"] > overlap["items"]]
    return f"has seen {wrong[0][1]['seen']} of {wrong[0][1]['items']} items of {wrong[0][0]}" if wrong else None


class Evaluated(TypedDict, total=False):
    """The data of an evaluation: the tasks' files, the sentences of the heat map, and the overlap by task."""

    senteval: CorpusFiles
    heat_map: dict[str, Any]
    overlap: Annotated[dict[str, Overlap], _no_more_than_items]


class Geometry(TypedDict, total=False):
    """The mean cosine of two sentences. Empty if the tasks have no scored pairs, or if it was not measured. Older
    records have more entries."""

    anisotropy: float | None
