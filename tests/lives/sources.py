"""What lives are lived from: the bundled sample, with pictures on some posts, and small files of tests."""

from __future__ import annotations

import bz2
import csv
import json
import re
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from hellofresh.cli import main
from tests.ratings.rated_study import write_study
from tests.retrieval.conftest import small_documents, small_queries, write_rows

OPEN, LATER, REVEALED = (f"2026-{day}:00:00Z" for day in ("07-22T06", "08-20T06", "10-22T06"))
"""2026Q2 opens; systems are evaluated; its labels are revealed."""
DUMP, NOTED, FEED = "source/sample/x-notes", "source/noted", "source/sample/claims/feed.json"
HISTORY = "source/sample/wikipedia-edits/history.xml.bz2"
RETRIEVAL, REPLIES, MUSE = "scifact-retrieval@dev-16-4b2a3513", "claim-responses@dev-16-4b2a3513", "muse-study@94662cc"
PLANTS = (b"PLANTED", b"2001:DB8:", b"77770077")
"""What is planted in histories, submissions and the environment, and comes out in nothing that is public."""
SCRIPT = """about = "Answers for tests."
[[answers]]
sample = "(?i)(only|never|every|all) "
say = "No. The records say the same."
[[answers]]
sample = "no instruction within them"
say = "That is false [1]: otters come to the river at dawn. Please see what is told."
[[answers]]
sample = "EVIDENCE: none was found"
say = "The post misleads: the records say otherwise."
[[answers]]
sample = "."
say = "Yes. The records say otherwise."
"""


def write_sources(folder: Path) -> None:
    folder.mkdir(parents=True)
    assert main(["archive", "sample", "--to", str(folder / "sample")]) == 0
    plant(folder / "sample/wikipedia-edits/history.xml.bz2")
    posts = folder / "sample/x-notes/posts.jsonl"
    rows = [json.loads(line) for line in posts.read_text().splitlines()]
    for number, row in enumerate(rows[::3]):
        row["mediaDetails"] = [
            {"type": "photo", "media_url_https": f"https://pbs.example/{number}.jpg", "ext_alt_text": "A tower"}
        ]
    posts.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    write_noted_posts(folder / "sample/x-notes", folder / "noted")
    write_study(folder / "study")
    corpus = folder / "corpus"
    write_rows(
        corpus / "documents.jsonl",
        [{"id": item.id, "title": item.title, "text": item.text} for item in small_documents()],
    )
    write_rows(corpus / "queries.jsonl", [query.model_dump() for query in small_queries()])
    (corpus / "qrels").write_text("".join(f"q{n} 0 {item.id} 1\n" for n, item in enumerate(small_documents())))
    (folder / "script.toml").write_text(SCRIPT)
    labels = islice(cycle(("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")), 12)
    claims = (
        {"id": n, "label": label, "evidence": [[[1, 2, "River", 0]]],
         "claim": f"The river of town {n} rose by {n + 2} metres in the spring of {1900 + 7 * n}."}
        for n, label in enumerate(labels)
    )  # fmt: skip
    write_rows(folder / "sets/fever/part.jsonl", list(claims))


def plant(history: Path) -> None:
    """Plant names, addresses, numbers and comments of contributors; each stays one contributor."""

    def other(match: re.Match[str]) -> str:
        number = int(sha256(match[2].encode()).hexdigest()[:4], 16)
        said = f"2001:DB8:0:0:0:0:{number:X}:7" if match[1] == "ip" else f"PLANTED {number}"
        return f"<{match[1]}>{said}</{match[1]}>"

    text = re.sub(r"<(username|ip|comment)>(.*?)</\1>", other, bz2.decompress(history.read_bytes()).decode())
    text = re.sub(r"(</username>\s*<id>)(\d+)</id>", r"\g<1>77770077\2</id>", text)
    history.write_bytes(bz2.compress(text.encode()))


def write_noted_posts(sample: Path, folder: Path) -> None:
    """A dump of posts of their own, each with a note that is helpful and one that is not, for x-posts."""
    folder.mkdir()
    helpful, rejected = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL"
    first: list[dict[str, str]] = []
    for shard in sorted(sample.glob("notes-*.tsv")):
        with shard.open(newline="") as file:
            first += list(csv.DictReader(file, delimiter="\t"))[::7]
    with (sample / "noteStatusHistory-00000.tsv").open(newline="") as file:
        status = {row["noteId"]: row for row in csv.DictReader(file, delimiter="\t")}
    notes, history, posts = [], [], []
    for number, row in enumerate(first):
        if status[row["noteId"]]["lockedStatus"] not in (helpful, rejected):
            continue
        post = str(int(row["tweetId"]) + 1)
        text = f"Somebody told me that bridge number {number} of this town was built in one night and paid by nobody."
        created = (
            f"{datetime.fromtimestamp(((int(post) >> 22) + 1_288_834_974_657) // 1000, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
        )
        posts.append({"__typename": "Tweet", "id_str": post, "lang": "en", "created_at": created, "text": text})
        for place, said in enumerate((helpful, rejected), start=1):
            key = str(int(row["noteId"]) + place)
            summary = f"The office of bridge {number} says otherwise: https://office.example/{number}/{place}."
            notes.append(row | {"noteId": key, "tweetId": post, "summary": summary})
            old = status[row["noteId"]]
            history.append(
                {name: said if value in (helpful, rejected) else value for name, value in old.items()} | {"noteId": key}
            )
    for name, rows in (("notes", notes), ("noteStatusHistory", history)):
        with (folder / f"{name}-00000.tsv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    (folder / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in posts))
