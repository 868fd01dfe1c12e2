"""The built-in corpus: labels proved by a second checker, layouts, determinism, no leakage."""

import functools
import hashlib
import io
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.corpora import scenes
from trainables.corpora.scenes import lexicon, pairs, probing, text
from trainables.corpora.scenes.scene import Entity, Scene, possible, relation, sample, similarity, swap
from trainables.errors import UserError
from trainables.senteval import evaluate


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "small"
    scenes.write(folder, seed=3, size=0.1)
    return folder


# A second reading of the corpus's rules, on sets of facts instead of slots: a scene states everything that its
# parts and their generalisations say; what follows is a subset, what contradicts has a fact that the other rules out.


def up(parents: dict[str, str | None], concept: str | None) -> set[str]:
    concepts = set()
    while concept is not None:
        concepts.add(concept)
        concept = parents[concept]
    return concepts


def facts(scene: Scene) -> set[tuple[str, str]]:
    stated = {("action", x) for x in up(lexicon.VERB_TREE.parent, scene.action)}
    stated |= {("place", x) for x in up(lexicon.PLACE_TREE.parent, scene.place)}
    stated |= {("time", x) for x in up(lexicon.TIME_TREE.parent, scene.time)}
    stated |= {("manner", scene.manner)} if scene.manner else set()
    stated |= {("tense", str(scene.past))}
    for role, entity in (("agent", scene.agent), ("patient", scene.patient)):
        if entity:
            stated |= {(f"{role} kind", x) for x in up(lexicon.NOUN_TREE.parent, entity.kind)}
            stated |= {(f"{role} trait", x) for x in entity.traits}
            stated |= {(f"{role} count", str(n)) for n in range(1, entity.count + 1)}
    return stated


def rule_out(part: str, a: str, b: str) -> bool:
    trees = {
        "kind": lexicon.NOUN_TREE,
        "action": lexicon.VERB_TREE,
        "place": lexicon.PLACE_TREE,
        "time": lexicon.TIME_TREE,
    }
    what = part.split()[-1]
    if what in ("trait", "manner"):
        dimension = {"trait": lexicon.TRAIT_DIMENSION, "manner": lexicon.MANNER_DIMENSION}[what]
        return a != b and dimension[a] == dimension[b]
    if what not in trees:
        return False
    tree = trees[what]
    if a == b or a in up(tree.parent, b) or b in up(tree.parent, a):
        return False
    # the lines of descent part at siblings of one axis
    return any(
        x != y and tree.parent[x] == tree.parent[y] and tree.axis[x] == tree.axis[y]
        for x in up(tree.parent, a)
        for y in up(tree.parent, b)
    )


def second_opinion(premise: Scene, hypothesis: Scene) -> str:
    known, claimed = facts(premise), facts(hypothesis)
    if hypothesis.negated:
        return "contradiction" if claimed <= known else "neutral"
    if any(p == q and rule_out(p, a, b) for p, a in known for q, b in claimed):
        return "contradiction"
    return "entailment" if claimed <= known else "neutral"


def test_every_label_is_proved_twice():
    groups = list(itertools.islice(pairs.nli_groups(Random(11)), 100))
    judged = [pair for group in groups for pair in group]
    assert [pair.label for pair in judged] == [second_opinion(pair.first, pair.second) for pair in judged]
    counts = Counter(pair.label for pair in judged)
    assert min(counts.values()) > len(judged) / 5
    assert {len(group) for group in groups} == {3, 4, 5, 6}
    entailments = Counter(sum(pair.label == "entailment" for pair in group) for group in groups)
    assert {0, 1, 2} <= set(entailments)


@given(seed=st.integers(0, 10**9))
def test_relation_agrees_with_the_second_checker_on_any_two_scenes(seed):
    rng = Random(seed)
    a = sample(rng)
    b = rng.choice((sample(rng), sample(rng, 0.1, [a.action]), swap(a) or a))
    assert relation(a, b) == second_opinion(a, b)
    assert relation(a, a) == "entailment"
    assert possible(a)


def test_the_second_checker_can_object():
    man, woman, doctor = (Scene(Entity(kind), "sleep") for kind in ("man", "woman", "doctor"))
    assert second_opinion(man, woman) == "contradiction"
    assert second_opinion(man, doctor) == "neutral"
    assert second_opinion(man, Scene(Entity("person"), "rest")) == "entailment"
    assert second_opinion(Scene(Entity("person"), "rest"), man) == "neutral"
    assert second_opinion(man, Scene(Entity("adult"), "sleep", negated=True)) == "contradiction"


