"""The transports' two ways, by the coordinator and straight to a URL, and what the coordinator makes of deliveries."""

from __future__ import annotations

import errno
import os
import pickle
import random
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st

from reports.ledger.location import STALE_SECONDS
from reports.ledger.storage import Storage, storage
from study.engine.transport import CoordinatorTransport, Deliveries, transport_for
from tests.bucket import BUCKET, give_credentials, local_s3, model, same
from trainables.errors import UserError


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """What URLs of a local S3 need behind the question mark."""
    with local_s3() as query:
        yield query


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    give_credentials(monkeypatch)


@pytest.fixture
def s3(server: str) -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/study?{server}"


class FakeCoordinator:
    """Calls a `Deliveries` as an actor would: `coordinator.method.remote(...)`."""

    def __init__(self, deliveries: Deliveries) -> None:
        self.deliveries = deliveries
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def remote(*given: Any) -> Any:
            self.calls.append(name)
            return getattr(self.deliveries, name)(*given)

        return type("Method", (), {"remote": staticmethod(remote)})


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCoordinator:
    monkeypatch.setattr("study.engine.transport._ask", lambda call: call)
    monkeypatch.setattr("study.engine.transport.PIECE", 64)
    return FakeCoordinator(Deliveries(tmp_path / "results"))


@pytest.fixture(params=["coordinator", "s3", "memory"])
def transport(request: pytest.FixtureRequest, coordinator: FakeCoordinator, server: str) -> Any:
    """Both kinds, the second over two kinds of storage."""
    if request.param == "coordinator":
        return CoordinatorTransport(coordinator)
    name = uuid.uuid4().hex
    return storage(f"memory://{name}/x" if request.param == "memory" else f"s3://{BUCKET}/{name}?{server}")


