"""Find `training`, which is in the repository beside this package and not in the wheel, since few users need it."""

from __future__ import annotations

import sys
from pathlib import Path

from hellofresh.core.errors import UsageError

_ROOT = Path(__file__).resolve().parents[2]


def find_training(root: Path = _ROOT) -> None:
    """Make `training` importable.

    Raises:
        UsageError: if this is not a clone of the repository.
    """
    if not (root / "training" / "recipe.py").is_file():
        raise UsageError(
            "'hellofresh train' works in a clone of the repository: installed packages have no training/",
            where=str(root),
            fix="Clone the repository, and in it: python -m pip install --editable '.[train]'",
            code="no-clone",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
