"""Writes the files of the bundled sample: python benchmarks/made/sample [FOLDER]."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from made.sample.articles import write_history
from made.sample.claims import write_feed
from made.sample.notes import write_dump

HERE = Path(__file__).resolve().parent


def write_sample(folder: Path) -> None:
    """Write the rendered files in their stored form: compressed by xz, the export by bzip2."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as made:
        write_dump(HERE / "written_notes", Path(made))
        write_feed(HERE / "claims.toml", Path(made) / "feed.json")
        for path in sorted(Path(made).iterdir()):
            packed = lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
            (folder / f"{path.name}.xz").write_bytes(packed)
    write_history(HERE / "written_articles", folder / "history.xml.bz2")


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[2] / "collectors" / "sample")