@given(seed=st.integers(0, 10**9))
def test_similarity_is_symmetric_bounded_and_full_only_for_the_same(seed):
    rng = Random(seed)
    pair = next(pairs.graded_pairs(rng, pairs.PairMix(pairs.BROAD, (text.PLAIN, text.PLAIN))))
    a, b = pair.first, pair.second
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert 0 <= similarity(a, b) <= 5
    assert similarity(a, a) == 5
    if a != b:
        assert similarity(a, b) < 5


def test_exchanged_roles_are_the_same_words_and_little_alike():
    a = Scene(Entity("dog"), "chase", Entity("cat"))
    b = Scene(Entity("cat"), "chase", Entity("dog"))
    assert similarity(a, b) < 2
    assert similarity(a, Scene(Entity("animal"), "chase", Entity("cat"))) > 4
    assert relation(a, b) == "contradiction"


def test_the_lexicon_names_each_word_once():
    for listed in (
        [form for nouns in lexicon.NOUNS.values() for noun in nouns for form in (noun.singular, noun.plural)],
        [verb.base for verbs in lexicon.VERBS.values() for verb in verbs],
        [word for words in lexicon.TRAIT_WORDS.values() for word in words],
        [word for words in lexicon.MANNER_WORDS.values() for word in words],
        [phrase for words in lexicon.PLACE_TREE.words.values() for phrase in words],
    ):
        assert [word for word, count in Counter(listed).items() if count > 1] == []
    roots = set(lexicon.NOUN_TREE.parent)
    for frame in lexicon.FRAMES.values():
        assert {*frame.agents, *frame.patients} <= roots
    assert {kind for kinds in lexicon.TRAIT_FITS.values() for kind in kinds} <= roots


def test_verb_and_noun_forms():
    verbs = {verb.base: verb for verbs in lexicon.VERBS.values() for verb in verbs}
    assert verbs["run"] == lexicon.Verb("run", "runs", "ran", "run", "running")
    assert verbs["carry"] == lexicon.Verb("carry", "carries", "carried", "carried", "carrying")
    assert verbs["chase"].ing == "chasing"
    assert verbs["fix"].past == "fixed"
    assert verbs["catch"].third == "catches"
    assert lexicon.NOUNS["baby"][0].plural == "babies"


def test_every_word_is_in_the_vocabulary(corpus):
    known = set(scenes.vocabulary())
    assert scenes.vocabulary() == sorted(known)
    labels = re.compile(r"^(\S+:\S+ |\d ?|(tr|va|te)\t\S+\t)")
    for file in corpus.rglob("*"):
        if not file.is_file() or file.suffix == ".pkl" or file.name.startswith(("labels.", "STS.gs.", "SICK")):
            continue
        for number, line in enumerate(file.read_text("utf-8-sig").splitlines()):
            if file.suffix == ".jsonl":
                record = json.loads(line)
                sentence = " ".join(value for key, value in record.items() if key != "label")
            elif file.name.startswith("msr_"):
                sentence = " ".join(line.split("\t")[3:]) if number else ""
            elif file.name.startswith("sts-"):
                sentence = " ".join(line.split("\t")[5:])
            elif "binary" in file.parts:
                sentence = line.rpartition("\t")[0]
            else:
                sentence = labels.sub("", line) if {"fine", "TREC", "probing"} & set(file.parts) else line
            assert set(sentence.split()) <= known, file


def read(file: Path) -> list[list[str]]:
    return [line.split("\t") for line in file.read_bytes().decode("latin-1").split("\n")[:-1]]


def test_labels_of_probing_tasks_are_facts_of_their_sentences(corpus):
    for _, label, sentence in read(corpus / "senteval" / "probing" / "sentence_length.txt"):
        low, high = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))[int(label)]
        assert low <= len(sentence.split()) <= high
    for _, label, sentence in read(corpus / "senteval" / "probing" / "word_content.txt"):
        assert sentence.split().count(label) == 1


