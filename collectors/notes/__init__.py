"""Community Notes: from the public dump and the posts to candidates of the task x-notes."""

from __future__ import annotations

from collectors.notes.collect import NotesSource, Settings, collect
from collectors.notes.labels import LabelSource
from collectors.notes.posts import FoundPost, LocalPosts, PostSource, PostStatus

__all__ = [
    "FoundPost",
    "LabelSource",
    "LocalPosts",
    "NotesSource",
    "PostSource",
    "PostStatus",
    "Settings",
    "collect",
]
