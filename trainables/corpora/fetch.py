"""Real data from where it is published: the SentEval folder, SNLI with MultiNLI, and WordNet.

    fetch_senteval(Path("senteval"))   # senteval/downstream, senteval/probing
    fetch_nli(Path("nli"))             # nli/snli/train.parquet, nli/multi_nli/train.parquet, ...
    fetch_wordnet()                    # into NLTK's folder of data

Revisions are pinned. Files are checked by their published counts, and by their SHA-256 if known. An interrupted
download stays in `.fetch/` and is resumed by the next call. `HF_ENDPOINT` names a mirror of the hub.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import hashlib
import logging
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pooch
from filelock import FileLock

from trainables.corpora.cache import default_cache
from trainables.corpora.scenes.probing import PROBES
from trainables.errors import UserError

TIMEOUT_SECONDS = 30.0
_CHUNK = 1 << 20

# The archive and the captions have no pinned revision and no known checksum, so their contents are checked.
SENTEVAL_TAR = "datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
PROBING = (
    "https://raw.githubusercontent.com/facebookresearch/SentEval/6b13ac2060332842f59e84183197402f11451c94/data/probing"
)
CAPTIONS = "https://dl.fbaipublicfiles.com/senteval/coco_r101_feat"

with Path(__file__).with_name("published.csv").open(encoding="utf-8") as _file:
    DOWNSTREAM_LINES: dict[str, int] = {row["file"]: int(row["lines"]) for row in csv.DictReader(_file)}
"""Maps a file below `downstream/` to its published number of lines, header lines included."""
PROBING_FILES = tuple(PROBES)
PROBING_LINES = {"tr": 100_000, "va": 10_000, "te": 10_000}
"""Published number of lines of a probing file by split. Files may differ by `PROBING_SLACK` of it, as a few do."""
PROBING_SLACK = 0.01

_SNLI = "datasets/stanfordnlp/snli/resolve/cdb5c3d5eed6ead6e5a341c8e56e669bb666725b/plain_text"
_MULTI_NLI = "datasets/nyu-mll/multi_nli/resolve/da70db2af9d09693783c3320c4249840212ee221/data"


NLI_FILES: dict[str, tuple[str, int, str | None]] = {
    "snli/train.parquet": (f"{_SNLI}/train-00000-of-00001.parquet", 550_152, None),
    "snli/dev.parquet": (f"{_SNLI}/validation-00000-of-00001.parquet", 10_000, None),
    "snli/test.parquet": (f"{_SNLI}/test-00000-of-00001.parquet", 10_000, None),
    "multi_nli/train.parquet": (
        f"{_MULTI_NLI}/train-00000-of-00001.parquet",
        392_702,
        "1c1de03640b168e410aabfca19e7cc2f3dfcd7f0e126e935674e56fb102c4529",
    ),
}
"""Maps a file to fetch to its path on the hub at a pinned revision, its number of rows, and its SHA-256 if known."""

# The branch of NLTK's data changes, so a checksum pins the file.
WORDNET = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip"
WORDNET_SHA256: str | None = "cbda5ea6eef7f36a97a43d4a75f85e07fccbb4f23657d27b4ccbc93e2646ab59"
WORDNET_SYNSETS = {"data.noun": 82_115, "data.verb": 13_767, "data.adj": 18_156, "data.adv": 3_621}
"""Published number of synsets in each file of WordNet 3.0."""


def fetch_senteval(to: Path) -> None:
    """Fetch `to/downstream` and `to/probing` in SentEval's layout; print the files that the archive lacks."""
    with _alone(to):
        if not (to / "downstream").is_dir():
            archive = _download(f"{_hub()}/{SENTEVAL_TAR}", to / ".fetch" / "senteval.tar", None)
            missing = _unpack_senteval(archive, to / "downstream")
            archive.unlink()
            if missing:
                print(f"not in the published archive: {', '.join(missing)}")
        for name in PROBING_FILES:
            _fetch_file(f"{PROBING}/{name}.txt", to / "probing" / f"{name}.txt", to, None, _check_probing)
        # Pickles: the download checks their size, and the restricted reader later checks their content.
        for split in ("train", "valid", "test"):
            file = to / "downstream" / "COCO" / f"{split}.pkl"
            _fetch_file(f"{CAPTIONS}/{split}.pkl", file, to, None, lambda _: None)
    print(f"SentEval's data is complete in {to}")


