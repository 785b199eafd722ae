"""Community Notes: from the public dump and the posts to candidates of the task x-notes."""

from __future__ import annotations

from collectors.notes.collect import NotesSettings, NotesSource, collect
from collectors.notes.hydrate import fill_notes
from collectors.notes.posts import SERVICES, FoundPost, LocalPosts, Online, PostSource, PostStatus
from collectors.notes.rules.labels import LabelSource

__all__ = [
    "SERVICES",
    "FoundPost",
    "LabelSource",
    "LocalPosts",
    "NotesSettings",
    "NotesSource",
    "Online",
    "PostSource",
    "PostStatus",
    "collect",
    "fill_notes",
]
