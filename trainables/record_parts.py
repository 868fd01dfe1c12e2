"""What the objects in a record hold: the one place that names their entries.

`trainables.typed_json` reads them by these types. It is not pydantic v2: that would take 0.1 s more at every start,
turn 3 into 3.0, so that a record is not written as it was read, and leave our reader in place for whatever else it
reads. Every entry may be absent, and one that is not named here is a plugin's: it is of the type of `__extra_items__`,
else of any type. A number that may be missing is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

from trainables.keys import at_least, between
from trainables.typed_json import Count

Amount = Annotated[float, at_least(0)]
Whole = Annotated[int, at_least(1)]


class TaskScores(TypedDict, total=False):
    """The numbers of a task, in percent but for ranks: `spearman_wmean`, `test_accuracy`."""

    examples: Count | list[Count | None] | None  # how many were scored
    seconds: Amount
    reason: str | None  # why the task has no score
    __extra_items__: float | None


class RungNumbers(TypedDict):
    """How far a training was when a scheduler could stop it, with its development scores by goal, in percent."""

    rung: Whole
    step: Amount
    seconds: Amount
    tokens: Amount
    scores: Annotated[dict[str, float], lambda scores: None if scores else "has no scores"]


class ChosenWeights(TypedDict, total=False):
    """Which weights: `best`, of the step with the best score, in percent, of so many scored; or `average`, the mean of
    so many steps."""

    keep: Literal["best", "average"]
    step: Whole
    score: float
    scored: Whole
    from_step: Whole
    steps: Whole


_OF_KEPT = {"best": {"step", "score", "scored"}, "average": {"from_step", "steps"}}


def _whole(weights: ChosenWeights) -> str | None:
    expected = _OF_KEPT.get(weights.get("keep", ""), {"keep"})
    return None if expected <= weights.keys() else "has not the steps of `best` or `average`"


def _in_order(rungs: Sequence[RungNumbers]) -> str | None:
    numbers = [rung["rung"] for rung in rungs]
    return None if numbers == sorted({*numbers}) else f"has the rungs {numbers}, which do not follow each other"


class TrainingNumbers(TypedDict, total=False):
    """As measured, and what a plugin sums up. A training that a scheduler may stop has `rungs`, its course. One that
    it may stop, or that `optimisation.patience` may end, has `planned_steps`, those of a whole training."""

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
    judged_anchors: Amount  # this and three sums more, where a grammar knows which negatives are truly false
    false_negatives: Amount
    caught_false_negatives: Amount
    wrongly_masked_negatives: Amount
    batches_without_anchor: Amount | None
    seconds: Amount
    resumed_seconds: Amount  # those of `seconds` in earlier runs
    population: Amount | None  # how many trained together
    streams: Amount | None  # how many workers drew dropout, each from a stream of its own; absent where none did
    chunk: Literal["passes"] | Whole | None  # how a batch was divided: into passes, or by so many tokens
    temperature: Amount  # a learned one, after the last step
    kept: Annotated[ChosenWeights, _whole]  # where `optimisation.keep` is not `last`
    stopped: str | None  # why it ended early
    __extra_items__: float | None


class TrialCost(TypedDict, total=False):
    """What a trial took. `peak_memory_mb`: in MiB, the most that its first worker took above what it had before, of the
    GPU where there is one, else resident (`trainables.trial.peak`); None where the system cannot tell; older records
    have all that the process ever had. `crew`: the seconds of its workers since the trial before, by what they
    did: `starting`, `busy` (training and encoding), `evaluating`, `waiting` (for the results to be written), `idle`."""

    seconds: Amount
    train_seconds: Amount
    evaluation_seconds: Amount
    evaluating_seconds: Amount  # those of `evaluation_seconds` after the last embedding
    gpu_seconds: Amount | None  # a share of a GPU counts as that share
    peak_memory_mb: Amount | None
    workers: Amount
    threads: Amount  # of each worker
    crew: dict[str, Amount]
    encode_ms: Amount | None  # what the evaluation took to encode a sentence; older records lack it, and the next one
    embedding_dim: Amount | None
    __extra_items__: Amount | None


class TrialMachine(TypedDict, total=False):
    """What the trial's first worker computed on: `device` is its GPU, and `bf16` whether that computes in bf16, as a
    precision of `auto` then does."""

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
    """Files that were read, with what was counted in them; of a mixture, the share of each of its corpora."""

    source: str | None
    fingerprint: str | None
    layout: str | None
    pairs: Amount | None
    anchors: Amount | None  # those with a positive
    documents: Amount | None
    premises: dict[str, Any] | None
    parts: list[MixturePart]
    shares: list[Annotated[float, between(0, 1)]]
    __extra_items__: Annotated[Any, lambda value: at_least(0)(value) if isinstance(value, int | float) else None]


def _mixture(files: CorpusFiles) -> str | None:
    whole = files.get("layout") != "mix" or len(files.get("parts", ())) == len(files.get("shares", ())) > 0
    return None if whole else "has not the share of each of its parts"


class TrainedEncoder(TypedDict, total=False):
    """The encoder that was trained."""

    name: str | None
    fingerprint: str | None  # without an adapter, as loaded
    fresh: list[str]  # names of parameters that no checkpoint gave
    left_out: str  # what the model that it starts from has beside it
    saved_with: str  # what of that the saved model has again
    whole: bool  # it is untrained, and else as the model is
    unsavable: str  # why no model of it can be saved


class Averaged(TypedDict):
    """Of a soup: the trials whose models are averaged, and how much of their training it has."""

    models: list[str]
    share: Annotated[float, between(0, 1)]


class Trained(TypedDict, total=False):
    """What training read. `widths`: by width of `objective.dims` the scores of embeddings that were cut there."""

    averaged: Averaged
    corpus: Annotated[CorpusFiles, _mixture]
    nli: CorpusFiles
    encoder: TrainedEncoder
    widths: dict[str, dict[str, TaskScores]]


class Overlap(TypedDict):
    """How many test items a task has, and how many of them hold a sentence that stands among the training sentences."""

    items: Count
    seen: Count


def _no_more_than_items(counts: Mapping[str, Overlap]) -> str | None:
    wrong = [(task, overlap) for task, overlap in counts.items() if overlap["seen"] > overlap["items"]]
    return f"has seen {wrong[0][1]['seen']} of {wrong[0][1]['items']} items of {wrong[0][0]}" if wrong else None


class Evaluated(TypedDict, total=False):
    """What an evaluation read: the tasks' files, the sentences of the heat map, and by task the overlap."""

    senteval: CorpusFiles
    heat_map: dict[str, Any]
    overlap: Annotated[dict[str, Overlap], _no_more_than_items]


class Geometry(TypedDict, total=False):
    """The mean cosine of two sentences. Empty where the tasks have no scored pairs, and where nobody measured it. Older
    records hold more."""

    anisotropy: float | None
