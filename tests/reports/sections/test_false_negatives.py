"""The table of what filters caught and masked wrongly, against sums made here."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

from tests.guarded import BASELINE, LAMBDA, SCL, SEEDS, clean_study, put, rewrite
from tests.synthetic_results import section_text, table_lines


def test_shares_over_seeds_with_the_counts_of_all(tmp_path: Path):
    folder = clean_study(tmp_path / "results")
    assert section_text(folder, "false_negatives") == ""
    caught, wrong = [3, 5, 4, 0, 2], [30, 50, 41, 7, 28]
    for seed in SEEDS:
        judged = {
            "judged_anchors": 64,
            "false_negatives": 8,
            "caught_false_negatives": caught[seed],
            "wrongly_masked_negatives": wrong[seed],
        }
        rewrite(folder, put(training=judged), SCL, seed)
        rewrite(folder, put(training=dict.fromkeys(judged, 0) | {"judged_anchors": 64}), LAMBDA, seed)
    cells = {name: row for name, *row in table_lines(section_text(folder, "false_negatives"))}
    masked = [caught[seed] + wrong[seed] for seed in SEEDS]
    shares = {
        "masked": [number / 64 for number in masked],
        "caught": [100 * caught[seed] / 8 for seed in SEEDS],
        "wrong": [100 * wrong[seed] / number for seed, number in zip(SEEDS, masked, strict=True)],
    }
    shown = {name: (mean(values), stdev(values)) for name, values in shares.items()}
    assert cells[SCL] == [
        "0.125 ± 0.000",
        "{:.3f} ± {:.3f}".format(*shown["masked"]),
        "{:.2f} ± {:.2f} ({} of {})".format(*shown["caught"], sum(caught[s] for s in SEEDS), 8 * len(SEEDS)),
        "{:.2f} ± {:.2f} ({} of {})".format(*shown["wrong"], sum(wrong[s] for s in SEEDS), sum(masked)),
    ]
    assert cells[LAMBDA] == ["0.000 ± 0.000", "0.000 ± 0.000", "— (0 of 0)", "— (0 of 0)"]
    assert BASELINE not in cells
