"""A post as the steps of a correction see it: what was chosen, its text without addresses, its pictures in words.

Of each picture there may be a caption (given with the post, or by a model that sees), the text that is read in it, and
the names of known people; a model makes them one description. Or a model that sees does it in one step. All of it comes
from strangers: it stands in a prompt's slot, between lines with a mark.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from typing import Literal

from pydantic import Field

from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.texts import fence, one_line
from hellofresh.evidence.vision import People, RapidOcr, UnreadPictureError, ocr_parameters
from hellofresh.models import Message, Request
from hellofresh.models.sight import PAPER_IMAGE
from hellofresh.runs.regimes._base import Case, Parameters, RegimeSettings
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.tasks.images import Image, Media, media_of
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent

_DOT = r"[.\uff0e\u3002\uff61]"
_SUFFIXES = (
    "com|org|net|edu|gov|mil|int|info|biz|io|co|me|tv|news|online|site|xyz|top|club|shop|store|app|dev|live|link|click|"
    "example|invalid|test|eu|uk|us|ca|au|de|fr|ru|cn|in|br|jp|nl|it|es|ch|at|be|se|no|fi|dk|pl|ie|nz|za|ng|ke|mx|tk|ly|gl"
)
_REST = r"""[^\s<>"'`\u201c\u201d|\\^{}\[\]]*"""
_LINK = re.compile(
    rf"""
    !?\[(?P<said>[^\[\]\n]{{0,300}})\]\(\s*<?(?P<target>[^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)?)>?[^()\n]{{0,200}}\)
    | <?(?P<address>\b(?:[a-z][a-z0-9+.-]{{1,20}}://|www{_DOT})[^\s<>"'`\u201c\u201d\u00ab\u00bb|\\^{{}}\[\]]+)>?
    | \b(?P<scheme>(?:javascript|data|mailto|vbscript|magnet|tel):[^\s<>"']+)
    | (?<![\w@./-])(?P<bare>(?:[^\W_](?:[\w-]{{0,62}}[^\W_])?{_DOT})+
      (?:(?:{_SUFFIXES}|xn--[a-z0-9-]+)\b(?:[:/?\#]{_REST})? | [a-z]{{2,24}}(?::\d{{2,5}}\b|/[^\W_]){_REST}))
    | (?<![\w@./-])(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d{{2,5}}\b|/[^\W_]){_REST})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILING = ".,;:!?'\")]}*_\u2019\u201d\u3002"
_MOST, _MOST_NESTED = 2000, 10  # posts of hostile users must not take a regular expression's time
DESCRIBER = "describer"
_CHARACTERS = 2000
_LINE_CHARACTERS = 300  # a line in a picture, or a name; what is longer is not one
_CAPTION_TOKENS = 100
# The steps that question a caption, each with the answer of one that holds.
_EXAM, _EXAM_TOKENS = {"shows": "yes", "adds": "no"}, 15
_DESCRIPTION_TOKENS = 250
_GIVEN, _CAPTION, _MERGED, _DIRECT, _UNMERGED = "alternative text", "caption", "merged", "direct", "unmerged"
_PAPER_LINES = ("a line of some words",) * 4
_LEAST_SURNAME = 4  # shorter last names are often words, such as Li or May
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {"today": 0, "tonight": 0, "yesterday": -1, "last night": -1, "tomorrow": 1}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_RELATIVE = re.compile(
    rf"\b(?P<day>{'|'.join(_DAYS)})\b|\b(?P<which>last|this|next)\s(?P<unit>week|month|year|{'|'.join(_WEEKDAYS)})\b"
    rf"|\b(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})\s(?P<ago>day|week|month|year)s?\sago\b",
    re.IGNORECASE,
)
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2190-\u21ff\u2b00-\u2bff\u3030\u303d\u3297\u3299\ufe0f\u200d\u20e3"
    "\U000e0020-\U000e007f]+"
)


class CorrectionSettings(RegimeSettings):
    """How a post is corrected.

    Attributes:
        retrieval: whether the web is searched; without it the model answers from what it knows.
        vision: whether pictures are described.
        describe: `merged`: captions, text that is read in the picture, and known people are made one description;
            `direct`: a model that sees does it in one step; `given`: only descriptions that come with the post.
        captions: of a merged description: `given`: the description that comes with the post; `model`: a model that sees
            writes one; `examined`: and it counts only if the model's answers to two questions about it agree.
        pictures: most pictures of a post that are described, the first ones.
        ocr: what reads text in pictures, for merged descriptions.
        ocr_confidence: from 0 to 100; a line that was read with less is left out.
        ocr_lines: most lines of a picture.
        people: known people in pictures: empty for none (it is biometric), else a file of one's own; see
            docs/correction.md.
        before: up to when pages may be from: the post, or a note of high (`note`) or of average quality under it.
        note_minutes: so long before a note the search ends, where it ends at a note.
        queries, queries_images: most queries for a post of text alone, and for one with pictures.
        query_words: most words of a query.
        results: results that are asked for with each query, before publishers are looked at.
        links: most links of one priority that are read.
        image_links: links of each reverse image search that are looked at, before publishers are.
        sites: `rated`: only publishers with a priority; on a corpus of this machine, all. `any`: all, those without a
            rating as of low priority. Satire, questionable sources and conspiracy sites never.
        site_groups: 0: one general search a query, whose results are filtered by publisher; else each query is searched
            for within the domains of each priority, in at most this many groups of 15 domains, where the provider can.
        image_similarity: least share of keypoints that a page's picture must have in common with the post's, where the
            page was found by a picture; 0 where pictures are not compared.
        image_query: whether a reverse image search is narrowed by the first query, where the service takes both.
        undated: whether a page that names no date may be used.
        pages: most pages of one priority that evidence is looked for in, for a post of text alone.
        pages_text, pages_image: the same for a post with pictures: by its text, and by its pictures.
        encoder: turns texts into vectors, as for `hellofresh corpus show --search`.
        relevance, relevance_images: least cosine of post and page, for a post of text alone and for one with pictures.
        page_characters: characters of a page that are read for evidence.
        refuting, context: most paragraphs of a page that refute the post, and that give context.
        quote_least, quote_most: least and most words of a quote, and most of what its page says after it; what is
            longer is not quoted.
        refuting_pages: number of refuting pages after which no further page is read.
        words: most words of the response.
    """

    retrieval: bool = True
    vision: bool = True
    describe: Literal["merged", "direct", "given"] = "merged"
    captions: Literal["given", "model", "examined"] = "given"
    pictures: int = Field(default=4, ge=1, le=8)
    ocr: Literal["rapidocr", "off"] = "rapidocr"
    ocr_confidence: float = Field(default=80.0, ge=0, le=100)
    ocr_lines: int = Field(default=100, ge=1, le=1000)
    people: str = Field(default="", max_length=500)
    before: Literal["sample", "post", "note", "note-average", "decision"] = "post"
    note_minutes: int = Field(default=30, ge=0, le=100_000)
    queries: int = Field(default=3, ge=1, le=20)
    queries_images: int = Field(default=5, ge=1, le=20)
    query_words: int = Field(default=20, ge=1, le=100)
    results: int = Field(default=50, ge=1, le=50)
    links: int = Field(default=10, ge=1, le=50)
    image_links: int = Field(default=50, ge=0, le=50)
    sites: Literal["rated", "any"] = "rated"
    site_groups: int = Field(default=0, ge=0, le=200)
    image_similarity: float = Field(default=0.1, ge=0, le=1)
    image_query: bool = False
    undated: Literal["leave-out", "use"] = "leave-out"
    pages: int = Field(default=3, ge=1, le=50)
    pages_text: int = Field(default=1, ge=0, le=50)
    pages_image: int = Field(default=1, ge=0, le=50)
    encoder: str = Field(default="minilm", min_length=1, max_length=200)
    # Found on 6,231 labelled pairs for MiniLM (docs/correction.md has the error
    # rates): the best balance of recall and false positives, and at most 5% false positives.
    relevance: float = Field(default=0.37, ge=-1, le=1)
    relevance_images: float = Field(default=0.55, ge=-1, le=1)
    page_characters: int = Field(default=20_000, ge=100, le=200_000)
    refuting: int = Field(default=2, ge=0, le=20)
    context: int = Field(default=2, ge=0, le=20)
    quote_least: int = Field(default=5, ge=1, le=100)
    quote_most: int = Field(default=100, ge=5, le=2000)
    refuting_pages: int = Field(default=2, ge=1, le=100)
    words: int = Field(default=100, ge=10, le=1000)


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A text without addresses, and the addresses that were in it, in order, each once."""

    text: str
    links: tuple[str, ...]


def without_links(text: str, *, instead: str = "", spare: Callable[[str], bool] = lambda _: False) -> Unlinked:
    """Remove every address from a text; a Markdown link keeps its words, any other becomes a space.

    Args:
        text: any text.
        instead: what stands for an address, with a space before it.
        spare: whether a site's name without a scheme and a path, such as `example.org`, stays where it stands.
    """
    found: dict[str, None] = {}

    def taken(match: re.Match[str]) -> str:
        if match["target"] is not None:
            found[match["target"][:_MOST]] = None
            return f"{without(match['said'])} "
        whole = match["address"] or match["scheme"] or match["bare"] or match["number"]
        address = whole.rstrip(_TRAILING)
        if address.count("(") > address.count(")") and whole[len(address) :].startswith(")"):
            address += ")"
        if match["bare"] and not re.search(r"[:/?#]", address) and spare(address):
            return match[0]
        found[address[:_MOST]] = None
        return f" {instead}{whole[len(address) :].lstrip('/')}"

    def without(part: str) -> str:
        return _LINK.sub(taken, part)

    plain = without(text)
    for _ in range(_MOST_NESTED):  # a link may stand in the words of another
        plain, before = without(plain), plain
        if plain == before:
            break
    else:
        plain = without(plain.replace("](", "] ("))
    return Unlinked(plain, tuple(found))


def same_address(url: str) -> str:
    """A spelling that equal addresses share, empty for anything else."""
    try:
        return PageAddress.parse(url if "://" in url else f"https://{url}").url.split("://", 1)[1].rstrip("/")
    except AddressError:
        return ""


@dataclass(frozen=True, slots=True)
class DescribedPictures:
    """A post's pictures in words.

    Attributes:
        texts: of those that there are words for, in the post's order.
        count: pictures of the post, with or without words.
        events: what happened, in order.
        doubtful: names of people that neither the post nor the text in a picture has.
    """

    texts: Sequence[str] = ()
    count: int = 0
    events: Sequence[Event] = ()
    doubtful: Sequence[str] = ()

    def with_named(self, pages: Sequence[str]) -> DescribedPictures:
        """These descriptions, with the doubtful people whom a page names in full."""
        named = [name for name in self.doubtful if any(names_person(page, name) for page in pages)]
        said = [f"The pictures show {', '.join(named)}, whom pages about the post name too."] if named else []
        return replace(self, texts=(*self.texts, *said), doubtful=())


@dataclass(frozen=True, slots=True)
class PictureTools:
    """Tools for pictures besides models: a reader of text and a source of known people, either may be None."""

    reader: RapidOcr | None = None
    people: People | None = None


@dataclass(slots=True)
class _Findings:
    """The findings about one picture, before its description."""

    caption: str = ""
    people: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unsure: int = 0
    problem: str = ""
    events: list[Event] = field(default_factory=list)


def most_requests(settings: CorrectionSettings) -> int:
    if not settings.vision or settings.describe == "given":
        return 0
    of_caption = {"given": 0, "model": 1, "examined": 1 + len(_EXAM)}[settings.captions]
    return (1 + (of_caption if settings.describe != "direct" else 0)) * settings.pictures


def description_parameters(settings: CorrectionSettings) -> Parameters:
    """The parameters of descriptions besides the settings: the reader's weights, and the known people."""
    if not settings.vision or settings.describe != "merged":
        return {}
    people = _people(settings)
    reader = ocr_parameters() if settings.ocr != "off" else {}
    return {**reader, **({} if people is None else people.parameters)}


def _people(settings: CorrectionSettings) -> People | None:
    return People(settings.people) if settings.people else None


@cache
def _reader(lines: int) -> RapidOcr:
    return RapidOcr(lines)


async def describe(case: Case, settings: CorrectionSettings, tools: PictureTools | None = None) -> DescribedPictures:
    """Describe a post's pictures; nothing where vision is off.

    A picture that is missing has the description that came with the post, or none.

    Raises:
        UsageError: if there is a picture, and a package is missing.
        ConfigError, DataError: if there is a picture, and the source of people cannot be used.
        RunError: if the describer cannot see and would have to.
    """
    media = media_of(case.sample)[: settings.pictures] if settings.vision else ()
    if not media:
        return DescribedPictures()
    images = {image.address: image for image in case.images}
    if tools is None:
        tools = PictureTools()
        if images and settings.describe == "merged":
            tools = PictureTools(_reader(settings.ocr_lines) if settings.ocr != "off" else None, _people(settings))
    describer = _Describer(case, settings, tools)
    numbered = enumerate(media, start=1)
    found = await asyncio.gather(*(describer.look(number, item, images.get(item.address)) for number, item in numbered))
    texts = [text for text, _, _ in found if text]
    doubtful = tuple(dict.fromkeys(name for _, names, _ in found for name in names))
    values = {"pictures": len(media), "described": len(texts)}
    events = [event for _, _, happened in found for event in happened]
    return DescribedPictures(texts, len(media), (*events, NotedEvent(name="described", values=values)), doubtful)


@dataclass(frozen=True, slots=True)
class _Describer:
    """Describes the pictures of one post."""

    case: Case
    settings: CorrectionSettings
    tools: PictureTools

    async def look(self, number: int, media: Media, image: Image | None) -> tuple[str, Sequence[str], Sequence[Event]]:
        """One picture in words, its doubtful people, and the events."""
        given = one_line(media.description, _CHARACTERS)
        if image is None or self.settings.describe == "given":
            return given, (), ()
        if self.settings.describe == "direct":
            asked, said = await _ask(self.case, f"look-{number}", "look", _DESCRIPTION_TOKENS, image)
            source = _DIRECT if said else _GIVEN
            return said or given, (), [asked, _noted(number, said or given, source, image, _Findings(given))]
        found = await self._find(number, media, image)
        text, source = await self._merge(number, found)
        return text, found.doubtful, [*found.events, _noted(number, text, source, image, found)]

    async def _find(self, number: int, media: Media, image: Image) -> _Findings:
        found, is_paper = _Findings(one_line(media.description, _CHARACTERS)), image.content == PAPER_IMAGE.content
        if self.settings.captions != "given":
            asked, said = await _ask(self.case, f"caption-{number}", "caption", _CAPTION_TOKENS, image)
            found.events.append(asked)
            if said and (self.settings.captions == "model" or await self._agrees(number, said, image, found)):
                found.caption = said
        if self.tools.reader is not None and is_paper:
            found.lines = _PAPER_LINES  # paper is not read, and has what a picture usually has
        elif self.tools.reader is not None:
            await _read(self.tools.reader, self.settings, image, found)
        if self.tools.people is not None and not is_paper:
            names = [one_line(name, 100) for name in self.tools.people.names(media, image)]
            written = " / ".join([self.case.slots.get("post", ""), media.description, *found.lines])
            found.people = tuple(name for name in names if names_person(written, name, by_surname=True))
            found.doubtful = tuple(name for name in names if name not in found.people)
        return found

    async def _agrees(self, number: int, caption: str, image: Image, found: _Findings) -> bool:
        """Whether the model confirms that the picture shows the caption, and denies that the caption adds anything."""
        block = fence([caption])
        slots, answers = {"caption": block.text, "mark": block.mark}, []
        for question in _EXAM:
            asked, said = await _ask(self.case, f"{question}-{number}", question, _EXAM_TOKENS, image, **slots)
            found.events.append(asked)
            answers.append(re.sub(r"\W+.*", "", said.lstrip(" *\"'"), flags=re.DOTALL).casefold())
        if answers != list(_EXAM.values()):
            found.problem = "the caption failed its check"
        return not found.problem

    async def _merge(self, number: int, found: _Findings) -> tuple[str, str]:
        """One merged description and the source of its words; a caption alone needs no merging."""
        if not (found.people or found.lines):
            return found.caption, _CAPTION if found.events else _GIVEN
        parts = {"Caption": found.caption, "People": ", ".join(found.people), "Text": " / ".join(found.lines)}
        block = fence(["\n".join(f"{name}: {said or '(none)'}" for name, said in parts.items())])
        slots = {"found": block.text, "mark": block.mark}
        asked, said = await _ask(self.case, f"describe-{number}", "merge", _DESCRIPTION_TOKENS, None, **slots)
        found.events.append(asked)
        if said and block.mark not in said:  # an echo of the question says nothing of the picture
            return said, _MERGED
        beside = [found.caption, f"People: {parts['People']}" if found.people else ""]
        beside.append(f"Text in it: {parts['Text']}" if found.lines else "")
        return ". ".join(part.rstrip(".") for part in beside if part)[:_CHARACTERS], _UNMERGED


async def _read(reader: RapidOcr, settings: CorrectionSettings, image: Image, found: _Findings) -> None:
    try:
        lines = await asyncio.to_thread(reader.read, image)
    except UnreadPictureError as error:
        found.problem = f"text was not read ({error})"
        return
    sure = [line.text for line in lines if line.confidence > settings.ocr_confidence]
    shown = (one_line(text, _LINE_CHARACTERS) for text in sure[: settings.ocr_lines])
    found.lines, found.unsure = tuple(text for text in shown if text), len(lines) - len(sure)


async def _ask(case: Case, step: str, text: str, most: int, image: Image | None, **slots: str) -> tuple[Event, str]:
    """The describer's answer to a step, on one line; empty if it refuses."""
    message = case.step(text, **slots)
    shown = message if image is None else Message("user", message.parts, images=(image,))
    answer = await case.ask(step, "", Request((shown,), most, sample=case.sample), role=DESCRIBER)
    asked = AskedEvent(step=step, role=DESCRIBER)
    return asked, "" if is_refusal(answer) else one_line(answer.text, _CHARACTERS).removeprefix("Description: ")


def _noted(number: int, text: str, source: str, image: Image, found: _Findings) -> NotedEvent:
    """The outcome for a picture, with all numbers and the source of its words.

    The source is `alternative text` (it came with the post), `caption` (by a model), `merged`, `direct`, or `unmerged`
    where the model that should have merged gave nothing.
    """
    known = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(replace(found, events=[])).items()
        if name != "events"
    }
    values = {"number": number, "image": image.sha256, "source": source, **known, "description": text}
    return NotedEvent(name="picture", values=values)


def names_person(text: str, name: str, *, by_surname: bool = False) -> bool:
    """Whether a text has a person's whole name, or the last part of it if asked and it has at least four letters."""
    spoken, wanted = (re.findall(r"\w+", _unaccented(part)) for part in (text, name))
    whole = bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(spoken)} "
    return whole or (by_surname and bool(wanted) and len(wanted[-1]) >= _LEAST_SURNAME and wanted[-1] in spoken)


