"""The README of a saved model, and the warning about slow bf16."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from trainables.encoders.model_card import model_card, write_card
from trainables.encoders.precision import resolve_precision, slow_bf16
from trainables.evaluation_config import EvaluationConfig
from trainables.machine import native_bf16
from trainables.recipe import Recipe

SCORES = {
    "STS12": {"spearman_all": 61.234, "examples": 3108, "seconds": 1.5},
    "MR": {"reason": "no file MR/rt-polarity.pos"},
}
DATA = {
    "corpus": {"source": "my | pairs", "pairs": 12, "sentences": ["a secret sentence"]},
    "heat_map": {"sentences": ["another secret sentence"]},
    "senteval": {"source": "data", "fingerprint": "abc"},
}


class TestModelCard:
    def test_it_says_recipe_scores_data_and_use(self):
        recipe = Recipe().preferring({"objective.temperature": 0.05})
        text = model_card(recipe.flat(), EvaluationConfig(), 3, SCORES, DATA, {"steps": 90, "loss": 0.8})
        assert "SentenceTransformer(" in text
        assert "| STS12 | 3108 | spearman\\_all 61.23 |" in text
        assert "| MR |  | none: no file MR/rt-polarity.pos |" in text
        assert "| objective.temperature | 0.05 |" in text
        assert "Seed 3." in text
        assert "| corpus.pairs | 12 |" in text
        assert "| steps | 90 |" in text
        assert "padding" in text.partition("## Training")[2]
        assert "leaves padding out" not in text
        counted = recipe.override({"pooling.padding": "count"})
        assert "leaves padding out" in model_card(counted.flat(), EvaluationConfig(), 3, SCORES, DATA)

    def test_it_says_which_version_of_sentence_transformers_it_needs(self):
        for mode, version in ("mean", "5.4"), ("first_last_mean", "5.4"), ("mean_without_cls", "6"):
            flat = Recipe().preferring({"pooling.mode": mode}).flat()
            assert f"sentence-transformers {version} or later" in model_card(flat, EvaluationConfig(), 1, SCORES, DATA)

    def test_it_says_what_is_saved_otherwise_than_it_was_scored(self):
        flat = Recipe().preferring({"encoder.dtype": "bf16"}).flat()
        beside = {"encoder": {"name": "a", "saved_with": "Normalize, similarity dot | x"}}
        text = model_card(flat, EvaluationConfig(), 1, SCORES, {**DATA, **beside})
        assert "this one has Normalize, similarity dot \\| x. The scores were taken by cosines" in text
        assert "stored in bf16, and compute in fp32" in text
        plain = model_card(Recipe().flat(), EvaluationConfig(), 1, SCORES, DATA)
        assert "norm" not in plain.partition("## Training")[0]
        assert "bf16" not in plain.partition("## Training")[0]

    def test_it_holds_no_sentence_and_no_value_breaks_a_table(self):
        text = model_card(Recipe().flat(), EvaluationConfig(), 1, SCORES, {**DATA, "note": "two\nlines | `code`"})
        assert "secret" not in text
        assert "| corpus.source | my \\| pairs |" in text
        assert "| note | two lines \\| \\`code\\` |" in text
        for line in text.splitlines():
            assert not line.startswith("|") or line.endswith("|")

    def test_it_tells_nothing_of_the_machine(self):
        recipe = Recipe().override({"corpus.nli": "/home/me/a.csv,own/name"})
        data = {"corpus": {"source": "STSBenchmark in /home/me/my data", "note": "premises / hypotheses, and/or both"}}
        text = model_card(
            recipe.flat(),
            EvaluationConfig("/home/me/my data"),
            1,
            {"MR": {"reason": "no file /home/me/MR/rt-polarity.pos"}},
            data,
        )
        assert "/home" not in text
        assert "| evaluation.senteval | my data |" in text
        assert "| corpus.nli | a.csv,own/name |" in text
        assert "| corpus.source | STSBenchmark in my data |" in text
        assert "| MR |  | none: no file rt-polarity.pos |" in text
        assert "| corpus.note | premises / hypotheses, and/or both |" in text

    @pytest.mark.parametrize(
        ("name", "base"),
        [
            ("google/bert_uncased", "google/bert_uncased"),
            ("scenes-small", None),
            ("/home/me/model", None),
            ('odd: "name"', None),
        ],
    )
    def test_its_head_is_yaml(self, name: str, base: str | None):
        import yaml

        text = model_card(Recipe().preferring({"encoder.name": name}).flat(), EvaluationConfig(), 1, SCORES, DATA)
        head = yaml.safe_load(text.split("---")[1])
        assert head["library_name"] == "sentence-transformers"
        assert head.get("base_model") == base

    def test_written_beside_a_model_it_changes_nothing_of_it(self, make_encoder: Any, folder: Path):
        encoder = make_encoder("mean")
        encoder.save(folder)
        write_card(folder, "old")
        write_card(folder, "# new\n")
        assert (folder / "README.md").read_text() == "# new\n"
        assert not list(folder.glob("*.tmp"))
        SentenceTransformer(str(folder), device="cpu")


class TestPrecision:
    def test_auto_is_fp32_without_a_gpu(self):
        assert resolve_precision("auto", "cpu") == torch.float32
        assert resolve_precision("bf16", "cpu") == torch.bfloat16
        assert resolve_precision("fp32", "cpu") == torch.float32

    @pytest.mark.parametrize(
        ("capabilities", "native"),
        [
            ({"avx512_bf16": True, "amx_bf16": False}, True),
            ({"avx512_bf16": False, "amx_bf16": True}, True),
            ({"avx512_f": True, "avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),
            ({"neon": True, "bf16": True}, True),
            ({"neon": True, "bf16": False}, False),
        ],
    )
    def test_a_processor_without_bf16_is_warned_about(
        self, capabilities: dict[str, bool], native: bool, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
        assert native_bf16("cpu") == native
        warning = slow_bf16("bf16", "cpu")
        assert (warning is None) == native
        for precision in ("auto", "fp32"):
            assert slow_bf16(precision, "cpu") is None
        if warning is not None:
            assert "\n" not in warning
            assert warning.endswith("use optimisation.precision=fp32, or auto")
            other = slow_bf16("bf16", "cpu", "encoder.precision")
            assert other is not None
            assert other.endswith("use encoder.precision=fp32")  # it has no auto

    def test_an_older_torch_cannot_say_and_so_nobody_is_warned(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delattr(torch.cpu, "get_capabilities")
        assert native_bf16("cpu") is None
        assert slow_bf16("bf16", "cpu") is None

    def test_torch_says_something_of_this_processor(self):
        """The names that are asked for are torch's."""
        known = torch.cpu.get_capabilities()
        if known.get("architecture") == "x86_64":
            assert {"avx512_bf16", "amx_bf16"} <= known.keys()
        assert sys.platform != "linux" or known
