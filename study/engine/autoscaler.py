"""Whether a Ray cluster grows by itself, and into what: what its autoscaler says of itself.

Ray has no one place for this. An autoscaler names the kinds of its nodes in the status that it writes, while a cluster
that was put together by hand shows one anonymous kind a node (`node_` and its id). How many nodes of a kind there may
be is in the file that `ray up` leaves on the head node; KubeRay leaves none, so its limits are not known.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BOOTSTRAP = "ray_bootstrap_config.yaml"
"""What `ray up` writes into the head node's home folder; JSON, in spite of its name."""
STATUS_SECONDS = 5.0
"""An autoscaler writes its first status so long after it started."""


@dataclass(frozen=True)
class NodeKind:
    """A kind of node that an autoscaler adds when something asks for it."""

    resources: Mapping[str, float]
    """Of one node; infinite where it is not known."""
    most: float
    """So many may still come; infinite where it is not known."""


UNKNOWN_KIND = NodeKind({"CPU": math.inf, "GPU": math.inf}, math.inf)


def find_kinds() -> tuple[NodeKind, ...] | None:
    """The kinds of nodes that the joined cluster may add: none where it does not grow, None where nobody can say."""
    import ray

    config = ray._private.state.state.get_cluster_config()  # what a managed service tells; Ray itself tells nothing
    if config is not None and config.node_group_configs:
        return tuple(
            NodeKind(
                {name: math.inf if value < 0 else float(value) for name, value in group.resources.items()},
                math.inf if group.max_count < 0 else float(group.max_count),
            )
            for group in config.node_group_configs
        )
    give_up = time.monotonic() + STATUS_SECONDS
    while (living := _living_kinds()) is None:
        if time.monotonic() > give_up:
            return None
        time.sleep(0.5)
    return kinds_of(living, Path.home() / BOOTSTRAP)


def kinds_of(living: Mapping[str, int], bootstrap: Path) -> tuple[NodeKind, ...]:
    """From the living nodes' kinds, name to number, and the file of `ray up`, if it is this cluster's."""
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


def _living_kinds() -> Mapping[str, int] | None:
    """The living nodes' kinds, name to number, as Ray's autoscaler (version 1 or 2) reports them; None before."""
    from ray._private.ray_constants import DEBUG_AUTOSCALING_STATUS
    from ray.autoscaler.v2.sdk import get_cluster_status
    from ray.autoscaler.v2.utils import is_autoscaler_v2
    from ray.experimental.internal_kv import _internal_kv_get, internal_kv_get_gcs_client

    if is_autoscaler_v2(fetch_from_server=True):
        status = get_cluster_status(internal_kv_get_gcs_client().address)
        reported = status.stats.autoscaler_version != "0"
        return (
            Counter(node.ray_node_type_name for node in (*status.active_nodes, *status.idle_nodes))
            if reported
            else None
        )
    written = _internal_kv_get(DEBUG_AUTOSCALING_STATUS)
    report = json.loads(written).get("autoscaler_report") if written else None
    return {**report["active_nodes"]} or None if report else None
