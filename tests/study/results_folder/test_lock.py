"""One study a results folder, and what ends one in a sentence: a second process, a disk that stays full."""

from __future__ import annotations

import errno
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reports.ledger.folders import LOCK
from study.engine import launch
from study.engine.cluster import Allotment, Cluster
from study.engine.launch import run_study
from study.plan import Plan
from study.results_folder.check import check_results
from study.results_folder.lock import locked
from study.trial import Resources
from tests.study import plans
from trainables.errors import UserError


def plan_of(results: Path) -> Plan:
    return plans.plan_of("--space", "scl_ablation", "--scale", "laptop", "--results", str(results))


def test_a_second_study_is_refused_until_the_first_has_ended_or_was_killed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "results")
    forked = multiprocessing.get_context("fork")
    holds = forked.Event()

    def hold() -> None:
        with locked(plan.location):
            holds.set()
            time.sleep(60)

    first = forked.Process(target=hold)
    first.start()
    try:
        assert holds.wait(60)
        sentence = rf"another study writes into .*results now \(process {first.pid} on .+\); wait until it has ended"
        with pytest.raises(UserError, match=sentence):
            run_study(plan, Cluster(False, ({"CPU": 1.0},)), Allotment(Resources(), 1))
        assert [path.name for path in plan.results.iterdir()] == [LOCK]  # it wrote nothing
    finally:
        first.kill()
        first.join()
    with locked(plan.location):
        pass


def test_a_study_that_was_killed_before_its_first_file_is_continued(tmp_path: Path) -> None:
    """What it leaves is no other study's."""
    plan = plan_of(tmp_path)
    (tmp_path / LOCK).touch()
    (tmp_path / "study.json.0123abcd.tmp").write_text('{"space": "scl_')
    check_results(plan)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UserError, match="is not empty and holds no study"):
        check_results(plan)


def test_a_file_system_that_locks_nothing_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(plan_of(tmp_path).location):
        assert "cannot be locked (No locks available): start no second study there" in capsys.readouterr().out


def test_a_disk_that_stays_full_ends_the_study_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when what the study writes last meets it again."""

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def ends(*_: Any) -> int:
        raise UserError("the results cannot be written")

    monkeypatch.setattr(launch, "save_info", full)
    monkeypatch.setattr(launch, "start_cluster", ends)
    with pytest.raises(UserError, match="cannot be written: No space left on device; make room there and run the same"):
        run_study(plan_of(tmp_path), Cluster(False, ({"CPU": 1.0},)), Allotment(Resources(), 1))