class TestTransports:
    def test_which(self, coordinator: FakeCoordinator, s3: str):
        for url in (s3, "gs://bucket/x"):
            assert transport_for(url, coordinator) is storage(url)
        assert transport_for(None, coordinator) == CoordinatorTransport(coordinator)
        assert transport_for("memory://x", coordinator) == CoordinatorTransport(coordinator)

    def test_a_worker_opens_the_storage_anew(self, s3: str):
        sent = pickle.dumps(storage_here := storage(s3))
        storage.cache_clear()
        opened = pickle.loads(sent)
        assert opened is not storage_here
        assert opened.url == s3
        assert opened is pickle.loads(sent)

    def test_what_arrives_is_what_was_sent(self, transport: Any, tmp_path: Path):
        for size in (0, 1, 63, 64, 65, 1000):
            name, back = f"models/a-{size}", tmp_path / f"back-{size}"
            sent = model(tmp_path / f"sent-{size}", size)
            assert not transport.fetch(name, back)
            transport.send(sent, name)
            assert transport.fetch(name, back)
            assert same(sent, back)
            transport.remove(name)
            assert not transport.fetch(name, tmp_path / "again")
            transport.remove(name)

    def test_a_reader_meets_a_sender(self, transport: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """The folder is replaced after the reader has read its listing: it gets all of the new, and that alone."""
        old, new = model(tmp_path / "old", 500, 0), model(tmp_path / "new", 500, 1)
        (old / "only here").touch()
        transport.send(old, "train/a")
        by_pieces = isinstance(transport, CoordinatorTransport)
        whole = CoordinatorTransport._fetch if by_pieces else Storage.get_all
        replaced: list[bool] = []

        def late(*given: Any) -> None:
            if not replaced:
                replaced.append(True)
                transport.send(new, "train/a")
            whole(*given)

        owner = CoordinatorTransport if by_pieces else Storage
        monkeypatch.setattr(owner, whole.__name__, late)
        assert transport.fetch("train/a", tmp_path / "back")
        assert replaced
        assert same(new, tmp_path / "back")

    def test_a_sender_dies(self, transport: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """After any of its files, or before what makes them the folder's: the old one stays whole."""
        old, new = model(tmp_path / "old", 500, 0), model(tmp_path / "new", 700, 1)
        transport.send(old, "train/a")
        for method in ("put", "_write_listing") if isinstance(transport, Storage) else ("put_piece", "commit"):
            with monkeypatch.context() as patch:
                owner = Storage if isinstance(transport, Storage) else Deliveries
                working, calls = getattr(owner, method), [2 if method.startswith("put") else 0]

                def dies(*given: Any, working: Any = working, calls: list[int] = calls) -> None:
                    if not calls[0]:
                        raise KeyboardInterrupt
                    calls[0] -= 1
                    working(*given)

                patch.setattr(owner, method, dies)
                with pytest.raises(KeyboardInterrupt):
                    transport.send(new, "train/a")
            assert transport.fetch("train/a", tmp_path / "back")
            assert same(old, tmp_path / "back")
        transport.send(new, "train/a")
        assert transport.fetch("train/a", tmp_path / "back")
        assert same(new, tmp_path / "back")

    def test_names_that_leave_the_folder(self, transport: Any, tmp_path: Path):
        sent = model(tmp_path / "sent")
        for name in ("../a", "/a", "models/../../a", "models//a"):
            with pytest.raises(UserError, match="names no file"):
                transport.send(sent, name)
            with pytest.raises(UserError, match="names no file"):
                transport.fetch(name, tmp_path / "back")
            with pytest.raises(UserError, match="names no file"):
                transport.remove(name)
        assert sorted(path.name for path in tmp_path.iterdir()) in (["results", "sent"], ["sent"])

    @pytest.mark.parametrize("error", [UserError("names no file"), OSError(errno.ENOSPC, "full")], ids=["name", "disk"])
    def test_the_coordinator_s_own_error_arrives_and_not_ray_s(self, error: Exception, monkeypatch: pytest.MonkeyPatch):
        def fails(call: object) -> None:
            raise ray.exceptions.RayTaskError("commit", "a traceback", error).as_instanceof_cause()

        monkeypatch.setattr(ray, "get", fails)
        with pytest.raises(type(error)) as raised:
            CoordinatorTransport(MagicMock()).remove("models/a")
        assert raised.value is error


class TestDeliveries:
    def test_a_first_model_lies_where_people_look(self, coordinator: FakeCoordinator, tmp_path: Path):
        sent = model(tmp_path / "sent")
        CoordinatorTransport(coordinator).send(sent, "models/a-0")
        assert same(sent, tmp_path / "results" / "models" / "a-0")
        assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["models"]

    def test_death_between_the_two_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        deliveries = Deliveries(tmp_path)
        for delivery, data in (("1", b"old"), ("2", b"new")):
            deliveries.put_piece(delivery, "file", 0, data)
        deliveries.commit("train/a", "1", {"file": 3})
        rename = Path.rename

        def dies(path: Path, target: Path) -> Path:
            if path.name == "2":
                raise KeyboardInterrupt
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", dies)
        with pytest.raises(KeyboardInterrupt):
            deliveries.commit("train/a", "2", {"file": 3})
        again = Deliveries(tmp_path)
        assert again.piece("train/a", "file", 0, 9) == b"old"
        monkeypatch.undo()
        again.put_piece("3", "file", 0, b"newer")
        again.commit("train/a", "3", {"file": 5})
        assert again.piece("train/a", "file", 0, 9) == b"newer"
        again.remove("train/a")
        assert again.listing("train/a") is None

    def test_an_incomplete_delivery_is_refused(self, tmp_path: Path):
        deliveries = Deliveries(tmp_path)
        deliveries.put_piece("1", "file", 3, b"def")
        with pytest.raises(OSError, match="not complete"):
            deliveries.commit("train/a", "1", {"file": 6, "other": 1})
        assert deliveries.listing("train/a") is None

    def test_what_dead_senders_left_goes(self, tmp_path: Path):
        first = Deliveries(tmp_path)
        for delivery in ("dead", "living"):
            first.put_piece(delivery, "folder/file", 0, b"x")
        for path in [tmp_path / "incoming" / "dead", *(tmp_path / "incoming" / "dead").rglob("*")]:
            os.utime(path, (time.time() - STALE_SECONDS - 1,) * 2)
        second = Deliveries(tmp_path)
        assert [path.name for path in (tmp_path / "incoming").iterdir()] == ["living"]
        second.commit("train/a", "living", {"folder/file": 1})
        assert not (tmp_path / "incoming").exists()

    @pytest.mark.parametrize("call", ["put_piece", "commit"])
    def test_the_end_of_one_delivery_is_not_in_the_way_of_the_beginning_of_another(
        self, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """Each takes the folder of deliveries away where it is empty: also once another has just made it."""
        first, second = Deliveries(tmp_path), Deliveries(tmp_path)
        make, sweeps = os.mkdir, iter([1, 2])

        def made(path: Any, *more: Any, **how: Any) -> None:
            make(path, *more, **how)
            if Path(path).name == "incoming" and next(sweeps, None):
                second._sweep()

        monkeypatch.setattr(os, "mkdir", made)
        if call == "put_piece":
            first.put_piece("1", "file", 0, b"new")
        first.commit("train/a", "1", {"file": 3} if call == "put_piece" else {})
        assert next(sweeps, None) is None
        assert first.listing("train/a") is not None
        assert not (tmp_path / "incoming").exists()

    def test_many_begin_and_end_at_once(self, tmp_path: Path):
        """As in the coordinator, which answers in threads, and two studies in one folder."""

        def send(number: int) -> None:
            for k in range(20):
                both[k % 2].put_piece(f"{number}-{k}", "file", 0, b"new")
                both[k % 2].commit(f"train/{number}", f"{number}-{k}", {"file": 3})

        both = Deliveries(tmp_path), Deliveries(tmp_path)
        with ThreadPoolExecutor(6) as pool:
            assert [*pool.map(send, range(6))] == [None] * 6
        assert not (tmp_path / "incoming").exists()

    @given(
        files=st.dictionaries(st.sampled_from(["a", "b/c", "b/d", "é ü"]), st.binary(max_size=50), max_size=4),
        size=st.integers(1, 20),
        chance=st.randoms(use_true_random=False),
    )
    def test_pieces_in_any_order(
        self, tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], size: int, chance: random.Random
    ):
        deliveries = Deliveries(tmp_path_factory.mktemp("results"))
        pieces = [(f, o, data[o : o + size]) for f, data in files.items() for o in range(0, len(data), size) or [0]]
        chance.shuffle(pieces)
        for file, offset, data in pieces:
            deliveries.put_piece("1", file, offset, data)
        deliveries.commit("models/a", "1", {file: len(data) for file, data in files.items()})
        listing = deliveries.listing("models/a")
        assert {file: length for file, (length, _) in listing.items()} == {f: len(data) for f, data in files.items()}
        for file, data in files.items():
            assert deliveries.piece("models/a", file, 0, 100) == data
