"""Score any encoder on SentEval: `python -m trainables.senteval --encoder PATH_OR_HUB_ID --data DIR`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.errors import UserError, answer_user_errors
from trainables.files import write_whole
from trainables.recipe import EncoderConfig, PoolingConfig, Recipe
from trainables.senteval.data_files import MissingData, check_folder, check_task
from trainables.senteval.evaluation import Evaluation, evaluate
from trainables.senteval.protocol import PROTOCOLS, protocol_named
from trainables.senteval.tasks import GROUPS, TASKS, task_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_EXAMPLES = f"""\
examples:
  python -m trainables.senteval --encoder sentence-transformers/all-MiniLM-L6-v2 --data senteval --tasks sts,transfer
  python -m trainables.senteval --encoder RESULTS/model --data senteval --tasks all --json scores.json
  python -m trainables.senteval --word-vectors glove.6B.50d.txt --data senteval --tasks STS12,MR --protocol fast
  python -m trainables.senteval --encoder RESULTS/model --data senteval --precision bf16 --cache embeddings

groups: {", ".join(GROUPS)}
tasks:  {", ".join(TASKS)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every task that is there was scored, 2 if one was broken; JSON is written in both cases."""
    asked = _parser().parse_args(arguments)
    names = task_names([name.strip() for name in asked.tasks.split(",") if name.strip()])
    protocol_named(asked.protocol)
    if asked.json and not asked.json.resolve().parent.is_dir():
        raise UserError(f"--json {asked.json}: the folder {asked.json.resolve().parent} does not exist")
    _check(asked.data, names)

    from trainables.encoders import check_encoder, load_encoder

    if asked.word_vectors:
        config = EncoderConfig(kind="word_vectors", name=asked.word_vectors)
    else:
        length = asked.max_length or _length(asked.encoder)
        config = Recipe().override({"encoder.name": asked.encoder, "encoder.max_length": length}).encoder
    given = Recipe().override({"pooling.mode": asked.pooling}).pooling if asked.pooling else None
    check_encoder(config)
    if asked.precision == "bf16" and asked.word_vectors:
        raise UserError(f"--precision bf16 is for transformers; {config.name} is scored in fp32 only")
    encoder = load_encoder(config, given or _plain_pooling(asked.encoder), evaluation_precision=asked.precision)

    def encode(sentences: Sequence[str]) -> np.ndarray:
        return encoder.encode(sentences, progress=not asked.quiet)

    if asked.cache:
        from trainables.encoders.embedding_store import EmbeddingStore

        encode = EmbeddingStore(encoder, asked.cache, progress=not asked.quiet).encode
    result = evaluate(
        encode,
        asked.data,
        names,
        asked.protocol,
        progress=not asked.quiet,
    )
    if asked.json:
        _write(asked.json, as_json(result, config.name))
    print(table(result))
    for problem in result.errors.values():
        print(f"error: {problem}", file=sys.stderr)
    return 2 if result.errors else 0


def as_json(result: Evaluation, encoder: str) -> dict[str, Any]:
    """What `--json` writes: numbers in percent, null where missing, with the reason."""
    return {
        "protocol": result.protocol,
        "encoder": encoder,
        "tasks": result.tasks,
        "averages": result.averages,
        "seconds": round(result.seconds, 3),
        "encoding_seconds": round(result.encoding_seconds, 3),
    }


def table(result: Evaluation) -> str:
    """A line a task, with a dash and the reason where a score is missing, then the averages that are there."""
    lines = [f"protocol {result.protocol}, {result.seconds:.1f} s, {result.encoding_seconds:.1f} s of it encoding"]
    width = max(map(len, [*result.tasks, *result.averages]))
    for name, scores in result.tasks.items():
        lines.append(f"{name:<{width}}  {_line(scores)}")
    for name, value in result.averages.items():
        if value is not None:
            lines.append(f"{name:<{width}}  {value:.2f}")
    return "\n".join(lines)


def _line(scores: Mapping[str, Any]) -> str:
    if "reason" in scores:
        return f"—  {scores['reason']}"
    shown = [f"{key} {value:.2f}" for key, value in scores.items() if isinstance(value, float) and key != "seconds"]
    return "  ".join([*shown, f"{scores['seconds']:.1f} s"])


def _plain_pooling(name: str | None) -> PoolingConfig | None:
    """The pooling of a sentence-transformers folder that holds a transformer and one pooling, else None.

    Such a model needs no pipeline of its own. A last normalisation is left out: cosine does not see it, and
    SentEval's classifiers are scored on embeddings as they are, of which the length is a part.
    """
    folder = Path(name or "")
    modules = [module["type"].rpartition(".")[2] for module in _read_json(folder / "modules.json", [])]
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    pooling = _read_json(folder / "1_Pooling" / "config.json", {})
    on = [key.removeprefix("pooling_mode_") for key, value in pooling.items() if value is True and "_mode_" in key]
    known = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}
    mode = known.get(on[0]) if len(on) == 1 else pooling.get("pooling_mode")
    return Recipe().override({"pooling.mode": mode}).pooling if mode in known.values() else None


def _length(name: str) -> int:
    """The sentence length, in tokens, that a sentence-transformers folder asks for, else 256."""
    return int(_read_json(Path(name) / "sentence_bert_config.json", {}).get("max_seq_length") or 256)


def _read_json(path: Path, missing: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else missing


def _check(data: Path, names: Sequence[str]) -> None:
    """That there is nothing at all to score is said before an encoder loads; one bad task is left to `evaluate`."""
    check_folder(data, names)
    problems = []
    for name in names:
        try:
            check_task(TASKS[name], data)
        except (MissingData, UserError) as problem:
            problems.append(str(problem))
    if len(problems) == len(names):
        raise UserError(problems[0])


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise UserError(f"--json {path} cannot be written: {error.strerror}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainables.senteval",
        description="Score a sentence encoder on SentEval's 28 tasks.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--encoder", metavar="PATH_OR_HUB_ID", help="a transformer or sentence-transformers model")
    what.add_argument("--word-vectors", metavar="FILE", help="GloVe text or .npy file; sentences are averages of words")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="SentEval's data folder")
    parser.add_argument("--tasks", default="sts,transfer,STSBenchmark", help="names and groups, joined by commas")
    parser.add_argument("--protocol", default="full", help=f"{' or '.join(PROTOCOLS)} (default: full)")
    parser.add_argument("--pooling", help="mean, mean_without_cls, cls, max or first_last_mean (default: the model's)")
    parser.add_argument(
        "--max-length", type=int, help="tokens of a sentence, the rest is cut (default: the model's, or 256)"
    )
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of the encoder (default: fp32)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the scores there, too")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings there, and take them from there")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def command() -> int:
    """What the console script `ses-senteval` runs."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
