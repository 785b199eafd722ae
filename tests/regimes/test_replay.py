"""Running a submitted system again: an exact test, a confined program, and a history that nobody can rewrite."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core.errors import SubmissionError
from hellofresh.core.files import read_jsonl, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.results.scores import score_quarter
from hellofresh.stats.agreement import further_repetition
from hellofresh.submissions.check import inspect_submission
from hellofresh.submissions.receipts import new_receipt, write_receipt
from hellofresh.submissions.released import due_in
from hellofresh.submissions.replays import read_replays, replays_of

QUARTER = Quarter(2023, 2)
PROGRAM = """
import json, os, sys, urllib.request
asks = "asks" in sys.argv
def post(address, body):
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode() if body else None, head)
    return json.load(urllib.request.urlopen(request, timeout=60))
for hidden in HIDDEN:
    assert os.listdir(hidden) == [], hidden
    assert os.system("umount " + hidden + " 2>/dev/null") != 0
try:
    urllib.request.urlopen("http://example.org/labels", timeout=5)
    sys.exit("reached")
except OSError:
    pass
for sample in post(os.environ["HELLOFRESH_ENDPOINT"] + "/samples", None)["samples"]:
    said = "No."
    if asks:
        turns = [{"role": "user", "content": sample["question"]}]
        answer = post(sample["base_url"] + "/chat/completions", {"model": "main", "messages": turns})
        said = answer["choices"][0]["message"]["content"]
    post(sample["base_url"] + "/output", {"label": int(said == "Yes.")})
"""


def brute(given, repeated) -> float:
    every = [[one, *others] for one, others in zip(given, repeated, strict=True)]
    differ = [[sum(a != b for b in row) for a in row] for row in every]
    observed, sums = sum(row[0] for row in differ), [sum(some) for some in itertools.product(*differ)]
    return sum(one >= observed for one in sums) / len(sums)


def test_the_p_value_is_the_share_of_all_exchanges_that_disagree_as_much() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        given, repeated = random.integers(-1, 2, 5), random.integers(-1, 2, (5, 3))
        assert further_repetition(given, repeated).p_value == pytest.approx(brute(given, repeated))
    same = np.zeros((20, 3), dtype=np.int64)
    for k in range(5):
        assert further_repetition(np.arange(20) < k, same).p_value == pytest.approx(0.25**k)


def test_a_system_that_is_uploaded_as_it_is_is_called_another_as_seldom_as_the_level_says() -> None:
    random = np.random.default_rng(1)
    chances = random.uniform(size=(2000, 20, 1))
    said = (random.uniform(size=(2000, 20, 4)) < chances).astype(np.int64)
    found = [further_repetition(one[:, 0], one[:, 1:]).p_value <= 0.05 for one in said]
    assert np.mean(found) <= 0.06


@pytest.fixture
def entry(make, chat, loopback, monkeypatch, tmp_path: Path):
    """A made-up entry of a released quarter, as uploaded: right where its program says so, or the other way round."""
    probe = ["unshare", "--user", "--map-root-user", "--net", "--mount", "true"]
    if sys.platform != "linux" or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    make.release(make.notes(4, 4))
    workspace, root = make.workspace(), tmp_path / "submissions"
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    chat.behave = lambda number, body: loopback.said("Yes." if "Note 400" in str(body) else "No.")
    (tmp_path / "agent.py").write_text(f"HIDDEN = {[str(workspace.root), str(root)]}{PROGRAM}")
    due = due_in(workspace, QUARTER)
    truth = {row["id"]: int(f"-400{str(row['id'])[-1]}" in str(row["id"])) for row in
             read_jsonl(workspace.release(QUARTER, "x-notes") / "samples.jsonl")}  # fmt: skip

    def upload(flip: bool) -> Path:
        folder = root / str(QUARTER) / "acme" / "system"
        folder.mkdir(parents=True, exist_ok=True)
        rows = ({"id": key, "label": label ^ flip} for key, label in truth.items())
        write_jsonl(folder / "predictions.jsonl", rows)
        (folder / "system.toml").write_text(
            'name = "System"\nteam = "Acme"\ncontact = "c"\nregime = "agent"\nmodels = ["m"]\n'
            'knowledge_cutoff = "unknown"\n'
        )
        at = due.calendars["x-notes"].opens + timedelta(hours=1)
        submission = inspect_submission(folder, due, at + timedelta(days=900)).submission
        assert submission is not None
        write_receipt(folder, new_receipt(QUARTER, ("x-notes",), submission.sha256, at, None))
        return folder

    def replayed(*words: str) -> int:
        program = f"{sys.executable} {tmp_path / 'agent.py'} {' '.join(words)}"
        where = ["--edition", str(QUARTER), "--task", "x-notes", "--model", "openai:m", "--base-url", chat.base_url]
        return main(["proxy", *where, "--replay", "acme/system", "--command", program, "--limit", "12",
                     "--submissions", str(root), "--json"])  # fmt: skip

    return upload, replayed, workspace, root


def test_an_entry_counts_as_replayed_once_its_program_gives_the_uploaded_answers(entry, capsys) -> None:
    upload, replayed, workspace, root = entry
    folder = upload(False)
    assert {score.provenance for score in score_quarter(workspace, QUARTER, root).scores} == {"uploaded"}
    code = replayed("asks")
    said = json.loads(capsys.readouterr().out)
    assert (code, said["replay"]["outcome"], said["replay"]["own_agreement"]) == (0, "agrees", 1.0), said
    assert said["replay"]["without_asking"] == 0 and said["replay"]["fetches"] == 3
    assert {score.provenance for score in score_quarter(workspace, QUARTER, root).scores} == {"replayed"}
    public = (folder / "replays.jsonl").read_text()
    assert "xn-" not in public and "example.org" not in public
    assert "example.org" in (Path(said["folder"]) / "outcome.json").read_text()
    # Another content, or a line that was changed, is not what was replayed.
    upload(True)
    assert {score.provenance for score in score_quarter(workspace, QUARTER, root).scores} == {"uploaded"}
    (folder / "replays.jsonl").write_text(public.replace('"fetches":3', '"fetches":0'))
    seal = Escrow.of_workspace(workspace).seal
    receipt = new_receipt(QUARTER, (), "0" * 64, due_in(workspace, QUARTER).calendars["x-notes"].opens, None)
    with pytest.raises(SubmissionError, match="not sealed"):
        replays_of(folder, receipt, seal)


def test_other_answers_and_answers_without_asking_are_named(entry, capsys) -> None:
    upload, replayed, workspace, root = entry
    folder = upload(True)
    assert replayed("asks") == 1
    assert replayed("silent") == 1
    outcomes = [(one.outcome, one.without_asking) for one in read_replays(folder)]
    assert outcomes[0] == ("differs", 0) and outcomes[1][1] == 12
    (score, *_) = score_quarter(workspace, QUARTER, root).scores
    assert score.provenance == "uploaded" and "[replay-differs]" in score.about and "[replay-unasked]" in score.about
    lines = (folder / "replays.jsonl").read_text().splitlines()
    (folder / "replays.jsonl").write_text(f"{lines[1]}\n")
    with pytest.raises(SubmissionError, match="does not follow"):
        read_replays(folder)
