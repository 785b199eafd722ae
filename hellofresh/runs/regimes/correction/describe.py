"""What a post's pictures show, in words.

Of each picture there may be a caption (given with the post, or by a model that sees), the text that is read in it, and
the names of known people; a model makes them one description. Or a model that sees does it in one step. All of it comes
from strangers: it stands in a prompt's slot, between lines with a mark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.vision import (
    PeopleSource,
    RapidOcr,
    TextReader,
    UnreadPictureError,
    ocr_parameters,
    open_people,
)
from hellofresh.models import Message, Request
from hellofresh.models.sight import PAPER_IMAGE
from hellofresh.runs.regimes._base import Case, Parameters
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._texts import fence, one_line
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.images import Image, Media, media_of
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent

__all__ = [
    "DESCRIBER", "DescribedPicture", "DescribedPictures", "PictureTools", "describe", "description_parameters",
    "most_requests", "open_tools",
]  # fmt: skip

DESCRIBER = "describer"
_CHARACTERS = 2000
_LINE_CHARACTERS = 300
_CAPTION_TOKENS = 100
_DESCRIPTION_TOKENS = 250
_GIVEN, _CAPTION, _MERGED, _DIRECT, _UNMERGED = "alternative text", "caption", "merged", "direct", "unmerged"
_PAPER_LINES = ("a line of some words",) * 4


@dataclass(frozen=True, slots=True)
class DescribedPicture:
    """A picture in words.

    Attributes:
        address: of the picture.
        text: what it shows.
        source: where the words come from: `alternative text` (it came with the post), `caption` (by a model), `merged`,
            `direct`, or `unmerged` where the model that should have merged gave nothing.
    """

    address: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class DescribedPictures:
    """A post's pictures in words.

    Attributes:
        pictures: those that there are words for, in the post's order.
        count: pictures of the post, with or without words.
        events: what happened, in order.
    """

    pictures: Sequence[DescribedPicture] = ()
    count: int = 0
    events: Sequence[Event] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What the pictures show."""
        return tuple(picture.text for picture in self.pictures)

    @property
    def shown(self) -> str:
        """The descriptions as a prompt shows them, between lines with a mark; empty where there are none."""
        return fence(self.texts).text if self.pictures else ""


@dataclass(frozen=True, slots=True)
class PictureTools:
    """What looks at pictures besides models: a reader of text and a source of known people, each None for none."""

    reader: TextReader | None = None
    people: PeopleSource | None = None


@dataclass(slots=True)
class _Findings:
    """What is known of one picture before it is described."""

    caption: str = ""
    people: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unsure: int = 0
    problem: str = ""
    events: list[Event] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """As the model that merges reads it."""
        parts = {"Caption": self.caption, "People": ", ".join(self.people), "Text": " / ".join(self.lines)}
        return "\n".join(f"{name}: {said or '(none)'}" for name, said in parts.items())

    @property
    def together(self) -> str:
        """What is found side by side, where no model merges it."""
        said = [self.caption, f"People: {', '.join(self.people)}" if self.people else ""]
        said.append(f"Text in it: {' / '.join(self.lines)}" if self.lines else "")
        return ". ".join(part.rstrip(".") for part in said if part)[:_CHARACTERS]


def most_requests(settings: CorrectionSettings) -> int:
    """Most requests for one post."""
    if not settings.vision or settings.describe == "given":
        return 0
    a_picture = 1 if settings.describe == "direct" else 1 + (settings.captions == "model")
    return a_picture * settings.pictures


def description_parameters(settings: CorrectionSettings) -> Parameters:
    """What decides descriptions besides the settings: the reader's weights, and who the source of people knows."""
    if not settings.vision or settings.describe != "merged":
        return {}
    people = open_people(settings.people, Workspace.from_environment().pictures)
    reader = ocr_parameters() if settings.ocr != "off" else {}
    named = {name: value for name, value in reader.items() if name != "ocr"}
    return {**named, **({} if people is None else people.parameters)}


@cache
def _reader(lines: int) -> RapidOcr:
    return RapidOcr(lines)


def open_tools(settings: CorrectionSettings) -> PictureTools:
    """The tools that the settings name.

    Raises:
        UsageError: if a package is missing.
        ConfigError, DataError: if the source of people cannot be used.
    """
    if settings.describe != "merged":
        return PictureTools()
    return PictureTools(
        _reader(settings.ocr_lines) if settings.ocr != "off" else None,
        open_people(settings.people, Workspace.from_environment().pictures),
    )


