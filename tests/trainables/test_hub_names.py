"""A revision that a name of the hub pins is what the loaders are asked for. The hub is its cache on this disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

from trainables.corpora import hub
from trainables.corpora.documents import load_documents
from trainables.corpora.nli import check_nli, load_nli
from trainables.corpora.paraphrase import check_paraphraser
from trainables.encoders import check_encoder, load_encoder
from trainables.encoders.model_card import model_card
from trainables.encoders.pooling import Mean
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.hub_names import on_hub
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
SENTENCES = ["two dogs run", "a man sleeps"]


@pytest.fixture(scope="session")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub's cache with two revisions of one model, which differ in their layers."""
    cache = tmp_path_factory.mktemp("hub")
    model = cache / "models--org--model"
    (model / "refs").mkdir(parents=True)
    for layers, (name, commit) in enumerate(COMMITS.items(), start=1):
        load_encoder(EncoderConfig(name=SCENES_ENCODER, layers=layers), Mean(), device="cpu").save(
            model / "snapshots" / commit
        )
        (model / "refs" / name).write_text(commit)
    return cache


@pytest.fixture
def hub_cache(cached: Path, monkeypatch: pytest.MonkeyPatch, nothing_kept: None) -> Path:
    """It is the one that all libraries look into, and nothing else can be reached."""
    import huggingface_hub

    def refuse(*args: Any, **given: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
    for module in (huggingface_hub.constants, huggingface_hub.file_download):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(cached), raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return cached


def test_a_name_and_its_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is no name of the hub."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me@home").mkdir()
    assert on_hub("org/model") == ("org/model", None)
    assert on_hub("org/model@v1") == ("org/model", "v1")
    assert on_hub("org/model@refs/pr/7") == ("org/model", "refs/pr/7")
    assert on_hub("model@1f2a") == ("model", "1f2a")
    assert on_hub("me@home") == ("me@home", None)


@pytest.mark.parametrize("text", ["org/model@", "@v1", "org/model@v1@v2", "org/model@../v1", "a b@v1", "org/model@v 1"])
def test_a_revision_that_is_none_is_refused(text: str) -> None:
    refusal = f"^'{text}' pins no revision of the hub; write owner/name@REVISION: a commit, a tag or a branch$"
    for kind in ("transformer", "pipeline", "static"):
        with pytest.raises(UserError, match=refusal):
            check_encoder(EncoderConfig(kind, text))
    for refuse in (on_hub, check_nli, check_paraphraser):
        with pytest.raises(UserError, match=refusal):
            refuse(text)  # type: ignore[operator]


@pytest.mark.parametrize("revision", ["v1", COMMITS["v1"]])
@pytest.mark.parametrize("kind", ["transformer", "pipeline"])
def test_an_encoder_of_a_revision(hub_cache: Path, kind: str, revision: str) -> None:
    def encoded(name: str) -> np.ndarray:
        config = EncoderConfig(kind, name)
        check_encoder(config)
        return load_encoder(config, device="cpu").encode(SENTENCES)

    newest, pinned = encoded("org/model"), encoded(f"org/model@{revision}")
    own = hub_cache / "models--org--model" / "snapshots"
    np.testing.assert_array_equal(newest, encoded(str(own / COMMITS["main"])))
    np.testing.assert_array_equal(pinned, encoded(str(own / COMMITS["v1"])))
    assert not np.array_equal(newest, pinned)


@pytest.mark.usefixtures("hub_cache")
def test_what_is_not_there() -> None:
    with pytest.raises(UserError, match=r"encoder\.layers is 3, but 'org/model@v1' has 2 layers"):
        check_encoder(EncoderConfig(name="org/model@v1", layers=3))
    with pytest.raises(UserError, match="the encoder 'org/model@v2' is not in the local cache and the hub cannot be"):
        check_encoder(EncoderConfig(name="org/model@v2"))


def test_it_is_part_of_the_hash_and_of_the_card() -> None:
    newest, pinned = (Recipe().override({"encoder.name": name}) for name in ("org/model", "org/model@v1"))
    assert newest.hash != pinned.hash
    card = model_card(pinned.flat(), EvaluationConfig(), 0, {}, {})
    assert 'base_model: "org/model"\n' in card
    assert "| encoder.name | org/model\\@v1 |" in card


def test_data_sets_of_a_revision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make_encoder: Any) -> None:
    requests: list[tuple[str, Any]] = []

    def loaded(name: str, *_: Any, revision: str | None = None, **given: Any) -> Any:
        requests.append((name, revision))
        if "split" not in given:
            return None  # a builder
        rows = {"premise": ["a"], "hypothesis": ["b"], "label": [0], "text": ["two dogs run in the park"]}
        return datasets.Dataset.from_dict(rows)

    monkeypatch.setattr(hub, "reachable", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", loaded)
    monkeypatch.setattr(datasets, "load_dataset_builder", loaded)
    check_nli("org/pairs@v1")
    assert load_nli("org/pairs@v1").premises == ["a"]
    assert len(load_documents("org/texts@v2", make_encoder().tokenizer, shortest=1, cache=tmp_path)) == 1
    assert set(requests) == {("org/pairs", "v1"), ("org/texts", "v2")}


def test_a_paraphraser_of_a_revision(hub_cache: Path, tmp_path: Path) -> None:
    """A model of whatever kind: its settings are read, and say that it is none."""
    other = shutil.copytree(hub_cache, tmp_path / "copy") / "models--org--model" / "snapshots" / COMMITS["v1"]
    assert json.loads((other / "config.json").read_text())["num_hidden_layers"] == 2
    with pytest.raises(UserError, match=r"'org/model@v1' is no sequence-to-sequence model \(bert\)"):
        check_paraphraser("org/model@v1")
