"""A process that has run trials: nothing of them is left, nothing that is kept can be changed, the scores are equal."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from tests.trials import PAIRS, without_seconds
from trainables.corpora.layouts import nli as nli_layouts
from trainables.corpora.request import SamplerRequest
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.evaluation_config import EvaluationConfig
from trainables.objectives import OBJECTIVES
from trainables.objectives.losses.ntxent import NTXent
from trainables.objectives.objective import EmbeddedBatch, Loss
from trainables.process_cache import PROCESS_CACHE, ProcessCache, file_states, size_of
from trainables.recipe import EncoderConfig, Recipe
from trainables.senteval.read_task import content_hash, kept_task
from trainables.senteval.tasks import TASKS
from trainables.trial.data_requests import senteval_folder
from trainables.trial.process_reset import SETTINGS, ProcessReset
from trainables.trial.run import run_trial, run_trials
from trainables.trial.spec import TrialSpec

ROWS = PAIRS.override({"corpus.layout": "rows", "objective.name": "scl", "head.kind": "linear"})
EVALUATION = EvaluationConfig("scenes", ("STS12", "STSBenchmark", "TREC"), "fast")
FEW = EvaluationConfig("scenes", ("TREC",), "fast")
"""One small task, whose classifier a leak can reach, too."""
MASKED = PAIRS.override({"objective.mlm": 0.1, "optimisation.precision": "bf16"})

FRESH = """
import json, os, sys
import torch
torch.set_num_threads(1)
from tests.trials import without_seconds
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial.run import run_trial
evaluation = EvaluationConfig("scenes", ("STS12", "STSBenchmark", "TREC"), "fast")
for flat in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        result = run_trial(Recipe.from_flat(flat), 3, evaluation)
        print(json.dumps(repr(without_seconds(result))), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
"""Each trial in a fork of a new interpreter that has imported and done nothing else."""


@pytest.fixture
def between() -> Iterator[ProcessReset]:
    """The other tests are left as they were, whatever is planted here."""
    made = ProcessReset()
    yield made
    made.restore()


def of_fresh_processes(recipes: Sequence[Recipe]) -> list[str]:
    """All of the results of seed 3, in writing; each of a process of its own."""
    command = [sys.executable, "-c", FRESH, json.dumps([recipe.flat() for recipe in recipes])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]


@pytest.mark.slow
def test_scores_are_those_of_a_fresh_process_first_or_last(between: ProcessReset, tmp_path: Path):
    adapted = PAIRS.override({"encoder.adapter": "mlp", "pooling.mode": "mean"})
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} 1 {number} 3\n" for number, word in enumerate(("a", "man", "is", "two"))))

    def answers(recipe: Recipe) -> str:
        with between.trial():
            return repr(without_seconds(run_trial(recipe, 3, EVALUATION)))

    expected = of_fresh_processes([ROWS, MASKED])
    assert len(set(expected)) == 2
    assert answers(ROWS) == expected[0]
    assert answers(MASKED) == expected[1]
    others: list[Callable[[], object]] = [
        lambda: run_trial(PAIRS, 1, EVALUATION),
        lambda: run_trial(adapted, 1, EVALUATION, embedding_folder=tmp_path / "embeddings"),
        lambda: list(
            run_trials(
                [
                    TrialSpec(adapted, 1, EVALUATION),
                    TrialSpec(adapted.override({"objective.temperature": 0.3}), 2, EVALUATION),
                ]
            )
        ),
        lambda: run_trial(PAIRS.override({"optimisation.epochs": 0, "encoder.precision": "bf16"}), 1, FEW),
        lambda: run_trial(PAIRS.override({"optimisation.precision": "bf16", "pooling.mode": "cls"}), 2, FEW),
        lambda: run_trial(
            PAIRS.override({"encoder.kind": "word_vectors", "encoder.name": str(vectors)}), 1, EVALUATION
        ),
        lambda: run_trial(PAIRS.override({"optimisation.learning_rate": 1e30}), 1, FEW),
        lambda: run_trial(ROWS.override({"optimisation.batch_size": 32}), 3, EVALUATION),
    ]
    for other in others:
        with between.trial():
            other()
    assert [answers(ROWS), answers(MASKED)] == expected


class Leak:
    """What a plugin's objective does in each step, beside its work."""

    def __init__(self) -> None:
        self.plant: Callable[[], object] = lambda: None


LEAK = Leak()


class Leaking(NTXent):
    name = "leaking"

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        LEAK.plant()
        return super().loss(batch)


