"""A response to one post, with its evidence, its transcript and its cost: the regime `correction` as a tool.

The post is the one sample of an edition in a small workspace of its own, `respond/<id>`, and is evaluated as any other.
So the same command goes on where it was interrupted, and pays nothing twice.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from hellofresh.config import Settings
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import HelloFreshError, RunError, UsageError
from hellofresh.core.files import canonical_json, sha256_text, write_json
from hellofresh.core.texts import without_hidden
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import load_publishers
from hellofresh.evidence.settings import TEXTS_ALREADY
from hellofresh.evidence.web.pictures import PictureCache, PictureError, decode_now
from hellofresh.evidence.web.search.services import provider_with_key
from hellofresh.releases.life.load import Release
from hellofresh.runs.asked_models import open_models
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport, StepUsage, kind_of_step, usage_by_step
from hellofresh.runs.prepare import web_access
from hellofresh.runs.record import RunRecord, read_outputs, read_record
from hellofresh.runs.regimes import MAIN, get_regime
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.images import Image, Media
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.transcripts import (
    STANCES,
    Event,
    NotedEvent,
    QuotedEvent,
    ReadEvent,
    SearchedEvent,
    read_transcripts,
)

ASKED = Frozen("asked", "1")
"""The edition of a post that somebody asks about."""
_TASK = get_task("corrections")
_REGIME = "correction"
EMBEDDED, _PROMPT = "smollm2-135m-text", "manual"
_MOST_PICTURE_BYTES = 20_000_000
_SMOKE_SETTINGS = {"quote_most": 40, "words": 60}
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PostAsked:
    """A post that somebody asks about.

    Attributes:
        text: of the post.
        at: nothing younger is used.
        images: as files hold them.
        poster: who posted it, as the site shows it; empty where not known.
    """

    text: str
    at: datetime
    images: tuple[bytes, ...] = ()
    poster: str = ""


def asking(model: object = EMBEDDED, **more: object) -> Evaluation:
    """Who is to respond, and how, by fields of `Evaluation`; the provider may follow from the keys that are set."""
    usual = Evaluation(ASKED, _TASK, str(model), _REGIME, _PROMPT)
    return replace(usual, **more)  # type: ignore[arg-type]  # whoever calls has made values of the fields' types


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedPost(MisleadingPost):
    """A post that somebody asks about, with its pictures, and who posted it."""

    media: tuple[Media, ...] = ()
    poster: str = ""


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """What a page says of a post in its own words, by stance."""

    url: str
    title: str
    published: str
    priority: str
    quotes: Mapping[str, Sequence[str]]
    linked: bool


@dataclass(frozen=True, slots=True)
class RespondedPost:
    """A response and what it rests on.

    Attributes:
        folder: where everything is kept.
        text, links, status: of the response.
        smoke_test: whether the model only shows that the machinery works.
        until: nothing younger was used.
        queries: what was searched for.
        evidence: pages with something to say, the best first.
        pictures: their descriptions.
        left_out: pages that were found and not used, by reason.
        searches_failed: searches that brought nothing because they failed.
        invented_links: links that the model wrote and was not given.
        steps: what each step took, in order.
        seconds: from the start of this call to its end.
        cost_usd: of all steps, also of earlier calls; None where not known.
        notes: what should be known of how it was made.
    """

    folder: Path
    text: str
    links: tuple[str, ...]
    status: str
    smoke_test: bool
    until: str
    queries: tuple[str, ...]
    evidence: tuple[CitedEvidence, ...]
    pictures: tuple[str, ...]
    left_out: Mapping[str, int]
    searches_failed: int
    invented_links: tuple[str, ...]
    steps: tuple[StepUsage, ...]
    seconds: float
    cost_usd: float | None
    notes: tuple[str, ...]


def respond(
    workspace: Workspace, post: PostAsked, asked: Evaluation, watch: Watch = lambda step: None
) -> RespondedPost:
    """Respond to a post, or go on where the same inquiry was interrupted; `watch` receives what is being done.

    Raises:
        UsageError, ConfigError: if a name is unknown, or something that is needed is missing.
        RunError: if it cannot go on; answers so far are kept.
    """
    start = time.monotonic()
    watch("open the models")
    post = replace(post, text=without_hidden(post.text))
    if not post.text.strip() and not post.images:
        raise UsageError("a post without text and pictures", expected="--text, --image or both", code="no-post")
    evaluation, notes = _chosen(workspace, post, asked)
    sample, pictures = _sample(post)
    own = Workspace(workspace.root / "respond" / sample.id)
    with PictureCache(own.pictures) as cache:
        for media, content, image in zip(sample.media, post.images, pictures, strict=True):
            cache.add(media.address, content, image)
    try:
        report = evaluate(
            own,
            replace(evaluation, web=web_access(evaluation, watch)),
            lambda tally: None,
            release=Release(_TASK, ASKED, (sample,), sha256_text(sample.id), bundled=False, calendar=None),
            watch=lambda step: watch(_SPOKEN.get(kind_of_step(step), step)),
        )
    except HelloFreshError as error:
        if error.code != "run-locked":
            raise
        raise RunError(
            "a response to this post is being written already",
            fix="Wait until it is done: then the same request shows it at once.",
            code="responding",
        ) from None
    found = _read_responded(report, notes, time.monotonic() - start)
    write_json(report.folder / "response.json", {**asdict(found), "folder": str(found.folder), "post": post.text})
    return found


def _chosen(workspace: Workspace, post: PostAsked, asked: Evaluation) -> tuple[Evaluation, tuple[str, ...]]:
    """The evaluation with the provider and the settings that follow from what is at hand, and what to say of them."""
    regime = get_regime(asked.regime, asked.settings)
    models = open_models(workspace, asked, regime, only_known=True)
    for model in models.values():
        if model.spec.kind != "language-model":
            raise UsageError(f"{model.spec.name} writes no text", expected="a language model", code="other-kind")
    provider, notes = asked.provider or Settings.load().web.provider, list[str]()
    if not asked.provider and provider == "offline" and not models[MAIN].spec.smoke_test:
        provider = provider_with_key() or provider
        notes += [f"Searched with {provider}, whose key is set."] if provider != "offline" else []
    if provider == "offline":
        notes.append("Searched only the pages that come with the package, not the web.")
    asked = replace(asked, provider=provider)
    # Settings that follow from what is at hand, where nothing is said of them.
    said, more = {text.partition("=")[0] for text in asked.settings}, list[str]()
    if "sites" not in said and asked.provider not in TEXTS_ALREADY and not load_publishers(workspace).rated:
        more.append("sites=any")
        notes.append("No ratings of publishers were imported, so that every site was used.")
    describer = models.get("describer", models[MAIN])
    if post.images and not said & {"captions", "describe"} and describer.spec.sees:
        more.append("captions=model")
    if any(model.spec.smoke_test for model in models.values()):
        notes.append("A smoke test: the model is too small to be right, and only shows that the machinery works.")
        # A model that does not know when to stop fills whatever it may.
        more += [f"{name}={value}" for name, value in _SMOKE_SETTINGS.items() if name not in said]
    return replace(asked, settings=(*more, *asked.settings)), tuple(notes)


def _sample(post: PostAsked) -> tuple[_AskedPost, list[Image]]:
    """The post as a sample, and its pictures as they were written again."""
    pictures, media = [], []
    for number, content in enumerate(post.images, start=1):
        sha256 = hashlib.sha256(content).hexdigest()
        media.append(Media("photo", f"attached-{number}", sha256, len(content)))
        try:
            if len(content) > _MOST_PICTURE_BYTES:
                raise PictureError(f"over {_MOST_PICTURE_BYTES:,} bytes")
            pictures.append(decode_now(content))
        except PictureError as error:
            expected = "a JPEG, PNG, WebP or GIF"
            raise UsageError(f"picture {number}: {error}", expected=expected, code="bad-picture") from None
    asked = [post.text, post.at.isoformat(), [item.sha256 for item in media], *filter(None, [post.poster])]
    name = sha256_text(canonical_json(asked))[:12]
    sample = _AskedPost(
        id=f"mp-{name}", task=_TASK.name, edition=str(ASKED), period="all", date=post.at, group=name, license="",
        post=name, address="", text=post.text, modality="multimodal" if media else "unimodal", domain="",
        media=tuple(media), poster=post.poster,
    )  # fmt: skip
    return sample, pictures


def _steps(folder: Path, record: RunRecord) -> Iterator[StepUsage]:
    for step in usage_by_step(folder)[0]:
        usage = record.usage.get(step.role, record.usage[MAIN])
        step.model, step.seconds = usage.model, round(step.seconds, 2)
        step.cost_usd = 0.0 if usage.cost_usd == 0 else step.cost_usd
        yield step


def _read_responded(report: EvaluationReport, notes: tuple[str, ...], seconds: float) -> RespondedPost:
    """Put together what is known of a response, from the files of its run."""
    record = read_record(report.folder)
    ((_, _, output),) = read_outputs(report.folder)
    events: Sequence[Event] = next(iter(read_transcripts(report.folder))).events
    assert record is not None
    noted = {event.name: event.values for event in events if isinstance(event, NotedEvent)}
    described = [event.values for event in events if isinstance(event, NotedEvent) and event.name == "picture"]
    searched = [event for event in events if isinstance(event, SearchedEvent)]
    invented = noted.get("response", {}).get("hallucinated", ())
    if "not-searched" in noted:
        notes = (*notes, f"Pictures were not searched for: {noted['not-searched']['problem']}.")
    return RespondedPost(
        folder=report.folder,
        text=output.text if isinstance(output, Response) else "",  # without an answer, rows have no kind
        links=output.sources,
        status=str(output.status),
        smoke_test=record.smoke_test,
        until=str(noted.get("settings", {}).get("until", "")),
        queries=tuple(event.query for event in searched),
        evidence=tuple(_cited(events, output.sources)),
        pictures=tuple(str(values["description"]) for values in described),
        left_out=dict(Counter(event.dropped for event in events if isinstance(event, ReadEvent) and event.dropped)),
        searches_failed=sum(bool(event.problem) for event in searched),
        invented_links=tuple(map(str, invented)) if isinstance(invented, list | tuple) else (),
        steps=tuple(_steps(report.folder, record)),
        seconds=round(seconds, 1),
        cost_usd=None if record.cost_usd is None else round(record.cost_usd, 6),
        notes=notes,
    )


def _cited(events: Sequence[Event], links: Sequence[str]) -> Iterator[CitedEvidence]:
    pages = {event.final_url: event for event in events if isinstance(event, ReadEvent) and event.final_url}
    for event in events:
        if isinstance(event, QuotedEvent) and event.said:
            yield CitedEvidence(
                url=event.url,
                title=pages[event.url].title if event.url in pages else "",
                published=pages[event.url].published if event.url in pages else "",
                priority=event.priority,
                quotes={STANCES[stance]: quotes for stance, quotes in event.said.items()},
                linked=event.url in links,
            )


_SPOKEN = {
    "caption": "describe a picture",
    "look": "describe a picture",
    "describe": "describe a picture",
    "queries": "write queries",
    "evidence": "look for evidence in a page",
    "respond": "write the response",
}
