"""Time and memory for a feed of 100,000 varied reviews; the promise is 60 s and 1 GB.

The limit of 60 s is on CPU time, which is what a quiet machine takes: one process, one thread.

The feed is invented: claims of 5 to 100 words out of 300,000, 6% of them repeated with one word changed, 40
publishers, and the faults of real feeds (null items, lists for objects, entities, odd dates, unknown words). It is
written once with its reviews over eight years, as real feeds are, and once with all of them in the quarter that is
collected, which is the worst case.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from multiprocessing import get_context
from pathlib import Path

from hellofresh.core.quarters import Quarter
from hellofresh_parts.claims.collect import collect
from hellofresh_parts.claims.declared import ClaimsSettings

REVIEWS = 100_000
QUARTER = Quarter(2026, 2)
WORDS = [
    f"{head}{tail}" for head in ("bri", "lo", "sta", "mer", "cu", "pol") for tail in ("dge", "ver", "nt", "ka", "li")
]
VERDICTS = ("False", "False", "Misleading", "True", "Mostly True", "Pants on Fire", "Satire", "Odd words", "")


def reviews(days: int) -> Iterator[object]:
    chance = random.Random(7)
    last = "a b c"
    for number in range(REVIEWS):
        if chance.random() < 0.06:
            words = last.split()
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        else:
            words = [f"{chance.choice(WORDS)}{chance.randrange(10_000)}" for _ in range(chance.randint(5, 100))]
        last = " ".join(words)
        site = f"checks{number % 40}.example"
        day = date(2026, 6, 30) - timedelta(days=chance.randrange(days))
        rating: object = {"@type": "Rating", "alternateName": chance.choice(VERDICTS), "ratingValue": "1"}
        item = {
            "@type": "ClaimReview",
            "claimReviewed": last.replace("ka", "&amp;"),
            "url": f"https://www.{site}/{number}?utm_source=feed",
            "datePublished": day.isoformat() if number % 7 else f"{day:%B} {day.day}, {day.year}",
            "author": {"@type": "Organization", "name": site, "url": f"https://{site}"},
            "itemReviewed": {"author": [{"name": f"Person {number % 999}"}], "datePublished": day.isoformat()},
            "reviewRating": [rating] if number % 5 else rating,
            "inLanguage": "en",
            "sdLicense": "https://creativecommons.org/licenses/by/4.0/",
        }
        yield {"@type": "DataFeedItem", "item": [item] if number % 3 else None if number % 100 == 0 else item}


def write(path: Path, days: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"@context": "https://schema.org", "@type": "DataFeed", "dataFeedElement": [')
        for number, element in enumerate(reviews(days)):
            file.write(", " * (number > 0) + json.dumps(element))
        file.write("]}")


def measure(path: Path) -> None:
    start, busy = time.perf_counter(), time.process_time()
    found = collect(QUARTER, [path], ClaimsSettings())
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    print(f"{path.stem}: {size:.0f} MB, {found.funnel.rows_in:,} reviews, {len(found.candidates):,} candidates: "
          f"{seconds:.1f} s ({cpu:.1f} s of CPU time), {peak:.0f} MiB at most")  # fmt: skip
    if cpu > 60 or peak > 1024:
        sys.exit("more than 60 s or 1 GB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, days in (("eight years", 8 * 365), ("one quarter", 90)):
            path = Path(folder) / f"{name}.json"
            write(path, days)
            process = get_context("spawn").Process(target=measure, args=(path,))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(1)


if __name__ == "__main__":
    main()
