"""What tests of studies share: plans of command lines, what these would run on, and folders of models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from study.cli.options import parse
from study.dry_run import preview
from study.engine.cluster import Allotment, Cluster, allot
from study.plan import Plan, decide, read_request
from study.trial import Resources
from tests.conftest import NO_WEIGHTS

CLUSTER, ALLOTMENT = Cluster(True, ({"CPU": 2.0},)), Allotment(Resources(gpus=1), 1)


def plan_of(*arguments: str, gpus: float = 0) -> Plan:
    return decide(read_request(parse(arguments)), gpus)


def preview_of(plan: Plan, cluster: Cluster = CLUSTER, **how: bool) -> str:
    """What a dry run says, with the resources that are taken by default."""
    return preview(plan, cluster, allot(cluster, plan.request), **how)


def model_folder(
    name: str, *after: str, pooling: str = "cls_token", config: Mapping[str, Any] | None = None, **prompts: str
) -> str:
    """A sentence-transformers model with those modules after its pooling, as far as its settings say. `pooling`: its
    module's flag; without one it is a plain transformer. `config`: more of the transformer's."""
    kinds = ["Transformer", "Pooling", *after]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": f"{index}_{kind}" if index else ""}
               for index, kind in enumerate(kinds)]  # fmt: skip
    files = {
        "config.json": {"model_type": "bert", "num_hidden_layers": 2, "max_position_embeddings": 512, **(config or {})},
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 256 if after else 77},
        "1_Pooling/config.json": {f"pooling_mode_{pooling}": True},
        "config_sentence_transformers.json": {"prompts": prompts},
    }
    Path(name, "1_Pooling").mkdir(parents=True)
    for file in files if pooling else ("config.json",):
        Path(name, file).write_text(json.dumps(files[file]))
    Path(name, "model.safetensors").write_bytes(NO_WEIGHTS)
    return name
