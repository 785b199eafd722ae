"""The samples lost by the rule that a release has at most one edit of each lineage of a paragraph.

    python benchmarks/lineages.py [DUMP...] [--json]

For each full-history export (by default, the real histories in ../shared/data/wikipedia if they exist, and the
bundled sample): edits that the rule decides in all its quarters, accepted and rejected; those left if each quarter
has one of a lineage; and those left if all quarters together have one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.quarters import Quarter
from hellofresh.releases.exposure import repeated
from hellofresh.tasks.samples import Candidate
from hellofresh.tasks.wikipedia_edits import TASK

ROOT = Path(__file__).resolve().parents[1]


def counts(candidates: Sequence[Candidate]) -> dict[str, int]:
    """Candidates of each class."""
    found = Counter(TASK.classes[item.label.label] for item in candidates)
    return {name: found[name] for name in reversed(TASK.classes)}


def kept(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep one of each lineage."""
    gone = repeated(TASK, [item.sample for item in candidates], "benchmark")
    return [item for item in candidates if item.sample.id not in gone]


def measured(path: Path) -> dict[str, object]:
    """One row of the table."""
    quarters = {Quarter.containing(one.timestamp) for page in read_pages(path) for one in page.revisions}
    found = [collect(quarter, [path], EditsSettings()).candidates for quarter in sorted(quarters)]
    alone = [item for candidates in found for item in kept(candidates)]
    together = kept([item for candidates in found for item in candidates])
    return {
        "dump": path.name,
        "quarters": sum(map(bool, found)),
        "decided": counts([item for candidates in found for item in candidates]),
        "one a quarter": counts(alone),
        "one for ever": counts(together),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    real = sorted((ROOT.parent / "shared" / "data" / "wikipedia").glob("*.xml*"))
    rows = [measured(path) for path in options.dumps or [*real, ROOT / "collectors" / "sample" / "history.xml.bz2"]]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(*(f"{name} {value}" for name, value in row.items()), sep="; ")


if __name__ == "__main__":
    main()
