"""Community Notes: from the public dump and the posts to candidates of the tasks x-notes, x-notes-media and x-posts."""

from __future__ import annotations

from hellofresh.collectors.notes.collect import NotesSettings, NotesSource, collect
from hellofresh.collectors.notes.hydrate import fill_texts, with_pictures
from hellofresh.collectors.notes.labels import LabelSource
from hellofresh.collectors.notes.noted_posts import collect_posts, score_files
from hellofresh.collectors.notes.posts.base import FoundPost, PostStatus
from hellofresh.collectors.notes.posts.local import LocalPosts
from hellofresh.collectors.notes.posts.online import Online
from hellofresh.collectors.notes.posts.services import SERVICES

__all__ = [
    "SERVICES",
    "FoundPost",
    "LabelSource",
    "LocalPosts",
    "NotesSettings",
    "NotesSource",
    "Online",
    "PostStatus",
    "collect",
    "collect_posts",
    "fill_texts",
    "score_files",
    "with_pictures",
]
