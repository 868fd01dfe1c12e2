"""Facts are numbers, names and hashes; their words are made where they are printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reports.facts.answer import Answer
from reports.facts.findings import Findings
from reports.facts.guards import Flag
from reports.ledger import LEDGER, StudyInfo
from tests.facts import sentences
from tests.guarded import AUGMENT, BASELINE, LAMBDA, SCL, clean_study, load, put, rename, rewrite, score
from tests.reports.facts.guards.test_guards import copy_trial


def test_what_a_study_shows_holds_no_sentence(tmp_path: Path) -> None:
    """Of a study in which most guards find something."""
    folder = clean_study(tmp_path / "results")
    rename(folder, SCL, objective__positives=2)
    rewrite(folder, put(training={"positives_per_anchor": 1.08, "filtered_per_anchor": 9, "negatives_per_anchor": 0.5}))
    overlap = {task: {"items": 1000, "seen": 30} for task in ("STS12", "MR")}
    fresh = {"encoder": {"name": "e", "fingerprint": "beef", "fresh": ["backbone.pooler.weight"]}}
    rewrite(folder, put(training={"steps": 204, "tokens": 1}, data={"overlap": overlap, **fresh}), SCL)
    rewrite(folder, put(versions={"torch": "1"}, hardware="1 node, 2 CPUs, no GPU (Xeon)"), LAMBDA, seed=1)
    rewrite(folder, score("STS12", examples=3108), AUGMENT)
    rewrite(folder, score("MR", test_accuracy=99.0), AUGMENT, seed=1)
    rewrite(folder, put(geometry={"anisotropy": 0.999}), BASELINE, seed=2)
    copy_trial(folder, (LAMBDA, 2), (LAMBDA, 3))
    copy_trial(folder, (LAMBDA, 2), (AUGMENT, 2))
    (folder / LEDGER / f"{StudyInfo.load(folder).row_hashes[BASELINE]}-3.json").unlink()
    for path in (folder / "predictions").glob(f"{StudyInfo.load(folder).row_hashes[SCL]}-*.npz"):
        with np.load(path) as file:
            np.savez(path, **{**file, "MRPC": np.ones_like(file["MRPC"])})
    findings = Findings.of(load(folder))
    assert len({flag.guard for flag in findings.flags}) >= 12
    assert sentences(findings) == sentences(Answer.of(load(folder))) == []


def test_a_sentence_is_seen() -> None:
    flag = Flag("mine", "strange", frozenset(), facts={"why": "it ran elsewhere, on another day"})
    assert sentences(Answer("open", warnings=(flag,))) == [f"Answer.warnings.Flag.facts.why: {flag.facts['why']}"]
