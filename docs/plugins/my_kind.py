"""Whether a model says of two sentences that they are alike where people do: by a cosine above one half."""

import numpy as np

from trainables.senteval.effects import mean_effects
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.file_layouts import FILE_LAYOUTS, FileLayout
from trainables.senteval.items import Answers
from trainables.senteval.kinds import KINDS, TaskKind
from trainables.senteval.kinds.contract import KindScores
from trainables.senteval.tasks import TASKS, Task
from trainables.senteval.text_files import read_lines


def read_bars(task, paths):
    splits = {}
    for name, path in zip(("dev", "test"), paths, strict=True):
        left, right, alike = zip(*(line.split("|") for _, line in read_lines(path)), strict=True)
        splits[name] = Split(list(left), list(right), np.array(alike, dtype=np.float64))
    return TaskData(splits)


class Agreement(TaskKind):
    name, splits, target, predicted = "agreement", ("dev", "test"), "scores", "cosines"
    reported = unfitted = ("dev_agreement", "test_agreement", "test_margin")
    main, development = "test_agreement", "dev_agreement"

    def score(self, given, protocol, seed):
        parts = given.data.splits
        answers = [Answers(given.cosine(part), part.labels, split=name) for name, part in parts.items()]
        return KindScores(tuple(answers), examples=[len(part) for part in parts.values()])

    def numbers(self, task, answers, protocol):
        numbers = {f"{answers.split}_agreement": 100 * float(self.agrees(answers).mean())}
        return numbers | ({"test_margin": 100 * float(self.margins(answers).mean())} if answers.split == "test" else {})

    def effects(self, task, number, answers, protocol):
        return mean_effects(self.margins(answers) if number == "test_margin" else self.agrees(answers))

    def development_score(self, given):
        part = given.data.splits["dev"]
        return self.numbers(given.task, Answers(given.cosine(part), part.labels, split="dev"), None)["dev_agreement"]

    def agrees(self, answers):
        return (answers.predicted > 0.5) == (answers.gold > 0.5)

    def margins(self, answers):
        return np.asarray(answers.predicted, dtype=float) * np.sign(answers.gold - 0.5)


KINDS.add(Agreement())
FILE_LAYOUTS.add(FileLayout("bars", read_bars, ("dev", "test"), ("scores",)))
TASKS.add(Task("alike", "agreement", "bars", ("dev.txt", "test.txt")))
