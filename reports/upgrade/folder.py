"""A results folder from before the first schema, written anew under today's names."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.ledger import (
    CURVES,
    FAILURES,
    LEDGER,
    LOOKS,
    MODELS,
    PLUGINS,
    PREDICTIONS,
    PROGRESS,
    STUDY,
    Evaluation,
    read_json,
    split_key,
    trial_key,
    write_json,
)
from reports.ledger.folders import JOURNAL, LOCK, POPULATIONS, TRAIN, is_key, together_key
from reports.ledger.own_code import SPACE_FILE, check_trusted, read_code
from reports.looks import digest, judged
from reports.results import Results
from reports.upgrade.recipes import upgraded
from reports.upgrade.records import Old, new_info, new_record
from search_spaces import registered, space_in
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.plugins import run_source
from trainables.typed_json import parse_json

WRITTEN = {STUDY, LEDGER, PREDICTIONS, CURVES, FAILURES, LOOKS, MODELS, TRAIN, POPULATIONS, JOURNAL}
"""What is named by recipes, or says their names."""
LEFT = {LOCK, PROGRESS}
"""What is of use while a study runs."""


class OldFolder:
    """One of them."""

    def __init__(self, folder: Path, info: Old) -> None:
        """`info`: the content of `study.json`. The study's plugins are run, as its recipes may name what they add."""
        self.folder, self.info = folder, info
        names = [*(f"{PLUGINS}/{name}" for name in info.get("plugins", ())), *filter(None, [info.get("space_file")])]
        if info.get("space_file") not in (None, SPACE_FILE):
            raise UserError(f"{folder / STUDY}: space_file is {info['space_file']!r}, and can only be {SPACE_FILE!r}")
        self.code = read_code(folder, names)
        check_trusted(folder, self.code)
        for name in info.get("plugins", ()):
            run_source(self.code[f"{PLUGINS}/{name}"], str(folder / PLUGINS / name), "plugin")
        self.renamed: dict[str, str] = {}
        """By a recipe's hash the one that it has now."""
        self.places: dict[str, str] = {}
        """What the local files hold that its recipes name (`StudyInfo.places`)."""

    def write(self, to: Path) -> int:
        """Into a new folder; returns how many records there are. Files that none of it names are hard links, where the
        disk has these: nobody writes into a file that is there."""
        for path in self.folder.iterdir():
            if path.name not in WRITTEN | LEFT:
                _link(path, to / path.name)
        count = self._records(to)
        write_json(to / STUDY, {**new_info(self.info, self.renamed, self._of_row), "places": self.places})
        named = self._each(MODELS, self._key), self._each(TRAIN, self._files), self._each(POPULATIONS, self._files)
        for old, new in (pair for pairs in named for pair in pairs if pair[0].suffix != ".json"):
            if not (to / new).exists():  # else of two that are one recipe today
                _link(old, to / new)
        self._texts(to)
        self._looks(to)
        return count

    def _each(self, kind: str, name: Callable[[str], str | None]) -> list[tuple[Path, str]]:
        """Of a folder what has a name today, and under which path."""
        there = sorted((self.folder / kind).iterdir()) if (self.folder / kind).is_dir() else []
        return [(path, f"{kind}/{new}") for path in there if (new := name(path.name)) is not None]

    def _records(self, to: Path) -> int:
        """Those that were right; others, which nobody counts, are left as they are. Two that are one recipe today
        become one record with the evaluations of both, and what the later one trained."""
        found: dict[str, list[tuple[Old, dict[str, Any]]]] = {}
        for path in sorted((self.folder / LEDGER).glob("*.json")):
            try:
                old: Old = read_json(path, "a record")
                new = new_record(old)
                if path.stem != trial_key(old["recipe_hash"], old["seed"]):
                    raise UserError("its file is another's")
            except (UserError, KeyError, TypeError, AttributeError):
                _link(path, to / LEDGER / path.name)
                continue
            self.renamed[old["recipe_hash"]] = new["recipe_hash"]
            self.places |= upgraded(old["recipe"]).places
            found.setdefault(trial_key(new["recipe_hash"], new["seed"]), []).append((old, new))
        for key, same in found.items():
            same.sort(key=lambda pair: (pair[1].get("status") != "pruned", str(pair[1].get("finished_at"))))
            entries = {Evaluation(**entry).name: (entry, old) for old, new in same for entry in new["evaluations"]}
            for entry, old in entries.values():
                kept = self.folder / str(old.get("predictions"))
                if entry["predictions"] and kept.is_file():
                    _link(kept, to / entry["predictions"])
            evaluations = [entry for entry, _ in entries.values()]
            write_json(to / LEDGER / f"{key}.json", {**same[-1][1], "evaluations": evaluations})
        return len(found)

    def _of_row(self, label: str) -> str | None:
        """The hash of a row that no record is of."""
        name, file = str(self.info.get("space")), self.info.get("space_file")
        try:
            space = space_in(self.code[file], self.folder / file, name) if file else registered(name)
            recipe = upgraded({**self.info["base"], **space.row(label).overrides})
        except (UserError, StopIteration):
            return None
        self.renamed[self.info["row_hashes"][label]] = recipe.hash
        return recipe.hash

    def _key(self, name: str) -> str | None:
        """A trial's key today; None where nobody knows its recipe: it has not ended, and begins anew."""
        if not is_key(name) or split_key(name)[0] not in self.renamed:
            return None
        recipe_hash, seed = split_key(name)
        return trial_key(self.renamed[recipe_hash], seed)

    def _files(self, name: str) -> str | None:
        """What names the files of trials that run together: `KEY`, `population-DIGEST`, with an ending."""
        stem, dot, ending = name.partition(".")
        members = self.folder / POPULATIONS / f"{stem}.json"
        keys = parse_json(members.read_bytes()) if members.is_file() else [stem]
        new = [self._key(key) for key in keys]
        known = [key for key in new if key is not None]
        return together_key(known) + dot + ending if known and len(known) == len(new) else None

    def _texts(self, to: Path) -> None:
        """Files that say keys and hashes."""
        for old, new in self._each(POPULATIONS, self._files):
            keys = [self._key(key) for key in parse_json(old.read_bytes())]
            write_whole(to / new, json.dumps(keys))
        for old, new in self._each(FAILURES, lambda name: self._key(name.removesuffix(".json"))):
            said = read_json(old, "the reason of a failure")
            write_json(to / f"{new}.json", {**said, "trial": Path(new).name})
        losses: dict[str, list[str]] = {}
        for path in sorted((self.folder / CURVES).glob("*.jsonl"), key=lambda path: (is_key(path.stem), path.name)):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                for key, content in _losses(line).items():
                    if (now := self._key(key)) is not None:
                        losses.setdefault(now, []).append(json.dumps({**content, "loss": {now: content["loss"]}}))
        for key, lines in losses.items():
            write_whole(to / CURVES / f"{key}.jsonl", "".join(f"{line}\n" for line in lines))
        journal = self.folder / JOURNAL
        if journal.is_file():
            lines = journal.read_text(encoding="utf-8").splitlines()
            write_whole(to / JOURNAL, "".join(f"{self._journal_line(line)}\n" for line in lines))

    def _journal_line(self, line: str) -> str:
        """Of Optuna's journal: what an explored recipe is called. The first versions wrote the whole recipe, and no
        name of it."""
        try:
            said = parse_json(line)
        except ValueError:  # a line that a killed process left
            return line
        own = said.get("user_attr") if isinstance(said, dict) else None
        if not isinstance(own, dict):
            return line
        if "recipe" in own:
            own = {"name": f"optuna {said['trial_id'] + 1}"}
        elif own.get("recipe_hash") in self.renamed:
            own = {**own, "recipe_hash": self.renamed[own["recipe_hash"]]}
        else:
            return line
        return json.dumps({**said, "user_attr": own}, separators=(",", ":"))

    def _looks(self, to: Path) -> None:
        """Each look at the study counts on; the one at the trials that are there now keeps its name."""
        looks = self.folder / LOOKS
        if not looks.is_dir():
            return
        _link(looks, to / LOOKS)
        before = {new: old for old, new in self.renamed.items()}
        try:
            keys = judged(Results.load(to))
        except UserError:  # nothing is finished
            return
        old = digest(trial_key(before[split_key(key)[0]], split_key(key)[1]) for key in keys)
        if (to / LOOKS / f"{old}.json").is_file():
            (to / LOOKS / f"{old}.json").rename(to / LOOKS / f"{digest(keys)}.json")


def _link(old: Path, new: Path) -> None:
    """The same file, or all files of a folder, under another name too."""
    if old.is_dir() and not old.is_symlink():
        shutil.copytree(old, new, symlinks=True, copy_function=_link_file)
        return
    new.parent.mkdir(parents=True, exist_ok=True)
    _link_file(str(old), str(new))


def _link_file(old: str, new: str) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:  # this disk has no hard links
        shutil.copy2(old, new, follow_symlinks=False)


def _losses(line: str) -> dict[str, dict[str, Any]]:
    """A line of a curve's file, by trial; nothing of one that is broken."""
    try:
        said = parse_json(line)
        return {key: {"step": said["step"], "steps": said["steps"], "loss": loss} for key, loss in said["loss"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}
