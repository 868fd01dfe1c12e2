"""What all tests share: one thread each, hypothesis without deadlines, and a tiny corpus with a tiny encoder."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads torch
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if not os.path.exists("/dev/nvidiactl"):  # without a GPU, kernels of Triton are interpreted
    os.environ.setdefault("TRITON_INTERPRET", "1")

import builtins
import contextlib
import functools
import gc
import itertools
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import is_hypothesis_test, settings

if TYPE_CHECKING:
    from trainables.corpora.nli import NLIPairs
    from trainables.encoders.transformer import TransformerEncoder

# A busy machine is no failure. `make test` tries the same few examples every time, `make fuzz` more and others.
settings.register_profile("the same", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("others", deadline=None)
settings.load_profile("others" if "FUZZ_INPUTS" in os.environ else "the same")

PACKAGES = {"study", "trainables", "search_spaces", "reports", "benchmarks"}
BUILT_IN_SUM = builtins.sum
FOLDERS = itertools.count()

NO_WEIGHTS = (2).to_bytes(8, "little") + b"{}"
"""A file of safetensors without any, for folders of which only the settings are read."""

SENTENCES = (
    "a man is sleeping",
    "two dogs run",
    "the woman in the red coat plays a piano near the old river while it rains",
    "a",
    "the children are eating apples in the park",
    "a man is sleeping on a bench in the park with a small dog and two old women",
)
"""Of uneven length; the first word of each is known to the scenes vocabulary."""

# Three premises with several entailments, none, and one that another premise entails too.
ROWS = (
    ("a man is sleeping", "a person is sleeping", 0),
    ("a man is sleeping", "a man rests", 0),
    ("a man is sleeping", "a man sleeps in a bed at night", 1),
    ("a man is sleeping", "a man is running", 2),
    ("two dogs run in the park", "two animals run", 0),
    ("two dogs run in the park", "some dogs play with a ball", 1),
    ("two dogs run in the park", "two dogs sleep", 2),
    ("a woman plays a piano", "a woman plays a song for her friends", 1),
    ("a woman plays a piano", "a woman eats", 2),
    ("a boy runs", "a person is running", 0),
    ("a boy runs", "a boy runs quickly to the old river", 1),
    ("a boy runs", "a boy sleeps", 2),
    ("a man sleeps on a bench", "a person is sleeping", 0),
)


TOKEN = "a-token-for-this-test-only-0123456789abcdef"
"""Of the shared cluster."""
PLANTED = {
    "HF_TOKEN": "hf_planted0token1that2nobody3may4read",
    "MY_TRACKER_API_KEY": "planted-key-0123456789",
    "DATABASE_URL": "postgresql://me:planted-password-42@nowhere/x",
}
"""Secrets in the environment of every study on the shared cluster, and of the cluster's own processes."""


