"""Whether a Ray cluster grows by itself, and which nodes it may add, as its autoscaler reports.

Ray has no single place for this. An autoscaler lists its kinds of nodes in the status that it writes. A cluster set up
by hand lists one anonymous kind per node (`node_` and its id). The maximum number of nodes of a kind is in the file
that `ray up` leaves on the head node. KubeRay leaves no such file, so its limits are not known.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study.engine.ray_internals import cluster_config, living_kinds

BOOTSTRAP = "ray_bootstrap_config.yaml"
"""The file that `ray up` writes into the head node's home folder; JSON in spite of its name."""
STATUS_SECONDS = 5.0
"""Most seconds to wait until an autoscaler has written its first status."""


@dataclass(frozen=True)
class NodeKind:
    resources: Mapping[str, float]
    """Resources of one node by name. An amount is infinite if not known."""
    most: float
    """How many nodes of this kind may still be added; infinite if not known."""


UNKNOWN_KIND = NodeKind({"CPU": math.inf, "GPU": math.inf}, math.inf)


def find_kinds() -> tuple[NodeKind, ...] | None:
    """Return the kinds of nodes that the joined cluster may add: empty if it does not grow, None if not known."""
    config = cluster_config()
    if config is not None and config.node_group_configs:
        return tuple(
            NodeKind(
                {name: math.inf if value < 0 else float(value) for name, value in group.resources.items()},
                math.inf if group.max_count < 0 else float(group.max_count),
            )
            for group in config.node_group_configs
        )
    give_up = time.monotonic() + STATUS_SECONDS
    while (living := living_kinds()) is None:
        if time.monotonic() > give_up:
            return None
        time.sleep(0.5)
    return kinds_of(living, Path.home() / BOOTSTRAP)


def kinds_of(living: Mapping[str, int], bootstrap: Path) -> tuple[NodeKind, ...]:
    """Return the kinds of nodes that can be added. `living`: nodes alive, by kind. `bootstrap`: the file of `ray
    up`."""
    named = {name: count for name, count in living.items() if name and not re.fullmatch(r"node_[0-9a-f]+", name)}
    if not named:
        return ()
    if bootstrap.is_file():
        config: dict[str, Any] = json.loads(bootstrap.read_text(encoding="utf-8"))
        types, head = config["available_node_types"], config["head_node_type"]
        if set(named) <= set(types):
            free = config["max_workers"] - sum(count for name, count in named.items() if name != head)
            return tuple(
                NodeKind(
                    {key: float(value) for key, value in kind["resources"].items() if key in ("CPU", "GPU")},
                    float(max(0, min(kind["max_workers"] - named.get(name, 0), free))),
                )
                for name, kind in types.items()
                if name != head
            )
    return (UNKNOWN_KIND,)
