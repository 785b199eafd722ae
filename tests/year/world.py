"""A small world whose years can be lived through day by day: invented notes and edits, their dumps, and a provider.

What a dump holds follows from its day, so that two servers of the same world serve the same bytes.
"""

from __future__ import annotations

import html
import io
import json
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from collectors.notes.tables import HISTORY, NOTES, DumpTable
from hellofresh.core.quarters import Quarter
from tests.loopback import Chat, Reply, said

KEY = "5" * 64
"""A maintainer's escrow key, which nothing public may hold."""
LOCKED_AFTER = timedelta(days=14)
THINGS = ("bridge", "lighthouse", "orchard", "tramway", "quarry", "windmill", "harbour", "glasshouse", "viaduct")
PLACES = ("Oldwick", "Tarnby", "Lower Fell", "Saltmere", "Greyford", "Highmoor", "Netherby", "Ashcombe", "Dunmarsh")

INSULTS = (
    "boring", "grey", "loud", "dusty", "smelly", "rainy", "ugly", "tiny", "noisy", "lazy", "muddy", "rude", "silly",
    "broken", "empty", "gloomy", "shabby", "stuffy", "windy", "rotten", "crooked", "slow", "stale", "cold", "wet",
    "bitter", "damp", "foggy", "greasy", "lumpy", "mouldy", "nasty", "petty", "plain", "rusty", "salty", "sour", "vain",
)  # fmt: skip
"""Of what those who damage articles write, each in words of their own: near-equal edits are one group."""


def months_of(quarters: Sequence[Quarter]) -> Iterator[tuple[int, int]]:
    for quarter in quarters:
        yield from ((quarter.year, quarter.start.month + number) for number in range(3))


@dataclass(frozen=True)
class MadeNote:
    """A note with what becomes of it."""

    number: int
    written: datetime
    helpful: bool
    thing: str

    @property
    def post(self) -> dict[str, object]:
        said = f"The {self.thing} was built by hand in a single night, and nobody was paid, they say."
        return {"__typename": "Tweet", "id_str": str(10**18 + self.number), "lang": "en", "text": said,
                "created_at": f"{self.written - timedelta(hours=5):%Y-%m-%dT%H:%M:%S}.000Z"}  # fmt: skip

    def rows(self, day: date) -> tuple[dict[str, object], dict[str, object]] | None:
        """Its rows in the dump of a day; None where it is not written yet."""
        until = datetime(day.year, day.month, day.day, tzinfo=UTC)
        if self.written >= until:
            return None
        millis = round(self.written.timestamp() * 1000)
        source = " See https://example.org/works." if self.helpful else ""
        text = f"The town's accounts list {40 + self.number % 90} masons who worked on the {self.thing}.{source}"
        status: dict[str, object] = {"noteId": self.number, "currentStatus": "NEEDS_MORE_RATINGS"}
        if self.written + LOCKED_AFTER < until:
            final = "CURRENTLY_RATED_HELPFUL" if self.helpful else "CURRENTLY_RATED_NOT_HELPFUL"
            locked = millis + round(LOCKED_AFTER.total_seconds() * 1000)
            status |= {"currentStatus": final, "lockedStatus": final, "timestampMillisOfStatusLock": locked}
        note = {"noteId": self.number, "createdAtMillis": millis, "tweetId": 10**18 + self.number, "summary": text}
        return note, status


