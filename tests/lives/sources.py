"""What lives are lived from: the bundled sample, with pictures on some posts, and small files of tests."""

from __future__ import annotations

import bz2
import json
import re
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from hellofresh.cli import main
from tests.collectors.notes.conftest import HELPFUL, NOT_HELPFUL, Dump, ms
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
    write_noted_posts(folder / "noted")
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


def write_noted_posts(folder: Path) -> None:
    """A dump of posts of their own, each with a note that is helpful and one that is not, for x-posts."""
    dump = Dump(folder)
    for number in range(36):
        at = f"2026-{4 + number % 3:02d}-{2 + number // 3:02d}T10:00:00"
        post = (ms(at) - 3_600_000 - 1_288_834_974_657) << 22
        text = f"Somebody told me that bridge number {number} of this town was built in one night and paid by nobody."
        dump.post(post, text=text, created_at=f"{at.replace('T10', 'T09')}.000Z")
        for place, status in enumerate((HELPFUL, NOT_HELPFUL), start=1):
            said = f"The office of bridge {number} says otherwise: https://office.example/{number}/{place}."
            dump.note(1_000 + 2 * number + place, at=at, status=status, text=said, post=post)
    dump.write()
