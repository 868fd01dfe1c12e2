"""Changed positives: how many words change, which, and the same each time."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tiny_wordnet
from tests.conftest import pairs_of
from trainables.corpora import augment, paraphrase
from trainables.corpora.augment import delete_words, synonym_replacer
from trainables.corpora.samplers import GroupSampler
from trainables.errors import UserError

WORDS = st.lists(
    st.sampled_from(["dog", "Dog", "dogs,", "big", "guitar", "in", "men", "quickly.", "xyzzy", "42", "--"]),
    min_size=1,
    max_size=30,
)
SEED = st.integers(0, 9)
VOCABULARY = ("a", "man", "dog", "plays", "runs", "barks", "person", "moves", "paraphrase", ":")


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory):
    """The tiny WordNet where NLTK looks."""
    import nltk.data

    folder = tmp_path_factory.mktemp("nltk_data")
    place = folder / "corpora" / "wordnet"
    place.mkdir(parents=True)
    for name, text in tiny_wordnet.files().items():
        (place / name).write_text(text)
    before = list(nltk.data.path)
    nltk.data.path[:] = [str(folder)]
    augment.wordnet_synonyms.cache_clear()
    yield augment.wordnet_synonyms()
    nltk.data.path[:] = before
    augment.wordnet_synonyms.cache_clear()


@given(words=WORDS, seed=SEED)
def test_deletion(words: list[str], seed: int):
    text = " ".join(words)
    left = delete_words(text, random.Random(seed))
    if len(words) == 1:
        assert left is None
        return
    assert left is not None
    kept = left.split(" ")
    assert len(kept) == len(words) - max(1, len(words) // 10)
    rest = iter(words)
    assert all(word in rest for word in kept)  # in their order
    assert left == delete_words(text, random.Random(seed))


@given(words=WORDS, seed=SEED)
def test_synonyms_replace_a_fifth_of_the_words_at_most_those_that_have_some(wordnet, words: list[str], seed: int):
    known = {
        "dog": {"domestic dog", "chase", "tail"},
        "Dog": {"Domestic dog", "Chase", "Tail"},
        "dogs,": {"domestic dog,", "chase,", "tail,"},  # WordNet knows words by their base form
        "big": {"large"},
        "men": {"adult male"},
        "quickly.": {"rapidly.", "speedily."},
    }  # not `guitar`, the only one of its synset, and not `in`, an inch
    change = synonym_replacer(wordnet)
    text = " ".join(words)
    changed = change(text, random.Random(seed))
    have = sum(word in known for word in words)
    if not have:
        assert changed is None
        return
    assert changed is not None
    one_by_one = changed
    for phrase in ("omestic dog", "dult male"):
        one_by_one = one_by_one.replace(phrase, phrase.replace(" ", "_"))
    pairs = list(zip(words, (word.replace("_", " ") for word in one_by_one.split(" ")), strict=True))
    assert sum(old != new for old, new in pairs) == min(max(1, len(words) // 5), have)
    assert all(new in known[old] for old, new in pairs if old != new)
    assert changed == change(text, random.Random(seed))


def test_wordnet_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    augment.wordnet_synonyms.cache_clear()
    with pytest.raises(UserError, match=r"; run python -m trainables\.corpora fetch wordnet$"):
        augment.Synonyms().check()


@pytest.fixture(scope="module")
def paraphraser(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A T5 of a few thousand weights that nobody trained."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    words = ["<pad>", "</s>", "<unk>", *VOCABULARY]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(words), d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    folder = tmp_path_factory.mktemp("paraphraser")
    T5ForConditionalGeneration(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


def test_paraphrases_half_of_the_texts_at_once_and_alike_each_time(
    paraphraser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "alone"))
    config = augment.Paraphrase(paraphraser)
    config.check()
    texts = ["a man plays", "a dog barks", "a person moves", "a man"]
    monkeypatch.setattr(paraphrase, "LONGEST", 4)
    alone = [augment.paraphrase([text], paraphraser)[0] for text in texts]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "together"))
    monkeypatch.setattr(paraphrase, "BATCH", 2)
    assert augment.paraphrase(texts, paraphraser) == alone  # whatever stands beside them in the batch
    assert all(set(text.split()) <= set(VOCABULARY) for text in alone)

    calls: list[list[str]] = []
    monkeypatch.setattr(augment, "paraphrase", lambda some, name: calls.append(list(some)) or [t.upper() for t in some])
    many = [f"text {i}" for i in range(400)]
    change = config.change(3, many)
    assert change is not None
    drawn = [text for text in many if change(text, random.Random()) == text.upper()]
    assert calls == [drawn]
    assert 150 < len(drawn) < 250
    assert all(change(text, random.Random()) is None for text in set(many) - set(drawn))
    assert [config.change(seed, many) and calls[-1] == drawn for seed in (3, 4)] == [True, False]


def test_paraphrases_are_kept(paraphraser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For later trials and seeds, whose halves overlap; also where the machine died in the midst of a line."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paraphrase, "LONGEST", 4)
    monkeypatch.setattr(paraphrase, "BATCH", 2)
    calls: list[str] = []
    generate = paraphrase._generate

    def spy(texts: list[str], name: str) -> Any:
        calls.extend(texts)
        return generate(texts, name)

    monkeypatch.setattr(paraphrase, "_generate", spy)
    texts = ["a man", "a dog barks", "a person moves"]
    made = augment.paraphrase([*texts, texts[0]], paraphraser)
    assert made[0] == made[3]
    assert calls == ["a man", "a dog barks", "a person moves"]
    assert augment.paraphrase(texts[::-1], paraphraser) == made[2::-1]
    assert len(calls) == 3

    (file,) = tmp_path.rglob("paraphrases-*.jsonl")
    file.write_bytes(file.read_bytes()[:-5])
    assert augment.paraphrase(texts, paraphraser) == made[:3]
    assert calls[3:] == ["a person moves"]
    assert augment.paraphrase(texts, paraphraser) == made[:3]
    assert len(calls) == 4

    copy = tmp_path / "another model"
    shutil.copytree(paraphraser, copy)
    augment.paraphrase(texts, str(copy))
    assert calls[4:] == texts


@pytest.mark.parametrize(
    ("files", "name", "sentence"),
    [
        ({}, None, "needs corpus.paraphraser: the hub id or folder"),
        ({}, "here", "is no model folder: it has no readable config.json"),
        ({"config.json": "{"}, "here", "is no model folder: it has no readable config.json"),
        ({"config.json": '{"model_type": "bert"}'}, "here", r"is no sequence-to-sequence model \(bert\); give"),
        ({}, "./nowhere", "is no local folder, and "),
        ({}, "owner/nothing", "is no local folder, and the hub cannot be reached and its cache lacks it"),
    ],
)  # fmt: skip
def test_no_paraphraser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], name, sentence: str):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    place = str(tmp_path) if name == "here" else name
    with pytest.raises(UserError, match=sentence):
        augment.Paraphrase(place).check()


ROWS = [("p one two", "e one two three", 0), ("p one two", "f one two three", 0), ("q one two", "c one two", 2)]


def positives(sampler: GroupSampler, step: int) -> dict[str, list[str]]:
    batch = sampler.batch(step)
    texts_of: dict[str, list[str]] = {}
    for premise, hypothesis, label in zip(batch.premise, batch.hypothesis, batch.label, strict=True):
        if label == 0:
            texts_of.setdefault(batch.sentences[premise], []).append(batch.sentences[hypothesis])
    return texts_of


def test_fillers_are_changed_entailments_in_turn_or_the_changed_anchor():
    calls = []

    def make(texts: list[str]):
        calls.append(texts)
        return lambda text, draws: f"{text} changed"

    sides = positives(GroupSampler(pairs_of(ROWS), 2, 1, 5, None, make), 0)
    entailed = {"e one two three", "f one two three"}
    assert set(sides["p one two"][:2]) == entailed
    assert Counter(sides["p one two"][2:]) in ({"e one two three changed": 2, "f one two three changed": 1},)
    assert sides["q one two"] == ["q one two changed"] * 5
    assert calls == [["e one two three", "f one two three", "q one two"]]  # once


def test_what_is_not_changed_is_a_copy_of_the_anchor():
    sides = positives(GroupSampler(pairs_of(ROWS), 2, 1, 3, None, lambda texts: lambda text, draws: None), 0)
    assert sides["p one two"][2:] == ["p one two"]


def test_changes_depend_on_seed_epoch_and_anchor_alone():
    rows = [(f"p{i} one two three four", f"e{i} one two three four five", 0) for i in range(6)]

    def sampler(seed: int, size: int) -> GroupSampler:
        return GroupSampler(pairs_of(rows), size, seed, 3, None, lambda texts: delete_words)

    whole = positives(sampler(1, 6), 0)
    halves = sampler(1, 3)
    assert {**positives(halves, 1), **positives(halves, 0)} == whole
    assert positives(sampler(1, 6), 1) != whole
    assert positives(sampler(2, 6), 0) != whole


def test_anchors_lose_words_of_their_own():
    rows = [(f"p{i}", f"e{i} a b c d e f g h", 0) for i in range(40)]
    sampler = GroupSampler(pairs_of(rows), 40, 1, 2, None, lambda texts: delete_words)
    lost = {frozenset("abcdefgh") - set(near[1].split()[1:]) for near in positives(sampler, 0).values()}
    assert len(lost) > 5
