"""What one trial left behind: a file of the ledger."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from reports.ledger.folders import Hash, Place, trial_key
from reports.ledger.json_files import as_recipe, read_whole
from trainables.errors import UserError
from trainables.typed_json import Count

_WHAT = "a record of a finished trial"


@dataclass(frozen=True)
class Record:
    """A recipe, a seed, every score that was measured, what it cost and what it ran on. A missing number is None.

    Averages over tasks and what a search maximises are not stored: they are functions of the scores
    (`search_spaces.averages`, `search_spaces.goals`).
    """

    recipe: dict[str, Any]
    """Flat, as it was asked for: what `objective.fidelity` sets is not written out."""
    recipe_hash: Hash
    seed: Count
    status: Literal["finished", "pruned"] = "finished"
    """`pruned`: stopped early, by a scheduler or because its loss was no number any more; it has no scores."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By SentEval task its numbers in percent: `scores["STS12"]["spearman_wmean"]`, `scores["MR"]["test_accuracy"]`.

    With them `examples` (how many were scored), `seconds`, and `reason` where the task has no score.
    """
    protocol: str = "full"
    """SentEval's protocol."""
    geometry: dict[str, Any] = field(default_factory=dict)
    """How the embeddings lie: `alignment`, `uniformity`, `anisotropy`, and `sentences`: those of which tasks. Empty
    where the tasks have no scored pairs, and in records of older versions."""
    training: dict[str, Any] = field(default_factory=dict)
    """As measured: `steps`, `loss` (mean of all steps), `last_loss`, `pairs`, `sentences`, `tokens`, `anchors`,
    `positives_per_anchor`, `negatives_per_anchor`, `batches_without_anchor`, `seconds` (`resumed_seconds` of them in
    earlier runs), `population` (how many trained together), `streams` (how many workers drew dropout, each from a
    random stream of its own; absent where nothing was drawn), `kept` (which weights, where `optimisation.keep` is not
    `last`: `{"keep": "best", "step": 250, "score": 81.2, "scored": 4}`, the score in percent, or `{"keep": "average",
    "from_step": 76, "steps": 25}`) and `stopped` (why it ended early, else None). Where a scheduler may stop it
    also `planned_steps` (of a whole training) and `rungs`, its course: `[{"rung": 1, "step": 30, "seconds": 4.1,
    "tokens": 9120, "scores": {"sts": 61.2}}, ...]`, with the development scores by goal, in percent."""
    cost: dict[str, Any] = field(default_factory=dict)
    """`seconds`, of them `train_seconds` and `evaluation_seconds`; `gpu_seconds` (a share of a GPU counts as that
    share); `peak_memory_mb`: in MiB, the most that the trial's first worker took above what its process had before it,
    of the GPU where there is one, else resident (`trainables.trial.peak`; None where the system cannot tell; older
    records have all that the process ever had); `workers`, and the `threads` of each. `crew` has the seconds of the
    trial's workers since the trial before, by what they did: `starting`, `busy` (training and encoding), `evaluating`,
    `waiting` (for the results to be written) and `idle`. Older records lack it."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of Python and packages; of this project's code and of plugins a digest."""
    hardware: str = ""
    """One line for the report: all of the cluster."""
    machine: dict[str, Any] = field(default_factory=dict)
    """What the trial's first worker computed on: `processor`, `device` (its GPU, or None) and `bf16` (whether that
    computes in bf16). Older records lack it."""
    data: dict[str, Any] = field(default_factory=dict)
    """What was read: `corpus` and `senteval`, each with `source` and `fingerprint`; `heat_map` has its sentences;
    `encoder` has `name`, `fingerprint` (of the encoder without an adapter, as loaded) and `fresh` (names of parameters
    that no checkpoint gave); `overlap` has by task `items` (how many test items) and `seen` (how many of them hold a
    sentence that stands among the training sentences). Older records lack the last two."""
    checkpoint: Place | None = None
    """The folder of the trained model, within the results folder."""
    predictions: Place | None = None
    """The file of predictions, within the results folder."""
    finished_at: str = ""
    """UTC in ISO format."""

    @property
    def ran_on(self) -> str:
        """The machine in a few words, empty where it is unknown: `no GPU, Xeon`. An older record has its cluster's
        (`1 node, 2 CPUs, no GPU (Xeon)`), of which the numbers go, or any other text, which stays as it is."""
        if self.machine:
            return f"{self.machine.get('device') or 'no GPU'}, {self.machine.get('processor')}"
        found = re.fullmatch(r"\d+ nodes?, \S+ CPUs(, no GPU|, \S+ GPUs?) \((.*)\)", self.hardware)
        return f"{'no GPU' if 'no' in found[1] else 'GPU'}, {found[2]}" if found else self.hardware

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)

    @property
    def judged(self) -> bool:
        """Whether a scheduler let it go on, or not, by its scores."""
        return bool(self.training.get("rungs"))


def mean_measured(records: Iterable[Record], name: str) -> float | None:
    """A number of `Record.training`, such as `steps`, over the records that measured it; None where none did."""
    found = [record.training.get(name) for record in records]
    values = [value for value in found if isinstance(value, int | float)]
    return fmean(values) if values else None


def read_record(path: Path) -> Record:
    """A record from its file; `UserError` that names the file, and the field, where it is none.

    Fields that this version does not know are passed over: older ones, such as stored averages, and newer ones.
    """
    record = read_whole(Record, path, _WHAT)
    if path.stem != record.key:
        raise UserError(f"{path} is not {_WHAT} (it holds the trial {record.key})")
    return dataclasses.replace(record, recipe=as_recipe(record.recipe))
