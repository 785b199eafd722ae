"""Pictures in a run: kept by hash, never by pixels; shared by hash, paid for, and refused before anything is sent."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

import pytest

from hellofresh.core.errors import RunError
from hellofresh.evidence.web.pictures import PictureCache, open_pictures
from hellofresh.models import Message, ModelSpec, Price, Request
from hellofresh.models.sight import PAPER_IMAGE, image_tokens
from hellofresh.runs.dry_run import forecast
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.pace import estimate_tokens
from hellofresh.runs.regimes import BaseRegime, Case, Need, Outcome, read_choice
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.runs.runner import Assignment
from hellofresh.tasks.images import Image, Media
from hellofresh.tasks.samples import Sample
from hellofresh.tasks.x_notes import IllustratedNote
from tests.fakes import PROMPTS, FakeModel, assigned, fails_with, run_in

SPEC = ModelSpec(
    "seer", "language-model", "A fake.", {"speaks": "anthropic"}, sees=True, price=Price(1.0, 10.0, "2026-10-14", "x")
)
PIXELS = b"PIXELS-THAT-STAY-WHERE-THEY-ARE"


def picture(content: bytes = PIXELS, address: str = "https://pictures.example/1.jpg") -> Image:
    return Image("image/jpeg", hashlib.sha256(content).hexdigest(), 750, 1000, content, address)


def asking(*images: Image) -> Request:
    return Request((Message("user", ("What is it?",), images=images),), 15)


@dataclass
class Seer(FakeModel):
    spec: ModelSpec = SPEC

    @property
    def shown(self) -> list[tuple[Image, ...]]:
        """Pictures of each message that it was asked with."""
        return [message.images for request in self.asked for message in request.messages]


@dataclass(frozen=True, slots=True)
class Showing(BaseRegime):
    name: str = "showing"
    image: ClassVar[Image] = picture()

    def ceiling(self, prompts: int) -> int:
        return prompts

    async def solve(self, case: Case) -> Outcome:
        choices = []
        for prompt in case.prompts:
            message = replace(case.question(prompt), images=(self.image,))
            choices.append(read_choice(prompt.id, await case.ask("classify", prompt.id, Request((message,), 15))))
        return Outcome(choices)


def assignment(model: object, regime: BaseRegime | None = None, **more: object) -> Assignment:
    return assigned(model, regime or Showing(), PROMPTS.prompts[:1], **more)  # type: ignore[arg-type]


def test_no_file_of_a_run_holds_pixels_and_the_model_saw_them(tmp_path: Path, samples) -> None:
    model = Seer()
    run_in(tmp_path, assignment(model), samples)
    assert [images[0].content for images in model.shown] == [PIXELS] * len(samples)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and PIXELS in path.read_bytes()]
    again = Seer()
    run_in(tmp_path, assignment(again), samples)
    assert not again.shown


def test_pictures_are_paid_for_in_estimates_dry_runs_and_budgets(tmp_path: Path, samples) -> None:
    tokens = image_tokens(SPEC, picture())
    assert tokens == 1000
    assert Ledger(SPEC).estimate(asking(picture())).tokens_in == estimate_tokens(asking()).tokens_in + tokens
    plain, seen = (forecast(assignment(Seer(), regime), samples).roles["main"] for regime in (ZeroShot(), Showing()))
    assert seen.tokens_in - plain.tokens_in == tokens * len(samples)
    assert seen.uncut_usd is not None and plain.uncut_usd is not None
    assert seen.uncut_usd - plain.uncut_usd == pytest.approx(tokens * len(samples) / 1e6)
    model = Seer()
    with fails_with("budget-spent"):
        run_in(tmp_path, assignment(model, budget_usd=0.9 * tokens / 1e6), samples)
    assert model.shown == []


def test_a_run_and_its_dry_run_refuse_a_model_that_does_not_see_before_anything_is_sent(tmp_path, samples) -> None:
    model = Seer(replace(SPEC, sees=False))
    with fails_with("lacks-ability", match="cannot see"):
        run_in(tmp_path, assignment(model), samples)
    assert model.shown == []
    with pytest.raises(RunError, match="cannot see"):
        forecast(assignment(model), samples)


@dataclass(frozen=True, slots=True)
class Looking(BaseRegime):
    needs: ClassVar = frozenset({Need.IMAGES})
    name: str = "looking"

    def ceiling(self, prompts: int) -> int:
        return prompts

    async def solve(self, case: Case) -> Outcome:
        message = replace(case.question(case.prompts[0]), images=tuple(case.images))
        answer = await case.ask("classify", case.prompts[0].id, Request((message,), 15))
        return Outcome([read_choice(case.prompts[0].id, answer)])


def illustrated(sample: Sample) -> IllustratedNote:
    media = (Media("photo", "https://p.example/1"), Media("video", "https://p.example/2"))
    return IllustratedNote(**{item.name: getattr(sample, item.name) for item in fields(sample)}, media=media)


def test_a_regime_that_needs_pictures_gets_those_at_hand_and_others_get_none(tmp_path: Path, samples) -> None:
    with PictureCache(tmp_path / "pictures") as cache:
        cache.add("https://p.example/2", b"as it came", picture())
    cases = [illustrated(sample) for sample in samples]
    model = Seer()
    run_in(tmp_path / "run", assignment(model, Looking(), pictures=open_pictures(tmp_path / "pictures")), cases)
    assert [[image.content for image in images] for images in model.shown] == [[PIXELS]] * len(cases)
    assert {image.address for images in model.shown for image in images} == {"https://p.example/2"}
    blind = Seer()
    run_in(tmp_path / "other", assignment(blind, ZeroShot(), pictures=open_pictures(tmp_path / "pictures")), cases)
    assert set(blind.shown) == {()}


def test_a_dry_run_counts_pictures_at_hand_and_the_largest_for_those_to_be_fetched_and_writes_nothing(
    tmp_path: Path, samples
) -> None:
    with PictureCache(tmp_path) as cache:
        cache.add("https://p.example/2", b"as it came", picture())
    before = (tmp_path / "pictures.sqlite").read_bytes()
    cases = [illustrated(sample) for sample in samples]
    at_hand, fetched = open_pictures(tmp_path), open_pictures(tmp_path, user_agent="hellofresh/test")
    none, some, all_of_them = (
        forecast(assignment(Seer(), Looking(), pictures=pictures), cases).roles["main"].tokens_in
        for pictures in (None, at_hand, fetched)
    )
    assert some - none == len(cases) * image_tokens(SPEC, picture())
    assert all_of_them - some == len(cases) * image_tokens(SPEC, PAPER_IMAGE)
    for pictures in (at_hand, fetched):
        asyncio.run(pictures.close())
    assert (tmp_path / "pictures.sqlite").read_bytes() == before
