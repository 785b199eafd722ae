"""Which wiki is asked, and for what: by the command line, and where it is silent by the settings."""

from __future__ import annotations

import argparse
from typing import Any

from collectors.wikipedia.api.source import EditSampling, LiveSource, check_contact, read_titles
from hellofresh.config import WikiSourceSettings
from hellofresh.core.errors import UsageError

__all__ = ["live_source"]

_SAMPLING = {
    "draw_pages": "pages",
    "window_minutes": "window_minutes",
    "per_window": "per_window",
    "lookback": "lookback",
    "draw_seed": "seed",
}
_LIMITS = {"per_minute": "per_minute", "deadline_hours": "deadline_h"}
_OPTIONS = ("api", "contact", *_SAMPLING, *_LIMITS)


def live_source(configured: WikiSourceSettings | None, options: argparse.Namespace | None = None) -> LiveSource:
    """The wiki to ask.

    Args:
        configured: what the settings say.
        options: what the command line says, which goes before; None where it has no such options.

    Raises:
        UsageError: if neither names a wiki, or there is no contact.
        ConfigError: if a number is too small.
    """
    said: dict[str, Any] = {}
    for place in (configured, options):
        values = {name: getattr(place, name, None) for name in _OPTIONS}
        said.update({name: value for name, value in values.items() if value is not None})
    if "api" not in said:
        raise UsageError(
            "no source of revision histories",
            expected="--dump FILE ..., or --api URL with --contact",
            fix="Name one, or configure it under [sources.wikipedia-edits] in hellofresh.toml.",
            code="no-source",
        )
    return LiveSource(
        api=said["api"],
        contact=check_contact(said.get("contact")),
        titles=tuple(read_titles(options.pages)) if options is not None else (),
        sampling=EditSampling(**{field: said[name] for name, field in _SAMPLING.items() if name in said}),
        **{field: said[name] for name, field in _LIMITS.items() if name in said},
    )
