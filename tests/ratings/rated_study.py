"""A small study in the released study's own files; all of it is invented."""

from __future__ import annotations

import csv
from pathlib import Path

from hellofresh.judging.muse import _QUESTIONS, SYSTEMS

POSTS = {"1": "1600000000000000001", "2": "1600000000000000002", "3": "1600000000000000003"}
TRAINING = "1600000000000000009"
MAIN = ("muse", "laypeople-high", "gpt-4", "laypeople-average")


def write_csv(path: Path, columns: list[str], rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def write_study(folder: Path) -> Path:
    """Three posts, the last of which two people rate, and one of the onboarding; GPT-4 repeats MUSE on the second."""
    data = folder / "eval" / "data"
    tweets = [*POSTS.values(), TRAINING]
    written = []
    for tweet in tweets:
        texts = {system: f"{system} answers, on two lines,\n{tweet}" for system in MAIN}
        if tweet == POSTS["2"]:
            texts["gpt-4"] = "~"
        written.append([tweet, *(texts.get(system, "~") for system in SYSTEMS)])
    columns = ["tweet_id", *SYSTEMS.values()]
    write_csv(data / "responses_unimodal.csv", columns, written[:2])
    write_csv(data / "responses_multimodal.csv", columns, written[2:])
    write_csv(data / "tweetid_postid.csv", ["post_id", "tweet_id"], [list(pair) for pair in POSTS.items()])
    write_csv(data / "tweetid_domain.csv", ["tweet_id", "tweet_domain"], [[tweet, "Health"] for tweet in tweets])
    for kind, own in (("unimodal", tweets[:2]), ("multimodal", tweets[2:])):
        write_csv(data / f"tweetid_politics_{kind}.csv", ["tweet_id", "political_leaning"], [[t, "n/a"] for t in own])
    for criterion, (name, labels) in _QUESTIONS.items():
        write_csv(data / f"{name}.csv", *_rated(criterion, labels, written))
    return folder


def _rated(criterion: str, labels: tuple[str, ...], written: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    of_link = criterion in {"reachability", "credibility", "reference-relevance"}
    columns = ["id", "post_id", "response_id", "username", "label", "response_text", "response_type"]
    columns += ["response_url_id", "url"] if of_link else []
    numbers = {tweet: number for number, tweet in {**POSTS, "9": TRAINING}.items()}
    rows = []
    for row in written:
        post, texts = numbers[row[0]], dict(zip(SYSTEMS, row[1:], strict=True))
        for place, system in enumerate(MAIN):
            if texts[system] == "~":
                continue
            for user in ("group1_user1", "group1_user2") if post in {"3", "9"} else ("group1_user1",):
                best = 10 - 2 * place - (user == "group1_user2")
                label = labels[-1 - place % len(labels)] if labels else str(best)
                common = ["0", post, str(place), user, label, texts[system], SYSTEMS[system]]
                links = [["7", "https://example.org/a"], ["8", "https://example.org/a"]] if of_link else [[]]
                rows += [[*common, *link] for link in links]
    return columns, rows
