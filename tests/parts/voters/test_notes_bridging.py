"""`collect ratings`: from a dump to what its ratings say of notes, beside X's own scorer and with bad input."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from benchmarks.made.voters import VotersWorld, draw_voters, participant, write_dump
from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.bridged import BRIDGED_NOTES, BridgedNote, voter_facts
from hellofresh.cli import main
from hellofresh.core.errors import DataError, SourceError
from hellofresh.core.quarters import FIRST_SNOWFLAKE, Quarter
from hellofresh.releases.collection import read_candidates, write_candidates
from hellofresh.results.note_writers import read_note_writers, writers_file
from hellofresh.tasks import get_task
from hellofresh_parts.voters import fit as fits
from hellofresh_parts.voters.fit import BridgingReport, _busiest, collect_bridging
from hellofresh_parts.voters.ratings import DUPLICATE, EARLY_CLOCK, NO_RATER, UNKNOWN_NOTE, UNKNOWN_VALUE, DumpRatings
from tests.conftest import Cli

QUARTER, KEY = Quarter(2026, 2), b"a secret"
VOTERS = draw_voters(VotersWorld.make(120, 3), 300, 6_000, 3)
RATINGS = "ratings-00000.tsv"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return write_dump(tmp_path / "dump", VOTERS, shards=3)


def collected(dump: Path, place: Path, **options: Any) -> BridgingReport:
    return collect_bridging(dump, QUARTER, output=place / "b.parquet", folder=place / "parts", key=KEY, **options)


def outputs(place: Path) -> tuple[bytes, bytes]:
    return (place / "b.parquet").read_bytes(), (place / "b.json").read_bytes()


def rewrite(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    path.write_text("\n".join(change(path.read_text("utf-8").splitlines())) + "\n", "utf-8")


def test_the_fit_agrees_with_the_scorer_of_x(
    shared_data: Path, tmp_path: Path, needed: Callable[[bool, str], None]
) -> None:
    oracle = shared_data / "bridging"
    needed((oracle / "x_scorer_notes.csv.gz").is_file(), "shared/data/bridging")
    for stem in ("notes", "noteStatusHistory", "userEnrollment", "ratings"):
        packed = oracle / f"{stem}-00000.tsv.gz"
        (tmp_path / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    frames = []
    for quarter in (Quarter(2026, 1), QUARTER):
        collect_bridging(tmp_path, quarter, output=tmp_path / "b.parquet", folder=tmp_path / "parts", key=KEY)
        frames.append(pl.read_parquet(tmp_path / "b.parquet"))
    theirs = pl.read_csv(oracle / "x_scorer_notes.csv.gz").with_columns(pl.col("noteId").cast(pl.String).alias("note"))
    both = pl.concat(frames).join(theirs, on="note")
    fitted = both.drop_nulls(["intercept", "coreNoteIntercept"])
    assert fitted.height > 1900
    mine, x = (fitted[name].cast(pl.Float64).to_numpy() for name in ("intercept", "coreNoteIntercept"))
    assert np.corrcoef(mine, x)[0, 1] >= 0.99
    assert np.abs(mine - x).mean() <= 0.02
    judged = both.drop_nulls("coreRatingStatus")
    assert judged["status"].null_count() == 0
    shown = pl.col("coreRatingStatus").replace(
        {"FIRM_REJECT": "NEEDS_MORE_RATINGS", "NEEDS_YOUR_HELP": "NEEDS_MORE_RATINGS"}
    )
    helpful = pl.lit("CURRENTLY_RATED_HELPFUL")
    rules = pl.col("coreActiveRules")
    by_tags = rules.str.contains("GeneralCRH ") & rules.str.contains("TagFilter|FilterIncorrect")
    without_tags = pl.when(by_tags & (shown == "NEEDS_MORE_RATINGS") & (pl.col("coreNoteIntercept") >= 0.4)).then(
        helpful
    )
    assert (judged["status"] == judged.select(without_tags.otherwise(shown)).to_series()).mean() >= 0.95
    costs = pl.read_csv(oracle / "x_scorer_flips.csv").with_columns(pl.col("noteId").cast(pl.String).alias("note"))
    for name, ours in (("balanced", "flip_balanced"), ("opposite", "flip_other")):
        pairs = costs.join(both, on="note").drop_nulls([name, ours])
        assert pairs.height >= 30
        assert spearmanr(pairs[name], pairs[ours])[0] >= 0.8
        assert abs(pairs[name].median() - pairs[ours].median()) <= 2


def test_order_shards_and_workers_change_no_byte_and_parts_are_read_once(made: Path, tmp_path: Path) -> None:
    said: list[str] = []
    report = collected(made, tmp_path / "a", progress=said.append)
    assert sum(line.startswith("reading ratings") for line in said) == 3
    assert report.counts["rows of the ratings"] == report.ratings == VOTERS.ratings.note.size
    first = outputs(tmp_path / "a")
    collected(made, tmp_path / "a", progress=said.append)
    assert "3 of 3 shards of ratings were read before" in said
    collected(made, tmp_path / "b", pool=lambda: ThreadPoolExecutor(2))
    assert first == outputs(tmp_path / "a") == outputs(tmp_path / "b")
    lines = [line for path in sorted(made.glob("ratings-*")) for line in path.read_text().splitlines()[1:]]
    header = (made / RATINGS).read_text().splitlines()[0]
    for path in made.glob("ratings-*"):
        path.unlink()
    random = np.random.default_rng(0)
    content = "\n".join([header, *(lines[place] for place in random.permutation(len(lines)))]) + "\n"
    with zipfile.ZipFile(made / "ratings-00000.zip", "w") as archive:
        archive.writestr(RATINGS, content)
    collected(made, tmp_path / "a")
    assert outputs(tmp_path / "a")[0] == first[0]


def test_columns_that_have_new_names_are_read_by_them_in_every_table(made: Path, tmp_path: Path) -> None:
    collected(made, tmp_path / "a")
    for path in made.glob("*.tsv"):
        head, _, rows = path.read_text().partition("\n")
        head = head.replace("noteId", "note_id").replace("raterParticipantId", "rater")
        path.write_text(f"{head}\n{rows}")
    collected(made, tmp_path / "b", aliases={"note_id": "noteId", "rater": "raterParticipantId"})
    assert outputs(tmp_path / "a")[0] == outputs(tmp_path / "b")[0]


def test_every_key_gives_the_same_bytes(tmp_path: Path, thorough: bool) -> None:
    made = write_dump(tmp_path / "dump", draw_voters(VotersWorld.make(30, 4), 60, 900, 4), shards=2)

    def written(key: int) -> dict[str, bytes]:
        place = tmp_path / str(key)
        collect_bridging(made, QUARTER, output=place / "b.parquet", folder=place / "parts", key=bytes([key]))
        names = ("b.parquet", "b.json", "writers/b.parquet", "writers/b.pairs.parquet", "parts/writers.json")
        return {name: (place / name).read_bytes() for name in names}

    first = written(0)
    for key in range(1, 20 if thorough else 4):
        assert written(key) == first


def test_rows_say_what_the_dump_says(made: Path, tmp_path: Path) -> None:
    report = collected(made, tmp_path)
    rows = BRIDGED_NOTES.rows(BRIDGED_NOTES.read(tmp_path / "b.parquet"))
    assert len(rows) == 120
    votes = np.bincount(VOTERS.ratings.note, minlength=120)
    assert [row.ratings for row in rows] == votes.tolist()
    assert all(row.helpful + row.somewhat + row.not_helpful == row.ratings >= row.counted for row in rows)
    assert all(row.low < row.intercept < row.high for row in rows if row.intercept is not None)
    assert [row.writer for row in rows[:5]] == [rows[0].writer] * 5
    assert len({row.writer for row in rows}) == 24
    assert 0 < sum(row.machine for row in rows) < 30
    months = [one for one in report.agreement if one.by == "month"]
    assert [one.name for one in months] == ["2026-04"]
    assert months[0].notes == sum(row.status is not None for row in rows)


def test_a_writer_who_lists_its_notes_has_its_claimed_name_and_who_lists_anothers_has_none(
    made: Path, tmp_path: Path
) -> None:
    collected(made, tmp_path)
    rows = BRIDGED_NOTES.rows(BRIDGED_NOTES.read(tmp_path / "b.parquet"))
    writer = next(row.writer for row in rows if row.machine)
    own = [row.note for row in rows if row.writer == writer]
    others = [row.note for row in rows if row.writer != writer]
    claims = tmp_path / "claims"

    def said(**claimed: list[str]) -> tuple[list[str], str]:
        shutil.rmtree(claims, ignore_errors=True)
        claims.mkdir()
        for name, notes in claimed.items():
            (claims / f"{len(notes)}{ord(name[0])}.json").write_text(json.dumps({"name": name, "notes": notes}))
        report = collected(made, tmp_path, claims=claims)
        names = [row.writer for row in read_note_writers(writers_file(tmp_path / "b.parquet"))[0]]
        return [name for name in names if "claimed" in name], " ".join(report.warnings)

    (named,), _ = said(ours=own[:2])
    assert re.fullmatch(r"Writer \d+: ours \(claimed\)", named)
    for why, claimed in (
        ("in the dump and by one", {"ours": [own[0], others[0]]}),
        ("they name one writer", {"ours": own[:2], "theirs": own[2:4]}),
    ):
        names, warnings = said(**claimed)
        assert not names and why in warnings
    for fault, claimed in (
        (f"note {own[1]} is claimed twice", {"ours": own[:2], "theirs": own[1:3]}),
        ("like it, is claimed twice", {"ours": own[:2], "0urs": others[:2]}),
        ("1 notes", {"ours": own[:1]}),
        ("not a number", {"ours": ["x", "1"]}),
        ("not a number", {"ours": [str(2**63), "1"]}),
        ("must not have '<'", {"<b>": own[:2]}),
        ("no file of claimed notes", {}),
    ):
        with pytest.raises(DataError, match=fault):
            said(**claimed)


def test_no_rater_is_named_in_any_file_line_or_error(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant = participant(int(VOTERS.ratings.rater[0]))
    rewrite(
        made / RATINGS, lambda lines: [*lines, *[f"{plant}\t{plant}\t{plant}"] * 50, lines[1].replace("HELPFUL", plant)]
    )
    place, said = tmp_path / "out", []
    with pytest.raises(SourceError) as raised:  # so many broken lines are too many
        collected(made, place, progress=said.append)
    rewrite(made / RATINGS, lambda lines: [line for line in lines if line.count(plant) < 3])
    report = collected(made, place, progress=said.append)
    assert report.counts[UNKNOWN_VALUE] >= 1
    words = "".join([str(raised.value), *said, repr(report), *capsys.readouterr()])
    assert plant not in words
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) >= 8
    raw = bytes.fromhex(plant)
    for path in files:
        content = path.read_bytes()
        assert plant.encode() not in content
        assert raw[:8] not in content
        assert raw[7::-1] not in content
        assert path.parent.name == "out" or path.stat().st_mode & 0o077 == 0 or path.name.startswith("rejects")
    frame = pl.read_parquet(place / "b.parquet")
    assert not [name for name in frame.columns if "rater" in name]


def test_a_log_of_what_a_worker_was_given_does_not_show_the_key(made: Path, tmp_path: Path) -> None:
    shown: list[str] = []

    class Logging(ThreadPoolExecutor):
        def submit(self, work: Any, *given: Any, **named: Any) -> Any:
            shown.append(repr(given))
            return super().submit(work, *given, **named)

    collected(made, tmp_path, pool=lambda: Logging(1))
    assert len(shown) == 3 and KEY.decode() not in "".join(shown)


def test_bad_ratings_are_named_and_counted(made: Path, tmp_path: Path) -> None:
    def cells(line: str, **changes: str) -> str:
        header = (made / RATINGS).read_text().splitlines()[0].split("\t")
        return "\t".join(changes.get(name, cell) for name, cell in zip(header, line.split("\t"), strict=True))

    before = collected(made, tmp_path)
    rewrite(
        made / RATINGS,
        lambda lines: [
            *lines,
            cells(lines[1], helpfulnessLevel="VERY_HELPFUL"),
            cells(lines[2], createdAtMillis="1500000000000"),
            cells(lines[3], noteId="12345"),
            cells(lines[4], helpfulnessLevel="", notHelpful="1", createdAtMillis="1600000000000000"),
            cells(lines[5], helpfulnessLevel=""),
        ],
    )
    report = collected(made, tmp_path)
    assert report.ratings == before.ratings
    assert [report.counts[what] for what in (UNKNOWN_VALUE, EARLY_CLOCK, UNKNOWN_NOTE, DUPLICATE)] == [2, 1, 1, 1]
    assert any("VERY_HELPFUL" in warning for warning in report.warnings)
    assert report.counts["rows of the ratings"] == before.counts["rows of the ratings"] + 5


def test_a_shard_that_is_cut_within_its_last_column_is_named_and_one_within_a_row_counted(
    made: Path, tmp_path: Path
) -> None:
    whole = (made / RATINGS).read_bytes().rstrip(b"\n")
    (made / RATINGS).write_bytes(whole + b"12345")
    report = collected(made, tmp_path)
    assert [warning for warning in report.warnings if warning.startswith(f"{RATINGS}: the last line has no end")]
    rows = report.counts["rows of the ratings"]
    (made / RATINGS).write_bytes(whole[: whole.rindex(b"\n") + 90])
    again = collected(made, tmp_path)
    assert again.counts["rows of the ratings"] == rows - 1
    assert again.counts["unreadable lines of the ratings"] == 1


@pytest.mark.parametrize(("column", "value", "reason"), [(8, "NEW", UNKNOWN_VALUE), (1, "", NO_RATER)])
def test_a_shard_of_which_nothing_is_left_is_counted(
    made: Path, tmp_path: Path, column: int, value: str, reason: str
) -> None:
    def changed(line: str) -> str:
        cells = line.split("\t")
        return "\t".join([*cells[:column], value, *cells[column + 1 :]])

    rewrite(made / RATINGS, lambda lines: [lines[0], *map(changed, lines[1:])])
    rewrite(made / "userEnrollment-00000.tsv", lambda lines: lines[:1])
    report = collected(made, tmp_path)
    assert report.counts[reason] == len((made / RATINGS).read_text().splitlines()) - 1
    assert report.ratings + report.counts[reason] == VOTERS.ratings.note.size


@pytest.mark.parametrize("table", ["notes", "ratings", "userEnrollment", "noteStatusHistory"])
def test_a_missing_table_and_a_missing_column_are_named(made: Path, tmp_path: Path, table: str) -> None:
    path = made / f"{table}-00000.tsv"
    column = {"notes": "classification", "ratings": "helpfulnessLevel", "userEnrollment": "modelingGroup"}.get(
        table, "lockedStatus"
    )
    content = path.read_text()
    path.write_text(content.replace(column, "somethingElse", 1))
    with pytest.raises(SourceError, match=column):
        collected(made, tmp_path)
    path.unlink()
    with pytest.raises(SourceError, match=r"missing|no "):
        collected(made, tmp_path)


def test_the_command_reads_columns_by_the_names_that_the_settings_give(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in made.glob("ratings-*.tsv"):
        path.write_text(path.read_text().replace("helpfulnessLevel", "rated", 1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    words = ["collect", "ratings", "--quarter", str(QUARTER), "--dump", str(made)]
    assert main(words) == 1
    Path("hellofresh.toml").write_text('[sources.x-notes]\ndump = "dump"\ncolumns = { helpfulnessLevel = "rated" }\n')
    assert main(words) == 0 and list(Path("data", "bridging").glob("*.parquet"))


def test_a_cut_shard_and_too_few_ratings_are_refused(made: Path, tmp_path: Path) -> None:
    whole = (made / RATINGS).read_bytes()
    with zipfile.ZipFile(made / "ratings-00000.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(RATINGS, whole)
    (made / RATINGS).unlink()
    packed = made / "ratings-00000.zip"
    packed.write_bytes(packed.read_bytes()[:-3000])
    with pytest.raises(SourceError, match="not a complete"):
        collected(made, tmp_path)
    packed.unlink()
    for number in (1, 2):
        (made / f"ratings-0000{number}.tsv").unlink()
    (made / RATINGS).write_bytes(b"\n".join(whole.split(b"\n")[:20]) + b"\n")
    with pytest.raises(SourceError, match="too little to fit"):
        collected(made, tmp_path)


def test_both_spellings_of_columns_are_read(made: Path, tmp_path: Path) -> None:
    collected(made, tmp_path / "a")
    for stem in ("notes", "noteStatusHistory", "ratings"):
        for path in made.glob(f"{stem}-*"):
            text = path.read_text()
            for today, documented in (
                ("noteAuthorParticipantId", "participantId"),
                ("raterParticipantId", "participantId"),
                ("currentDecidedBy", "currentDecidedByKey"),
                ("mostRecentNonNMRStatus", "latestNonNMRStatus"),
            ):
                text = text.replace(today, documented, 1)
            path.write_text(text)
    report = collected(made, tmp_path / "b")
    assert outputs(tmp_path / "a")[0] == outputs(tmp_path / "b")[0]
    assert not report.warnings


def test_the_command_prints_agreement_and_refuses_what_ratings_do_not_have(made: Path, place: Path, cli: Cli) -> None:
    command = ["collect", "ratings", "--quarter", "2026Q2", "--dump", made, "--jobs", "1"]
    shown = cli(*command)
    assert "Agreement with X's own statuses" in shown and "CoreModel (v1.1)" in shown
    assert cli.json(*command)["notes"] == 120
    assert (place / "data/bridging/2026Q2.parquet").is_file()
    cli(*command, "--page", "writers.html")
    written = Path("writers.html").read_text()
    assert "default-src" in written and "Note writers, 2026Q2" in written and "People" in written
    assert not re.search(r"""(src|href)=["'](?!data:)""", written) and "<script" not in written
    cli(*command, "--page", "writers.txt", code=2)
    said = cli(*command[:3], "2027Q1", *command[4:], "--page", "no.html", code=1)
    assert "the dump has no notes of 2027Q1" in said and not Path("no.html").exists()
    assert "--pending is an option of x-notes" in cli(*command, "--pending", code=2)
    cli(*command[:4], code=2)


