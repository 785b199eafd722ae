"""A board table of another package with its setting, page and command (docs/extending.md): the shortest samples."""

from dataclasses import dataclass

from hellofresh.config import Settings
from hellofresh.core.parquet import Table
from hellofresh.core.strict import Strict
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.manifest import BoardFiles
from hellofresh.results.board.schema import SPLIT_KEYS, AddedTable
from leaderboard.components.tables import table
from leaderboard.views.visit import Page


class ShortestSettings(Strict):
    """The table `[shortest]` of hellofresh.toml."""

    most: int = 3


@dataclass(frozen=True, slots=True)
class Short:
    """A sample and its number of characters."""

    id: str
    characters: int


def rows(split):
    most = Settings.load().added.get("shortest", ShortestSettings()).most
    sized = (
        [Short(one.id, sum(map(len, split.panel.task.slots(one).values()))) for one in split.full]
        if split.panel
        else []
    )
    return sorted(sized, key=lambda row: (row.characters, row.id))[:most]


TABLE = AddedTable(Table(Short, SPLIT_KEYS), rows)


def compose(visit):
    visit.header("Shortest", "The samples with the least to read.")
    lines = [[row.id, str(row.characters)] for row in visit.board.rows(Short, visit.split())]
    visit.show(table("Shortest samples", [("name", "Sample"), ("number", "Characters")], lines, "hf-rated"))


PAGE = Page("Shortest", "shortest", compose, "The samples with the least to read.")


def run(options, output):
    output.text(BoardFiles.at(Workspace.from_environment().board).read("shortest").write_csv())
    return 0