def pytest_configure() -> None:
    gc.disable()  # until all is imported


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Ray come first, for they are the longest, then files with many tests: `pytest -n 2` should not wait for
    one at the end. Those that share a cluster share a process of it. Properties are fuzzed, too."""
    many = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("ray") is None, -many[item.path]))
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("cluster"))
        if is_hypothesis_test(getattr(item, "function", None)):
            item.add_marker("fuzz")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadgroup` a process takes the next group whenever it is free, and what is in none goes by its file:
    its tests share what is costly to make."""
    from xdist.scheduler import LoadGroupScheduling

    class Files(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return str(super()._split_scope(nodeid)).split("::")[0]

    return Files(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """What is imported by now stays. The garbage collector need not look through its million objects again, a second
    each time; and what a test leaves behind is looked for less often. All that is a fifth of what tests take."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture
def own_spaces() -> Iterator[None]:
    """Whose tasks of their own, which a space file of a results folder adds, are taken back afterwards."""
    from trainables.plugins import withdraw_spaces

    yield
    withdraw_spaces()


@pytest.fixture
def own_folder(own_spaces: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test works in a folder of its own; the names that its spaces add go again."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a user's studies note on the machine, such as which code is trusted, tests note in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder. pytest's own fixture looks through all that the process has made before, for each one anew."""
    path = tmp_path_factory.getbasetemp() / f"test-{next(FOLDERS)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="session", autouse=True)
def floats_are_summed_by_fsum() -> Iterator[None]:
    """Since Python 3.12 the built-in `sum` of floats ends in other digits than before, so our packages leave them to
    `math.fsum` and `statistics.fmean`, which answer alike on every version."""

    @functools.wraps(BUILT_IN_SUM)  # PyTorch looks at its signature
    def checked(values: Any, /, start: Any = 0) -> Any:
        total = BUILT_IN_SUM(values, start)
        if type(total) is float and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
            raise AssertionError("a sum of floats depends on Python's version: use math.fsum or statistics.fmean")
        return total

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "sum", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def disks_are_not_waited_for() -> Iterator[None]:
    """`fsync` is for a machine that loses its power, which no test does: a test kills processes, or replaces `fsync` by
    a failure of its own. Thousands of small files would wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def pictures_are_not_drawn() -> Iterator[Any]:
    """Drawing takes most of a report's time: only a test that asks for `drawn` has pictures, others a file in their
    place. What draws them in earnest."""
    from reports.plots import canvas

    svg = canvas.svg
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "svg", lambda figure: b"picture")
        yield svg


@pytest.fixture
def drawn(pictures_are_not_drawn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real pictures."""
    monkeypatch.setattr("reports.plots.canvas.svg", pictures_are_not_drawn)


@pytest.fixture(scope="session")
def tiny_pairs() -> NLIPairs:
    """`ROWS` as a corpus."""
    return pairs_of(ROWS)


def pairs_of(rows: Any) -> NLIPairs:
    from trainables.corpora.nli import NLIPairs

    premises, hypotheses, labels = (list(column) for column in zip(*rows, strict=True))
    return NLIPairs(premises, hypotheses, np.array(labels, dtype=np.int8), 0, 0, "0" * 12, "tiny")


def loaded(
    name: Any = "scenes-small", mode: str = "mean", *, padding: Any = "ignore", how: Any = None, **settings: Any
) -> TransformerEncoder:
    """A transformer in evaluation mode. `settings` are of its `EncoderConfig`, `how` is what `load_encoder` takes."""
    from trainables.encoders import load_encoder
    from trainables.encoders.pooling import Pooling
    from trainables.encoders.transformer import TransformerEncoder
    from trainables.recipe import EncoderConfig, Recipe

    pooling = Recipe().preferring({"pooling.mode": mode, "pooling.padding": padding}).part(Pooling)
    encoder = load_encoder(EncoderConfig(name=str(name), **settings), pooling, device="cpu", **(how or {}))
    assert isinstance(encoder, TransformerEncoder)
    return encoder.eval()


@pytest.fixture(scope="session")
def make_encoder() -> Any:
    """`make_encoder(mode)`: the built-in encoder, fresh and in evaluation mode; more options are `load_encoder`'s."""

    def make(
        mode: str = "mean_without_cls",
        layers: int | None = None,
        max_length: int = 128,
        padding: Any = "ignore",
        **more: Any,
    ) -> TransformerEncoder:
        return loaded(mode=mode, padding=padding, how=more, layers=layers, max_length=max_length)

    return make


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """`ray start --head` with token authentication, as the README says; the environment of those who use it."""
    folder = tmp_path_factory.mktemp("ray")
    token = folder / "token"
    token.write_text(TOKEN)
    shared = {
        **{key: value for key, value in os.environ.items() if not key.startswith("RAY_")},
        "HF_HUB_OFFLINE": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        "RAY_metrics_report_interval_ms": "2000",  # a fifth of what Ray takes, for a test that waits for them
        "RAY_worker_niceness": "0",  # other tests run beside these, and Ray's workers would wait for them
        **PLANTED,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    gcs, dashboard = free_port(), free_port()
    start = ["ray", "start", "--head", "--block", f"--port={gcs}", "--dashboard-host=127.0.0.1", "--num-cpus=2"]
    session = Path(f"/tmp/ray-test-{os.getpid()}")  # short, as paths of sockets must be
    start += [f"--dashboard-port={dashboard}", f"--temp-dir={session}"]
    # Ray's fixed ports may be taken by another cluster of this machine; an agent without its port takes no job.
    start += [f"--dashboard-agent-listen-port={free_port()}", f"--dashboard-agent-grpc-port={free_port()}"]
    start += [f"--metrics-export-port={free_port()}", f"--ray-client-server-port={free_port()}"]
    head = start_head(start, shared)
    try:
        deadline = time.monotonic() + 300  # a loaded machine is waited for
        while socket.socket().connect_ex(("127.0.0.1", dashboard)):
            if head.poll() is not None:  # Ray gives its own processes 30 seconds, which no setting changes
                end_head(head)
                head = start_head(start, shared)
            assert time.monotonic() < deadline, "the dashboard does not answer"
            time.sleep(0.5)
        yield {
            **shared,
            "RAY_ADDRESS": f"127.0.0.1:{gcs}",
            "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{dashboard}",
        }
    finally:
        end_head(head)
        shutil.rmtree(session, ignore_errors=True)


def start_head(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """`ray start --head --block` in a process group of its own: `ray stop` would end all clusters of this machine."""
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def end_head(head: subprocess.Popen[bytes]) -> None:
    """There is nothing to be saved, and SIGTERM takes half a minute."""
    with contextlib.suppress(ProcessLookupError):  # it ended by itself, and left nothing behind
        os.killpg(head.pid, signal.SIGKILL)
    head.wait()


def free_port() -> int:
    """One that nobody is given by chance before it is used: the system hands out ports from 32768 on, and another Ray
    that starts beside this one takes dozens of them. Ray's own workers have those from 10002 to 19999."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub cannot be reached, whatever machine this is."""
    import huggingface_hub

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """The process keeps nothing that tests before this one read, and nothing that this one patched."""
    from trainables.process_cache import PROCESS_CACHE

    PROCESS_CACHE.clear()
    yield
    PROCESS_CACHE.clear()


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in corpus, a tenth of it, and of one task as much as has all its labels: every task can be read."""
    from trainables.corpora import scenes
    from trainables.corpora.scenes import files

    folder = tmp_path_factory.mktemp("scenes") / "corpus"
    scenes.write(folder, size=0.1)
    words = folder / "senteval" / "probing" / "word_content.txt"
    files._write_probe(words, files.PROBES[words.stem], 0, files._Counts(0.5))
    return folder


class GlooAnswers(dict[int, list[dict[str, Any]]]):
    """By size of a group. Groups of 2 and 3 start together; one of 4, for slow tests, when one of these asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, size: int) -> list[dict[str, Any]]:
        import torch

        from tests.gloo_worker import JOBS

        jobs = (",".join(JOBS), "losses,exchanges,buckets,evaluations") if size < 4 else ("", "", "losses")
        done = subprocess.run(
            [sys.executable, "-m", "tests.gloo_worker", str(self.folder), *jobs],
            cwd=Path(__file__).resolve().parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout
        for workers in (2, 3) if size < 4 else (4,):
            answers = [self.folder / f"{workers}/answer-{rank}.pt" for rank in range(workers)]
            self[workers] = [torch.load(answer, weights_only=False) for answer in answers]
        return self[size]


@pytest.fixture(scope="session")
def gloo_answers(tmp_path_factory: pytest.TempPathFactory) -> GlooAnswers:
    """What each gloo worker of a group of 2, of 3 and of 4 found, by job. Its tests have the mark
    `xdist_group("gloo")`, so that one process of `pytest -n` starts the workers, and the others do not."""
    return GlooAnswers(tmp_path_factory.mktemp("gloo"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for each file: as long as it is open, a loop of asyncio runs in this process, and no other one can."""
    from tests.live_pictures import CHROMIUM, chromium

    pytest.importorskip("playwright", reason="a browser is driven by playwright, which is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium() as opened:
        yield opened


def lend_scenes(cache: Path) -> None:
    """The default corpus in a test's own cache folder: it is the user's own, as making another takes seconds."""
    from trainables.corpora import scenes
    from trainables.files import PROJECT

    corpus = scenes.ensure()
    (cache / PROJECT).mkdir(parents=True)
    (cache / PROJECT / corpus.name).symlink_to(corpus)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of the test's own, no hub, and the libraries loaded before a test counts time and memory."""
    import datasets

    import trainables.encoders.pretrained
    import trainables.encoders.word_vectors  # noqa: F401

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets.disable_progress_bars()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "new" / "folder"


def slow_case(*values: Any, when: bool = True) -> Any:
    """A case for `parametrize`, of one value or several, that only `make test-long` runs."""
    return pytest.param(*values, marks=[pytest.mark.slow] if when else [])


class Words:
    """A tokenizer that gives each word its length, with what a store of documents asks of one."""

    def get_vocab(self) -> dict[str, int]:
        return {}

    def __len__(self) -> int:
        return 1000

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[len(word) for word in text.split()] for text in texts]}


class WordEncoder:
    """What a layout of tokens asks of an encoder."""

    tokenizer = Words()
    specials = 2

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length

    def wrap(self, ids: Sequence[int]) -> list[int]:
        return [0, *ids, 1]
