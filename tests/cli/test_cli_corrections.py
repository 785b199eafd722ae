"""Corrections by the command line: lists of publishers, ablations side by side, and what each step takes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label

TEXTS = ("The Moon has a side that never sees any sunlight.", "Searing meat seals in all of its juices.")


@pytest.fixture
def posts(make, place: Path) -> Workspace:
    """Two posts of our own as an edition of corrections."""
    workspace = make.workspace()
    about = {"task": "corrections", "edition": "posts@1", "period": "all", "license": "CC0-1.0", "modality": ""}
    when, more = datetime(2026, 9, 1, 12, tzinfo=UTC), {"domain": "", "address": ""}
    samples = [
        MisleadingPost(**about, **more, id=f"mp-{n}", date=when, group=f"g-{n}", post=str(n), text=text)
        for n, text in enumerate(TEXTS, start=1)
    ]
    found = Collection.whole([Candidate(post, Label(post.id, 0, {})) for post in samples], [], unit="posts")
    source = DatasetSource(name="ours", address="https://example.org", published=date(2026, 9, 2), licence="CC0-1.0")
    freeze(workspace, Frozen("posts", "1"), get_task("corrections"), found, source)
    return workspace


def test_ablations_are_swept_without_ratings_and_each_step_is_accounted_for(posts, cli, tmp_path: Path) -> None:
    (tmp_path / "low.txt").write_text("skywatch.example\nplain-page.example\n")
    imported = cli.json("dataset", "import", "publishers", "--priority", f"low={tmp_path / 'low.txt'}")
    assert imported["priorities"] == {"high": 0, "medium": 0, "low": 2}
    sweep = ["sweep", "--edition", "posts@1", "--task", "corrections", "--regime", "correction", "--model", "scripted"]
    found = cli.json(*sweep, "--prompts", "manual", "--set", "retrieval=true,false")
    rows = next(item["comparison"] for item in found if "comparison" in item)
    assert [row["variant"] for row in rows] == ["retrieval=true", "retrieval=false"]
    assert [row["refuting_pages"] > 0 for row in rows] == [True, False]
    assert [row["links"] for row in rows] == [1.0, 0.0] and all("value" not in row for row in rows)
    runs = {folder.name: cli.json("runs", "show", folder.name)["steps"] for folder in posts.runs.iterdir()}
    steps = sorted([step["step"] for step in found] for found in runs.values())
    assert steps == [["queries", "evidence", "respond"], ["respond"]]
    assert all(step["requests"] > 0 and step["cost_usd"] == 0 for found in runs.values() for step in found)


def test_nothing_to_import_is_said(cli) -> None:
    assert "--priority high=FILE" in cli("dataset", "import", "publishers", code=2)
