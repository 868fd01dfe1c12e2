"""Score any encoder on SentEval, or on tasks of one's own.

python -m trainables.senteval --encoder PATH_OR_HUB_ID --data DIR
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from trainables.encoders.contract import for_documents
from trainables.encoders.own_modules import original_config
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError, answer_user_errors, checked_arguments, choices
from trainables.evaluation_config import EvaluationConfig
from trainables.files import expanded, write_whole
from trainables.plugins import load_plugin
from trainables.recipe import SCENES, EncoderConfig
from trainables.senteval.evaluation import SentEvalResult, embed, score_embeddings
from trainables.senteval.kinds.contract import Numbers
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read_task import MissingData, check_folder, check_task
from trainables.senteval.sizes import MILLION, Sizes
from trainables.senteval.tasks import TASKS, groups, task_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_EXAMPLES = f"""\
examples:
  python -m trainables.senteval --encoder scenes-small --data scenes --tasks STS12,MR --protocol fast
  python -m trainables.senteval --encoder sentence-transformers/all-MiniLM-L6-v2 --data data/senteval
  python -m trainables.senteval --encoder RESULTS/models/HASH-SEED --data data/senteval --tasks all --json scores.json
  python -m trainables.senteval --word-vectors glove.6B.50d.txt --data data/senteval --tasks sts
  python -m trainables.senteval --encoder RESULTS/models/HASH-SEED --plugin my_task.py --tasks mine

Models that a study trained are in RESULTS/models. SentEval's data: python -m trainables.corpora fetch senteval --to
data/senteval; `scenes` is the built-in corpus, and scenes-small the built-in encoder. A plugin is a Python file that
adds to the registries: tasks of your own, for instance.