@pytest.fixture
def leaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recipe]:
    """A recipe whose objective leaks."""
    monkeypatch.setattr(LEAK, "plant", lambda: None)
    OBJECTIVES.add(Leaking)
    yield PAIRS.override({"objective.name": "leaking"})
    OBJECTIVES.remove("leaking")


def scale_all(*given: Any) -> Any:
    """A hook that doubles what a linear layer gives."""
    layer, _, output = given
    return 2 * output if isinstance(layer, torch.nn.Linear) else None


LEAKS: dict[str, Callable[[], object]] = {
    "default dtype": lambda: torch.set_default_dtype(torch.float64),
    "autocast": lambda: torch.set_autocast_enabled("cpu", True),
    "hook": lambda: torch.nn.modules.module.register_module_forward_hook(scale_all),
    "optimiser's hook": lambda: register_optimizer_step_pre_hook(lambda *_: None),
    "gradients": lambda: torch.set_grad_enabled(False),
    "threads": lambda: torch.set_num_threads(2),
    "deterministic": lambda: torch.use_deterministic_algorithms(True, warn_only=True),
    "precision": lambda: torch.set_float32_matmul_precision("medium"),
    "precision, said anew": lambda: setattr(torch.backends.cudnn.conv, "fp32_precision", "ieee"),
    "benchmark": lambda: setattr(torch.backends.cudnn, "benchmark", True),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "device": lambda: torch.set_default_device("meta"),
    "denormals": lambda: torch.set_flush_denormal(True),
    "numpy's errors": lambda: np.seterr(over="raise"),
    "folder": lambda: os.chdir("/"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_settings_are_put_back(name: str, between: ProcessReset):
    before = [setting.read() for setting in SETTINGS]
    with between.trial():
        LEAKS[name]()
        assert [setting.read() for setting in SETTINGS] != before  # it is seen at all
    assert [setting.read() for setting in SETTINGS] == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default dtype", "autocast", "hook", "gradients"])
def test_a_leak_would_change_the_next_trial(name: str, between: ProcessReset, leaking: Recipe):
    """The negative control: without the clean-up the next trial gives other scores, or none."""
    expected = without_seconds(run_trial(PAIRS, 1, FEW))
    steps: list[int] = []

    def last_step() -> None:  # or the leaking trial itself would not end
        steps.append(1)
        if len(steps) == 2:
            LEAKS[name]()

    LEAK.plant = last_step
    for clean in (False, True):
        between.restore()
        steps.clear()
        with contextlib.suppress(RuntimeError):  # whatever comes of it
            run_trial(leaking, 1, EVALUATION)
        assert len(steps) == 2
        if clean:
            between.restore()
        try:
            result = without_seconds(run_trial(PAIRS, 1, FEW))
        except RuntimeError:
            result = None
        assert (result == expected) == clean


def test_random_streams_start_anew(between: ProcessReset):
    """Of an objective, say, that draws without a seed of its own."""

    def draws() -> tuple[float, float, float]:
        return random.random(), float(np.random.rand()), float(torch.rand(()))

    with between.trial():
        first = draws()
        assert draws() != first
    with between.trial():
        assert draws() == first


@pytest.mark.parametrize("clean", [True, False])
def test_an_error_holds_no_tensors(clean: bool, between: ProcessReset):
    """Running out of memory leaves a traceback whose functions hold all that there was; they are made to forget it."""
    alive: list[Any] = []
    error: Any = None

    def fill() -> None:
        tensors: list[Any] = [torch.zeros(3)]
        tensors.append(tensors)  # a circle
        alive.append(weakref.ref(tensors[0]))
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    try:
        with between.trial() if clean else contextlib.nullcontext():
            try:
                fill()
            except RuntimeError as cause:
                raise ValueError("the trial failed") from cause
    except ValueError as raised:
        error = raised
    gc.collect()
    assert error.__cause__ is not None
    assert (alive[0]() is None) == clean


class TestGrowth:
    @pytest.mark.slow
    def test_what_is_held_is_seen(self, between: ProcessReset):
        held: list[Any] = []
        for _ in range(3):
            with between.trial():
                run_trial(PAIRS, 1, EVALUATION)
        assert between.growth().memory < 70 * 2**20
        assert between.growth().threads == 0
        with between.trial():
            held.append(torch.ones(256 * 2**18))  # 256 MiB
        assert between.growth().memory > 180 * 2**20
        held.clear()
        between.restore()
        assert between.growth().memory < 70 * 2**20

    def test_what_is_kept_on_purpose_is_not(self, between: ProcessReset):
        between.restore()
        PROCESS_CACHE.get("test", lambda: np.ones(64 * 2**17))
        assert between.growth().memory < 8 * 2**20  # less where the system gave memory that was free
        PROCESS_CACHE.clear()

    def test_a_thread_that_goes_on(self, between: ProcessReset):
        between.restore()
        end = threading.Event()
        with between.trial():
            thread = threading.Thread(target=end.wait)
            thread.start()
        assert between.growth().threads == 1
        end.set()
        thread.join()
        assert between.growth().threads == 0

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    def test_the_memory_of_a_gpu(self, between: ProcessReset):
        held = []
        between.restore()
        with between.trial():
            held.append(torch.ones(2**20, device="cuda"))
            torch.ones(2**26, device="cuda")
        assert between.growth().cuda == 4 * 2**20
        assert torch.cuda.memory_reserved() < 2**26
        held.clear()
        between.restore()
        assert between.growth().cuda == 0


def saved(encoder: Any, folder: Path, **more: Any) -> Any:
    encoder.backbone.save_pretrained(folder, **more)
    encoder.tokenizer.save_pretrained(folder)
    return encoder


class TestWhatIsKept:
    def test_an_encoder_that_a_trial_has_changed(self, make_encoder: Any, tmp_path: Path):
        saved(make_encoder(), tmp_path)
        for name in ("scenes-small", str(tmp_path)):
            config = EncoderConfig(name=name)
            first: Any = load_encoder(config, Mean())
            digits = first.fingerprint()
            with torch.no_grad():
                next(first.backbone.parameters()).add_(1.0)
            first.backbone.config.hidden_dropout_prob = 0.7
            first.tokenizer.add_tokens(["entirely", "new"])
            first.backbone.register_forward_hook(scale_all)
            second: Any = load_encoder(config, Mean())
            assert first.fingerprint() != digits == second.fingerprint()
            assert not second.backbone._forward_hooks
            cut: Any = load_encoder(dataclasses.replace(config, layers=1), Mean())
            assert cut.fingerprint() != digits == load_encoder(config, Mean()).fingerprint()

    def test_an_encoder_is_read_once_as_long_as_its_files_stay(
        self, make_encoder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        from trainables.encoders import pretrained

        made = saved(make_encoder(), tmp_path)
        reads: list[str] = []
        read = pretrained._load
        monkeypatch.setattr(pretrained, "_load", lambda name, dtype: (reads.append(name), read(name, dtype))[1])
        for _ in range(2):
            first = load_encoder(EncoderConfig(name=str(tmp_path)), Mean()).fingerprint()
        assert len(reads) == 1
        with torch.no_grad():
            next(made.backbone.parameters()).add_(1.0)
        made.backbone.save_pretrained(tmp_path)
        assert load_encoder(EncoderConfig(name=str(tmp_path)), Mean()).fingerprint() != first
        assert len(reads) == 2

    def test_weights_that_were_drawn_follow_the_seed(self, make_encoder: Any, tmp_path: Path):
        """A checkpoint that lacks a weight is read again: each seed draws it anew."""
        made = make_encoder()
        weights = made.backbone.state_dict()
        del weights["encoder.layer.0.output.dense.weight"]
        saved(made, tmp_path, state_dict=weights)
        digits = []
        for seed in (1, 2, 1):
            torch.manual_seed(seed)
            digits.append(load_encoder(EncoderConfig(name=str(tmp_path)), Mean()).fingerprint())
        assert digits[0] == digits[2] != digits[1]

    def test_a_task_that_a_trial_has_changed(self):
        folder = senteval_folder(EVALUATION.senteval)
        for name in ("STSBenchmark", "TREC"):
            first = kept_task(TASKS[name], folder)
            expected = {part: (list(split.left), split.labels.tolist()) for part, split in first.splits.items()}
            for split in first.splits.values():
                split.left.sort()
                split.labels[:] = 0
            second = kept_task(TASKS[name], folder)
            assert {p: (split.left, split.labels.tolist()) for p, split in second.splits.items()} == expected

    def test_a_corpus_that_a_trial_has_changed(self, tmp_path: Path):
        source = tmp_path / "nli.jsonl"
        rows = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": "entailment"} for i in range(4)]
        source.write_text("\n".join(map(json.dumps, rows)))
        layout, request = nli_layouts.PairLayout(nli=str(source)), SamplerRequest(2, 1, None, None, 128)
        first = layout._load(request)
        first.premises.clear()
        first.labels[:] = 2
        second = layout._load(request)
        assert (second.premises, second.labels.tolist()) == ([f"p {i}" for i in range(4)], [0] * 4)

    def test_tokens_that_a_trial_has_changed(self, monkeypatch: pytest.MonkeyPatch):
        from trainables.encoders import tokens

        encoder: Any = load_encoder(EncoderConfig(name="scenes-small"), Mean())
        sentences = [f"a man sees {'two ' * (number % 9)}dogs" for number in range(tokens.MIN_CACHED_SENTENCES)]
        few = [encoder.tokenize([sentence])[0] for sentence in sentences]
        ask = functools.partial(tokens.kept_token_ids, encoder.tokenizer, longest=encoder.max_length)
        first = ask(sentences)
        assert first == few
        for row in first:
            row.clear()
        called: list[int] = []
        tokenize = tokens.token_ids
        monkeypatch.setattr(tokens, "token_ids", lambda *given: (called.append(1), tokenize(*given))[1])
        assert ask(sentences) == few
        assert not called
        encoder.tokenizer.add_tokens(["dogs"])  # another tokenizer gives other tokens
        assert ask([*sentences[1:], "dogs"]) != [*few[1:], few[0]]
        assert called

    @pytest.mark.usefixtures("nothing_kept")
    def test_batches_of_a_training_are_not_kept(self):
        """They do not come again, and would push out what does."""
        from trainables.encoders.tokens import MIN_CACHED_SENTENCES

        encoder: Any = load_encoder(EncoderConfig(name="scenes-small"), Mean())
        before = PROCESS_CACHE.bytes
        encoder.tokenize([f"a man sees {number} dogs" for number in range(MIN_CACHED_SENTENCES)])
        assert PROCESS_CACHE.bytes == before
        encoder.encode(["a man"] * MIN_CACHED_SENTENCES)
        assert PROCESS_CACHE.bytes > before

    def test_a_changed_file_has_another_hash(self, tmp_path: Path):
        file = tmp_path / "file"
        file.write_text("one")
        first = content_hash(file)
        assert content_hash(file) == first
        file.write_text("other")
        assert content_hash(file) != first
        file.write_text("older")  # of the same size
        os.utime(file, ns=(1, 1))
        assert len({content_hash(file), first}) == 2


class TestKept:
    def test_it_is_bounded_by_bytes_and_the_oldest_leave(self):
        kept = ProcessCache(bound=1000)
        made: list[str] = []

        def value(name: str, size: int) -> np.ndarray:
            def make() -> np.ndarray:
                made.append(name)
                return np.zeros(size, dtype=np.uint8)

            return kept.get(name, make)

        for name in ("a", "b", "a", "c"):
            value(name, 400)
        assert (made, kept.bytes) == (["a", "b", "c"], 800)
        value("a", 400)  # b has left
        value("b", 400)
        assert made == ["a", "b", "c", "b"]
        value("large", 1001)
        value("large", 1001)
        assert made[4:] == ["large", "large"]
        assert kept.bytes == 800

    def test_what_fails_or_is_not_fit_is_made_again(self):
        kept, tries = ProcessCache(), []

        def fail() -> int:
            tries.append(1)
            raise ValueError("no file")

        for _ in range(2):
            with pytest.raises(ValueError, match="no file"):
                kept.get("key", fail)
        assert len(tries) == 2
        assert [kept.get("key", lambda number=number: number, lambda _: False) for number in (1, 2)] == [1, 2]
        assert kept.bytes == 0

    def test_sizes(self):
        assert size_of(np.zeros(1000)) == size_of(torch.zeros(1000, dtype=torch.float64)) == 8000
        text = "x" * 1000
        assert 1000 < size_of([text, text]) < 1300  # counted once
        layer = torch.nn.Linear(10, 100)
        assert size_of(layer) >= 4 * 1100
        folder = senteval_folder(EVALUATION.senteval)
        content = kept_task(TASKS["TREC"], folder)
        assert size_of(content) > sum(len(sentence) for sentence in content.sentences())

    def test_a_stamp_follows_content_and_time(self, tmp_path: Path):
        (tmp_path / "a").write_text("1")
        first = file_states(tmp_path)
        assert first == file_states(tmp_path)
        time.sleep(0.02)
        (tmp_path / "a").write_text("2")
        second = file_states(tmp_path)
        (tmp_path / "b").write_text("3")
        assert len({first, second, file_states(tmp_path)}) == 3
