"""Community Notes: from the public dump and the posts to candidates of the tasks x-notes, x-notes-media and x-posts."""

from __future__ import annotations

from collectors.notes.collect import NotesSource, collect
from collectors.notes.hydrate import fill_texts, with_pictures
from collectors.notes.noted_posts import collect_posts, score_files
from collectors.notes.posts.base import FoundPost, PostStatus
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.online import Online
from collectors.notes.posts.services import SERVICES
from collectors.settings import LabelSource, NotesSettings

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