def fetch_nli(to: Path) -> None:
    """Fetch SNLI and MultiNLI as Parquet; `--nli TO/snli` then trains on SNLI, `--nli TO` on both."""
    with _alone(to):
        for name, (path, rows, sha256) in NLI_FILES.items():
            check = functools.partial(_check_parquet, expected=rows)
            _fetch_file(f"{_hub()}/{path}", to / name, to, sha256, check)
    print(f"SNLI and MultiNLI are complete in {to}")


def fetch_wordnet(to: Path | None = None) -> None:
    """Fetch WordNet 3.0, as NLTK packs it, into `to/corpora/wordnet`. By default `to` is a folder that NLTK reads: the
    first folder of NLTK_DATA, or `nltk_data` in the user's home."""
    to = to or Path(os.environ.get("NLTK_DATA", "").split(os.pathsep)[0] or Path.home() / "nltk_data")
    target = to / "corpora" / "wordnet"
    with _alone(to):
        if not target.is_dir():
            archive = _download(WORDNET, to / ".fetch" / "wordnet.zip", WORDNET_SHA256)
            _unpack_wordnet(archive, target)
    print(f"WordNet is complete in {target}; where that is not in your home, set NLTK_DATA={to}")


@contextlib.contextmanager
def _alone(to: Path) -> Iterator[None]:
    """Let one process at a time fetch into a folder; other processes wait, then find the files there. The folder
    `.fetch` is removed after success."""
    name = hashlib.sha256(str(to.resolve()).encode()).hexdigest()[:12]
    try:
        default_cache().mkdir(parents=True, exist_ok=True)
        lock = FileLock(default_cache() / f"fetch-{name}.lock")
        lock.acquire()
    except OSError as error:
        raise UserError(f"cannot write to {default_cache()}: {error.strerror}; it follows XDG_CACHE_HOME") from None
    try:
        yield
        shutil.rmtree(to / ".fetch", ignore_errors=True)
    finally:
        lock.release()


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _fetch_file(url: str, file: Path, to: Path, sha256: str | None, check: Callable[[Path], None]) -> None:
    if file.exists():
        return
    got = _download(url, to / ".fetch" / "-".join(file.relative_to(to).parts), sha256)
    try:
        check(got)
    except UserError:
        got.unlink()  # complete but wrong, so resuming would not help
        raise
    file.parent.mkdir(parents=True, exist_ok=True)
    got.replace(file)


def _download(url: str, file: Path, sha256: str | None) -> Path:
    """Download a file, resuming an earlier try, and check its SHA-256 unless None. `UserError` if this fails."""
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        pooch.retrieve(url, sha256, file.name, file.parent, downloader=functools.partial(_resume, file))
    except UserError:
        for folder in (file.parent, file.parent.parent):  # empty folders made by pooch
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    except ValueError:
        raise UserError(f"{url} is not what was published: its SHA-256 is not {sha256}; it was deleted") from None
    except OSError as error:
        raise UserError(f"cannot write to {file.parent}: {error.strerror}") from None
    return file


