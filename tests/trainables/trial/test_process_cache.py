"""What is kept beside scores: item digests, small arrays, geometry, the encoder's state, sentences seen in training."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from tests.trials import PAIRS
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import EncoderConfig, Recipe
from trainables.senteval import items
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.read_task import kept_task
from trainables.senteval.scoring import geometry
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial import TrialResult
from trainables.trial.overlap import overlap
from trainables.trial.run import run_trial

EVALUATION = EvaluationConfig("scenes", ("STSBenchmark",), "fast")


def pairs(left: list[str], right: list[str], labels: list[float]) -> Split:
    return Split(left, right, np.array(labels))


class TestItems:
    DATA = TaskData({"train": pairs(["x"], ["y"], [1.0]), "test": pairs(["a", "b"], ["c", "d"], [1.0, 4.5])})

    def of(self, data: TaskData, task: str = "STSBenchmark") -> str:
        return items.digest(kind_of(task).tested_splits(data))

    def changed(self, **changes: Any) -> str:
        test = dataclasses.replace(self.DATA.splits["test"], **changes)
        return self.of(TaskData({**self.DATA.splits, "test": test}))

    def test_they_follow_texts_labels_and_order_of_the_test_part_alone(self) -> None:
        own = self.of(self.DATA)
        assert len(own) == 16
        assert int(own, 16) >= 0
        other = TaskData({"train": pairs(["z"], ["y"], [1.0]), "test": self.DATA.splits["test"]})
        assert self.of(other) == own
        different = [
            self.changed(left=["a", "B"]),
            self.changed(right=["c", "e"]),
            self.changed(labels=np.array([1.0, 4.6])),
            self.changed(left=["b", "a"], right=["d", "c"], labels=np.array([4.5, 1.0])),
            self.changed(left=["a b", ""]),
        ]
        assert len({own, *different}) == len(different) + 1

    def test_all_sub_corpora_count_and_so_do_their_bounds(self) -> None:
        def parts(*splits: Split) -> str:
            return self.of(TaskData({str(number): split for number, split in enumerate(splits)}), "STS12")

        whole = pairs(["a", "b"], ["c", "d"], [1.0, 2.0])
        cut = pairs(["a"], ["c"], [1.0]), pairs(["b"], ["d"], [2.0])
        assert len({parts(whole), parts(*cut), parts(*reversed(cut))}) == 3

    @pytest.mark.parametrize(
        ("array", "kind"),
        [
            (np.array([0, 5]), np.int8),
            (np.array([-1, 127]), np.int8),
            (np.array([0, 128]), np.int16),
            (np.array([0, 40_000]), np.int32),
            (np.array([0, 2**40]), np.int64),
            (np.array([0.5, np.float64(np.float32(0.1))]), np.float32),
            (np.array([0.5, 0.1]), np.float64),
            (np.array([], dtype=np.int64), np.int64),
        ],
    )
    def test_small_arrays_lose_nothing(self, array: np.ndarray, kind: type) -> None:
        small = items.compact(array)
        assert small.dtype == kind
        assert np.array_equal(small.astype(array.dtype), array)


def naive_anisotropy(vectors: dict[str, np.ndarray], splits: list[Split]) -> float:
    """Pair by pair in float64."""
    unit = {text: v.astype(np.float64) / np.linalg.norm(v) for text, v in vectors.items() if v.any()}
    used = [text for text in unit if any(text in (*split.left, *(split.right or ())) for split in splits)]
    return float(np.mean([unit[a] @ unit[b] for i, a in enumerate(used) for b in used[:i]]))


class TestGeometry:
    TEXTS = tuple(f"t{number}" for number in range(40))

    def of(self, data: dict[str, TaskData]) -> tuple[Any, dict[str, np.ndarray]]:
        draws = np.random.default_rng(0).normal(0.3, size=(len(self.TEXTS), 6)).astype(np.float32)
        draws[7] = 0
        index = {text: row for row, text in enumerate(self.TEXTS)}

        def lookup(texts: list[str]) -> torch.Tensor:
            return torch.tensor([index[text] for text in texts], dtype=torch.long)

        return geometry(data, torch.from_numpy(draws), lookup), dict(zip(self.TEXTS, draws, strict=True))

    def split(self, seed: int, texts: int = 30) -> Split:
        draws = np.random.default_rng(seed)
        left, right = ([self.TEXTS[i] for i in draws.integers(texts, size=25)] for _ in range(2))
        return pairs(left, right, [1.0] * 25)

    def test_a_loop_over_pairs_agrees(self) -> None:
        benchmark = {name: self.split(seed) for seed, name in enumerate(("train", "dev", "test"))}
        other = {"STS12": TaskData({"MSRpar": self.split(9, texts=40)}), "MR": TaskData({})}
        figures, vectors = self.of({"STSBenchmark": TaskData(benchmark), **other})
        mean = naive_anisotropy(vectors, list(benchmark.values()))
        assert figures == {"anisotropy": pytest.approx(mean, rel=1e-5)}
        assert mean != pytest.approx(naive_anisotropy(vectors, list(other["STS12"].splits.values())), rel=1e-3)

    def test_without_the_benchmark_all_sts_tasks_that_are_there(self) -> None:
        data = {"STS16": TaskData({"a": self.split(1), "b": self.split(2)}), "STS13": TaskData({"c": self.split(3)})}
        figures, vectors = self.of(data)
        mean = naive_anisotropy(vectors, [self.split(n) for n in (1, 2, 3)])
        assert figures == {"anisotropy": pytest.approx(mean, rel=1e-5)}

    def test_what_cannot_be_measured(self) -> None:
        assert self.of({"MR": TaskData({"all": Split(["t1"], None, np.array([1]))})})[0] == {}
        zero = TaskData({"test": pairs(["t7"], ["t1"], [5.0])})
        assert self.of({"STSBenchmark": zero})[0] == {"anisotropy": None}


CORPUS = (
    {"premise": "A  Man is sleeping", "hypothesis": "a person sleeps", "label": "entailment"},
    {"premise": "two dogs run", "hypothesis": "two animals run", "label": "entailment"},
    {"premise": "two dogs run", "hypothesis": "two dogs sleep", "label": "contradiction"},
)


class TestOverlap:
    @pytest.fixture
    def recipe(self, tmp_path: Path) -> Recipe:
        (tmp_path / "nli.jsonl").write_text("\n".join(json.dumps(row) for row in CORPUS))
        folder = tmp_path / "senteval/downstream/STS/STSBenchmark"
        folder.mkdir(parents=True)
        test = ["a man is  sleeping\tx", "y\tTWO DOGS SLEEP", "a man sleeping\tz", "q\tr"]
        dev = ["Y\tTWO DOGS SLEEP", "A man sleeping!\tz", "q\tother", "other\tr"]
        for split, lines in (("train", test), ("dev", dev), ("test", test)):
            (folder / f"sts-{split}.csv").write_text("".join(f"a\tb\tc\td\t4.5\t{line}\n" for line in lines))
        trec = tmp_path / "senteval/downstream/TREC"
        trec.mkdir()
        (trec / "train_5500.label").write_text("DESC:x two dogs run\nHUM:x who\nHUM:x where\n")
        (trec / "TREC_10.label").write_text("DESC:x two dogs\nHUM:x A person sleeps\nHUM:x two animals run\n")
        return Recipe().preferring({"encoder.name": "scenes-small", "corpus.nli": str(tmp_path / "nli.jsonl")})

    def test_counted_by_hand(self, recipe: Recipe, tmp_path: Path) -> None:
        seen = overlap(recipe, tmp_path / "senteval", ["STSBenchmark", "TREC"], (None, "0"))
        assert seen["TREC"].tolist() == [False, True, True]
        split = kept_task(TASKS["STSBenchmark"], tmp_path / "senteval").splits["test"]
        marks = dict(zip(split.left, seen["STSBenchmark"].tolist(), strict=True))
        trained, chosen = items.IN_TRAINING, items.IN_DEVELOPMENT
        assert marks == {"a man is sleeping": trained, "y": trained + chosen, "a man sleeping": chosen, "q": 0}
        (alone,) = overlap(recipe, tmp_path / "senteval", ["TREC"], (None, "0")).values()
        assert alone.tolist() == [False, True, True]
        few = overlap(recipe.override({"corpus.limit": 1}), tmp_path / "senteval", ["TREC"], (None, "0"))
        assert few["TREC"].sum() == 1

    def test_near_duplicates_count(self, recipe: Recipe, tmp_path: Path) -> None:
        """They share four fifths of their words and pairs of words; another sentence of the same words does not."""
        text = "the old man at the corner of our street sold fresh bread every single morning"
        row = {"premise": text, "hypothesis": "a man sells bread", "label": "entailment"}
        (tmp_path / "nli.jsonl").write_text(json.dumps(row))
        near, other = text.replace("morning", "day"), " ".join(reversed(text.split()))
        (tmp_path / "senteval/downstream/TREC/TREC_10.label").write_text(f"DESC:x {near}\nHUM:x {other}\n")
        assert overlap(recipe, tmp_path / "senteval", ["TREC"], (None, "1"))["TREC"].tolist() == [True, False]

    def test_files_are_read_once_as_long_as_they_stay(
        self, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (first,) = overlap(recipe, tmp_path / "senteval", ["TREC"], ("corpus", "tasks")).values()

        def fail(*_: object) -> None:
            raise AssertionError("read again")

        monkeypatch.setattr("trainables.trial.overlap.all_sentences", fail)
        again = recipe.override({"objective.temperature": 0.3, "pooling.mode": "cls"})
        assert overlap(again, tmp_path / "senteval", ["TREC"], ("corpus", "tasks"))["TREC"] is first
        with pytest.raises(AssertionError, match="read again"):
            overlap(recipe, tmp_path / "senteval", ["TREC"], ("another", "tasks"))

    def test_absent_where_nothing_is_trained_or_listed(self, recipe: Recipe, tmp_path: Path) -> None:
        for changes in ({"optimisation.epochs": 0}, {"corpus.layout": "spans", "objective.name": "ntxent"}):
            assert overlap(recipe.override(changes), tmp_path / "senteval", ["TREC"], (None, "0")) is None


class TestFresh:
    def names(self, folder: Path, **more: Any) -> tuple[str, ...]:
        config = EncoderConfig(name=str(folder), layers=more.pop("layers", None))
        fresh: tuple[str, ...] = load_encoder(config, Mean(), device="cpu", **more).fresh  # type: ignore[attr-defined]
        return fresh

    @pytest.fixture
    def folder(self, make_encoder: Any, tmp_path: Path) -> Path:
        """A checkpoint of a BERT whose second layer lacks a weight."""
        encoder = make_encoder()
        config = BertConfig(**{**encoder.backbone.config.to_dict(), "num_hidden_layers": 2})
        weights = BertModel(config, add_pooling_layer=False).state_dict()
        del weights["encoder.layer.1.output.dense.weight"]
        encoder.backbone.save_pretrained(tmp_path, state_dict=weights)
        encoder.tokenizer.save_pretrained(tmp_path)
        return tmp_path

    def test_what_a_checkpoint_lacks(self, folder: Path) -> None:
        assert self.names(folder) == ("backbone.encoder.layer.1.output.dense.weight",)
        assert self.names(folder, layers=1) == ()  # the layer is cut off

    def test_a_head_that_no_checkpoint_gave(self, folder: Path) -> None:
        fresh = self.names(folder, masked_lm=True, layers=1)
        assert "mlm_head.head.0.predictions.transform.dense.weight" in fresh
        assert all(name.startswith("mlm_head.") for name in fresh)
        encoder: Any = load_encoder(EncoderConfig(name=str(folder)), Mean(), masked_lm=True)
        names = {name for name, _ in encoder.named_parameters()}
        assert set(encoder.fresh) <= names
        assert not any("word_embeddings" in name or "decoder.weight" in name for name in encoder.fresh)


@pytest.fixture
def base() -> Recipe:
    return PAIRS.override({"corpus.limit": 64, "head.kind": "linear"})


class TestOverlapInATrial:
    @pytest.mark.slow
    def test_whatever_goes_wrong_the_trial_is_kept(
        self, base: Recipe, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("a file\nis gone")

        monkeypatch.setattr("trainables.trial.save_and_score.overlap", fail)
        result = run_trial(base, 1, EVALUATION)
        assert result.scores["STSBenchmark"]["test_spearman_cosine"] is not None
        assert "overlap" not in result.evaluated
        lines = [line for line in capsys.readouterr().err.splitlines() if "seen in training" in line]
        assert lines == ["test sentences seen in training are not counted (RuntimeError: a file is gone)"]

    @pytest.mark.slow
    def test_the_corpus_is_read_once(self, base: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        file = tmp_path / "nli.jsonl"
        read = []

        def load(*given: Any, **more: Any) -> NLIPairs:
            read.append(given)
            return load_nli(*given, **more)

        monkeypatch.setattr("trainables.corpora.layouts.nli.load_nli", load)
        recipe = base.override({"corpus.nli": str(file), "optimisation.batch_size": 2})
        file.write_text("\n".join(json.dumps(row) for row in CORPUS))
        assert run_trial(recipe, 1, EVALUATION).evaluated["overlap"]["STSBenchmark"]["seen"] == 0
        assert len(read) == 1
        file.write_text("\n".join(json.dumps(row) for row in (*CORPUS, *CORPUS)))
        assert run_trial(recipe, 1, EVALUATION).data["corpus"]["pairs"] == 2 * len(CORPUS)
        assert len(read) == 2, "a changed file is read again"


@pytest.mark.slow
def test_a_trial_tells_all_of_it(base: Recipe, tmp_path: Path) -> None:
    """The encoder is described as it was before training: of two trials with other seeds, alike."""
    results = [run_trial(base, seed, EVALUATION) for seed in (1, 2)]
    untrained = run_trial(base.override({"optimisation.epochs": 0}), 1, EVALUATION)
    first, second = (result.data["encoder"] for result in results)
    assert first == second
    assert first["name"] == "scenes-small"
    assert first["fresh"] == ["head.weight", "head.bias"]
    assert untrained.data["encoder"] == {**first, "fresh": []}
    assert "overlap" not in untrained.evaluated
    overlap = results[0].evaluated["overlap"]["STSBenchmark"]
    assert overlap["items"] == len(results[0].predictions["STSBenchmark"])
    assert results[0].predictions["seen.STSBenchmark"].tolist() == [0] * overlap["items"]
    assert "seen.STSBenchmark" not in untrained.predictions
    assert results[0].geometry["anisotropy"] != untrained.geometry["anisotropy"]
    assert results[0].predictions["items.STSBenchmark"].item() == untrained.predictions["items.STSBenchmark"].item()
    # An adapter's own parameters are fresh, and its base is not trained.
    adapted = run_trial(
        base.override({"encoder.adapter": "mlp"}), 1, EVALUATION, embedding_folder=tmp_path / "embeddings"
    )
    assert adapted.data["encoder"]["fresh"][:2] == ["adapter.0.weight", "adapter.0.bias"]
    assert (tmp_path / "embeddings" / adapted.data["encoder"]["fingerprint"]).is_dir()


def test_a_record_and_its_file_hold_it(tmp_path: Path) -> None:
    """What a worker tells is what a report reads: texts beside numbers, and no pickled object."""
    from reports.ledger import LEDGER, Ledger
    from study.engine.records import TrialRun
    from study.trial import Trial
    from trainables.machine import machine

    recipe = Recipe().preferring({"encoder.name": "scenes-small"})
    trial = Trial(recipe, 1, "row", evaluation=EVALUATION)
    result = TrialResult(
        scores={"STSBenchmark": {"dev_spearman_cosine": 61.0}},
        predictions={
            "STSBenchmark": np.array([0.5], dtype=np.float32),
            "items.STSBenchmark": np.array("0123456789abcdef"),
        },
        geometry={"anisotropy": np.float64(0.5)},
        data={"encoder": {"name": "e", "fingerprint": "f", "fresh": ["head.weight"]}},
        evaluated={"overlap": {"MR": {"items": 3, "seen": 0}}},
    )
    event = TrialRun(trial, (), {"busy": 1.5}, machine(), saved=False).scored(result)
    assert event.card is None
    Ledger(tmp_path / LEDGER).write(event.record)
    (record,) = Ledger(tmp_path / LEDGER).read()
    assert record.geometry == result.geometry
    assert record.machine == machine()
    assert record.machine["processor"]
    assert record.data_read == {**result.data, **result.evaluated}
    assert record.checkpoint is None
    assert record.cost["crew"] == {"busy": 1.5}
    (evaluation,) = record.evaluations
    assert record.predictions == [f"predictions/{trial.key}-{evaluation.name}.npz"]
    with np.load(io.BytesIO(event.predictions or b""), allow_pickle=False) as file:
        assert file["items.STSBenchmark"].item() == "0123456789abcdef"
        assert file["STSBenchmark"].dtype == np.float32
