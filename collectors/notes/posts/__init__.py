"""Posts: from a local file, from web services in a row, or from both; every answer of a service is kept."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.notes.posts.api_v2 import API_V2
from collectors.notes.posts.chain import ChainedPosts, Online
from collectors.notes.posts.embed import EMBED
from collectors.notes.posts.found import FoundPost, PostSource, PostStatus, snowflake_time
from collectors.notes.posts.fxtwitter import FXTWITTER
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.oembed import OEMBED
from collectors.notes.posts.service import Manners, Service

__all__ = [
    "SERVICES",
    "ChainedPosts",
    "FoundPost",
    "LocalPosts",
    "Manners",
    "Online",
    "PostSource",
    "PostStatus",
    "Service",
    "snowflake_time",
]

SERVICES: Mapping[str, Service] = {service.name: service for service in (EMBED, OEMBED, API_V2, FXTWITTER)}
"""Every web service by name; a new one is a file here and a name in this line."""