groups: {", ".join(groups())}
tasks:  {", ".join(TASKS)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every present task was scored, 2 if one was broken. JSON is written in both cases."""
    options = _parser().parse_args(checked_arguments(arguments))
    for plugin in options.plugin:
        load_plugin(plugin)
    named = [name.strip() for name in options.tasks.split(",") if name.strip()]
    names = task_names(named)
    protocol = PROTOCOLS[options.protocol].name
    if options.json and not options.json.resolve().parent.is_dir():
        raise UserError(f"--json {options.json}: the folder {options.json.resolve().parent} does not exist")
    if options.json and options.json.is_dir():
        raise UserError(f"--json {options.json} is a folder; name a file")
    if options.precision == "bf16" and options.word_vectors:
        raise UserError(f"--precision bf16 is for transformers; {options.word_vectors} is scored in fp32 only")
    data = _folder(options.data)
    _check(data, names)

    from trainables.encoders import check_encoder, load_encoder

    if options.word_vectors:
        config, pooling = EncoderConfig(kind="word_vectors", name=options.word_vectors), None
    else:
        config, pooling = original_config(options.encoder, options.pooling, options.max_length)
    check_encoder(config)
    encoder = load_encoder(config, pooling, evaluation_precision=options.precision)

    own = for_documents(encoder)
    progress = not options.quiet
    encode = functools.partial(encoder.encode, progress=progress)
    documents = None if own is None else functools.partial(own.encode, progress=progress)
    embeddings = embed(encode, data, names, encode_documents=documents)
    result = score_embeddings(embeddings, data, names, protocol, progress=progress)
    averages = means(result, [name for name in named if name not in TASKS])
    if options.json:
        _write(options.json, as_json(result, averages, config.name))
    print(table(result, averages))
    if options.sizes:
        print(_sizes(Sizes(embeddings, data, names), protocol))
    for problem in result.errors.values():
        print(f"error: {problem}", file=sys.stderr)
    return 2 if result.errors else 0


def _sizes(sizes: Sizes, protocol: str) -> str:
    """Return a line per size, with the metric of each task and the megabytes of a million vectors."""
    lines = []
    for variant in sizes.variants():
        scores = score_embeddings(sizes.resize(variant), sizes.data, sizes.tasks, protocol).tasks
        numbers = [(name, scores[name][TASKS[name].metric]) for name in scores]
        shown = [f"{name} {value:.2f}" for name, value in numbers if isinstance(value, float)]
        lines.append(f"{variant.name:<22}{variant.size * MILLION / 1e6:>8,.0f} MB a million  {'  '.join(shown)}")
    return "\n".join(lines)


def means(result: SentEvalResult, names: Sequence[str]) -> dict[str, float | None]:
    """Return the mean over each group, every task by its own metric; None if a score is missing."""
    averages: dict[str, float | None] = {}
    for name in names:
        values = [result.tasks[task][TASKS[task].metric] for task in groups()[name]]
        scores = [value for value in values if isinstance(value, float)]
        averages[name] = fmean(scores) if len(scores) == len(values) else None
    return averages


def as_json(result: SentEvalResult, averages: Mapping[str, float | None], encoder: str) -> dict[str, object]:
    """Return the content of `--json`: numbers in percent, null if missing, with the reason."""
    return {
        "protocol": result.protocol,
        "encoder": encoder,
        "tasks": result.tasks,
        "scales": result.scales,
        "means": averages,
        "seconds": round(result.seconds, 3),
        "encoding_seconds": round(result.encoding_seconds, 3),
    }


def table(result: SentEvalResult, averages: Mapping[str, float | None]) -> str:
    """Return a line per task, with a dash and the reason if a score is missing, then a line per group."""
    lines = [f"protocol {result.protocol}, {result.seconds:.1f} s, {result.encoding_seconds:.1f} s of it encoding"]
    labels = {name: f"mean of {name}" for name in averages}
    width = max(map(len, [*result.tasks, *labels.values()]))
    for name, scores in result.tasks.items():
        scale = "  scores from {:g} to {:g}".format(*result.scales[name]) if name in result.scales else ""
        lines.append(f"{name:<{width}}  {_line(scores)}{scale}")
    for name, value in averages.items():
        metrics = dict.fromkeys(TASKS[task].metric for task in groups()[name])
        shown = "—  a score is missing" if value is None else f"{value:.2f}  ({', '.join(metrics)})"
        lines.append(f"{labels[name]:<{width}}  {shown}")
    return "\n".join(lines)


def _line(scores: Numbers) -> str:
    if "reason" in scores:
        return f"—  {scores['reason']}"
    shown = [f"{key} {value:.2f}" for key, value in scores.items() if isinstance(value, float) and key != "seconds"]
    return "  ".join([*shown, f"{scores['seconds']:.1f} s"])


def _folder(data: str) -> Path:
    """Return SentEval's data folder. The built-in corpus is written if it does not exist yet."""
    if data != SCENES:
        return Path(data)
    from trainables.corpora import scenes

    return scenes.ensure() / "senteval"


def _check(data: Path, names: Sequence[str]) -> None:
    """Raise `UserError`, before an encoder is loaded, if no task can be scored. `evaluate` handles single bad tasks."""
    check_folder(data, names)
    problems = []
    for name in names:
        try:
            check_task(TASKS[name], data)
        except (MissingData, UserError) as problem:
            problems.append(str(problem))
    if len(problems) == len(names):
        raise UserError(problems[0])


def _write(path: Path, content: dict[str, object]) -> None:
    try:
        write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise UserError(f"--json {path} cannot be written: {error.strerror}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainables.senteval",
        description="Score a sentence encoder on SentEval's 28 tasks, or on your own.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--encoder", metavar="PATH_OR_HUB_ID", help="a transformer or sentence-transformers model")
    what.add_argument("--word-vectors", metavar="FILE", help="GloVe text or .npy file; sentences are averages of words")
    location = EvaluationConfig().senteval
    parser.add_argument(
        "--data", default=location, metavar="DIR", help=f"SentEval's data folder, or {SCENES} (default: {location})"
    )
    parser.add_argument(
        "--tasks",
        default="sts,transfer,STSBenchmark",
        help="names of tasks and groups, joined by commas (default: %(default)s)",
    )
    parser.add_argument("--protocol", default="full", help=f"{' or '.join(PROTOCOLS)} (default: full)")
    parser.add_argument(
        "--plugin", type=expanded, action="append", default=[], metavar="FILE", help="a Python file that adds tasks"
    )
    parser.add_argument("--pooling", help=f"{choices(POOLINGS)} (default: the model's)")
    parser.add_argument("--max-length", type=int, help="tokens of a sentence, the rest is cut (default: the model's)")
    precisions = ("fp32", "tf32", "bf16")
    parser.add_argument("--precision", choices=precisions, default="fp32", help="of the encoder (default: fp32)")
    parser.add_argument("--json", type=expanded, metavar="OUT", help="write the scores there, too")
    parser.add_argument("--sizes", action="store_true", help="score cut and coarser embeddings, too, in fewer bytes")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def command() -> int:
    """Run the console script `ses-senteval`."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
