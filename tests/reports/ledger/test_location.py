"""Results at a URL: against a local S3 server, fsspec's memory, and folders."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.core.responses import ActionAuthenticatorMixin

from reports.__main__ import main
from reports.ledger import LEDGER, MODELS, PREDICTIONS, STUDY, Ledger
from reports.ledger import storage as storage_module
from reports.ledger.location import STALE_SECONDS, ResultsLocation, as_user_error, is_url, open_location
from reports.ledger.storage import storage
from reports.testing import make_study
from tests.bucket import BUCKET, give_credentials, local_s3, model, same
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = Path("unused")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """What URLs of a local S3 need behind the question mark."""
    with local_s3() as query:
        yield query


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Working copies lie in a folder of the test's own. Call it to be on another machine, which has none."""
    give_credentials(monkeypatch)

    def fresh() -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{uuid.uuid4().hex[:4]}"))

    fresh()
    return fresh


@pytest.fixture(params=["s3", "memory"])
def url(request: pytest.FixtureRequest, server: str) -> str:
    """Where nothing is yet."""
    name = uuid.uuid4().hex
    return f"memory://{name}/study" if request.param == "memory" else f"s3://{BUCKET}/{name}/study?{server}"


@pytest.fixture
def s3(server: str) -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/study?{server}"


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are not made."""
    pauses: list[float] = []
    monkeypatch.setattr(storage_module.time, "sleep", pauses.append)
    return pauses


def study_at(url: str) -> ResultsLocation:
    """A place with a study in it, all of it pushed."""
    place = open_location(url, DEFAULT)
    place.pull()
    make_study(place.folder, rows=1, seeds=1)
    place.push_changed()
    for record in sorted((place.folder / LEDGER).iterdir()):
        place.push(f"{LEDGER}/{record.name}")
    return place


class Private(BaseHTTPRequestHandler):
    """A bucket that lets in nobody who does not sign."""

    def do_HEAD(self) -> None:
        assert "Authorization" not in self.headers
        self.send_response(403)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class TestWhatAPersonNames:
    def test_a_folder(self, tmp_path: Path):
        assert open_location(None, tmp_path) == ResultsLocation(tmp_path)
        assert open_location("x/y", tmp_path) == ResultsLocation(Path("x/y"))
        assert open_location(Path("x/y"), tmp_path).shown == "x/y"
        assert open_location("~/x", tmp_path).folder == Path.home() / "x"
        assert is_url("s3://bucket/x")
        assert not is_url("results/x")
        assert open_location(f"file://{tmp_path}/a%20b", DEFAULT) == ResultsLocation(tmp_path / "a b")
        with pytest.raises(UserError, match="names the machine 'elsewhere'"):
            open_location("file://elsewhere/x", DEFAULT)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("nope://bucket/x", "nope://bucket/x cannot be opened: Protocol not known: nope; give a folder, or a URL"),
            ("s3://", "names no bucket"),
            ("s3://me:secret@bucket/x", "holds a password"),
            ("s3://bucket/x/../y", "goes up"),
            ("s3://me:secret@[bucket/x", "s3://... is no URL; give a folder, or a URL such as s3://BUCKET/FOLDER"),
            ("s3://me:secret@\u2100/x", "s3://... is no URL"),
            ("s3://bucket/x?colour=red", "'colour'"),
        ],
    )
    def test_a_mistake_is_one_sentence(self, text: str, says: str):
        with pytest.raises(UserError) as caught:
            open_location(text, DEFAULT)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)

    def test_a_bucket_that_is_not_there(self, server: str):
        with pytest.raises(UserError, match="there is no bucket 'nobodys'; make it first"):
            open_location(f"s3://nobodys/x?{server}", DEFAULT)

    def test_no_credentials(self, monkeypatch: pytest.MonkeyPatch):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        with HTTPServer(("127.0.0.1", 0), Private) as private:
            threading.Thread(target=private.serve_forever, args=(0.01,), daemon=True).start()
            with pytest.raises(UserError, match="cannot be read: access is denied; set AWS_ACCESS_KEY_ID") as caught:
                open_location(f"s3://{BUCKET}/x?endpoint_override=127.0.0.1:{private.server_port}&scheme=http", DEFAULT)
            private.shutdown()
        assert "\n" not in str(caught.value)

    def test_wrong_credentials(self, s3: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
        monkeypatch.setattr(ActionAuthenticatorMixin, "request_count", 0)
        with pytest.raises(UserError, match="cannot be read: access is denied; set AWS_ACCESS_KEY_ID"):
            open_location(s3, DEFAULT)

    @pytest.mark.slow  # six seconds of attempts that pyarrow makes by itself
    def test_nobody_answers(self):
        with pytest.raises(UserError, match=r"cannot be read: .*connect"):
            open_location("s3://bucket/x?endpoint_override=127.0.0.1:1&scheme=http", DEFAULT)

    def test_a_file_is_no_place(self, s3: str):
        path, _, query = s3.partition("?")
        storage(s3).write("file", b"x")
        with pytest.raises(UserError, match="is a file"):
            open_location(f"{path}/file?{query}", DEFAULT)

    def test_something_else_is_there(self, url: str):
        storage(url).write("thesis.tex", b"x")
        with pytest.raises(UserError, match="is not empty and holds no study"):
            open_location(url, DEFAULT).pull()


class TestPlace:
    def test_another_machine_gets_all_but_what_is_large(self, url: str, machine: Callable[[], None]):
        first = study_at(url)
        model(first.folder / MODELS / "a-0")
        first.push(f"{MODELS}/a-0")
        (first.folder / "tune").mkdir()
        (first.folder / "tune" / "state").write_text("x")
        (first.folder / "optuna.journal.lock").write_text("x")
        first.push_changed()
        machine()
        second = open_location(url, DEFAULT)
        second.pull()
        assert second.folder != first.folder
        assert len(Ledger(second.folder / LEDGER).read()) == 1
        for name in ("tune", MODELS, "optuna.journal.lock"):
            assert not (second.folder / name).exists()
        assert second.exists(f"{MODELS}/a-0")
        assert not second.exists(f"{MODELS}/b-0")
        assert second.fetch(f"{MODELS}/a-0")
        assert same(second.folder / MODELS / "a-0", first.folder / MODELS / "a-0")
        for name in ("tune", MODELS):
            subprocess.run(["rm", "-r", first.folder / name], check=True)
        subprocess.run(["rm", "-r", second.folder / MODELS], check=True)
        (first.folder / "optuna.journal.lock").unlink()
        assert same(second.folder, first.folder)

    def test_only_what_changed_travels(self, url: str, monkeypatch: pytest.MonkeyPatch):
        place = study_at(url)
        sent: list[str] = []
        put = storage_module.Storage.put
        monkeypatch.setattr(storage_module.Storage, "put", lambda self, *a: [sent.append(a[1]), put(self, *a)])
        place.push_changed()
        assert sent == []
        (place.folder / "report.md").write_text("new")
        (place.folder / "pictures").mkdir()
        (place.folder / "pictures" / "a.svg").write_text("<svg/>")
        place.push_changed()
        assert sorted(sent) == ["pictures/a.svg", "report.md"]
        assert storage(url).read("pictures/a.svg") == b"<svg/>"

    def test_the_next_process_fetches_only_what_differs(self, s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.setattr("reports.ledger.location.RECENT_SECONDS", -5.0)  # the server's times are whole seconds
        study_at(s3)
        first = open_location(s3, DEFAULT)
        first.pull()
        folder = first.folder
        del first
        fetched: list[str] = []
        get = storage_module.Storage.get
        monkeypatch.setattr(storage_module.Storage, "get", lambda self, *a: [fetched.append(a[0]), get(self, *a)])
        (folder / "left over.txt").write_text("of a killed process")
        study = (folder / STUDY).read_text()
        (folder / STUDY).write_text(study + " ")
        again = open_location(s3, DEFAULT)
        again.pull()
        assert again.folder == folder
        assert fetched == [STUDY]
        assert (folder / STUDY).read_text() == study
        assert not (folder / "left over.txt").exists()

    def test_two_at_once_have_a_copy_each(self, url: str):
        study, report = study_at(url), open_location(url, DEFAULT)
        (study.folder / LEDGER / "written-but-not-pushed.json").write_text("{}")
        report.pull()
        assert report.folder != study.folder
        assert (study.folder / LEDGER / "written-but-not-pushed.json").is_file()

    def test_records_are_pushed_by_name_only(self, url: str):
        place = study_at(url)
        (place.folder / LEDGER / "a-1.json").write_text("{}")
        place.push_changed()
        assert storage(url).read(f"{LEDGER}/a-1.json") is None
        place.push(f"{LEDGER}/a-1.json")
        assert storage(url).read(f"{LEDGER}/a-1.json") == b"{}"

    @pytest.mark.slow
    @pytest.mark.parametrize("local", [False, True], ids=["before the record", "before the record is pushed"])
    def test_killed_between_predictions_and_record(self, s3: str, local: bool, machine: Callable[[], None]):
        script = f"""
