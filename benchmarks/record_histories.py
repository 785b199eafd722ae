"""Record what two older libraries say of the test histories.

It was run once, and `reverts.json` and `persistence.json` are what it wrote. It needs mwreverts 0.1.5 (2017) and
mwpersistence 0.2.4 (2015) with deltas and jsonable, which nothing else here needs any more:
python benchmarks/record_histories.py FOLDER_OF_HISTORIES
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from itertools import takewhile
from pathlib import Path

from collectors.wikipedia.export import read_pages

HERE = Path(__file__).parents[1] / "tests" / "collectors" / "wikipedia" / "data"
REVERTS = ("anarchism_2005_1000revs.xml.xz", "anarchism_2008_1000revs.xml.xz", "rio_grande_247revs.xml.xz")
PERSISTENCE = ("rio_grande_247revs.xml.xz", "amen_49revs.xml.gz")


def reverts(history):
    """Places of the reverting revision, the first one that it reverts, and the one that it goes back to."""
    import mwreverts

    texts = ((" ".join(revision.text.split()), place) for place, revision in enumerate(history))
    return [(new, min(old), target) for new, old, target in mwreverts.detect(texts, radius=40)]


def persistence(history):
    """By the place of a revision: CRC-32 of each word of four letters or more that it added, and how many of the next
    revisions in a row have it; a word that was added several times is there several times."""
    import deltas
    import mwpersistence

    state = mwpersistence.DiffState(deltas.SegmentMatcher(), revert_radius=15)
    added = [state.update(revision.text, revision=place)[1] for place, revision in enumerate(history)]
    found = {}
    for place, tokens in enumerate(added):
        words = [token for token in tokens if re.fullmatch("[A-Za-z]{4,}", str(token))]
        rows = []
        for token in words:
            stood = set(token.revisions)
            rows.append(
                (
                    zlib.crc32(str(token).encode()),
                    sum(1 for _ in takewhile(stood.__contains__, range(place + 1, len(history)))),
                )
            )
        if rows:
            found[place] = sorted(rows)
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    for name, record, histories in (("reverts", reverts, REVERTS), ("persistence", persistence, PERSISTENCE)):
        found = {}
        for history in histories:
            [revisions] = [list(page.revisions) for page in read_pages(folder / history)]
            found[history] = record(revisions)
        (HERE / f"{name}.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
