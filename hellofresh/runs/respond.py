"""A response to one post, with its evidence, its transcript and its cost: the regime `correction` as a tool.

Everything is kept in a folder of its own, `respond/<id>` in the workspace. The id is a hash of post, model, settings
and the way to the web, so that the same command goes on where it was interrupted, and pays nothing twice.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import get_args

from hellofresh.config import Settings
from hellofresh.core.errors import RunError, UnknownNameError, UsageError
from hellofresh.core.files import canonical_json, sha256_text, write_json, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import load_publishers
from hellofresh.evidence.settings import WebSettings
from hellofresh.evidence.web import Found, ImageSearch, Web, WebPage, open_web
from hellofresh.evidence.web.pictures import MediaPictures, PictureCache, PictureError, decode_now
from hellofresh.evidence.web.search import provider_with_key
from hellofresh.evidence.web.store import TEXTS_ALREADY
from hellofresh.models import Model
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import model_identity
from hellofresh.runs.regimes import MAIN, Regime, get_regime
from hellofresh.runs.responded import RespondedPost, read_responded, step_kind, steps_used
from hellofresh.runs.runner import Assignment, run
from hellofresh.runs.transcribe import transcribe
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.images import Image, Media
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.transcripts import TRANSCRIPTS

__all__ = ["AskedPost", "Inquiry", "respond"]

REGIME = "correction"
_TASK = "corrections"
_MOST_PICTURE_BYTES = 20_000_000
_SMOKE_SETTINGS = {"quote_most": 40, "words": 60}
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A post, and who is to respond.

    Attributes:
        text: of the post.
        at: when it was posted; nothing younger is used.
        images: its pictures, as files hold them.
        model, roles: who responds, and who takes other parts.
        settings: of the regime, each as NAME=VALUE.
        provider: of searches; empty for the configured one, or one whose key is set.
        prompt: id of the wording.
        budget_usd: most that it may cost.
    """

    text: str
    at: datetime
    images: tuple[bytes, ...] = ()
    model: str = "smollm2-135m-text"
    roles: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    provider: str = ""
    prompt: str = "manual"
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPost(MisleadingPost):
    """A post that somebody asks about, with its pictures."""

    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An inquiry with all that decides its answer."""

    inquiry: Inquiry
    sample: AskedPost
    pictures: Sequence[Image]
    models: Mapping[str, Model]
    regime: Regime
    web: WebSettings
    notes: Sequence[str]


def respond(workspace: Workspace, inquiry: Inquiry, watch: Watch = lambda step: None) -> RespondedPost:
    """Respond to a post, or go on where the same inquiry was interrupted.

    Args:
        workspace: where it is kept, and where ratings of publishers are.
        inquiry: the post, and who is to respond.
        watch: told what is being done, in a few words.

    Raises:
        UsageError, ConfigError: if a name is unknown, or something that is needed is missing.
        RunError: if it cannot go on; answers so far are kept.
    """
    start = time.monotonic()
    watch("open the models")
    prepared = _prepare(workspace, inquiry)
    prompt_set = load_prompt_set(_TASK, prepared.regime.prompts_from)
    prompts = prompt_set.choose(inquiry.prompt)[:1]
    identity = _identity(prepared, prompt_set.sha256)
    folder = workspace.root / "respond" / f"{prepared.sample.id}-{sha256_text(canonical_json(identity))[:8]}"
    with Journal(folder) as journal:
        _keep_pictures(folder, prepared)
        assignment = Assignment(
            model=prepared.models[MAIN],
            regime=prepared.regime,
            prompt_set=prompt_set,
            prompts=prompts,
            slots=get_task(_TASK).slots,
            web=_web(prepared, folder, watch),
            pictures=MediaPictures(PictureCache(folder)),
            budget_usd=inquiry.budget_usd,
            others={role: model for role, model in prepared.models.items() if role != MAIN},
            watch=lambda step: watch(_spoken(step)),
        )
        result = run(assignment, [prepared.sample], journal, lambda tally: None)
        if result.failures:
            failed = result.failures[0]
            raise RunError(
                f"the step {failed.step} got no answer: {failed.error}",
                where=str(folder), fix="Run the same command again to go on.", code=failed.code,
            )  # fmt: skip
        ledgers = Ledgers(assignment.specs)
        transcript = next(iter(transcribe(journal, ledgers, {(prepared.sample.id, 1)})))
        steps = steps_used(journal, ledgers, transcript.events)
    output = result.judged[0].output
    assert isinstance(output, Response)
    found = read_responded(
        output,
        transcript.events,
        steps=steps,
        folder=folder,
        smoke_test=any(model.spec.smoke_test for model in prepared.models.values()),
        seconds=round(time.monotonic() - start, 1),
        notes=tuple(prepared.notes),
    )
    write_jsonl(folder / TRANSCRIPTS, [transcript.model_dump(mode="json")])
    write_json(folder / "response.json", {**asdict(found), "folder": str(folder), "post": inquiry.text})
    return found


def _prepare(workspace: Workspace, inquiry: Inquiry) -> _Prepared:
    if not inquiry.text.strip() and not inquiry.images:
        raise UsageError("a post without text and pictures", expected="--text, --image or both", code="no-post")
    budget = inquiry.budget_usd
    if budget is not None and not 0 <= budget < float("inf"):
        raise UsageError(f"a budget of {budget} USD", expected="0 or more", code="bad-budget")
    task = get_task(_TASK)
    regime = get_regime(REGIME, inquiry.settings)
    context = ModelContext(task.name, lambda: (), workspace=workspace)
    models = {MAIN: open_model(inquiry.model, context)}
    for role, name in inquiry.roles.items():
        if role not in regime.roles:
            raise UnknownNameError(f"role of {regime.name}", role, regime.roles)
        models[role] = open_model(name, context)
    for model in models.values():
        if model.spec.kind != "language-model":
            raise UsageError(f"{model.spec.name} writes no text", expected="a language model", code="other-kind")
    web, notes = _web_settings(inquiry, models[MAIN], regime.results)
    more = _more_settings(workspace, inquiry, models, web, notes)
    sample, pictures = _sample(inquiry)
    return _Prepared(inquiry, sample, pictures, models, get_regime(REGIME, (*more, *inquiry.settings)), web, notes)


def _web_settings(inquiry: Inquiry, model: Model, results: int) -> tuple[WebSettings, list[str]]:
    """How the web is searched: as said, as configured, or by a provider whose key is set; on paper for a smoke test."""
    settings, notes = Settings.load().web, list[str]()
    chosen = inquiry.provider
    if not chosen and settings.provider == "offline" and not model.spec.smoke_test:
        chosen = provider_with_key()
        notes += [f"Searched with {chosen}, whose key is set."] if chosen else []
    provider = chosen or settings.provider
    if provider not in (known := get_args(WebSettings.model_fields["provider"].annotation)):
        raise UnknownNameError("search provider", provider, known)
    if provider == "offline":
        notes.append("Searched only the pages that come with the package, not the web.")
    said = {**settings.model_dump(), "provider": provider, "count": max(settings.count, results)}
    return WebSettings.model_validate(said), notes


def _more_settings(
    workspace: Workspace, inquiry: Inquiry, models: Mapping[str, Model], web: WebSettings, notes: list[str]
) -> list[str]:
    """Settings that follow from what is at hand, where nothing is said of them."""
    said, more = {text.partition("=")[0] for text in inquiry.settings}, list[str]()
    if "sites" not in said and web.provider not in TEXTS_ALREADY and not load_publishers(workspace).rated:
        more.append("sites=any")
        notes.append("No ratings of publishers were imported, so that every site was used.")
    describer = models.get("describer", models[MAIN])
    if inquiry.images and not said & {"captions", "describe"} and describer.spec.sees:
        more.append("captions=model")
    if any(model.spec.smoke_test for model in models.values()):
        notes.append("A smoke test: the model is too small to be right, and only shows that the machinery works.")
        # A model that does not know when to stop fills whatever it may.
        more += [f"{name}={value}" for name, value in _SMOKE_SETTINGS.items() if name not in said]
    return more


def _sample(inquiry: Inquiry) -> tuple[AskedPost, list[Image]]:
    """The post as a sample, and its pictures as they were written again."""
    pictures, media = [], []
    for number, content in enumerate(inquiry.images, start=1):
        sha256 = hashlib.sha256(content).hexdigest()
        media.append(Media("photo", f"attached-{number}", sha256, len(content)))
        try:
            if len(content) > _MOST_PICTURE_BYTES:
                raise PictureError(f"over {_MOST_PICTURE_BYTES:,} bytes")
            pictures.append(decode_now(content))
        except PictureError as error:
            expected = "a JPEG, PNG, WebP or GIF"
            raise UsageError(f"picture {number}: {error}", expected=expected, code="bad-picture") from None
    name = sha256_text(canonical_json([inquiry.text, inquiry.at.isoformat(), [item.sha256 for item in media]]))[:12]
    sample = AskedPost(
        id=f"mp-{name}", task=_TASK, edition="asked", period="all", date=inquiry.at, group=name, license="",
        post=name, address="", text=inquiry.text, modality="multimodal" if media else "unimodal", domain="",
        media=tuple(media),
    )  # fmt: skip
    return sample, pictures


def _identity(prepared: _Prepared, prompt_set: str) -> dict[str, object]:
    regime = prepared.regime
    return {
        "models": {role: model_identity(model.spec) for role, model in sorted(prepared.models.items())},
        "regime": [regime.name, regime.version, dict(regime.parameters)],
        "prompts": [prompt_set, prepared.inquiry.prompt],
        "web": prepared.web.model_dump(mode="json"),
    }


def _keep_pictures(folder: Path, prepared: _Prepared) -> None:
    with PictureCache(folder) as cache:
        for media, content, image in zip(
            prepared.sample.media, prepared.inquiry.images, prepared.pictures, strict=True
        ):
            cache.add(media.address, content, image)


def _web(prepared: _Prepared, folder: Path, watch: Watch) -> Web | None:
    if "web" not in {str(need) for need in prepared.regime.needs}:
        return None
    return _WatchedWeb(open_web(prepared.web, folder, groups=get_task(_TASK).blocked_sources), watch)


@dataclass(frozen=True)
class _WatchedWeb:
    """The web, telling what is looked for and read."""

    web: Web
    watch: Watch

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        return self.web.parameters

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.watch(f"search: {query[:80]}")
        return await self.web.search(query, before=before)

    @property
    def searches_images(self) -> bool:
        return isinstance(self.web, ImageSearch) and self.web.searches_images

    async def search_image(self, address: str) -> Found:
        self.watch(f"search for the picture: {address[:80]}")
        return await self.web.search_image(address) if isinstance(self.web, ImageSearch) else Found(())

    async def read(self, url: str) -> WebPage:
        self.watch(f"read: {url[:100]}")
        return await self.web.read(url)

    @property
    def blocked(self) -> Sequence[str]:
        return self.web.blocked

    def reason(self, url: str) -> str:
        return self.web.reason(url)

    async def close(self) -> None:
        await self.web.close()


_SPOKEN = {
    "caption": "describe a picture", "look": "describe a picture", "describe": "describe a picture",
    "queries": "write queries", "evidence": "look for evidence in a page", "respond": "write the response",
}  # fmt: skip


def _spoken(step: str) -> str:
    return _SPOKEN.get(step_kind(step), step)
