"""Samples for runs."""

from __future__ import annotations

from typing import Any

import pytest

from hellofresh.tasks.samples import Sample


@pytest.fixture
def samples(make: Any) -> list[Sample]:
    return [item.sample for item in make.notes(2, 2, months=(4,))]
