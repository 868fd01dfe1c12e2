"""The first lines: which scale and why, and what may be compared with the paper."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import bullets, code
from reports.results import Difference, Results
from trainables.recipe import SCENES


def write(results: Results, pictures: Path) -> str:
    """The scale and its reason; where the setting is not the paper's, in what it differs."""
    reason = f" ({results.info.scale_reason})" if results.info.scale_reason else ""
    said = [f"**Scale: {results.info.scale}**{reason}."]
    if not results.has_paper:
        return "\n\n".join([*said, *([bullets(results.info.notes)] if results.info.notes else [])])
    if results.comparable:
        levels = ", so levels may be compared with the published ones" * results.has_published
        said.append(f"Encoder, data and training are the paper's{levels}.")
    else:
        base = results.space.baseline
        other = f"differences to the `{base}` row" if base and results.of_row(base) else "rows with each other"
        said.append("This study does not repeat the paper's setting:")
        said.append(bullets([*(_in_words(item, results) for item in results.differences), *results.info.notes]))
        said.append(f"**So compare {other}, not levels.**")
    return "\n\n".join(said)


def _in_words(item: Difference, results: Results) -> str:
    """One difference as a list item."""
    ours, paper = code(item.ours), code(item.paper)
    if item.key == "encoder.name":
        return f"the encoder is {ours}, the paper's is {paper}"
    if item.key == "corpus.nli":
        seen = max((int(record.training.get("pairs") or 0) for record in results.records), default=0)
        papers = (results.space.training_pairs or 0) * results.space.base.optimisation.epochs
        steps = f" ({seen:,} pairs seen" + (f", the paper's models saw {papers:,})" if papers else ")")
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        return f"training pairs come from {what} instead of {paper}{steps if seen else ''}"
    if item.key == "corpus.documents":
        counts = [int(found) for r in results.records if (found := r.data.get("corpus", {}).get("documents"))]
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        number_of = f" ({max(counts):,} documents)" if counts else ""
        return f"training documents come from {what} instead of {paper}{number_of}"
    if item.key == "evaluation.senteval":
        return "the SentEval tasks are the built-in scenes ones, not the real data"
    if item.key == "evaluation.protocol":
        return f"SentEval's protocol is {ours}, the paper's is {paper}"
    if item.key == "optimisation.max_steps":
        return f"training stops after {item.ours} steps" if item.ours else "training is not cut short"
    return f"`{item.key}` is {ours}, the paper's is {paper}"
