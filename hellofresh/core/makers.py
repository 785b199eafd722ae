"""What computes a result: source files by their hash, and packages that extend this one by their version.

A stage keeps them in its receipt (`hellofresh.core.stages`), so that changed code means to run it again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Set
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path

from hellofresh import __version__
from hellofresh.core.files import sha256_text
from hellofresh.core.plugins import entry_points_of

Makers = Mapping[str, str]
"""By what it is, such as `metric jaccard`, a version and the first digits of a hash of its code."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]*))", re.MULTILINE
)
_NOT_CODE = {"__pycache__", ".pyc", ".so", ".pyd"}
_SINGULAR = {"analyses": "analysis"}


def makers(*modules: str) -> dict[str, str]:
    """This package as the maker of what these modules of it compute."""
    return {"hellofresh": f"{__version__} {_code_of(modules)}"}


def plugin_makers(group: str, names: Iterable[str]) -> dict[str, str]:
    """The packages that bring these entry points of a group, each as the maker of what it brings."""
    kind, wanted = group.rpartition(".")[-1], set(names)
    kind = _SINGULAR.get(kind, kind.removesuffix("s"))
    brought = [one for one in entry_points_of(group) if one.name in wanted] if wanted else []
    return {f"{kind} {one.name}": _version_of(one) for one in brought}


def changed_makers(before: Makers, after: Makers) -> list[str]:
    """Each difference in a few words, such as `metric jaccard 0.1 -> 0.2`."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = (made.get(name, "").partition(" ")[0] for made in (before, after))
        if name not in before:
            found.append(f"{name} {new} is new")
        elif name not in after:
            found.append(f"{name} {old} is no longer installed")
        elif old != new:
            found.append(f"{name} {old} -> {new}")
        elif before[name] != after[name]:
            found.append(f"the code of {name} {new} has changed")
    return found


def _version_of(point: EntryPoint) -> str:
    """Version of an entry point's distribution, and a hash of its code: of the files that were installed, or, in a
    folder or installed in place, of the module and what it imports there.
    """
    point.load()
    module = sys.modules[point.module]
    version = point.dist.version if point.dist is not None else "0"
    if not module.__file__:
        return version
    file = Path(module.__file__).resolve()
    listed = point.dist.files if point.dist is not None and point.dist.files else ()
    installed = {
        Path(str(one.locate())).resolve()
        for one in listed
        if not one.parts[0].endswith(".dist-info") and not _NOT_CODE & {one.suffix, *one.parts}
    }
    if file in installed:
        return f"{version} {_hash_of({str(path): path for path in installed if path.is_file()})}"
    return f"{version} {_code_of((point.module,))}"


@cache
def _code_of(modules: tuple[str, ...]) -> str:
    """Hash of the source of modules, of all that they import below their own folder, and of files beside packages."""
    found: dict[str, Path] = {}
    for name in modules:
        file = Path(str(sys.modules[name].__file__)).resolve()
        levels = name.count(".") + (file.name == "__init__.py")
        found |= _imported(file.parents[levels], name)
    for path in [path for path in found.values() if path.name == "__init__.py"]:
        beside = (one for one in path.parent.iterdir() if one.is_file() and one.suffix not in {".py", *_NOT_CODE})
        found |= {str(one.relative_to(path.parents[1])): one for one in beside if not one.name.startswith(".")}
    return _hash_of(found)


def _imported(root: Path, first: str) -> dict[str, Path]:
    """The source files of a module and of all below a folder that it imports, also within functions, by name."""
    waiting, seen, found = [first], set[str](), {}
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        base = root.joinpath(*name.split("."))
        path = base / "__init__.py" if (base / "__init__.py").is_file() else base.parent / f"{base.name}.py"
        if path.is_file():
            found[name] = path
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting += _names_in(path.read_text(encoding="utf-8"), package)
            waiting += [name.rpartition(".")[0]] if "." in name else []
    return found


def _names_in(source: str, package: str) -> Set[str]:
    """All modules that a source may import; names of other things among them do no harm."""
    names = set()
    for origin, taken, whole in _IMPORT.findall(source):
        names |= {one.split()[0] for one in whole.split(",") if one.split()}
        if origin:
            dots = len(origin) - len(origin.lstrip("."))
            parents = package.split(".")[: -dots + 1 or None] if dots else []
            start = ".".join(filter(None, [*parents, origin.lstrip(".")]))
            parts = re.sub(r"#[^\n]*|[()]", "", taken).split(",")
            names |= {start, *(f"{start}.{one.split()[0]}" for one in parts if one.split())}
    return names


def _hash_of(files: Mapping[str, Path]) -> str:
    hashes = [[name, sha256(path.read_bytes()).hexdigest()] for name, path in sorted(files.items())]
    return sha256_text(repr(hashes))[:12]
