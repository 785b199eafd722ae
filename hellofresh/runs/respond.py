"""Respond to one post with the regime `correction`; returns response, evidence, transcript and cost.

The post is the only sample of an edition in its own small workspace, `respond/<id>`, and is evaluated like any other.
The same command therefore resumes an interrupted response without paying twice.
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
from hellofresh.runs.equipment import web_access
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport, StepUsage, kind_of_step, usage_by_step
from hellofresh.runs.record import RunRecord, read_outputs, read_record
from hellofresh.runs.regimes import MAIN, get_regime
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.images import Image, Media, media_of
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
"""The edition of a user's post."""
_TASK = get_task("corrections")
EMBEDDED, _PROMPT = "smollm2-135m-text", "manual"
_MOST_PICTURE_BYTES = 20_000_000
# the embedded model answers slowly: short quotations and texts keep a trial below a minute
_SMOKE_SETTINGS = {"quote_most": 40, "words": 60}
Watch = Callable[[str], None]
_SPOKEN = {
    "caption": "describe a picture",
    "look": "describe a picture",
    "describe": "describe a picture",
    "queries": "write queries",
    "evidence": "look for evidence in a page",
    "respond": "write the response",
}


@dataclass(frozen=True, slots=True)
class PostAsked:
    """A user's post.

    Attributes:
        text: text of the post.
        at: pages younger than this are not used.
        images: contents of the image files.
        poster: name of the poster as the site shows it; empty if unknown.
    """

    text: str
    at: datetime
    images: tuple[bytes, ...] = ()
    poster: str = ""


def asking(model: object = EMBEDDED, **more: object) -> Evaluation:
    """An evaluation for a response, by fields of `Evaluation`; the provider may be chosen by available keys."""
    # A response to one post says itself what is missing, so a first answer that did not come ends nothing.
    usual = Evaluation(ASKED, _TASK, str(model), "correction", prompts=_PROMPT, go_on=True)
    return replace(usual, **more)  # type: ignore[arg-type]  # whoever calls has made values of the fields' types


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedPost(MisleadingPost):
    """A user's post with its pictures and poster."""

    media: tuple[Media, ...] = ()
    poster: str = ""


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """Quotes of a page about a post, by stance."""

    url: str
    title: str
    published: str
    priority: str
    quotes: Mapping[str, Sequence[str]]
    linked: bool


@dataclass(frozen=True, slots=True)
class RespondedPost:
    """A response and its evidence.

    Attributes:
        folder: folder of all files.
        text, links, status: of the response.
        smoke_test: whether the model is only a smoke test.
        until: pages younger than this were not used.
        queries: the search queries.
        evidence: pages with relevant quotes, the best first.
        pictures: descriptions of the pictures.
        left_out: number of pages found but not used, by reason.
        searches_failed: number of failed searches.
        invented_links: links in the answer that were not given to the model.
        steps: usage by step, in order.
        seconds: duration of this call.
        cost_usd: of all steps, including earlier calls; None if unknown.
        notes: remarks on how it was made.
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
    """Respond to a post, or resume an interrupted response; `watch` is called with the current step.

    Raises:
        UsageError, ConfigError: if a name is unknown, or a requirement is missing.
        RunError: if it cannot go on; answers so far are kept.
    """
    start = time.monotonic()
    watch("open the models")
    post = replace(post, text=without_hidden(post.text))
    if not post.text.strip() and not post.images:
        raise UsageError("a post without text and pictures", expected="--text, --image or both", code="no-post")
    sample, pictures = _sample(post)
    release = Release(_TASK, ASKED, (sample,), sha256_text(sample.id), bundled=False, calendar=None)
    evaluation, notes = _chosen(workspace, release, asked)
    own = Workspace(workspace.root / "respond" / sample.id)
    with PictureCache(own.pictures) as cache:
        for media, content, image in zip(sample.media, post.images, pictures, strict=True):
            cache.add(media.address, content, image)
    try:
        report = evaluate(
            own,
            replace(evaluation, web=web_access(evaluation, get_regime(evaluation.regime, evaluation.settings), watch)),
            lambda tally: None,
            release=release,
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


def _chosen(workspace: Workspace, release: Release, asked: Evaluation) -> tuple[Evaluation, tuple[str, ...]]:
    """The evaluation with default provider and settings for what is available, and notes about them."""
    regime = get_regime(asked.regime, asked.settings)
    models = open_models(workspace, asked, regime, release, only_known=True)
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
    # Defaults for settings that are not given, by what is available.
    said, more = {text.partition("=")[0] for text in asked.settings}, list[str]()
    if "sites" not in said and asked.provider not in TEXTS_ALREADY and not load_publishers(workspace).rated:
        more.append("sites=any")
        notes.append("No ratings of publishers were imported, so that every site was used.")
    describer = models.get("describer", models[MAIN])
    if media_of(release.samples[0]) and not said & {"captions", "describe"} and describer.spec.sees:
        more.append("captions=model")
    if any(model.spec.smoke_test for model in models.values()):
        notes.append("A smoke test: the model is too small to be right, and only shows that everything works.")
        # A model that does not stop by itself uses the whole limit.
        more += [f"{name}={value}" for name, value in _SMOKE_SETTINGS.items() if name not in said]
    return replace(asked, settings=(*more, *asked.settings)), tuple(notes)


def _sample(post: PostAsked) -> tuple[_AskedPost, list[Image]]:
    """The post as a sample, and its re-encoded pictures."""
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
    """Assemble a response from the files of its run."""
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
        text=output.text if isinstance(output, Response) else "",  # rows without an answer have no kind
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
