"""Coverage of the ceiling of a ranking: for invented voters, the score of an oracle is known.

    python benchmarks/ceiling.py [--worlds 8] [--samples 20] [--notes 200] [--only X|narrow]

Notes are fixed while raters are redrawn, which gives the share of samples of raters who find a note
helpful: the oracle states it, and chooses by it. Each sample in turn labels the notes that it decides, balanced
between the labels; its own fit and redraws give the ceiling. The result is how often its interval contains what the
oracle reaches on these labels. By X's rules statuses are so far apart that hardly a label flips; so this is repeated by
narrow rules, under which every intercept near the middle may flip.
"""

from __future__ import annotations

import argparse

import numpy as np
from made.voters import VotersWorld, draw_voters

from hellofresh.stats.bridging import BridgingSettings, NoteStatus, chance_if_decided, fit_bridging, redraws, statuses
from hellofresh.stats.bridging import _rising as rising
from hellofresh.tasks import get_task
from hellofresh_parts.voters.ceiling import reached

NARROW = BridgingSettings(
    crh_threshold=0.18, crh_threshold_no_high_vol=-9.0, factor_threshold=9.0, min_net_helpful=-(10**6),
    crnh_threshold_intercept=0.16, crnh_threshold_note_factor_multiplier=0.0, crnh_threshold_ucb_intercept=-9.0,
    crnh_threshold_nm_intercept=-9.0, crnh_side_ratings=10**6,
)  # fmt: skip

_KNOWN = 120  # samples of raters that determine the truth
RULES = {"X": BridgingSettings(), "narrow": NARROW}


def measure(settings: BridgingSettings, options: argparse.Namespace) -> None:
    """Print how often intervals contained the truth, and the mean of true and stated scores."""
    task, random = get_task("x-notes"), np.random.default_rng(0)
    held: dict[str, list[tuple[bool, float, float, float]]] = {}
    for seed in range(options.worlds):
        world = VotersWorld.make(options.notes, seed)
        crowd = (2 * options.notes, 40 * options.notes)
        drawn = (draw_voters(world, *crowd, 1000 * seed + k) for k in range(_KNOWN))
        fits = [fit_bridging(*voters, settings) for voters in drawn]
        status = np.array([statuses(fit) for fit in fits])
        decided, middle = status != NoteStatus.NEEDS_MORE_RATINGS, np.mean([fit.intercept for fit in fits], axis=0)
        known = decided.any(axis=0) & np.isfinite(middle)
        share = ((status == NoteStatus.HELPFUL) & decided).sum(axis=0) / np.maximum(decided.sum(axis=0), 1)
        true = rising(middle[known], share[known], decided.sum(axis=0)[known].astype(float), middle)
        for fit, own in zip(fits[: options.samples], status, strict=False):
            chance, error = chance_if_decided(fit, redraws(fit))
            mine = np.isfinite(chance) & known
            sides = [random.permutation(np.flatnonzero(mine & (own == side))) for side in (-1, 1)]
            size = min(map(len, sides))
            if size < 10:
                continue
            chosen = np.concatenate([side[:size] for side in sides])
            labels = (own[chosen] == 1).astype(np.int8)
            truly = reached(task, labels, true[chosen], np.zeros(chosen.size))
            for name, (value, low, high) in reached(task, labels, chance[chosen], error[chosen]).items():
                value_true = truly[name][0]
                held.setdefault(name, []).append(
                    (low - 1e-9 <= value_true <= high + 1e-9, value_true, value, high - low)
                )
    for name, rows in held.items():
        inside, true_value, value, width = np.mean(rows, axis=0)
        print(
            f"  {name:12} {len(rows)} samples: held {inside:.1%}; reached {true_value:.3f}, "
            f"stated {value:.3f}, width {width:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--only", choices=RULES)
    options = parser.parse_args()
    for name, settings in ((name, rules) for name, rules in RULES.items() if options.only in (None, name)):
        print(
            f"rules: {name}; {options.worlds} worlds of {options.notes} notes, {options.samples} samples each",
            flush=True,
        )
        measure(settings, options)


if __name__ == "__main__":
    main()
