"""All 28 tasks end to end on the built-in corpus, and what happens when something is wrong."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from search_spaces.averages import averages
from search_spaces.goals import GOALS
from trainables.errors import UserError, answer_user_errors
from trainables.senteval import (
    GROUPS,
    TASKS,
    SentEvalResult,
    check_data,
    development,
    evaluate,
    fingerprint,
    task_names,
)
from trainables.senteval.__main__ import main
from trainables.senteval.captions import read_captions
from trainables.senteval.read_task import read_task
from trainables.testing.tasks import bag_of_words

pytestmark = pytest.mark.xdist_group("whole")


def test_scores_are_better_than_chance_where_words_tell(whole: SentEvalResult) -> None:
    assert whole.tasks["TREC"]["test_accuracy"] > 30
    assert whole.tasks["STSBenchmark"]["test_spearman_cosine"] > 20
    assert whole.tasks["ImageCaptionRetrieval"]["test_recall"] > 40


def test_papers_averages_and_goals_find_their_scores(whole: SentEvalResult) -> None:
    assert [name for name, value in averages(whole.tasks).items() if value is None] == []
    assert [name for name, goal in GOALS.items() if not goal.cost and goal.of(whole.tasks, {}) is None] == []


def test_development_agrees_with_the_whole_evaluation(corpus: Path, whole: SentEvalResult) -> None:
    score = development(bag_of_words, corpus, ["STSBenchmark"])["score"]
    assert score == pytest.approx(whole.tasks["STSBenchmark"]["dev_spearman_cosine"])


def test_names_and_groups() -> None:
    assert task_names(["sts", "STS12", "MR"]) == (*GROUPS["sts"], "MR")
    sizes = {"sts": 5, "transfer": 8, "downstream": 18, "probing": 10, "all": 28}
    assert {group: len(task_names([group])) for group in GROUPS} == sizes
    with pytest.raises(UserError, match="did you mean 'STS12'"):
        task_names(["STS-12"])
    with pytest.raises(UserError, match="no task"):
        task_names([])


# What is wrong with the data: the task, the file, how it is spoiled, and what the sentence must say.
Spoil = Callable[[list[str]], list[str]]


def at(line: int, text: str) -> Spoil:
    return lambda lines: [*lines[: line - 1], text, *lines[line:]]


def cut(lines: list[str]) -> list[str]:
    return lines[:-3]


BROKEN: list[tuple[str, str, Spoil, str]] = [
    ("TREC", "TREC_10.label", at(4, "no label here"), "TREC_10.label, line 4: expected 'COARSE:fine"),
    ("TREC", "train_5500.label", at(2, "WHAT:x who ?"), "line 2: label 'WHAT' is none of"),
    ("MRPC", "msr_paraphrase_train.txt", at(5, "1\t2\t3\tone"), "train.txt, line 5: expected 5"),
    ("MRPC", "msr_paraphrase_test.txt", at(3, "x\t2\t3\ta\tb"), "test.txt, line 3: label 'x'"),
    ("SST2", "sentiment-dev", at(7, "a film"), "sentiment-dev, line 7: expected 2 columns"),
    ("SST2", "sentiment-test", at(1, "a film\t3"), "sentiment-test, line 1: label '3' is none of 0 or 1"),
    ("SST5", "sentiment-train", at(9, "good film"), "sentiment-train, line 9: label 'good'"),
    ("SNLI", "s2.dev", cut, "s2.dev has"),
    ("SNLI", "labels.test", at(2, "-"), "labels.test, line 2: label '-'"),
    ("SICKEntailment", "SICK_trial.txt", at(4, "1\ta\tb\t3\tMAYBE"), "trial.txt, line 4: label 'MAYBE'"),
    ("SICKRelatedness", "SICK_trial.txt", at(4, "1\ta\tb\tthree\tNEUTRAL"), "SICK_trial.txt, line 4: score 'three'"),
    ("STSBenchmark", "sts-dev.csv", at(6, "a\tb\tc\td\t9.5\te\tf"), "sts-dev.csv, line 6: score 9.5"),
    ("STSBenchmark", "sts-test.csv", at(6, "a\tb\tc\td\t1"), "sts-test.csv, line 6: expected 7 col"),
    ("STS14", "STS.input.images.txt", cut, "STS.gs.images.txt has"),
    ("STS14", "STS.input.OnWN.txt", at(2, "a\tb\tc"), "OnWN.txt, line 2: expected 2"),
    ("STS12", "STS.gs.MSRvid.txt", at(3, "nan"), "STS.gs.MSRvid.txt, line 3: score 'nan'"),
    ("Length", "sentence_length.txt", at(8, "xx\t1\tword"), "sentence_length.txt, line 8: expected 'tr|va|te"),
    ("Tense", "past_present.txt", lambda lines: [*lines, "te\tFUTURE\tword"], "label 'FUTURE' does not occur"),
    ("CR", "custrev.neg", lambda lines: [], "custrev.neg is empty"),
    ("MR", "rt-polarity.pos", lambda lines: ["", "", ""], "rt-polarity.pos is empty"),
]


@pytest.mark.parametrize(
    ("name", "file", "spoil", "sentence"), BROKEN, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN)]
)
def test_broken_file_is_one_sentence_with_file_and_line(
    corpus: Path, tmp_path: Path, name: str, file: str, spoil: Spoil, sentence: str
) -> None:
    copied = copy_tasks(corpus, tmp_path, [name])
    read_task(TASKS[name], copied)
    (path,) = copied.rglob(file)
    lines = spoil(path.read_text(encoding="latin-1").splitlines())
    path.write_text("".join(line + "\n" for line in lines), encoding="latin-1")
    with pytest.raises(UserError) as refused:
        read_task(TASKS[name], copied)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def copy_tasks(corpus: Path, target: Path, names: Sequence[str]) -> Path:
    for name in names:
        for file in TASKS[name].files:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpus / file, target / file)
    return target


def test_what_is_kept_tells_how_to_pair_two_trials(corpus: Path, whole: SentEvalResult) -> None:
    related = ("STSBenchmark", "SICKRelatedness")
    assert {*whole.kept} == {
        *TASKS,
        *(f"gold.{name}" for name in TASKS),
        *(f"items.{name}" for name in TASKS),
        *(f"parts.{name}" for name in GROUPS["sts"]),
        *(f"regressed.{name}" for name in related),
        *(f"{kind}dev.{name}" for kind in ("", "gold.", "items.", "groups.") for name in related),
        *(f"groups.{name}" for name in (*GROUPS["sts"], *related, "MRPC", "SNLI", "SICKEntailment")),
        *(f"{kind}.ImageCaptionRetrieval" for kind in ("groups", "image_ranks")),
    }
    assert len({whole.kept[f"items.{name}"].item() for name in TASKS}) == len(TASKS)
    assert whole.kept["MR"].dtype == whole.kept["gold.MR"].dtype == np.int8
    data = read_task(TASKS["TREC"], corpus)
    assert (whole.kept["gold.TREC"] == data.splits["test"].labels).all()


def test_one_bad_task_does_not_lose_the_others(corpus: Path, tmp_path: Path) -> None:
    data = copy_tasks(corpus, tmp_path, ["STS16", "SST5", "STSBenchmark", "MRPC"])
    (data / "downstream/SST/fine/sentiment-dev").write_text("5 too good\n")
    (data / "downstream/MRPC/msr_paraphrase_test.txt").unlink()
    result = evaluate(bag_of_words, data, ["STS16", "SST5", "CR", "STSBenchmark", "MRPC"], "fast")
    assert result.tasks["STS16"]["spearman_all"] is not None
    assert result.tasks["SST5"]["dev_accuracy"] is None
    assert "sentiment-dev, line 1:" in result.tasks["SST5"]["reason"]
    assert result.tasks["CR"]["test_accuracy"] is None
    assert "custrev.pos does not exist" in result.tasks["CR"]["reason"]
    assert result.tasks["MRPC"]["test_f1"] is None
    assert set(result.errors) == {"SST5", "MRPC"}, "data that is simply not there is no error"
    assert averages(result.tasks)["liao_transfer"] is None


def test_check_data(corpus: Path, tmp_path: Path) -> None:
    check_data(corpus, ["all"])
    with pytest.raises(UserError, match="does not exist"):
        check_data(tmp_path / "nowhere", ["MR"])
    with pytest.raises(UserError, match="neither downstream"):
        check_data(tmp_path, ["MR"])
    data = copy_tasks(corpus, tmp_path, ["MR", "STS12"])
    check_data(data, ["MR", "STS12", "CR"])
    with pytest.raises(UserError, match="holds no task of CR"):
        check_data(data, ["CR"])
    (data / "downstream/MR/rt-polarity.neg").unlink()
    with pytest.raises(UserError, match=r"rt-polarity\.neg missing"):
        check_data(data, ["MR", "STS12"])


def test_two_tasks_with_one_file(corpus: Path, tmp_path: Path) -> None:
    data = copy_tasks(corpus, tmp_path, ["MR", "CR", "STS12"])
    shutil.copy(data / "downstream/MR/rt-polarity.pos", data / "downstream/CR/custrev.pos")
    result = evaluate(bag_of_words, data, ["MR", "CR", "STS12"], "fast")
    assert set(result.errors) == {"MR", "CR"}
    assert "same content" in result.errors["CR"]


@pytest.mark.parametrize(
    ("encode", "sentence"),
    [
        (lambda s: np.full((len(s), 4), np.nan, np.float32), "NaN or infinity"),
        (lambda s: np.zeros((len(s), 4), np.float32), "zero vector"),
        (lambda s: np.ones((len(s) + 1, 4), np.float32), "shape"),
        (lambda s: np.ones(len(s), np.float32), "shape"),
    ],
)
def test_unusable_embeddings_are_refused(corpus: Path, encode: Callable, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        evaluate(encode, corpus, ["STS16"], "fast")


def test_fingerprint_follows_content_only(corpus: Path, tmp_path: Path) -> None:
    data = copy_tasks(corpus, tmp_path, ["TREC"])
    assert fingerprint(data, ["TREC"]) == fingerprint(corpus, ["TREC"])
    assert fingerprint(data, ["TREC"]) != fingerprint(corpus, ["TREC", "MR"])
    before = fingerprint(data, ["TREC"])
    with (data / TASKS["TREC"].files[0]).open("a") as file:
        file.write("NUM:count How many ?\n")
    assert fingerprint(data, ["TREC"]) != before


class Harmful:
    def __reduce__(self) -> tuple[Callable, tuple[str]]:
        return print, ("this must never run",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_caption_files_admit_arrays_and_plain_containers_only(
    tmp_path: Path, protocol: int, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {
        "features": {0: np.ones(3, np.float32), 1: np.zeros(3)},
        "image_to_caption_ids": [[0, 1, 2, 3, 4, 5], (6, 7, 8, 9, 10)],
        "captions": [{"cleaned_caption": f"caption {i}", "image": np.int64(i)} for i in range(11)],
    }
    path = tmp_path / "train.pkl"
    path.write_bytes(pickle.dumps(good, protocol=protocol))
    split = read_captions(path)
    assert split.left[5] == "caption 6 ."
    assert split.labels.tolist() == [0] * 5 + [1] * 5

    for content, sentence in (
        ({**good, "captions": Harmful()}, "neither an array"),
        ({"features": []}, "must hold"),
        ({**good, "image_to_caption_ids": [[0, 1], [2, 3]]}, "image 0 has 2 captions"),
        ({**good, "features": [np.ones(3), np.ones(4)]}, "image 1"),
        ({**good, "captions": []}, "image 0"),
    ):
        path.write_bytes(pickle.dumps(content, protocol=protocol))
        with pytest.raises(UserError, match=sentence):
            read_captions(path)
    path.write_bytes(pickle.dumps(good, protocol=protocol)[:-20])
    with pytest.raises(UserError, match=r"train\.pkl is no caption file"):
        read_captions(path)
    assert "never run" not in capsys.readouterr().out


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainables.senteval", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def in_this_process(capsys: pytest.CaptureFixture[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same without an interpreter of its own, which takes a second to import what is here already."""
    code = answer_user_errors(lambda: main(arguments))
    return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())


