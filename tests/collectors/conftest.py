"""What made the bundled sample can be imported by the tests of collectors: it lies outside the product."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
