"""Fetching real data, against a server on this machine that has it in the published layout (with tiny counts)."""

import errno
import hashlib
import http.server
import io
import os
import re
import tarfile
import threading
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tests import tiny_wordnet
from trainables.corpora import fetch
from trainables.corpora.__main__ import main
from trainables.corpora.nli import load_nli
from trainables.errors import UserError

LINES = {"MR/rt-polarity.pos": 3, "MR/rt-polarity.neg": 2, "STS/STS12-en-test/STS.input.MSRpar.txt": 2}


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; knows ranges; breaks an answer off after `cut` bytes, once."""

    files: dict[str, bytes]
    cut: int | None = None
    requests: list[tuple[str, str | None]]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        part = self.headers.get("Range")
        self.server.requests.append((self.path, part))
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", part)[1]) if part else 0
        if part and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if part else 200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cut is not None:
            body, self.server.cut = body[: self.server.cut], None
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch):
    server = Server(("127.0.0.1", 0), Handler)
    server.files, server.requests = {}, []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", base)
    monkeypatch.setattr(fetch, "PROBING", f"{base}/probing")
    monkeypatch.setattr(fetch, "CAPTIONS", f"{base}/coco")
    monkeypatch.setattr(fetch, "DOWNSTREAM_LINES", LINES)
    monkeypatch.setattr(fetch, "PROBING_LINES", {"tr": 4, "va": 1, "te": 1})
    server.files[f"/{fetch.SENTEVAL_TAR}"] = archive({name: b"a line\n" * count for name, count in LINES.items()})
    for name in fetch.PROBING_FILES:
        server.files[f"/probing/{name}.txt"] = b"tr\tO\ta b\n" * 4 + b"va\tI\tb\nte\tO\tc\n"
    for split in ("train", "valid", "test"):
        server.files[f"/coco/{split}.pkl"] = b"features of " + split.encode()
    yield server
    server.shutdown()
    server.server_close()


def archive(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return packed.getvalue()


def names(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


WHOLE = (
    {f"downstream/{name}" for name in LINES}
    | {f"probing/{name}.txt" for name in fetch.PROBING_FILES}
    | {f"downstream/COCO/{split}.pkl" for split in ("train", "valid", "test")}
)


@pytest.mark.parametrize("around", ["", "data/downstream/"])
def test_the_whole_folder_and_nothing_twice(server, tmp_path, around):
    tasks = {f"{around}{name}": b"a line\n" * count for name, count in LINES.items()}
    server.files[f"/{fetch.SENTEVAL_TAR}"] = archive(tasks)
    main(["fetch", "senteval", "--to", str(tmp_path)])
    assert names(tmp_path) == WHOLE
    requests = len(server.requests)
    main(["fetch", "senteval", "--to", str(tmp_path)])
    assert len(server.requests) == requests


def test_two_commands_at_once_fetch_it_once(server, tmp_path):
    commands = [threading.Thread(target=main, args=(["fetch", "senteval", "--to", str(tmp_path)],)) for _ in "ab"]
    for command in commands:
        command.start()
    for command in commands:
        command.join()
    assert names(tmp_path) == WHOLE
    assert len(server.requests) == len({path for path, _ in server.requests})


def test_a_download_that_breaks_off_goes_on_where_it_stopped(server, tmp_path):
    server.cut = 1000
    with pytest.raises(UserError, match=r"broke off after 1,000 of .* bytes; the same command goes on from there"):
        fetch.fetch_senteval(tmp_path)
    assert not (tmp_path / "downstream").exists()
    fetch.fetch_senteval(tmp_path)
    assert names(tmp_path) == WHOLE
    assert server.requests[1] == (f"/{fetch.SENTEVAL_TAR}", "bytes=1000-")


def test_a_part_longer_than_what_is_published_is_begun_again(server, tmp_path):
    part = tmp_path / ".fetch" / "senteval.tar.part"
    part.parent.mkdir()
    part.write_bytes(b"x" * 10**6)
    fetch.fetch_senteval(tmp_path)
    assert names(tmp_path) == WHOLE


def test_a_task_the_archive_lacks_is_named(server, tmp_path, capsys):
    server.files[f"/{fetch.SENTEVAL_TAR}"] = archive(
        {"MR/rt-polarity.pos": b"a\n" * 3, "MR/rt-polarity.neg": b"a\n" * 2}
    )
    fetch.fetch_senteval(tmp_path)
    messages = capsys.readouterr().out.splitlines()
    assert "not in the published archive: STS/STS12-en-test/STS.input.MSRpar.txt" in messages


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no archive at all", "senteval.tar is no readable archive"),
        (archive({"MR/rt-polarity.pos": b"a\n"}), "MR/rt-polarity.pos has 1 lines, published are 3"),
        (archive({"readme.txt": b"a\n"}), "holds no SentEval tasks"),
        (archive({"MR/../../../escaped.txt": b"a\n"}), "senteval.tar is no readable archive"),
        (archive({"MR/x": b"a"}, {"MR/link": "/etc/passwd"}), "senteval.tar is no readable archive"),
        (  # one that leads to a file of the archive could lead elsewhere once the tasks' folder is moved
            archive({"a/b/MR/x": b"a", "secret": b"x"}, {"a/b/more": "../../secret"}),
            r"no readable archive \('a/b/more' is neither a file nor a folder\)",
        ),
    ],
)
def test_a_wrong_archive_leaves_nothing(server, tmp_path, content, sentence):
    server.files[f"/{fetch.SENTEVAL_TAR}"] = content
    target = tmp_path / "senteval"
    with pytest.raises(UserError, match=sentence):
        fetch.fetch_senteval(target)
    assert not (target / "downstream").exists()
    assert not list(tmp_path.rglob("escaped.txt"))
    assert not (target / ".fetch" / "senteval.tar").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"tr\tO\ta\n", "word_content.txt has 1 lines of 'tr', published are 4"),
        (b"<html>moved</html>\n", "word_content.txt is no probing file"),
    ],
)
def test_a_wrong_probing_file_is_not_kept(server, tmp_path, content, sentence):
    right = server.files["/probing/word_content.txt"]
    server.files["/probing/word_content.txt"] = content
    with pytest.raises(UserError, match=sentence):
        fetch.fetch_senteval(tmp_path)
    assert "probing/word_content.txt" not in names(tmp_path)
    server.files["/probing/word_content.txt"] = right
    fetch.fetch_senteval(tmp_path)
    assert names(tmp_path) == WHOLE


def parquet(**columns: list[object]) -> bytes:
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def test_nli_is_fetched_checked_and_read_by_the_corpus(server, tmp_path, monkeypatch):
    content = parquet(premise=[*"aabb"], hypothesis=[*"wxyz"], label=[0, -1, 2, 1])
    files = {name: (path, 4, None) for name, (path, *_) in fetch.NLI_FILES.items()}
    monkeypatch.setattr(fetch, "NLI_FILES", files)
    for path, *_ in files.values():
        server.files[f"/{path}"] = content
    main(["fetch", "nli", "--to", str(tmp_path)])
    assert names(tmp_path) == set(fetch.NLI_FILES)
    assert (len(load_nli(str(tmp_path / "snli"))), len(load_nli(str(tmp_path)))) == (3, 6)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"PAR1 no", "no readable Parquet file"), (parquet(premise=["a"]), "has 1 rows, published are 550,152")],
)
def test_nli_with_wrong_content(server, tmp_path, content, sentence):
    server.files[f"/{fetch.NLI_FILES['snli/train.parquet'][0]}"] = content
    with pytest.raises(UserError, match=sentence):
        fetch.fetch_nli(tmp_path)
    assert names(tmp_path) == set()


@pytest.fixture
def wordnet(server, monkeypatch, tmp_path):
    monkeypatch.setattr(fetch, "WORDNET", f"http://127.0.0.1:{server.server_port}/wordnet.zip")
    monkeypatch.setattr(fetch, "WORDNET_SHA256", None)
    monkeypatch.setattr(fetch, "WORDNET_SYNSETS", tiny_wordnet.counts())
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'first'}{os.pathsep}{tmp_path / 'second'}")
    server.files["/wordnet.zip"] = tiny_wordnet.packed()
    return server


def test_wordnet_is_put_where_nltk_looks_and_nothing_twice(wordnet, tmp_path):
    main(["fetch", "wordnet"])
    assert names(tmp_path) == {f"first/corpora/wordnet/{name}" for name in tiny_wordnet.files()}
    requests = len(wordnet.requests)
    main(["fetch", "wordnet"])
    assert len(wordnet.requests) == requests
    main(["fetch", "wordnet", "--to", str(tmp_path / "there")])
    assert (tmp_path / "there" / "corpora" / "wordnet" / "data.noun").is_file()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no archive at all", "wordnet.zip is no readable archive"),
        (None, "wordnet.zip: data.noun has 4 synsets, published are 5; it was deleted"),
    ],
)
def test_a_wrong_wordnet_leaves_nothing(wordnet, tmp_path, monkeypatch, content, sentence):
    if content is None:
        monkeypatch.setitem(fetch.WORDNET_SYNSETS, "data.noun", 5)
    else:
        wordnet.files["/wordnet.zip"] = content
    with pytest.raises(UserError, match=sentence):
        fetch.fetch_wordnet()
    assert not (tmp_path / "first" / "corpora").exists()
    assert not list(tmp_path.rglob("wordnet.zip"))


def test_a_file_with_another_checksum_is_not_kept(wordnet, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "WORDNET_SHA256", "0" * 64)
    with pytest.raises(UserError, match=r"wordnet.zip is not what was published: its SHA-256 is not 0000"):
        fetch.fetch_wordnet()
    assert names(tmp_path) == set()
    monkeypatch.setattr(fetch, "WORDNET_SHA256", hashlib.sha256(wordnet.files["/wordnet.zip"]).hexdigest())
    fetch.fetch_wordnet()
    assert (tmp_path / "first" / "corpora" / "wordnet" / "data.noun").is_file()


def test_a_full_disk_is_no_broken_archive(wordnet, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(UserError, match=r"cannot write to \S+/\.fetch: No space left on device"):
            fetch.fetch_wordnet()
    requests = len(wordnet.requests)
    fetch.fetch_wordnet()
    assert len(wordnet.requests) == requests
    assert names(tmp_path) == {f"first/corpora/wordnet/{name}" for name in tiny_wordnet.files()}


def test_nothing_is_fetched_from_a_branch_that_moves_without_a_checksum_or_a_count():
    for path, _, sha256 in fetch.NLI_FILES.values():
        assert re.search(r"/resolve/[0-9a-f]{40}/", path)
        assert sha256 is None or re.fullmatch(r"[0-9a-f]{64}", sha256)
    assert re.search(r"/SentEval/[0-9a-f]{40}/", fetch.PROBING)
    assert re.fullmatch(r"[0-9a-f]{64}", str(fetch.WORDNET_SHA256))


@pytest.mark.parametrize("what", ["senteval", "nli"])
def test_what_is_fetched_needs_a_place(capsys, what):
    with pytest.raises(SystemExit) as end:
        main(["fetch", what])
    assert end.value.code == 2
    assert f"fetch {what} needs --to DIR" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["senteval", "nli"])
def test_without_network_one_sentence_and_no_folder(tmp_path, monkeypatch, what):
    """A port that nobody listens on stands for the hub."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"cannot reach http://127\.0\.0\.1:9/"):
        main(["fetch", what, "--to", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


SHARED = Path("../shared/data/senteval/downstream")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/senteval")
def test_published_counts_are_those_of_the_real_files():
    partial = {"SNLI/s1.train"}
    for name, lines in fetch.DOWNSTREAM_LINES.items():
        if name not in partial:
            assert fetch._count_lines(SHARED / name) == lines, name
