"""Posts: from a local file, from web services in a row, or from both; every answer of a service is kept."""

from __future__ import annotations

from collections.abc import Mapping

from hellofresh.collectors.notes.posts.api_v2 import API_V2
from hellofresh.collectors.notes.posts.base import FoundPost, Manners, PostSource, PostStatus, Service, snowflake_time
from hellofresh.collectors.notes.posts.embed import EMBED
from hellofresh.collectors.notes.posts.local import LocalPosts
from hellofresh.collectors.notes.posts.online import ChainedPosts, Online

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

SERVICES: Mapping[str, Service] = {service.name: service for service in (EMBED, API_V2)}
"""Every web service by name; a new one is a file here and a name in this line."""
