"""Speed of the embedded model, savings by shared prefixes, and whether concurrent requests change its answers.

    python benchmarks/embedded.py [--samples 8] [--max-tokens 15] [--json]

Every way sends the same prompts, five a sample, over made texts of ordinary length. Ways alternate, round by
round, and the table gives medians over rounds, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from dataclasses import asdict, dataclass
from statistics import median

from hellofresh.models import Answer, Message, Request
from hellofresh.models.local.embedded import EmbeddedModel

SUBJECTS = ("The old harbour", "A wild bee", "The night train", "This volcano", "The town's library", "A grey heron")
VERBS = ("was built beside", "cannot be seen from", "is often mistaken for", "has nothing to do with", "lives near")
OBJECTS = ("the salt lake", "an orchard in spring", "the second bridge", "a mill of 1872", "the northern coast")
INSTRUCTIONS = (
    "Readers who seldom agree have voted on the note above. Would they call it helpful, that is accurate, to the point "
    "and backed by evidence? Answer only with 'yes' or 'no'.",
    "Decide whether the note gives the post the context that it lacks, in a neutral tone. Reply with 'yes' or 'no'.",
    "Predict the outcome of the vote on the note: if people of different views mostly found it helpful, say 'yes', "
    "otherwise say 'no'.",
    "Judge the note and not the post: is it true, relevant and free of opinion? Write 'yes' or 'no' and nothing else.",
    "Was the note accepted as helpful? Think of its sources and its tone as a crowd would. One word: 'yes' or 'no'.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One way of asking: medians over rounds."""

    way: str
    prompts_a_minute: float
    seconds_a_sample: float


@dataclass(frozen=True, slots=True)
class Report:
    """What the benchmark found."""

    samples: int
    prompt_tokens: float
    answer_tokens: float
    first_answer_s: float
    peak_mib: float
    rows: list[Row]
    differing_answers: int


def sentence(source: random.Random) -> str:
    """A plain sentence."""
    return f"{source.choice(SUBJECTS)} {source.choice(VERBS)} {source.choice(OBJECTS)}."


def beginnings(count: int) -> list[str]:
    """Prefixes of about 200 tokens."""
    source = random.Random(7)
    texts = []
    for _ in range(count):
        post, note = (" ".join(sentence(source) for _ in range(length)) for length in (7, 8))
        texts.append(f"SOCIAL MEDIA POST (2024-02-03):\n{post}\n\nNOTE:\n{note}\n\nINSTRUCTION:\n")
    return texts


def requests(texts: list[str], max_tokens: int, *, shared: bool) -> list[Request]:
    """Five requests a text, with the text as a part of its own (`shared`) or not."""
    pairs = [(text, instruction) for text in texts for instruction in INSTRUCTIONS]
    parts = pairs if shared else [("".join(pair),) for pair in pairs]
    return [Request((Message("user", part),), max_tokens, choices=("yes", "no")) for part in parts]


def ask(model: EmbeddedModel, asked: list[Request]) -> list[Answer]:
    """Send requests one after the other."""

    async def run() -> list[Answer]:
        return [await model.ask(item) for item in asked]

    return asyncio.run(run())


def timed(model: EmbeddedModel, asked: list[Request]) -> float:
    """Seconds for all requests."""
    started = time.perf_counter()
    ask(model, asked)
    return time.perf_counter() - started


def measure(samples: int, max_tokens: int, rounds: int) -> Report:
    """Run all ways."""
    texts = beginnings(samples)
    free, bound = EmbeddedModel(held_to_choices=False), EmbeddedModel()
    shared, whole = (requests(texts, max_tokens, shared=kind) for kind in (True, False))
    first = timed(free, shared[:1])
    ask(bound, shared[:1])
    answers = ask(free, shared)
    ways = {
        "shared beginnings, free text": (free, shared),
        "whole prompts, free text": (free, whole),
        "shared beginnings, yes or no": (bound, shared),
        "whole prompts, yes or no": (bound, whole),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (model, asked) in ways.items():
            seconds[way].append(timed(model, asked))
    order = random.Random(1).sample(range(len(shared)), len(shared))
    again = ask(free, [shared[index] for index in order])
    return Report(
        samples,
        sum(answer.tokens_in or 0 for answer in answers) / len(answers),
        sum(answer.tokens_out or 0 for answer in answers) / len(answers),
        first,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        [Row(way, len(shared) / median(took) * 60, median(took) / samples) for way, took in seconds.items()],
        sum(answer != answers[index] for answer, index in zip(again, order, strict=True)),
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the embedded model.")
    parser.add_argument("--samples", type=int, default=8, help="samples of five prompts each (default: 8)")
    parser.add_argument("--max-tokens", type=int, default=15, help="cap on an answer's tokens (default: 15)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all ways (default: 3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = measure(options.samples, options.max_tokens, options.rounds)
    if options.json:
        print(json.dumps(asdict(report), indent=2))
        return report.differing_answers > 0
    print(f"{'way':<30} {'prompts/min':>12} {'s/sample':>9}")
    for row in report.rows:
        print(f"{row.way:<30} {row.prompts_a_minute:>12.0f} {row.seconds_a_sample:>9.2f}")
    print(f"tokens: {report.prompt_tokens:.0f} a prompt, {report.answer_tokens:.1f} an answer in free text")
    print(
        f"first answer, loading included: {report.first_answer_s:.1f} s; "
        f"peak memory of two models: {report.peak_mib:.0f} MiB"
    )
    print(f"answers that differ when asked in another order: {report.differing_answers} of {report.samples * 5}")
    return report.differing_answers > 0


if __name__ == "__main__":
    sys.exit(main())