PROGRAM = """
import sys, time
from hellofresh.cli import main
import hellofresh_parts.voters.ratings as ratings
import hellofresh_parts.voters.fit as bridging
for module, names in (
    (ratings, ("_coded", "write_parquet", "write_json")), (bridging, ("fit_bridging", "write_parquet", "write_json")),
):
    for name in names:
        def slowly(*given, real=getattr(module, name), **named):
            time.sleep(0.1)
            found = real(*given, **named)
            time.sleep(0.1)
            return found
        setattr(module, name, slowly)
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_killed_at_any_moment_it_ends_with_the_same_bytes(made: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "collect", "ratings", "--quarter", "2026Q2", "--dump", str(made)]
    command += ["--jobs", "1"]

    def start(data: Path) -> subprocess.Popen[bytes]:
        environment = os.environ | {"HELLOFRESH_DATA": str(data)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    began = time.monotonic()
    assert start(tmp_path / "whole").wait() == 0
    lasted = time.monotonic() - began
    random, killed = np.random.default_rng(0), tmp_path / "killed"
    key = killed / "private" / "escrow.key"
    key.parent.mkdir(parents=True, mode=0o700)
    shutil.copy(tmp_path / "whole/private/escrow.key", key)
    for share in random.uniform(0.3, 1, 5):
        process = start(killed)
        time.sleep(lasted * share)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(killed).wait() == 0
    for name in ("2026Q2.parquet", "2026Q2.json"):
        assert (killed / "bridging" / name).read_bytes() == (tmp_path / "whole/bridging" / name).read_bytes()


def test_a_rating_of_a_clock_that_is_ahead_does_not_change_who_rates_most() -> None:
    raters, day = np.repeat(np.arange(50), np.r_[np.ones(49, int), 20]), 86_400
    second = 1_700_000_000 + np.arange(raters.size)

    def busiest(second: Any, rater: Any) -> list[bool]:
        empty = np.zeros(rater.size, np.int32)
        found = DumpRatings(empty, rater.astype(np.int32), empty.astype(np.int8), second.astype(np.int32),
                            empty.astype(bool), np.arange(50, dtype=np.uint64), {}, (), ())  # fmt: skip
        return _busiest(found).tolist()

    assert busiest(second, raters) == [False] * 49 + [True]
    assert busiest(np.append(second, 2**31 - 1), np.append(raters, 3)) == [False] * 49 + [True]
    assert busiest(np.append(second, 1_700_000_000 + 90 * day), np.append(raters, 3)) == [False] * 49 + [True]


def test_a_note_of_2255_a_rating_of_2255_and_groups_of_nan_are_named_and_change_no_fit(tmp_path: Path) -> None:
    made, year_2255 = write_dump(tmp_path / "dump", VOTERS), "8999999999000"
    before = collected(made, tmp_path).helpful_raters, pl.read_parquet(tmp_path / "b.parquet")["intercept"].to_list()
    header = (made / RATINGS).read_text().split("\n", 1)[0].split("\t")

    def late(lines: list[str]) -> list[str]:
        cells = lines[9].split("\t")
        cells[header.index("createdAtMillis")] = year_2255
        unknown = [*cells]
        unknown[header.index("helpfulnessLevel")] = "NaN"
        return [*lines[:9], "\t".join(cells), *lines[10:], "\t".join(unknown)]

    rewrite(made / RATINGS, late)
    people = made / "userEnrollment-00000.tsv"
    rows = [line.split("\t") for line in people.read_text("utf-8").splitlines()]
    without = sum(not cells[6] for cells in rows)
    rewrite(people, lambda _: ["\t".join([*cells[:6], cells[6] or "NaN", *cells[7:]]) for cells in rows])
    report = collected(made, tmp_path)
    assert (report.helpful_raters, pl.read_parquet(tmp_path / "b.parquet")["intercept"].to_list()) == before
    assert "1 ratings from a clock that runs ahead are not used to date the dump's end." in report.warnings
    assert "1 ratings with an unknown value (NaN) were left out." in report.warnings
    assert f"{without} modelling groups that are not numbers, such as NaN, count as none." in report.warnings


def test_a_state_that_is_no_writers_by_the_api_makes_nobody_a_machine(made: Path, tmp_path: Path) -> None:
    path = made / "userEnrollment-00000.tsv"
    for state, machines in (("apiTestUser", True), ("apiUnheardOf", False)):
        path.write_text(re.sub(r"\tapi[A-Za-z]+\t", f"\t{state}\t", path.read_text()))
        collected(made, tmp_path)
        assert pl.read_parquet(tmp_path / "b.parquet")["machine"].any() == machines


def test_who_was_first_on_a_post_and_how_soon_is_said_where_the_post_is_known() -> None:
    post, at = FIRST_SNOWFLAKE, (FIRST_SNOWFLAKE >> 22) - fits._EPOCH
    given = {"tweetId": [post, post, 0], "createdAtMillis": [at + 60_000, at + 90_000, at], "writer": [0, 2, 2]}
    others = {name: pl.lit("") for name in ("currentStatus", fits.COLLABORATIVE, "isMediaNote")}
    notes = pl.DataFrame(given).with_columns(foreign=False, **others)
    found = fits._of_writers(notes.with_columns(pl.Series(fits._FIRST, [str(at + 3_660_000), "0", "-1"])))
    assert found["minutes"].to_list() == [1, 1.5, None] and found["hours"].to_list() == [pytest.approx(1), None, None]
    assert found["first"].to_list() == [True, False, None] and found["alone"].to_list() == [False, False, None]


def bridged(**changes: Any) -> BridgedNote:
    """A note that both camps found helpful."""
    common: dict[str, Any] = dict.fromkeys(BRIDGED_NOTES.schema)
    common |= {"note": "100", "intercept": 0.45001, "low": 0.40009, "high": 0.5, "counted": 12, "left": 9, "right": 3,
               "status": "CURRENTLY_RATED_HELPFUL", "flip_balanced": 4, "flip_own": 6, "flip_other": None,
               "chance": 0.98765, "chance_error": 0.01234}  # fmt: skip
    return BridgedNote(**common | changes)


def test_facts_of_a_label_say_how_few_accounts_would_take_it_away() -> None:
    assert tuple(voter_facts(bridged(), 1).values()) == (0.45, 0.4001, 0.5, 12, 0.25, 4, 0.9877, 0.0123)
    assert voter_facts(bridged(), 0)["flip_cost"] == 0  # the rules say otherwise
    none = dict.fromkeys(("flip_balanced", "flip_own", "flip_other"))
    assert voter_facts(bridged(**none), 1)["flip_cost"] == 65
    assert voter_facts(bridged(status=None), 1)["flip_cost"] is None
    assert set(voter_facts(None, 1).values()) == {None}


def test_collected_notes_have_facts_of_the_quarters_own_table_and_of_no_other(dump: Any, tmp_path: Path) -> None:
    for number, status in ((100, "CURRENTLY_RATED_HELPFUL"), (101, "CURRENTLY_RATED_NOT_HELPFUL")):
        dump.note(number, at="2023-05-01T12:00:00", status=status, post=number, text="A note that refutes it.")
        dump.post(number, text="A post that claims a lot about the old bridge of the town.")
    folder = dump.write()
    for quarter in ("2023Q1", "2023Q2"):
        full = {"writer": "w", "created": "2023-05-01T12:00:00Z", "machine": False, "collaborative": False}
        counts = dict.fromkeys(("ratings", "helpful", "somewhat", "not_helpful", "sampled"), 12)
        BRIDGED_NOTES.frame([bridged(**full, **counts, intercept=0.5 if quarter == "2023Q2" else 0.1)]).write_parquet(
            tmp_path / f"{quarter}.parquet"
        )
    tables = tuple(sorted(tmp_path.glob("*.parquet")))
    source = NotesSource(folder, bridging=tables)
    found = collect(Quarter(2023, 2), source, NotesSettings(), workdir=tmp_path / "work")
    facts = {item.sample.id: item.label.facts["intercept"] for item in found.candidates}
    assert facts == {"xn-100": 0.5, "xn-101": None}
    assert "2023Q2.parquet" in {item.name for item in found.sources}
    assert "2023Q1.parquet" not in {item.name for item in found.sources}
    write_candidates(tmp_path / "c.parquet", get_task("x-notes"), found.candidates)
    assert read_candidates(tmp_path / "c.parquet", get_task("x-notes")) == sorted(
        found.candidates, key=lambda item: item.sample.id
    )
    tables[1].write_bytes(b"nothing")
    with pytest.raises(SourceError, match="intercepts cannot be read"):
        collect(Quarter(2023, 2), source, NotesSettings(), workdir=tmp_path / "work")