def _unaccented(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))


def relative_days(text: str, posted: date) -> Mapping[str, str]:
    """What a text's English words for days mean on the day of the post (UTC): a day, a span, a month or a year."""
    found = {}
    for match in _RELATIVE.finditer(" ".join(text.lower().split())):
        number = {"last": -1, "next": 1}.get(match["which"], 0)
        if match["ago"]:
            number = -(_NUMBERS.get(match["number"]) or int(match["number"]))
        unit = match["unit"] or match["ago"] or "day"
        with suppress(OverflowError, ValueError):  # before the first year
            found[match[0]] = _moved(posted, unit, _DAYS.get(match["day"], number), whole=not match["ago"])
    return found


def _moved(posted: date, unit: str, number: int, *, whole: bool) -> str:
    """The day that many units later; for weeks all days if `whole`, for weekdays the nearest one in that direction."""
    months = 12 * posted.year + posted.month - 1 + number
    if unit == "year" or (unit == "month" and months < 12):
        return f"{max(1, posted.year + number)}"
    if unit == "month":
        return f"{months // 12}-{months % 12 + 1:02}"
    if unit in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(unit) - posted.weekday()) % 7
        number = ahead if not number else ahead or 7 if number > 0 else ahead - 7
    weeks, start = 7 * number if unit == "week" else number, posted
    if unit == "week" and whole:
        start = posted - timedelta(posted.weekday())
        return f"{start + timedelta(weeks)} to {start + timedelta(weeks + 6)}"
    return str(start + timedelta(weeks))


def shown_post(case: Case, pictures: DescribedPictures) -> Mapping[str, str]:
    """The slots `poster` (whose post it is, where the task says so) and `pictures` (their descriptions, if any).

    Both stand between lines with a mark.
    """
    poster = one_line(case.slots.get("author", ""), _LINE_CHARACTERS)
    named = case.step("poster", named=fence([poster]).text).text if poster else ""
    described = case.step("pictures", described=fence(pictures.texts).text).text if pictures.texts else ""
    return {"poster": named, "pictures": described}


def plain_text(case: Case, pictures: DescribedPictures) -> str:
    """Post and pictures without addresses and emojis, by which pages are compared with it."""
    return " ".join(map(plain, [case.slots.get("post", ""), *pictures.texts])).strip()


def plain(text: str) -> str:
    """A text without addresses and emojis, on one line."""
    return " ".join(_EMOJI.sub(" ", without_links(text).text).split())