def test_command_line_writes_json_and_answers_2_for_a_broken_task(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = copy_tasks(corpus, tmp_path / "data", ["STS16", "STS12", "TREC"])
    (data / "downstream/STS/STS12-en-test/STS.gs.MSRpar.txt").write_text("five\n")
    words = {
        word
        for name in ("STS16", "TREC")
        for text in read_task(TASKS[name], corpus).sentences()
        for word in text.split()
    }
    vectors = tmp_path / "vectors.txt"
    vectors.write_text(
        "".join(f"{word.lower()} {len(word)} {zlib.crc32(word.encode()) % 97} 1\n" for word in sorted(words))
    )
    out = tmp_path / "out.json"
    options = ["--word-vectors", str(vectors), "--data", str(data), "--protocol", "fast", "--quiet"]
    ended = command_line(*options, "--tasks", "STS16,STS12,TREC,CR", "--json", str(out))
    assert ended.returncode == 2
    assert [line for line in ended.stderr.splitlines() if line.startswith("error:")] == ended.stderr.splitlines()
    assert "STS.gs.MSRpar.txt has 1 lines" in ended.stderr
    written = json.loads(out.read_text())
    assert written["protocol"] == "fast"
    assert written["encoder"] == str(vectors)
    assert written["tasks"]["STS16"]["spearman_wmean"] is not None
    assert written["tasks"]["STS12"]["spearman_all"] is None
    assert written["tasks"]["TREC"]["examples"][1] > 0
    assert "reason" in written["tasks"]["CR"]
    assert written["means"] == {}, "no group was asked for"
    assert "—" in ended.stdout

    ended = in_this_process(capsys, *options, "--tasks", "STS16,sts", "--json", str(out))
    assert json.loads(out.read_text())["means"] == {"sts": None}, "STS13 to 15 are not there"
    assert "mean of sts" in ended.stdout

    ended = in_this_process(capsys, *options, "--tasks", "STS16", "--precision", "bf16")
    assert ended.returncode == 2
    assert "fp32 only" in ended.stderr

    ended = in_this_process(capsys, *options, "--tasks", "CR")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "custrev.pos" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_model_is_taken_as_it_says_and_through_its_pipeline_only_where_it_must(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from trainables.encoders.own_modules import original_config

    def modules(*names: str) -> None:
        types = [{"type": f"sentence_transformers.models.{name}", "path": f"{place}_{name}" * bool(place)}
                 for place, name in enumerate(names)]  # fmt: skip
        (tmp_path / "modules.json").write_text(json.dumps(types))

    def pooling(**modes: bool | str) -> None:
        (tmp_path / "1_Pooling").mkdir(exist_ok=True)
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 8, **modes}))

    def taken(mode: str | None = None, length: int | None = None) -> str | None:
        config, pooling = original_config(str(tmp_path), mode, length)
        assert config.max_length == length
        return pooling and pooling.name

    assert taken() == "mean"
    modules("Transformer", "Pooling", "Normalize")
    pooling(pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)
    assert taken() == "mean"
    assert capsys.readouterr().err == "what is scored leaves out 2_Normalize\n"
    pooling(pooling_mode="cls")
    assert taken() == "cls"
    assert taken("mean") == "mean"
    assert capsys.readouterr().err.splitlines()[-1] == "what is scored leaves out 1_Pooling (cls), 2_Normalize"
    pooling(pooling_mode_cls_token=True, pooling_mode_mean_tokens=True)
    assert taken() is None
    pooling(pooling_mode="cls")
    modules("Transformer", "Pooling", "Dense")
    assert taken() is None
    assert taken(length=64) == "cls"
    settings = {"prompts": {"sts": "alike: ", "query": "ask: "}, "default_prompt_name": "sts"}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    modules("Transformer", "Pooling")
    assert original_config(str(tmp_path), None, None)[0].query_prompt == "alike: "
    for first in ("StaticEmbedding", "Router"):
        modules(first)
        assert taken() is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tasks", "NoSuch"], "no SentEval task"),
        (["--protocol", "slow"], "there is no SentEval protocol 'slow'"),
        (["--data", "no/such/folder"], "does not exist"),
        (["--pooling", "sum"], "there is no pooling 'sum'; the names are 'mean'"),
        (["--max-length", "1"], "max_length must be at least"),
        (["--json", "no/such/folder/out.json"], "does not exist"),
    ],
)
def test_command_line_refuses_at_once(
    corpus: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = in_this_process(capsys, "--encoder", "scenes-small", "--data", str(corpus), *arguments)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert sentence in ended.stderr