@dataclass(frozen=True)
class World:
    """All notes and edits of some quarters."""

    quarters: tuple[Quarter, ...]
    each: int = 3
    """Notes of each label in a month; articles in a week."""

    @property
    def notes(self) -> list[MadeNote]:
        found = []
        for year, month in months_of(self.quarters):
            for number in range(2 * self.each):
                k = len(found)
                written = datetime(year, month, 2 + (number * 9) % 26, 8 + number % 9, tzinfo=UTC)
                thing = f"{THINGS[k % len(THINGS)]} of {PLACES[k % len(PLACES)]} number {k}"
                found.append(MadeNote(2_000 + k, written, number % 2 == 0, thing))
        return found

    def posts(self) -> str:
        return "".join(json.dumps(note.post) + "\n" for note in self.notes)

    def shard(self, table: DumpTable, day: date) -> bytes:
        """A table's only shard in the dump of a day."""
        both = [rows for note in self.notes if (rows := note.rows(day)) is not None]
        rows = [note if table is NOTES else status for note, status in both]
        lines = ["\t".join(table.columns)] + ["\t".join(str(row.get(c, "")) for c in table.columns) for row in rows]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            name = zipfile.ZipInfo(f"{table.stem}-00000.tsv", (2020, 1, 1, 0, 0, 0))
            archive.writestr(name, "\n".join(lines) + "\n", zipfile.ZIP_DEFLATED)
        return packed.getvalue()

    def history(self, day: date) -> str:
        """Every revision up to a day, as a wiki exports them."""
        until = datetime(day.year, day.month, day.day, tzinfo=UTC)
        pages = []
        for quarter in self.quarters:
            for number in range(13 * self.each):
                start = quarter.start + timedelta(days=number // self.each * 7 + 1, hours=number % self.each)
                pages.append(_page(quarter, number, start, until))
        return (
            '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
            '<siteinfo><namespaces><namespace key="0"></namespace></namespaces></siteinfo>\n'
            f"{''.join(pages)}</mediawiki>\n"
        )


def _page(quarter: Quarter, number: int, start: datetime, until: datetime) -> str:
    """An article of four paragraphs: an edit that stays, others elsewhere, and one that is put back."""
    key = quarter.year * 10_000 + quarter.number * 1_000 + number
    place = f"{PLACES[number % len(PLACES)]} {key}"
    base = [f"{place} is a village with {100 + k + number} houses on the {way} road, and a market every week."
            for k, way in enumerate(("northern", "southern", "western", "eastern"))]  # fmt: skip
    texts, now = [list(base)], list(base)
    for k in range(4):
        now = list(now)
        thing = THINGS[(number + k) % len(THINGS)]
        now[k] += f" Its {thing} was finished in {1800 + number + k} after years of work."
        texts.append(now)
    vandal = list(now)
    vandal[1] = f"{place} is {', '.join(random.Random(key).sample(INSULTS, 12))} and should be shunned!!!"
    texts += [vandal, now]
    for k in (0, 2, 3):
        now = list(now)
        now[k] += f" A survey of {1900 + number + k} counts {30 + number} sheep and {k + 2} shepherds in its meadows."
        texts.append(now)
    # The article is older than the quarter; its edits are an hour apart.
    moments = [start - timedelta(days=200), *(start + timedelta(hours=k) for k in range(len(texts) - 1))]
    rows = [
        _revision(key * 100 + k, key * 100 + k - 1 if k else None, moment, k, "\n\n".join(text))
        for k, (moment, text) in enumerate(zip(moments, texts, strict=True))
        if moment < until
    ]
    return f"<page><title>{place}</title><ns>0</ns><id>{key}</id>{''.join(rows)}</page>\n" if rows else ""


def _revision(key: int, parent: int | None, moment: datetime, user: int, text: str) -> str:
    before = f"<parentid>{parent}</parentid>" if parent else ""
    return (
        f"<revision><id>{key}</id>{before}<timestamp>{moment:%Y-%m-%dT%H:%M:%SZ}</timestamp>"
        f"<contributor><username>Writer {user}</username><id>{user + 1}</id></contributor><comment>-</comment>"
        f"<model>wikitext</model><text xml:space='preserve'>{html.escape(text)}</text><sha1 /></revision>"
    )


@dataclass
class DumpServer:
    """Serves the dumps of the last week.

    Attributes:
        world: what they hold.
        today: the day of whoever asks.
        late: days by which the dump of a day is late.
    """

    world: World
    today: date = date.min
    late: Mapping[date, int] = field(default_factory=dict)

    def answer(self, path: str, _headers: Mapping[str, str], _body: bytes) -> tuple[int, bytes]:
        year, month, number, folder, name = path.strip("/").split("/")
        day = date(int(year), int(month), int(number))
        there = day + timedelta(days=self.late.get(day, 0)) <= self.today < day + timedelta(days=8)
        for table in (NOTES, HISTORY):
            if there and folder == table.subfolder and name == f"{table.stem}-00000.zip":
                return 200, self.world.shard(table, day)
        return 404, b""


class Provider(Chat):
    """An OpenAI-compatible endpoint that says yes where the note names a page, and no to some edits.

    Attributes:
        refused: keys that are refused: their provider is down.
    """

    def __init__(self) -> None:
        self.refused: set[str] = set()
        super().__init__(self._answer)

    def _answer(self, _number: int, body: dict[str, object]) -> Reply:
        if self.headers[-1]["authorization"].removeprefix("Bearer ") in self.refused:
            return Reply(b'{"error": {"message": "the service is closed this week"}}', 403)
        asked = json.dumps(body["messages"])
        yes = "example.org" in asked if "masons" in asked else sha256(asked.encode()).digest()[0] < 150
        return said("Yes" if yes else "No")


CONFIG = """
[release.calendar]
opens_after_days = 21
[sources.x-notes]
base_url = "{dumps}"
posts = "source/posts.jsonl"
[sources.wikipedia-edits]
{wiki}
[providers.oracles]
kind = "openai-compatible"
base_url = "{provider}"
key_variable = "ORACLE_KEY"
[models.oracle]
provider = "oracles"
model = "oracle-1"
price = {{ tokens_in = 1.0, tokens_out = 2.0, as_of = 2024-01-01, source = "made" }}
[evaluate]
models = ["always-yes", "coin", "oracle"]
budget_usd = 5.0
[daily]
export = "site"
opens = "by itself"
least_samples = 2
analyses = false
hydrate_days = 30
"""


def prepare(folder: Path, world: World, dumps: str, provider: str, wiki: str = "") -> None:
    """A maintainer's folder, with secrets that are the same in all of them; `wiki` is the address of an API."""
    asked = f'api = "{wiki}"\ncontact = "test@example.org"\nper_minute = 6000\nwindow_minutes = 2880'
    (folder / "source").mkdir(parents=True)
    (folder / "source/posts.jsonl").write_text(world.posts())
    (folder / "hellofresh.toml").write_text(
        CONFIG.format(dumps=dumps, provider=provider, wiki=asked if wiki else 'dump = ["source/history.xml"]')
    )
    (folder / "submissions").mkdir()
    (folder / "data/private").mkdir(parents=True)
    key = folder / "data/private/escrow.key"
    key.write_text(f"{KEY}\n")
    key.chmod(0o600)
    write_history(folder, world, world.quarters[0].start.date())


def write_history(folder: Path, world: World, day: date) -> None:
    """The wiki's export of a day takes the place of the one before."""
    new = folder / "source/history.new"
    new.write_text(world.history(day))
    new.replace(folder / "source/history.xml")
