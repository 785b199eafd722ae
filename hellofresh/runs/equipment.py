"""What a regime gets from outside: prompts, the web, pictures and facts of labels. The only maker of a `Case`.

Runs, previews, dry runs and other harnesses all equip a regime here, so that a preview shows what a run would ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.core.errors import UnknownNameError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web import Web
from hellofresh.releases.life.load import Release, load_labels
from hellofresh.runs.evaluation import Evaluation, WebAccess
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.regimes import Ask, Case, Need, Regime
from hellofresh.tasks import Task
from hellofresh.tasks.images import Image, media_of
from hellofresh.tasks.samples import MAIN, Fact, Label, Sample

if TYPE_CHECKING:
    from hellofresh.evidence.web.pictures import MediaPictures


@dataclass(frozen=True, slots=True)
class Equipment:
    """A regime with its prompts and with what it needs from outside.

    Attributes:
        regime, prompt_set, prompts: the regime, its prompts, and those of them to ask with.
        slots: gives the texts of a sample by slot.
        web: web access, for a regime that needs it.
        pictures: gives the pictures of samples, for a regime that needs them.
        facts: facts of labels by sample, for a regime that needs them; empty while labels are secret.
    """

    regime: Regime
    prompt_set: PromptSet
    prompts: Sequence[Prompt]
    slots: Callable[[Sample], Mapping[str, str]]
    web: Web | None = None
    pictures: MediaPictures | None = None
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)

    async def case(self, sample: Sample, ask: Ask, images: Sequence[Image] | None = None) -> Case:
        """A sample as the regime gets it; `images` replace its own pictures."""
        if images is None:
            images = () if self.pictures is None else await self.pictures.images(media_of(sample))
        facts = self.facts.get(sample.id, {})
        return Case(sample, self.prompts, self.prompt_set, self.slots(sample), ask, self.web, images, facts)

    async def close(self) -> None:
        """Close the web and the pictures."""
        for part in (self.web, self.pictures):
            if part is not None:
                await part.close()


def prompted(task: Task, regime: Regime, prompts: str = "", named: str | None = None) -> Equipment:
    """A regime with its prompts of a task, and nothing else yet; `prompts` and the `named` set as in `Evaluation`.

    Raises:
        PromptError: if the prompts are missing, malformed or for another task.
        UnknownNameError: if one of `prompts` is unknown.
    """
    prompt_set = regime.prompt_set(task.name, named)
    chosen = prompt_set.choose(prompts)
    return Equipment(regime, prompt_set, chosen[:1] if regime.one_prompt else chosen, task.slots)


def equip(
    bare: Equipment, workspace: Workspace, release: Release, web: Web | None, *, split: str, introduced: str = ""
) -> Equipment:
    """Add the opened web, and the pictures and facts that the regime needs.

    Args:
        bare: the regime with its prompts.
        workspace: the workspace with pictures and labels.
        release: the samples.
        web: web access, None if the regime needs none.
        split: the split of the samples.
        introduced: user agent for fetching pictures; empty to use only stored ones.
    """
    needs, labels = bare.regime.needs, None
    if Need.FACTS in needs:
        labels = public_labels(workspace, release, split)
    pictures = None
    if Need.IMAGES in needs:
        from hellofresh.evidence.web.pictures import open_pictures  # with what fetches them, for few regimes

        pictures = open_pictures(workspace.pictures, user_agent=introduced)
    facts = {name: label.facts for name, label in (labels or {}).items()}
    return replace(bare, web=web, pictures=pictures, facts=facts)


def public_labels(workspace: Workspace, release: Release, split: str) -> Mapping[str, Label] | None:
    """The labels of a main split; None while they are secret, and for a prospective split."""
    is_public = split == MAIN and release.revealed
    return load_labels(workspace, release.edition, release.task) if is_public else None


def web_access(
    evaluation: Evaluation, regime: Regime, watch: Callable[[str], None] = lambda step: None
) -> WebAccess | None:
    """The given web access, or the configured one, for a regime that needs it.

    `watch` is called with the searches and pages of the configured one.

    Raises:
        ConfigError, UsageError: if the provider cannot be opened as it is configured.
    """
    if Need.WEB not in regime.needs or evaluation.web is not None:
        return evaluation.web if Need.WEB in regime.needs else None
    # Loaded for regimes that search: it takes as long as the regime and the release of a run without the web.
    from hellofresh.config import Settings
    from hellofresh.evidence.settings import TEXTS_ALREADY, WebSettings, search_providers
    from hellofresh.evidence.web.store import open_web, user_agent, web_parameters

    configured, known = Settings.load().web, search_providers()
    if evaluation.provider and evaluation.provider not in known:
        raise UnknownNameError("search provider", evaluation.provider, known)
    settings = WebSettings.model_validate(
        {
            **configured.model_dump(),
            "provider": evaluation.provider or configured.provider,
            "excluded": [*configured.excluded, *evaluation.blocked],
            "count": max(configured.count, regime.results),
        }
    )
    listed = evaluation.task.blocked_sources
    for name in evaluation.allowed:
        if name not in listed:
            raise UnknownNameError(f"group of sources that {evaluation.task.name} blocks", name, listed)
    groups, replay = tuple(name for name in listed if name not in evaluation.allowed), evaluation.replay

    def opened(folder: Path) -> Web:
        return open_web(settings, folder, replay=replay, groups=groups, watch=watch)

    introduced = "" if replay or settings.provider in TEXTS_ALREADY else user_agent(settings.contact)
    return WebAccess(web_parameters(settings, groups), opened, introduced)
