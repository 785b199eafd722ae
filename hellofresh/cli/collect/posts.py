"""Where posts come from, as several commands let it be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from collectors.notes import SERVICES, NotesSource, Online
from hellofresh.config import PostsSettings
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.workspace import Workspace

__all__ = ["notes_source"]


def notes_source(
    workspace: Workspace, settings: PostsSettings, dump: Path, posts: Path | None, posts_from: Sequence[str]
) -> NotesSource:
    """A dump with its posts.

    Raises:
        UnknownNameError: if a service is not known.
        UsageError: if one is named twice.
    """
    return NotesSource(dump, posts, _online(workspace, settings, posts_from) if posts_from else None)


def _online(workspace: Workspace, settings: PostsSettings, names: Sequence[str]) -> Online:
    for name in names:
        if name not in SERVICES:
            raise UnknownNameError("service of posts", name, SERVICES)
    if len(set(names)) < len(names):
        raise UsageError("a service of posts is named twice", where=",".join(names), code="service-twice")
    services = []
    for name in names:
        said = settings.service(name).model_dump(exclude_none=True)
        service = SERVICES[name]
        manners = {field.name: said.pop(field.name) for field in fields(service.manners) if field.name in said}
        services.append(replace(service, **said, manners=replace(service.manners, **manners)))
    return Online(
        services=tuple(services),
        cache=workspace.raw("x-notes", "posts") / "answers.sqlite",
        reask_gone_days=settings.reask_gone_days,
        known=SERVICES,
    )