import os, signal
from pathlib import Path
from reports.ledger.location import open_location
place = open_location({s3!r}, Path())
place.pull()
for name in ("study.json", "predictions/a-0.npz"):
    (place.folder / name).parent.mkdir(exist_ok=True)
    (place.folder / name).write_text("x")
    place.push(name)
if {local}:
    (place.folder / "ledger").mkdir()
    (place.folder / "ledger/a-0.json").write_text("x")
    place.push_changed()
os.kill(os.getpid(), signal.SIGKILL)
"""
        ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=120)
        assert ended.returncode == -signal.SIGKILL
        for fresh in (False, True):  # the working copy that it left is taken again; another machine has none
            if fresh:
                machine()
            place = open_location(s3, DEFAULT)
            place.pull()
            assert (place.folder / PREDICTIONS / "a-0.npz").read_text() == "x"
            assert not (place.folder / LEDGER / "a-0.json").exists()

    def test_remove(self, url: str):
        place = study_at(url)
        (place.folder / "failures").mkdir()
        (place.folder / "failures" / "a-0.json").write_text("{}")
        place.push("failures/a-0.json")
        model(place.folder / MODELS / "a-0")
        place.push(f"{MODELS}/a-0")
        for name in ("failures/a-0.json", f"{MODELS}/a-0", "failures/none.json"):
            place.remove(name)
            assert not place.exists(name)
            assert not (place.folder / name).exists()
        assert "failures/a-0.json" not in storage(url).list()

    def test_a_file_is_added_to_a_model_wherever_it_is(self, url: str, tmp_path: Path):
        place = study_at(url)
        storage(url).send(model(tmp_path / "model"), f"{MODELS}/a-0")  # as a worker does
        place.push(f"{MODELS}/a-0")  # it is not here, and stays as it is
        place.add(f"{MODELS}/a-0/README.md", "a card")
        (tmp_path / "model" / "README.md").write_text("a card")
        assert place.fetch(f"{MODELS}/a-0")
        assert same(place.folder / MODELS / "a-0", tmp_path / "model")
        own = ResultsLocation(tmp_path)
        own.add("model/README.md", "another")
        assert (tmp_path / "model" / "README.md").read_text() == "another"

    def test_a_folder_needs_nothing_and_a_place_says_where_it_is(self, tmp_path: Path, s3: str):
        place = ResultsLocation(tmp_path)
        place.pull()
        place.push("nothing")
        place.push_changed()
        assert list(tmp_path.iterdir()) == []
        assert place.address_of("report.md") == str(tmp_path / "report.md")
        place = open_location(s3, DEFAULT)
        assert (place.shown, place.address_of("report.md")) == (s3, s3.partition("?")[0] + "/report.md")

    def test_names_that_leave_the_folder(self, url: str):
        place = study_at(url)
        for name in ("../x", "/etc/passwd", "models/../../x", ""):
            for action in (place.push, place.remove, place.fetch, place.exists):
                with pytest.raises(UserError, match="names no file"):
                    action(name)

    def test_a_key_of_the_bucket_that_leaves_the_folder(self, s3: str):
        study_at(s3)
        endpoint = s3.partition("endpoint_override=")[2].partition("&")[0]
        client = boto3.client("s3", endpoint_url=f"http://{endpoint}", region_name="us-east-1")
        key = storage(s3).root.removeprefix(f"{BUCKET}/") + "/ledger/../../../escaped"
        client.put_object(Bucket=BUCKET, Key=key, Body=b"x")
        with pytest.raises(UserError, match="names no file"):
            open_location(s3, DEFAULT).pull()

    def test_half_written_files_of_dead_processes_go(self, tmp_path: Path):
        place = ResultsLocation(tmp_path)
        (tmp_path / LEDGER).mkdir()
        old, young, other = (
            tmp_path / LEDGER / name for name in ("a-0.json.0123abcd.tmp", "a-1.json.0123abcd.tmp", "a-0.json")
        )
        for path in (old, young, other):
            path.write_text("x")
        for path in (old, other):
            os.utime(path, (time.time() - STALE_SECONDS - 1,) * 2)
        place.sweep()
        assert sorted((tmp_path / LEDGER).iterdir()) == sorted([other, young])


class TestErrors:
    PASSING = OSError("AWS Error NETWORK_CONNECTION during PutObject operation")

    def test_one_that_passes_is_tried_again_and_one_that_stays_is_one_sentence(
        self, no_pauses: list[float], monkeypatch: pytest.MonkeyPatch
    ):
        place = open_location(f"memory://{uuid.uuid4().hex}/study", DEFAULT)
        place.pull()
        copy, left = storage_module._copy, [self.PASSING] * 2

        def fails(*given: Any) -> None:
            if left:
                raise left.pop()
            copy(*given)

        monkeypatch.setattr(storage_module, "_copy", fails)
        (place.folder / "report.md").write_text("x")
        place.push("report.md")
        assert storage(place.shown).read("report.md") == b"x"
        assert no_pauses == list(storage_module.PAUSES[:2])
        for error, pauses in (
            (self.PASSING, storage_module.PAUSES),
            (OSError("AWS Error ACCESS_DENIED during PutObject operation"), ()),
            (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ()),
            (RuntimeError("of another library"), storage_module.PAUSES),
        ):
            no_pauses.clear()
            left[:] = [error] * 9
            (place.folder / "report.md").write_text(f"x{error}")
            with pytest.raises(UserError, match=r"the results at memory://.* cannot be written: ") as caught:
                place.push_changed()
            assert "\n" not in str(caught.value)
            assert no_pauses == list(pauses)

    def test_a_full_disk(self):
        error = as_user_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "results/x")
        assert str(error) == (
            "the results in results/x cannot be written: No space left on device; make room there and run the same "
            "command again, or begin anew in another folder with --results"
        )
        other = str(as_user_error(PermissionError(errno.EACCES, "Permission denied"), "results/x"))
        assert "mend that and run the same command again" in other

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(UserError, match="cannot be written: "):
            ResultsLocation(tmp_path).add("file/README.md", "x")


class TestReports:
    @pytest.mark.slow
    def test_a_report_of_a_url(self, s3: str, machine: Callable[[], None], capsys: pytest.CaptureFixture[str]):
        study_at(s3)
        machine()
        assert main([s3]) == 0
        assert capsys.readouterr().out.strip() == s3.partition("?")[0] + "/report.md"
        assert (storage(s3).read("report.md") or b"").startswith(b"# ")
        assert main([s3, "--check"]) == 0
        assert capsys.readouterr().out.startswith(f"{s3}: the scores are")
        assert main(["diff", s3, s3]) == 0

    def test_there_is_no_study(self, url: str):
        with pytest.raises(UserError, match=r"holds no study.json; give a folder or a URL"):
            main([url])

    @pytest.mark.slow
    def test_a_model_comes_out_of_a_url(
        self, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        from reports import export

        study = study_at(s3)
        record = Ledger(study.folder / LEDGER).read()[0]

        def fetched(results: Path, row: str, folder: Path, fetch: Callable[[str], bool]) -> Path:
            assert [fetch("models/none-0"), fetch(f"models/{record.key}")] == [False, True]
            return results / "models" / record.key

        monkeypatch.setattr(export, "export", fetched)
        storage(s3).send(model(tmp_path / "model"), f"models/{record.key}")
        assert main(["export", s3, "a row", str(tmp_path / "out")]) == 0
        assert same(Path(capsys.readouterr().out.strip()), tmp_path / "model")
        with pytest.raises(UserError, match="name a FOLDER"):
            main(["export", s3, "a row"])
