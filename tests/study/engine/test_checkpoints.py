"""A training's last two checkpoints: what is damaged is passed over, and what is there is never half a checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from study.engine.checkpoints import DIGESTS, TaskCheckpoints, checkpoint_folders

KEY = "0123456789ab-0"


class Folder:
    """A transport into a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def send(self, folder: Path, name: str) -> None:
        self.remove(name)
        shutil.copytree(folder, self.folder / name)

    def fetch(self, name: str, folder: Path) -> bool:
        if not (self.folder / name).is_dir():
            return False
        shutil.copytree(self.folder / name, folder)
        return True

    def remove(self, name: str) -> None:
        shutil.rmtree(self.folder / name, ignore_errors=True)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """With the checkpoints of steps 1 to 3, of which 2 and 3 are still there."""
    results = tmp_path / "results"
    checkpoints = TaskCheckpoints(Folder(results), KEY)
    for step in (1, 2, 3):
        send(checkpoints, tmp_path / str(step), step)
    return results


def send(checkpoints: TaskCheckpoints, folder: Path, step: int) -> None:
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "state.bin").write_bytes(bytes(1000) + bytes([step]))
    checkpoints.send(folder)


def fetched(results: Path, to: Path) -> int | None:
    """The step that a training would go on from."""
    folder = TaskCheckpoints(Folder(results), KEY).fetch(to)
    return (folder / "deep" / "state.bin").read_bytes()[-1] if folder else None


def newest(results: Path) -> Path:
    return next(
        results / folder
        for folder in checkpoint_folders(KEY)
        if (results / folder / "deep" / "state.bin").read_bytes()[-1] == 3
    )


def test_the_newest_is_taken_and_the_one_before_stays(results: Path, tmp_path: Path) -> None:
    assert fetched(results, tmp_path / "to") == 3
    assert len(list((results / "train").iterdir())) == 2
    after = TaskCheckpoints(Folder(results), KEY)
    after.fetch(tmp_path / "after")
    send(after, tmp_path / "4", 4)  # over that of step 2, by a process that has fetched
    assert fetched(results, tmp_path / "again") == 4
    shutil.rmtree(results / checkpoint_folders(KEY)[1])
    assert fetched(results, tmp_path / "left") == 3


@pytest.mark.parametrize(
    "damage", ["a bit", "cut", "empty", "a file gone", "a file more", "digests cut", "digests odd", "no number"]
)
def test_a_damaged_one_costs_an_interval_and_changes_no_score(
    damage: str, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = newest(results)
    state, digests = folder / "deep" / "state.bin", folder / DIGESTS
    content = state.read_bytes()
    match damage:
        case "a bit":
            state.write_bytes(content[:500] + b"\x01" + content[501:])
        case "cut":
            state.write_bytes(content[:500])
        case "empty":
            state.write_bytes(b"")
        case "a file gone":
            state.unlink()
        case "a file more":
            (folder / "more").touch()
        case "digests cut":
            digests.write_bytes(digests.read_bytes()[:20])
        case "digests odd":
            digests.write_text(json.dumps({**json.loads(digests.read_text()), "number": "3"}))
        case "no number":
            digests.write_text(json.dumps({"files": json.loads(digests.read_text())["files"]}))
    assert fetched(results, tmp_path / "to") == 2
    assert "is damaged and is passed over" in capsys.readouterr().out


def test_with_both_damaged_the_training_begins_anew_and_its_checkpoints_count(results: Path, tmp_path: Path) -> None:
    for folder in checkpoint_folders(KEY):
        (results / folder / "deep" / "state.bin").write_bytes(b"?")
    checkpoints = TaskCheckpoints(Folder(results), KEY)
    assert checkpoints.fetch(tmp_path / "to") is None
    send(checkpoints, tmp_path / "new", 1)
    assert fetched(results, tmp_path / "after") == 1


def test_a_checkpoint_of_an_older_version_is_gone_on_from(tmp_path: Path) -> None:
    old = tmp_path / "results" / checkpoint_folders(KEY)[0] / "deep" / "state.bin"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"\x07")
    assert fetched(tmp_path / "results", tmp_path / "to") == 7
    checkpoints = TaskCheckpoints(Folder(tmp_path / "results"), KEY)
    checkpoints.fetch(tmp_path / "from")
    send(checkpoints, tmp_path / "8", 8)
    assert fetched(tmp_path / "results", tmp_path / "again") == 8
