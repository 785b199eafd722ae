"""The bundled files are what the scripts beside the texts make."""

from __future__ import annotations

import lzma
from pathlib import Path

from made.sample.__main__ import write_sample

from collectors import sample


def test_the_bundled_files_are_what_the_texts_become(tmp_path: Path) -> None:
    write_sample(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in sample.files())
    for path in sample.files():
        bundled, made = path.read_bytes(), (tmp_path / path.name).read_bytes()
        if path.suffix == ".xz":  # another version of xz may pack otherwise
            bundled, made = lzma.decompress(bundled), lzma.decompress(made)
        assert bundled == made, path.name