async def describe(case: Case, settings: CorrectionSettings, tools: PictureTools | None = None) -> DescribedPictures:
    """Describe a post's pictures; nothing where vision is off.

    A picture that is not at hand has the description that came with the post, or none.

    Raises:
        UsageError, ConfigError, DataError: as `open_tools`, if a picture is at hand.
        RunError: if the describer cannot see and would have to.
    """
    media = media_of(case.sample)[: settings.pictures] if settings.vision else ()
    if not media:
        return DescribedPictures()
    images = {image.address: image for image in case.images}
    if tools is None:
        tools = open_tools(settings) if images else PictureTools()
    describer = _Describer(case, settings, tools)
    numbered = enumerate(media, start=1)
    found = await asyncio.gather(*(describer.look(number, item, images.get(item.address)) for number, item in numbered))
    pictures = [picture for picture, _ in found if picture.text]
    values = {"pictures": len(media), "described": len(pictures)}
    events = [event for _, happened in found for event in happened]
    return DescribedPictures(pictures, len(media), (*events, NotedEvent(name="described", values=values)))


@dataclass(frozen=True, slots=True)
class _Describer:
    """Describes the pictures of one post."""

    case: Case
    settings: CorrectionSettings
    tools: PictureTools

    async def look(self, number: int, media: Media, image: Image | None) -> tuple[DescribedPicture, Sequence[Event]]:
        """One picture in words, and what happened."""
        given = one_line(media.description, _CHARACTERS)
        if image is None or self.settings.describe == "given":
            return DescribedPicture(media.address, given, _GIVEN), ()
        if self.settings.describe == "direct":
            asked, said = await _ask(self.case, f"look-{number}", "look", _DESCRIPTION_TOKENS, image)
            picture = DescribedPicture(media.address, said or given, _DIRECT if said else _GIVEN)
            return picture, [asked, _noted(number, picture, image, _Findings(given))]
        found = await self._find(number, media, image)
        picture = await self._merge(number, media, found)
        return picture, [*found.events, _noted(number, picture, image, found)]

    async def _find(self, number: int, media: Media, image: Image) -> _Findings:
        """Caption, people and lines."""
        found, is_paper = _Findings(one_line(media.description, _CHARACTERS)), image.content == PAPER_IMAGE.content
        if self.settings.captions == "model":
            asked, said = await _ask(self.case, f"caption-{number}", "caption", _CAPTION_TOKENS, image)
            found.events.append(asked)
            found.caption = said or found.caption
        if self.tools.people is not None and not is_paper:
            found.people = tuple(one_line(name, 100) for name in await self.tools.people.names(media, image))
        if self.tools.reader is not None and is_paper:
            found.lines = _PAPER_LINES  # paper is not read, and has what a picture usually has
        elif self.tools.reader is not None:
            await _read(self.tools.reader, self.settings, image, found)
        return found

    async def _merge(self, number: int, media: Media, found: _Findings) -> DescribedPicture:
        """One description; a caption alone is one already."""
        if not (found.people or found.lines):
            return DescribedPicture(media.address, found.caption, _CAPTION if found.events else _GIVEN)
        block = fence([found.shown])
        slots = {"found": block.text, "mark": block.mark}
        asked, said = await _ask(self.case, f"describe-{number}", "merge", _DESCRIPTION_TOKENS, None, **slots)
        found.events.append(asked)
        said = "" if block.mark in said else said  # an echo of the question says nothing of the picture
        return DescribedPicture(media.address, said or found.together, _MERGED if said else _UNMERGED)


async def _read(reader: TextReader, settings: CorrectionSettings, image: Image, found: _Findings) -> None:
    """Read a picture's text."""
    try:
        lines = await asyncio.to_thread(reader.read, image)
    except UnreadPictureError as error:
        found.problem = f"text was not read ({error})"
        return
    sure = [line.text for line in lines if line.confidence > settings.ocr_confidence]
    shown = (one_line(text, _LINE_CHARACTERS) for text in sure[: settings.ocr_lines])
    found.lines, found.unsure = tuple(text for text in shown if text), len(lines) - len(sure)


async def _ask(case: Case, step: str, text: str, most: int, image: Image | None, **slots: str) -> tuple[Event, str]:
    """What the describer says to a step's text, on one line; empty where it refuses."""
    message = case.step(text, **slots)
    shown = message if image is None else Message("user", message.parts, images=(image,))
    answer = await case.ask(step, "", Request((shown,), most, sample=case.sample), role=DESCRIBER)
    asked = AskedEvent(step=step, role=DESCRIBER)
    return asked, "" if is_refusal(answer) else one_line(answer.text, _CHARACTERS).removeprefix("Description: ")


def _noted(number: int, picture: DescribedPicture, image: Image, found: _Findings) -> NotedEvent:
    """What became of a picture, with all numbers."""
    values = {
        "number": number, "image": image.sha256, "source": picture.source, "caption": found.caption,
        "people": list(found.people), "lines": list(found.lines), "unsure": found.unsure, "problem": found.problem,
        "description": picture.text,
    }  # fmt: skip
    return NotedEvent(name="picture", values=values)