def test_captions(corpus):
    class Restricted(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> object:
            assert module.startswith("numpy") or (module, name) == ("_codecs", "encode"), (module, name)
            return super().find_class(module, name)

    for split in ("train", "valid", "test"):
        content = (corpus / "senteval" / "downstream" / "COCO" / f"{split}.pkl").read_bytes()
        data = Restricted(io.BytesIO(content), encoding="latin1").load()
        features = data["features"]
        assert features.shape[1] == 2048
        assert features.dtype == np.float32
        assert len(features) % 5 == 0
        assert np.isfinite(features).all()
        assert (features >= 0).all()
        for image in range(len(features)):
            ids = data["image_to_caption_ids"][image]
            assert len(ids) == 5
            assert all(data["captions"][i]["cleaned_caption"] for i in ids)


def test_paraphrases_are_neither_hopeless_nor_easy():
    """The built-in MRPC, seen by the words that a sentence has, without a thought of their order."""
    data = scenes.ensure() / "senteval"

    @functools.cache
    def vector(word: str) -> np.ndarray:  # (64,)
        return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(64).astype(np.float32)

    def encode(sentences: list[str]) -> np.ndarray:  # (sentences, 64)
        summed = np.stack([sum(map(vector, sentence.split()), np.zeros(64, np.float32)) for sentence in sentences])
        return summed / np.linalg.norm(summed, axis=1, keepdims=True)

    gold = [row[0] for row in read(data / "downstream" / "MRPC" / "msr_paraphrase_test.txt")[1:]]
    majority = 100 * max(gold.count("0"), gold.count("1")) / len(gold)
    scores = evaluate(encode, data, ("MRPC",), "fast").tasks["MRPC"]
    assert majority < 60
    assert scores["test_accuracy"] > majority + 8
    assert scores["test_f1"] < 95


def test_no_pair_and_no_sentence_in_two_splits(corpus):
    down = corpus / "senteval" / "downstream"

    def apart(*splits: list[object]) -> None:
        for first, other in itertools.combinations(splits, 2):
            assert not set(first) & set(other)

    def of(rows: list[list[str]], *columns: int) -> list[object]:
        return [tuple(sorted(row[i] for i in columns)) for row in rows]

    for folder, column in (("binary", 0), ("fine", 0)):
        apart(*(of(read(down / "SST" / folder / f"sentiment-{s}"), column) for s in ("train", "dev", "test")))
    apart(*(of(read(down / "TREC" / name), 0) for name in ("train_5500.label", "TREC_10.label")))
    apart(*(of(read(down / "MRPC" / f"msr_paraphrase_{s}.txt")[1:], 3, 4) for s in ("train", "test")))
    apart(*(of(read(down / "SICK" / f"SICK_{s}.txt")[1:], 1, 2) for s in ("train", "trial", "test_annotated")))
    apart(*(of(read(down / "STS" / "STSBenchmark" / f"sts-{s}.csv"), 5, 6) for s in ("train", "dev", "test")))
    apart(*(of(read(down / "SNLI" / f"s1.{s}"), 0) for s in ("train", "dev", "test")))
    for name in probing.PROBES:
        rows = read(corpus / "senteval" / "probing" / f"{name}.txt")
        apart(*([row[2] for row in rows if row[0] == split] for split in ("tr", "va", "te")))
    nli = [[json.loads(line)["premise"] for line in (corpus / "nli" / f"{s}.jsonl").open()] for s in ("train", "dev")]
    apart(*nli)


def digest(folder: Path) -> str:
    """Of all texts; features of images are floats, whose last digits go by the machine."""
    content = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pkl"):
        content.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return content.hexdigest()[:12]


@pytest.mark.slow
def test_every_sentence_stays_as_it_is_in_any_process_and_another_seed_has_others(tmp_path):
    """Records of trials name this corpus, so that a change of one sentence is another corpus."""
    own = os.environ.get("PYTHONHASHSEED")  # none is one by chance
    command = [sys.executable, "-m", "trainables.corpora", "write-scenes", "--seed", "3", "--size", "0.02", "--to"]
    environment = os.environ | {"PYTHONHASHSEED": "2" if own == "1" else "1"}
    done = subprocess.run([*command, str(tmp_path / "3")], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "3") == "5777c9452255"
    scenes.write(tmp_path / "4", seed=4, size=0.02)
    assert digest(tmp_path / "4") != "5777c9452255"


def test_ensure_writes_once_whole_and_under_its_version(tmp_path, monkeypatch):
    def small(folder: Path, seed: int, size: float) -> None:
        calls.append(folder)
        (folder / "docs").mkdir()

    calls: list[Path] = []
    monkeypatch.setattr(scenes, "write_all", small)
    place = scenes.ensure(tmp_path)
    assert place == scenes.ensure(tmp_path) == tmp_path / f"scenes-{scenes.version()}"
    assert len(calls) == 1
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


def test_another_process_that_was_faster_is_no_error(tmp_path, monkeypatch):
    def overtaken(folder: Path, seed: int, size: float) -> None:
        (folder / "docs").mkdir()
        other = tmp_path / f"scenes-{scenes.version()}" / "docs"
        other.mkdir(parents=True)

    monkeypatch.setattr(scenes, "write_all", overtaken)
    assert (scenes.ensure(tmp_path) / "docs").is_dir()
    assert len(list(tmp_path.iterdir())) == 1


def test_write_refuses_bad_places_and_sizes(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        scenes.write(tmp_path / "file")
    with pytest.raises(UserError, match="is not empty"):
        scenes.write(tmp_path)
    with pytest.raises(UserError, match="size must be above 0"):
        scenes.write(tmp_path / "new", size=0)
    with pytest.raises(UserError, match="cannot write to"):
        scenes.write(tmp_path / "file" / "below" / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
