"""Lets the tests of collectors import what made the bundled sample, and a real MediaWiki (`served`)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tests" / "mediawiki")]
