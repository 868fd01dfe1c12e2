"""The package `mteb` itself, on tasks whose data it brings: what reaches our models, and what it reads of what we keep.

Skipped without the package; `make test-versions` puts it beside what is installed.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, Ledger
from reports.ledger.location import open_location
from reports.mteb_scores import FOLDER, MODEL_META, kept_scores, score, tasks_of
from reports.testing import make_study
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig

mteb = pytest.importorskip("mteb", reason="the package mteb is not installed: make test-versions brings it")

QUERY, DOCUMENT = "the dog ", "two women "


def saved(folder: Path, **prompts: str) -> str:
    """A model as a study keeps it."""
    encoder = load_encoder(EncoderConfig(name=SCENES_ENCODER, max_length=32, **prompts), Mean(), device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    encoder.save(folder)
    return str(folder)


def texts_seen(model: Any, task: Any, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What the tokenizer is given while `mteb` scores the model."""
    texts: set[str] = set()
    tokenize, prompts = model[0].preprocess, {*model.prompts.values()}  # which are also tokenized alone, to be counted

    def recorded(inputs: Any, *rest: Any, **options: Any) -> Any:
        prompt = options.get("prompt") or ""
        texts.update(prompt + text for text in inputs if text not in prompts)
        return tokenize(inputs, *rest, **options)

    monkeypatch.setattr(model[0], "preprocess", recorded)
    mteb.evaluate(model, task, cache=None, co2_tracker=False, show_progress_bar=False)
    return texts


def began(texts: set[str], *prompts: str) -> list[set[str]]:
    """The texts of each prompt, without it."""
    assert all(text.startswith(prompts) for text in texts), texts
    return [{text.removeprefix(prompt) for text in texts if text.startswith(prompt)} for prompt in prompts]


def test_prompts_of_queries_and_documents_reach_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mteb.mocks.mock_tasks import MockRetrievalTask
    from sentence_transformers import SentenceTransformer

    task = MockRetrievalTask()
    task.load_data()
    split = task.dataset["default"]["test"]
    model = SentenceTransformer(saved(tmp_path, query_prompt=QUERY, document_prompt=DOCUMENT), device="cpu")
    queries, documents = began(texts_seen(model, task, monkeypatch), QUERY, DOCUMENT)
    assert queries == {*split["queries"]["text"]}
    assert len(documents) == len(split["corpus"])
    plain = SentenceTransformer(saved(tmp_path / "plain"), device="cpu")
    (both,) = began(texts_seen(plain, task, monkeypatch), "")  # the control: a model without prompts gets none
    assert both == queries | documents


def test_a_task_of_equal_sides_gets_the_prompt_of_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As our own scores do."""
    from mteb.mocks.mock_tasks import MockSTSTask
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(saved(tmp_path, query_prompt=QUERY, document_prompt=DOCUMENT), device="cpu")
    (sentences,) = began(texts_seen(model, MockSTSTask(), monkeypatch), QUERY)
    assert sentences


def test_an_instruction_for_a_task_reaches_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that the model names after the task, and those that a task has for each of its queries."""
    from mteb.mocks.mock_tasks import MockInstructionRetrieval, MockSTSTask
    from sentence_transformers import SentenceTransformer

    from trainables.encoders.export import save_pipeline

    began_with = SentenceTransformer(saved(tmp_path / "began"), device="cpu")
    prompts = {"STS": "how alike are these: ", "query": QUERY, "document": DOCUMENT}
    began_with.prompts = dict(prompts)
    save_pipeline(began_with, tmp_path / "kept")
    model = SentenceTransformer(str(tmp_path / "kept"), device="cpu")
    (sentences,) = began(texts_seen(model, MockSTSTask(), monkeypatch), prompts["STS"])
    assert sentences
    task = MockInstructionRetrieval()
    task.load_data()
    queries, _ = began(texts_seen(model, task, monkeypatch), QUERY, DOCUMENT)
    instructions = task.dataset["default"]["test"]["queries"]["instruction"]
    assert len(queries) == len(instructions) > 0
    assert all(any(instruction in query for query in queries) for instruction in instructions)


def test_what_is_kept_is_what_mteb_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The results of a task, and of the model what we know; nothing that we do not."""
    from mteb.mocks.mock_tasks import MockRetrievalTask, MockSTSTask
    from mteb.models import ModelMeta

    made = make_study(tmp_path / "results", rows=1, seeds=1)
    (record,) = made.records
    folder = made.folder
    record = dataclasses.replace(record, checkpoint=f"models/{record.key}")
    Ledger(folder / LEDGER).write(record)
    saved(folder / record.checkpoint, query_prompt=QUERY)
    score(open_location(folder, folder), [MockSTSTask(), MockRetrievalTask()])
    assert [*kept_scores(folder, record)] == ["MockRetrievalTask", "MockSTSTask"]
    results = folder / FOLDER / record.key
    assert mteb.results.TaskResult.from_disk(results / "MockSTSTask.json").task_name == "MockSTSTask"
    meta = ModelMeta.model_validate_json_resolved((results / MODEL_META).read_text())
    assert (meta.embed_dim, meta.max_tokens, meta.similarity_fn_name.value) == (128, 32, "cosine")
    assert meta.use_instructions is True
    assert 0 < meta.n_embedding_parameters < meta.n_parameters
    assert meta.loader is not None
    assert (meta.name, meta.revision, meta.license, meta.training_datasets) == (None, None, None, None)
    keys = {*json.loads((results / MODEL_META).read_text())}
    required = {name for name, field in ModelMeta.model_fields.items() if field.is_required()}
    assert required <= keys


def test_names_are_the_packages(tmp_path: Path) -> None:
    assert [task.metadata.name for task in tasks_of(["STS12", "NFCorpus", "STS12"])] == ["STS12", "NFCorpus"]
    assert len(tasks_of(["MTEB(eng, v2)"])) > 30
    with pytest.raises(UserError, match="did you mean 'NFCorpus'"):
        tasks_of(["NFcorpus"])
