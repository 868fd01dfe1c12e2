"""What kind of study it is, and which of its numbers may be compared with the paper's."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.results import Difference, Results
from reports.words.guards import listed
from reports.words.markdown import code, text
from trainables.recipe import SCENES

_OTHER = {
    "encoder": "with another encoder",
    "corpus": "on other training data",
    "spans": "on other training data",
    "evaluation": "on other tests",
}
"""What a changed section of the recipe means, in words after "the paper's rows"; for others, `trained otherwise`."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write whether the setting is the paper's, else how it differs, and why the study has its scale."""
    notes = [text(note) for note in results.info.notes]
    if not results.has_paper:
        return [f"A study of rows of one's own. {_scale(results)}", Bullets(notes)]
    if results.comparable:
        levels = ", so levels may be compared with the published ones" * results.has_published
        same = f"**The paper's study.** Encoder, data and training are the paper's{levels}. {_scale(results)}"
        return [same, Bullets(notes)]
    base = results.space.baseline
    other = f"differences to the {code(base)} row" if base and results.of_row(base) else "rows with each other"
    other_keys = [_OTHER.get(item.key.partition(".")[0], "trained otherwise") for item in results.differences]
    return [
        f"**The paper's rows {listed([*dict.fromkeys(other_keys)])}**, which does not repeat the paper's setting:",
        Bullets([*(_in_words(item, results) for item in results.differences), *notes]),
        f"**So compare {other}, not levels.** {_scale(results)}",
    ]


def _scale(results: Results) -> str:
    reason = f" ({text(results.info.scale_reason)})" if results.info.scale_reason else ""
    return f"The study's scale was {code(results.info.scale)}{reason}."


def _in_words(item: Difference, results: Results) -> str:
    ours, paper = code(item.ours), code(item.paper)
    if item.key == "encoder.name":
        return f"the encoder is {ours}, the paper's is {paper}"
    if item.key == "corpus.nli":
        pairs = max((int(record.training.get("pairs") or 0) for record in results.records), default=0)
        papers = (results.space.training_pairs or 0) * results.space.base.optimisation.epochs
        steps = f" ({pairs:,} pairs seen" + (f", the paper's models saw {papers:,})" if papers else ")")
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        return f"training pairs come from {what} instead of {paper}{steps if pairs else ''}"
    if item.key == "corpus.documents":
        counts = [int(documents) for r in results.records if (documents := r.data.get("corpus", {}).get("documents"))]
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        number_of = f" ({max(counts):,} documents)" if counts else ""
        return f"training documents come from {what} instead of {paper}{number_of}"
    if item.key == "evaluation.senteval":
        return "the SentEval tasks are the built-in scenes ones, not the real data"
    if item.key == "evaluation.protocol":
        return f"SentEval's protocol is {ours}, the paper's is {paper}"
    if item.key == "optimisation.max_steps":
        return f"training stops after at most {item.ours} steps" if item.ours else "training is not cut short"
    return f"`{item.key}` is {ours}, the paper's is {paper}"
