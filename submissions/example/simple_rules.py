"""An example of a system to submit: a few rules of thumb, no model, no training.

    python submissions/example/simple_rules.py data/releases/2026Q3 > predictions.jsonl

reads the public samples of a quarter and prints a prediction a line, in the format of submissions/README.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPINION = re.compile(r"\b(i|i'm|my|we|you|lol|obviously|just|everyone knows|not needed|nnn|joke)\b", re.IGNORECASE)
HYPE = re.compile(r"\b(best|amazing|legendary|famous|obviously|everyone|you|your|i|we|lol)\b|!|\?\?", re.IGNORECASE)


def note_is_helpful(sample: dict[str, Any]) -> float:
    """Helpful notes tend to name a source and to keep themselves out of the picture."""
    text = sample["note"]["text"]
    score = 0.5
    score += 0.2 if "http" in text else -0.1
    score -= 0.15 * len(OPINION.findall(text))
    score += 0.1 if len(text) > 150 else 0.0
    return score


def edit_stays(sample: dict[str, Any]) -> float:
    """Edits that shout, praise, address the reader or delete more than they add tend to be reverted."""
    added, deleted = sample["added"], sample["deleted"]
    score = 0.6
    score -= 0.2 * len(HYPE.findall(added))
    score -= 0.2 if len(deleted) > len(added) else 0.0
    return score


RULES = {"x-notes": note_is_helpful, "wikipedia-edits": edit_stays}


def predictions(edition: Path) -> Iterator[dict[str, Any]]:
    """A prediction for every sample of every task of the quarter."""
    for task, rule in sorted(RULES.items()):
        with (edition / task / "samples.jsonl").open(encoding="utf-8") as file:
            for line in file:
                sample = json.loads(line)
                confidence = min(max(rule(sample), 0.05), 0.95)
                yield {"id": sample["id"], "label": int(confidence >= 0.5), "confidence": round(confidence, 2)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: simple_rules.py data/releases/QUARTER > predictions.jsonl")
    for prediction in predictions(Path(sys.argv[1])):
        sys.stdout.write(json.dumps(prediction) + "\n")
