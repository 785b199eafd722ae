"""`hellofresh judge --by NAME`: judges that need nothing but a study, ours and those of other packages."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.study import read_study

GUIDE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def workspace(small_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A study, and the package of docs/extending.md that adds a judge."""
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S) if "def sources" in block]
    space: dict = {}
    exec(compile(code, "guide", "exec"), space)
    found = {"sources": space["sources"], "nobody": lambda _: []}

    def entry_points(group, name=None):
        names = [one for one in found if group == "hellofresh.judges" and name in (None, one)]
        return [EntryPoint(one, one, group) for one in names]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda self: found[self.value])
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    place = Workspace(tmp_path / "data")
    import_muse(place, read_muse(small_study))
    return place


def test_a_judge_of_another_package_rates_beside_people(workspace: Workspace, capsys) -> None:
    assert main(["judge", "--by", "sources", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"judge": "sources", "ratings": 15, "without_value": 0}
    study = read_study(workspace, MUSE_EDITION, "corrections")
    assert {"sources", "pair1-rater1"} <= set(study.ratings["judge"])
    assert main(["rate", "report", "--kind", "judges"]) == 0
    assert "sources (rule)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"), [("sorces", "did you mean 'sources'"), ("nobody", "by 0 judges"), ("classifier", "fewer than 20")]
)
def test_what_cannot_judge_is_named(workspace: Workspace, capsys, name: str, said: str) -> None:
    before = read_study(workspace, MUSE_EDITION, "corrections").ratings
    assert main(["judge", "--by", name]) != 0
    assert said in capsys.readouterr().err.lower()
    assert read_study(workspace, MUSE_EDITION, "corrections").ratings.equals(before)
