"""Correction: describe pictures, search rated publishers up to a date, refute with evidence, answer with links.

Each step is a file; docs/correction.md says what each does and which settings it has.
"""

from hellofresh.runs.regimes.correction.regime import Correction
from hellofresh.runs.regimes.correction.settings import CorrectionSettings

__all__ = ["Correction", "CorrectionSettings"]