def _resume(file: Path, url: str, output_file: str, pooch_: object) -> None:
    """Download for `pooch`, resuming an earlier try; pooch's own downloaders start from zero."""
    part = file.with_name(file.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    print(f"{'going on with' if have else 'fetching'} {url}")
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            resumed = getattr(answer, "status", 200) == 206
            length = answer.headers.get("Content-Length")
            expected = int(length) + (have if resumed else 0) if length else None
            with part.open("ab" if resumed else "wb") as stream:
                shutil.copyfileobj(answer, stream, _CHUNK)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # the part does not fit the file that is published now
            part.unlink()
            _resume(file, url, output_file, pooch_)
            return
        raise UserError(f"{url} answers {error.code} ({error.reason}); is it still published there?") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise UserError(
            f"cannot reach {url} ({reason}); fetch needs a network: run it where there is one (it goes on where it "
            "stopped), or copy the data here in the same layout"
        ) from None
    size = part.stat().st_size
    if expected is not None and size != expected:
        raise UserError(f"{url} broke off after {size:,} of {expected:,} bytes; the same command goes on from there")
    part.replace(output_file)


@contextlib.contextmanager
def _unpacking(archive: Path) -> Iterator[Path]:
    """Yield an empty folder to unpack an archive into. If the archive cannot be read, or the `with` block refuses its
    content by a `UserError`, the archive is deleted and a `UserError` raised."""
    draft = archive.with_name("unpacked")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        yield draft
    except UserError:
        archive.unlink()
        raise
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # such as a full disk, not a broken archive
            raise UserError(f"cannot write to {archive.parent}: {error.strerror}") from None
        archive.unlink()
        raise UserError(f"{archive.name} is no readable archive ({error}); it was deleted, fetch it again") from None


def _unpack_senteval(archive: Path, target: Path) -> list[str]:
    """Extract, check and move into place the folder of the tasks; return the names of missing files."""
    with _unpacking(archive) as draft, tarfile.open(archive) as tar:
        tar.extractall(draft, filter=_no_links)
        roots = [draft, *sorted(folder for folder in draft.rglob("*") if folder.is_dir())]
        root = next((folder for folder in roots if (folder / "MR").is_dir() or (folder / "STS").is_dir()), None)
        if root is None:
            raise UserError(f"{archive.name} holds no SentEval tasks (no folder with MR or STS); it was deleted")
        missing = [name for name in DOWNSTREAM_LINES if not (root / name).is_file()]
        for name, expected in DOWNSTREAM_LINES.items():
            if name not in missing and (lines_read := _count_lines(root / name)) != expected:
                raise UserError(
                    f"{archive.name}: {name} has {lines_read:,} lines, published are {expected:,}; it was deleted"
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    root.rename(target)
    shutil.rmtree(draft, ignore_errors=True)
    return missing


def _no_links(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo:
    """Refuse links: after the tasks' folder is moved, a link within it could lead out of it."""
    if not (member.isreg() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is neither a file nor a folder")
    return tarfile.data_filter(member, target)


def _unpack_wordnet(archive: Path, target: Path) -> None:
    with _unpacking(archive) as draft, zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            folder, _, name = member.filename.partition("/")
            if folder == "wordnet" and name and name == Path(name).name:  # flat names, so no path leads out
                (draft / name).write_bytes(packed.read(member))
        for name, expected in WORDNET_SYNSETS.items():
            synsets = _count_synsets(draft / name) if (draft / name).is_file() else 0
            if synsets != expected:
                raise UserError(
                    f"{archive.name}: {name} has {synsets:,} synsets, published are {expected:,}; it was deleted"
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft.rename(target)


def _count_synsets(file: Path) -> int:
    with file.open("rb") as stream:
        return sum(not line.startswith(b"  ") for line in stream)  # the licence is indented


def _count_lines(file: Path) -> int:
    with file.open("rb") as stream:
        return sum(1 for _ in stream)


def _check_probing(file: Path) -> None:
    counts = dict.fromkeys(PROBING_LINES, 0)
    with file.open("rb") as stream:
        for line in stream:
            split = line.split(b"\t", 1)[0].decode("latin-1")
            if split not in counts:
                raise UserError(f"{file.name} is no probing file: a line begins with {split[:20]!r}")
            counts[split] += 1
    for split, expected in PROBING_LINES.items():
        if abs(counts[split] - expected) > PROBING_SLACK * expected:
            raise UserError(f"{file.name} has {counts[split]:,} lines of {split!r}, published are {expected:,}")


def _check_parquet(file: Path, expected: int) -> None:
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_metadata(file).num_rows
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{file.name} is no readable Parquet file ({error})") from None
    if rows != expected:
        raise UserError(f"{file.name} has {rows:,} rows, published are {expected:,}")
