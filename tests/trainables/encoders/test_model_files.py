"""What a sentence-transformers folder says of itself: the table of docs/encoders.md, row by row."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Router, Transformer
from sentence_transformers.multi_vector_encoder import modules as multi_vector
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer import modules as dense
from sentence_transformers.sentence_transformer.modules import (
    CNN,
    LSTM,
    BoW,
    Dense,
    Dropout,
    LayerNorm,
    Pooling,
    StaticEmbedding,
    WeightedLayerPooling,
    WordWeights,
)
from sentence_transformers.sparse_encoder import modules as sparse
from tokenizers import Tokenizer, models, normalizers

from study.rows import as_it_came
from tests.conftest import SENTENCES, slow_case
from trainables.encoders import check_encoder, check_trainable, load_encoder
from trainables.encoders.module_files import own_length
from trainables.encoders.own_modules import (
    differences_from_original,
    equals_original_model,
    needs_pipeline,
    own_settings,
)
from trainables.encoders.pipeline import Pipeline
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.pooling import Pooling as OwnPooling
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES, EncoderConfig, Recipe
from trainables.trial.build import build_encoder, describe_encoder
from trainables.trial.result import TrialResult
from trainables.trial.run import run_trial

TABLE = Path(__file__).resolve().parents[3] / "docs" / "encoders.md"
ROWS = dict(re.findall(r"^\| (.+?) \| (followed|named|refused) \|", TABLE.read_text(), re.MULTILINE))
TEXTS = [*SENTENCES, " ".join(SENTENCES).title(), "", "The Dog", "the dog"]
DIM = 128
TASKS = EvaluationConfig("scenes", tasks=("STS12",), protocol="fast")
Change = Callable[[Path], object]


def put(file: str, **changes: Any) -> Change:
    """Some entries of a file of settings are others; `...` takes one out."""

    def change(folder: Path) -> None:
        held = {**json.loads((folder / file).read_text()), **changes}
        (folder / file).write_text(json.dumps({key: value for key, value in held.items() if value is not ...}))

    return change


transformer = functools.partial(put, "sentence_bert_config.json")
model = functools.partial(put, "config_sentence_transformers.json")
pooling = functools.partial(put, "1_Pooling/config.json")


def remade(*parts: Any, keep: int = 2, **more: Any) -> Change:
    """The first `keep` modules, and others after them."""

    def change(folder: Path) -> None:
        whole = [*SentenceTransformer(str(folder), device="cpu")]
        made = SentenceTransformer(modules=[*whole[:keep], *parts], device="cpu", **more)
        shutil.rmtree(folder)
        made.save(str(folder), create_model_card=False)

    return change


def without_prompt(**settings: Any) -> Change:
    """Prompts for queries and documents, whose tokens are not pooled."""

    def change(folder: Path) -> None:
        pooling(include_prompt=False, **settings)(folder)
        model(prompts={"query": "two men ", "document": "a dog "}, default_prompt_name="query")(folder)

    return change


def before_pooling(module: Any) -> Change:
    return remade(module, Pooling(DIM, "mean"), keep=1)


def of_type(kind: str, **settings: Any) -> Change:
    """The first module is another one, as far as its settings say."""

    def change(folder: Path) -> None:
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["type"] = kind
        (folder / "modules.json").write_text(json.dumps(modules))
        if settings:
            model(**settings)(folder)

    return change


def keep_case(folder: Path) -> None:
    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.save(path)
    transformer(do_lower_case=True)(folder)


def in_a_folder(folder: Path) -> None:
    (folder / "0_BERT").mkdir()
    for file in ("config.json", "model.safetensors", "sentence_bert_config.json"):
        (folder / file).rename(folder / "0_BERT" / file)
    for path in folder.glob("*token*"):
        path.rename(folder / "0_BERT" / path.name)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([{**modules[0], "path": "0_BERT"}, *modules[1:]]))


def first_and_last(folder: Path) -> None:
    weights = WeightedLayerPooling(DIM, num_hidden_layers=2, layer_start=1)
    put("config.json", output_hidden_states=True)(folder)
    before_pooling(weights)(folder)


def in_bf16(folder: Path) -> None:
    SentenceTransformer(str(folder), device="cpu").to(torch.bfloat16).save(str(folder), create_model_card=False)
    put("config.json", dtype="bfloat16")(folder)


def static(folder: Path) -> None:
    shutil.rmtree(folder)
    vectors = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    words = Tokenizer(models.WordLevel({"dog": 0, "the": 1, "a": 2, "[UNK]": 3}, unk_token="[UNK]"))
    SentenceTransformer(modules=[StaticEmbedding(words, vectors)], device="cpu").save(str(folder))


OURS = {pooling.stock: pooling for pooling in POOLINGS.values() if pooling.stock and pooling.module_before is None}
OTHERS = [mode for mode in Pooling.POOLING_MODES if mode not in OURS]
"""The modes of the module `Pooling` that are a pooling of ours, and all others."""
ALL = {f"`{name}`" for rooms in (dense, sparse, multi_vector) for name in rooms.__all__}
UNMADE = {"`Module`", "`InputModule`", "`BaseTokenPooling`"}
"""Classes that others inherit."""
FOLLOWED: dict[str, tuple[Change, ...]] = {
    "`Transformer`": (in_a_folder,),
    "`Pooling`: as one of ours": (
        *(pooling(pooling_mode=mode) for mode in OURS),
        pooling(pooling_mode=..., pooling_mode_mean_tokens=True, pooling_mode_cls_token=False),
        pooling(pooling_mode=["mean"]),
        pooling(pooling_mode="cls", pooling_mode_mean_tokens=True),
    ),
    "`MultiVectorMask`": (before_pooling(MultiVectorMask(["[CLS]"], skiplist_tasks=["query", "document"])),),
    "`WeightedLayerPooling`": (first_and_last,),
    "`Normalize`": (remade(Normalize()),),
    "`max_seq_length`": (transformer(max_seq_length=9), transformer(max_seq_length=64)),
    "`model_max_length`": (
        put("tokenizer_config.json", model_max_length=7),
        transformer(processor_kwargs={"model_max_length": 8}),
        transformer(tokenizer_args={"model_max_length": 8}),
    ),
    "`do_lower_case`": (keep_case,),
    "`dtype`": (in_bf16,),
    "`unpad_inputs`": (transformer(unpad_inputs=False),),
    "`prompts`: query, document": (
        model(prompts={"query": "two men ", "document": "a dog "}, default_prompt_name="query"),
    ),
    "`Pooling`: include_prompt": tuple(
        without_prompt(pooling_mode=mode) for mode, pooling in OURS.items() if not pooling.needs_prompt
    ),
    "`default_prompt_name`": (model(prompts={"sts": "two men ", "query": "a dog "}, default_prompt_name="sts"),),
    "`similarity_fn_name`": (remade(Normalize(), similarity_fn_name="dot"),),
}
"""All give the same embeddings after a training that changes nothing."""
NAMED: dict[str, tuple[tuple[Change, str], ...]] = {
    "`Pooling`: as one of ours": (),
    "`Pooling`: others": (
        *((pooling(pooling_mode=mode), f"1_Pooling ({mode})") for mode in OTHERS),
        (pooling(pooling_mode=["cls", "mean"]), "1_Pooling"),
        (pooling(pooling_mode=..., pooling_mode_cls_token=True, pooling_mode_max_tokens=True), "1_Pooling"),
    ),
    "`MultiVectorMask`": ((before_pooling(MultiVectorMask(["dogs"])), "1_MultiVectorMask"),),
    "`WeightedLayerPooling`": (
        (before_pooling(WeightedLayerPooling(DIM, num_hidden_layers=3, layer_start=1)), "1_WeightedLayerPooling"),
        (before_pooling(WeightedLayerPooling(DIM, num_hidden_layers=2, layer_start=0)), "1_WeightedLayerPooling"),
    ),
    "`Normalize`": (
        (remade(Normalize(), Dense(DIM, 7)), "2_Normalize"),
        (before_pooling(Normalize("token_embeddings")), "1_Normalize"),
    ),
    "`Dense`": ((remade(Dense(DIM, 7)), "2_Dense"),),
    "`LayerNorm`": ((remade(LayerNorm(DIM)), "2_LayerNorm"),),
    "`Dropout`": ((remade(Dropout(0.5)), "2_Dropout"),),
    "`WordWeights`": ((before_pooling(WordWeights(["a"] * 200, {"a": 2.0})), "1_WordWeights"),),
    "`CNN`": ((before_pooling(CNN(DIM, DIM, [1])), "1_CNN"),),
    "`LSTM`": ((before_pooling(LSTM(DIM, DIM // 2)), "1_LSTM"),),
    "`max_seq_length`": (),
    "`model_kwargs`": (
        (transformer(model_kwargs={"reference_compile": False}), "its model_kwargs reference_compile"),
        (transformer(model_args={"reference_compile": False}), "its model_args reference_compile"),
    ),
    "`config_kwargs`": ((transformer(config_kwargs={"hidden_act": "relu"}), "its config_kwargs hidden_act"),),
    "`processor_kwargs`": (
        (transformer(processor_kwargs={"truncation_side": "left"}), "its processor_kwargs truncation_side"),
    ),
    "`processing_kwargs`": (
        (transformer(processing_kwargs={"text": {"add_special_tokens": False}}), "its processing_kwargs text"),
    ),
    "`transformer_task`": ((transformer(transformer_task="fill-mask"), "its transformer_task 'fill-mask'"),),
    "`modality_config`": (
        (
            transformer(modality_config={"text": {"method": "forward", "method_output_name": "pooler_output"}}),
            "its modality_config",
        ),
    ),
    "`module_output_name`": ((transformer(module_output_name="scores"), "its module_output_name 'scores'"),),
    "`query_length`": (
        (transformer(query_length=5), "its query_length 5"),
        (transformer(document_length=5), "its document_length 5"),
        (transformer(query_expansion={"strategy": "min", "length": 9}), "its query_expansion {"),
    ),
    "`tokenizer_name_or_path`": (
        (transformer(tokenizer_name_or_path="owner/name"), "its tokenizer_name_or_path 'owner/name'"),
    ),
    "`prompts`: others": ((model(prompts={"query": "", "sts": "two men "}), "its prompts for 'sts'"),),
    "`similarity_fn_name`": (
        (model(similarity_fn_name="dot"), "its similarity dot (cosines are scored)"),
        (remade(Normalize(), similarity_fn_name="euclidean"), "its similarity euclidean (cosines are scored)"),
    ),
    "`truncate_dim`": ((model(truncate_dim=16), "its truncate_dim 16"),),
}
ROOM = "sentence_transformers.models."
REFUSED: dict[str, tuple[tuple[Change, str], ...]] = {
    "`StaticEmbedding`": ((static, "is a static encoder; set encoder.kind to 'static'"),),
    "`Router`": (
        (of_type(f"{ROOM}Router"), "begins with the module Router, which only its own pipeline runs"),
        (of_type(f"{ROOM}Asym"), "begins with the module Asym, which only its own pipeline runs"),
    ),
    "`CLIPModel`": ((of_type(f"{ROOM}CLIPModel"), "begins with the module CLIPModel"),),
    "`BoW`": ((of_type(f"{ROOM}BoW"), "begins with the module BoW"),),
    "`WordEmbeddings`": ((of_type(f"{ROOM}WordEmbeddings"), "begins with the module WordEmbeddings"),),
    "`SparseEncoder`": ((of_type(f"{ROOM}Transformer", model_type="SparseEncoder"), "is a SparseEncoder, which"),),
    "`MultiVectorEncoder`": ((of_type(f"{ROOM}Transformer", model_type="MultiVectorEncoder"), "is a MultiVectorEn"),),
    "code of its own": ((of_type("mine.Model"), "begins with the module Model, which"),),
}


def cases(rows: dict[str, Any]) -> list[Any]:
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), id=f"{name}-{number}")
            for name, of_row in rows.items() for number, case in enumerate(of_row)]  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, make_encoder: Any) -> Path:
    folder = tmp_path_factory.mktemp("model") / "plain"
    make_encoder("mean").save(folder)
    return folder


@pytest.fixture
def folder(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "model"))


def own_recipe(folder: Path) -> Recipe:
    few = {
        "optimisation.batch_size": 4,
        "optimisation.max_steps": 1,
        "corpus.layout": "pairs",
        "objective.name": "mnrl",
    }
    return Recipe().preferring({**own_settings(str(folder)), **few, "corpus.nli": SCENES})


def theirs(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu").float()


def encoded(folder: Path) -> np.ndarray:
    embedded: np.ndarray = theirs(folder).encode(TEXTS)
    return embedded


def test_the_table_has_a_row_for_all_that_there_is() -> None:
    tested = {**FOLLOWED, **NAMED, **REFUSED}
    assert ROWS.keys() == tested.keys()
    for name, fate in ROWS.items():
        assert {"followed": FOLLOWED, "named": NAMED, "refused": REFUSED}[fate].get(name) or name == "`StaticEmbedding`"
    names = set(re.findall(r"`\w+`", TABLE.read_text()))
    assert names >= ALL - UNMADE
    held = {*Transformer.config_keys, *model_keys(), "include_prompt"}
    assert {key for key in held if f"`{key}`" not in names and f": {key}" not in TABLE.read_text()} == set()


def model_keys() -> set[str]:
    whole = SentenceTransformer(modules=[BoW(["a"])], device="cpu", truncate_dim=1)
    return {*whole._get_model_config()} - {"__version__", "model_type"}


@pytest.mark.parametrize("change", cases(FOLLOWED))
def test_followed(change: Change, folder: Path, tmp_path: Path) -> None:
    """Ours gives the embeddings of its own pipeline, and so does the model that ours is saved as."""
    change(folder)
    recipe = own_recipe(folder)
    check_encoder(recipe.encoder)
    check_trainable(recipe)
    assert [
        part for part in differences_from_original(recipe) if "Normalize" not in part and "prompts for" not in part
    ] == []
    assert not needs_pipeline(recipe)
    encoder = load_encoder(recipe.encoder, recipe.part(OwnPooling), device="cpu")
    pipeline = load_encoder(EncoderConfig("pipeline", str(folder)), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(unit(encoder.encode(TEXTS)), unit(pipeline), atol=1e-4)
    encoder.save(tmp_path / "saved")
    saved = theirs(tmp_path / "saved")
    np.testing.assert_allclose(saved.encode(TEXTS), pipeline, atol=1e-4)
    assert saved.max_seq_length == own_length(str(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        "`Normalize`",
        *map(slow_case, ("`MultiVectorMask`", "`dtype`", "`prompts`: query, document", "`Pooling`: include_prompt")),
    ],
)
def test_a_trial_that_changes_nothing_scores_and_saves_the_model(row: str, folder: Path, tmp_path: Path) -> None:
    FOLLOWED[row][0](folder)
    recipe = own_recipe(folder)
    still = recipe.override({"optimisation.learning_rate": 1e-30})
    trained = run_trial(still, 0, TASKS, model_folder=tmp_path / "saved")
    untrained = run_trial(as_it_came(recipe), 0, TASKS)
    assert isinstance(trained, TrialResult)
    assert isinstance(untrained, TrialResult)
    np.testing.assert_allclose(encoded(tmp_path / "saved"), encoded(folder), atol=1e-4)
    assert trained.scores["STS12"]["spearman_all"] == untrained.scores["STS12"]["spearman_all"]


def unit(rows: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize(("change", "part"), cases(NAMED))
def test_named(change: Change, part: str, folder: Path) -> None:
    change(folder)
    recipe = own_recipe(folder)
    assert any(words.startswith(part) for words in differences_from_original(recipe)), differences_from_original(recipe)


@pytest.mark.parametrize(("change", "part"), cases(REFUSED))
def test_refused(change: Change, part: str, folder: Path) -> None:
    change(folder)
    recipe = own_recipe(folder)
    with pytest.raises(UserError, match=re.escape(part)):
        check_trainable(recipe)


def test_an_adapter_after_a_cut_is_refused(folder: Path) -> None:
    model(truncate_dim=16)(folder)
    pipeline = own_recipe(folder).preferring({"encoder.kind": "pipeline", "encoder.adapter": "mlp"})
    with pytest.raises(UserError, match="cuts its embeddings at the end"):
        check_trainable(pipeline)
    check_trainable(pipeline.preferring({"encoder.adapter": "none", "optimisation.epochs": 0}))


@pytest.mark.parametrize(
    "change", [pooling(pooling_mode=["cls", "mean"]), remade(Dense(DIM, 7)), model(truncate_dim=16)]
)
def test_what_no_setting_follows_comes_through_its_own_pipeline(change: Change, folder: Path) -> None:
    change(folder)
    untrained = as_it_came(own_recipe(folder))
    assert untrained.encoder.kind == "pipeline"
    ours = build_encoder(untrained, 0, None)
    assert isinstance(ours, Pipeline)
    np.testing.assert_allclose(ours.encode(TEXTS), encoded(folder), atol=1e-6)
    whole, narrow = Pipeline(ours.model), Pipeline(SentenceTransformer(str(folder), device="cpu", truncate_dim=5))
    assert whole.fingerprint() != narrow.fingerprint()


def test_a_pipeline_without_a_usual_route_is_refused_when_it_is_loaded(plain: Path, tmp_path: Path) -> None:
    parts = [*SentenceTransformer(str(plain), device="cpu")]
    routes = Router({"query": parts, "document": parts}, allow_empty_key=False)
    SentenceTransformer(modules=[routes], device="cpu").save(str(tmp_path / "routed"), create_model_card=False)
    with pytest.raises(UserError, match="cannot be loaded"):
        load_encoder(EncoderConfig("pipeline", str(tmp_path / "routed")), device="cpu")


def test_an_untrained_encoder_is_the_whole_model_where_only_its_norm_is_left_out(folder: Path) -> None:
    remade(Normalize(), similarity_fn_name="dot")(folder)
    model(prompts={"query": "two men ", "sts": "alike "}, default_prompt_name="query")(folder)
    untrained = as_it_came(own_recipe(folder))
    assert equals_original_model(untrained)
    assert describe_encoder(untrained, "f", build_encoder(untrained, 0, None))["whole"] is True
    changes = (
        {"encoder.layers": 1},
        {"encoder.max_length": 8},
        {"encoder.query_prompt": None},
        {"encoder.document_prompt": "two men "},
        {"pooling.mode": "cls"},
    )
    assert not any(equals_original_model(untrained.override(change)) for change in changes)
    assert not equals_original_model(Recipe().preferring({"encoder.name": "scenes-small", "optimisation.epochs": 0}))
