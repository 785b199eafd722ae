"""Starting other Python processes without modules of the current folder and without keys in the environment."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[2]
_KEPT = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "SYSTEMROOT", "VIRTUAL_ENV")
_KEPT_BEGIN = ("LC_", "PYTHON")


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module by this Python, without the current folder on the module path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def plain_environment(*more: str) -> dict[str, str]:
    """The environment variables that a child process needs, without keys of services.

    Args:
        more: prefixes of further variables to keep.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith((*_KEPT_BEGIN, *more))
    }
    # An empty or relative entry is the current folder or a folder below it.
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(place).is_absolute()]
    return kept | {"PYTHONPATH": os.pathsep.join([str(_PACKAGES), *places]), "PYTHONSAFEPATH": "1"}


def shadowing() -> list[str]:
    """Names in the current folder that Python would import in place of an installed module of that name."""
    here = Path.cwd()
    others = [place for place in sys.path if place and Path(place).resolve() != here]
    if len(others) == len(sys.path):
        return []
    try:
        names = sorted({path.stem for path in here.iterdir() if path.suffix == ".py" or path.is_dir()})
    except OSError:
        return []
    return [
        name
        for name in names
        if _is_in(name, [str(here)]) and (name in sys.stdlib_module_names or _is_in(name, others))
    ]


def _is_in(name: str, places: list[str]) -> bool:
    found = PathFinder.find_spec(name, places)
    return found is not None and found.origin is not None  # a folder without code has no origin
