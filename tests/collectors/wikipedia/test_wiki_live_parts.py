"""What is asked of a wiki, and what is kept of its answers."""

from __future__ import annotations

import argparse
import hashlib
import random
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.jobs import live_source
from collectors.wikipedia.collect import EditsFound, _Task
from collectors.wikipedia.export import OTHER_MODEL
from collectors.wikipedia.live import _Asked, _draw, _follow, _Ledger, _Target
from collectors.wikipedia.site import RecentChange, WikiAnswers, WikiSite, _Body
from collectors.wikipedia.source import EditSampling, LiveSource, Window, check_contact, read_titles
from collectors.wikipedia.stability import EditsSettings
from collectors.wikipedia.wikitext import Revision, WikiPage
from hellofresh.config import Settings as Configuration
from hellofresh.config import WikiSourceSettings
from hellofresh.core.errors import ConfigError, UsageError, WorkspaceError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.sources import SourceRequest, collection_jobs
from tests.fakes import refused

QUARTER = Quarter(2026, 2)
API = "https://wiki.example.org/w/api.php"


@given(st.integers(1000, 200_000), st.text(max_size=5))
def test_windows_cover_the_quarter_exactly_once(minutes, seed):
    windows = sorted(EditSampling(window_minutes=minutes, seed=seed).windows(QUARTER))
    assert windows[0].start == QUARTER.start
    assert windows[-1].end == QUARTER.end
    assert all(one.end == two.start for one, two in pairwise(windows))
    assert all(one.start < one.end for one in windows)


def test_the_order_of_the_windows_depends_on_the_seed_alone():
    orders = [EditSampling(seed=seed).windows(QUARTER) for seed in ("a", "a", "b")]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


@pytest.mark.parametrize("field", ["pages", "window_minutes", "per_window", "lookback"])
def test_sampling_refuses_what_draws_nothing(field):
    least = {"pages": 2, "window_minutes": 1, "per_window": 1, "lookback": 0}
    assert EditSampling(**least)
    with pytest.raises(ConfigError):
        EditSampling(**least | {field: least[field] - 1})


def test_titles_come_from_files_and_by_name_each_once(tmp_path):
    path = tmp_path / "titles.txt"
    path.write_bytes("\ufeff# articles\r\nTea\r\n\r\n Rio_Grande \r\n茶の湯\r\n".encode())
    assert read_titles([str(path), "Tea", "שלום", "Rio  Grande"]) == ["Tea", "Rio Grande", "茶の湯", "שלום"]
    assert read_titles([]) == []


@pytest.mark.parametrize("title", ["A|B", "<b>", "A\x00B", "x" * 256, "[[A]]", "A\u202eB", "#only a remark", "file"])
def test_what_is_no_title_and_no_text_is_refused(tmp_path, monkeypatch, title):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError):
        read_titles([title])


NO_APIS = (
    "en.wikipedia.org ftp://a.org/api.php https:///api.php https://a.org/w/ https://[/api.php "
    "https://user:pw@a.org/api.php https://a.org/api.php?x=1"
)


@pytest.mark.parametrize("api", ["", *NO_APIS.split()])
def test_an_api_has_an_address(api):
    with pytest.raises(UsageError):
        LiveSource(api=api, contact="me@example.org")


@pytest.mark.parametrize(
    "contact", ["me@example.org", "https://meta.wikimedia.org/wiki/User:Somebody", "A. B. <a@b.org>"]
)
def test_a_contact_is_an_address(contact):
    assert check_contact(f" {contact} ") == contact


def test_who_asks_is_no_parameter():
    source = LiveSource(api=API, contact="me@example.org", titles=("B", "A", "B"))
    assert source.parameters() == {"api": API, "pages": ["A", "B"]}
    assert "me@example.org" not in str(LiveSource(api=API, contact="me@example.org").parameters())


def test_answers_outlive_the_run_and_open_ones_can_be_forgotten(tmp_path):
    path = tmp_path / "deep" / "answers.sqlite"
    with WikiAnswers(path) as answers:
        assert answers.get("q") is None
        answers.put("q", "é" * 100_000, final=True)
        answers.put("r", "open", final=False)
        with WikiAnswers(path) as other:  # as after a crash: nothing was closed
            assert other.get("q") == "é" * 100_000
    with WikiAnswers(path) as answers:
        answers.forget_open()
        assert (answers.get("q"), answers.get("r")) == ("é" * 100_000, None)
    assert path.stat().st_size < 50_000


def test_a_file_that_holds_something_else_is_left_alone(tmp_path):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"my diary" * 1000)
    with pytest.raises(WorkspaceError):
        WikiAnswers(path)
    assert path.read_bytes() == b"my diary" * 1000


WORDS = "with as many words as are needed for it to count"


def history(users, versions):
    """Revisions an hour apart whose first paragraph stands in one of a few versions."""
    start = QUARTER.start + timedelta(days=1)
    return [
        Revision(
            id=100 + n,
            parent=99 + n if n else None,
            timestamp=start + timedelta(hours=n),
            user=user,
            text=f"Paragraph {version}, {WORDS}, {version}.\n\nLast {n}.",
        )
        for n, (user, version) in enumerate(zip(users, versions, strict=True))
    ]


def followed(revisions, drawn, settings, restoring=frozenset()):
    found, read = EditsFound(""), []

    def watched():
        for revision in revisions:
            read.append(revision.id)
            yield revision

    task = _Task(Path(), QUARTER, settings)
    _follow(WikiPage(5, "Tea", watched()), _Target(5, frozenset(drawn)), task, found, restoring=restoring)
    return {c.sample.id: c for c in found.candidates}, read


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 3)), min_size=6, max_size=40),
    st.sets(st.integers(100, 139), min_size=1),
    st.booleans(),
)
def test_drawn_edits_have_the_fate_they_have_among_all(steps, drawn, collapse):
    revisions = history(*zip(*steps, strict=True))
    present = drawn & {revision.id for revision in revisions}
    settings = EditsSettings(collapse_runs=collapse, min_changed_characters=0, keep_restored=True)
    everything, _ = followed(revisions, (), settings)
    some, read = followed(revisions, present or {100}, settings)
    assert some.items() <= everything.items()
    if not collapse:
        assert set(some) == {id_ for id_ in everything if int(id_.split("-")[1]) in (present or {100})}
    assert read == [revision.id for revision in revisions][: len(read)]


@pytest.mark.parametrize("collapse", [False, True])
def test_a_drawn_edit_is_known_by_the_last_revision_of_its_run(collapse):
    for users in product(("A", "B", None), repeat=4):
        revisions = history(users, range(4))
        for drawn in ({100}, {101}, {100, 102}, {103, 7}, {101, 102}):
            asked, ends = _Asked(frozenset(drawn), collapse=collapse), set()
            assert list(asked.watch(revisions)) == revisions
            for number in drawn - {7}:
                while collapse and number < 103 and users[number - 100] == users[number - 99] is not None:
                    number += 1  # noqa: PLW2901 - on to the end of the run
                ends.add(number)
            assert asked.revisions == ends, (users, drawn)
            passed = [asked.passed(revision) for revision in revisions]
            assert passed[-1] is (7 not in drawn) and passed[:3] == [
                7 not in drawn and max(ends) <= 100 + n for n in range(3)
            ]


@given(st.lists(st.integers(0, 3), min_size=6, max_size=20), st.sets(st.integers(100, 119), min_size=1))
def test_an_edit_known_to_restore_is_dropped_and_no_other(versions, known):
    revisions = history("ABCDE" * 4, versions + [9] * (20 - len(versions)))
    drawn = {revision.id for revision in revisions}
    settings = EditsSettings(min_changed_characters=0)
    every, _ = followed(revisions, drawn, settings)
    left, _ = followed(revisions, drawn, settings, known)
    assert set(left) == {id_ for id_ in every if int(id_.split("-")[1]) not in known}
    kept, _ = followed(revisions, drawn, replace(settings, keep_restored=True), known)
    assert set(kept) >= set(every)


def plainly_drawn(sampling, reach, changes, settings):
    """The draw, window by window and half by half."""
    drawn, room = {}, {True: sampling.pages // 2, False: sampling.pages - sampling.pages // 2}
    for window in sampling.windows(QUARTER):
        earlier = set(drawn)
        for reverted in (True, False):
            fits = {}
            for change in sorted(changes[window][reverted], key=lambda change: sampling.rank(change.revid)):
                restores = {"mw-undo", "mw-rollback", "mw-manual-revert"} & set(change.tags)
                other = not reverted and "mw-reverted" in change.tags
                fresh = window.start < reach.end and change.pageid not in earlier
                if fresh and not other and (settings.keep_restored or not restores):
                    fits.setdefault(change.pageid, change.revid)
            chosen = list(fits.items())[: min(room[reverted], sampling.per_window)]
            room[reverted] -= len(chosen)
            for page, revision in chosen:
                drawn.setdefault(page, set()).add(revision)
    return {page: frozenset(revisions) for page, revisions in sorted(drawn.items())}


@pytest.mark.parametrize("seed", range(12))
def test_edits_are_drawn_window_by_window_half_of_them_reverted(seed):
    chance, said, asked = random.Random(seed), [], []
    sampling = EditSampling(
        pages=chance.choice((2, 5, 9)), window_minutes=30_000, per_window=2, seed=str(seed), lookback=7
    )
    settings = EditsSettings(keep_restored=seed % 3 == 0, keep_bots=seed % 2 == 0)
    windows = sampling.windows(QUARTER)
    reach = Window(windows[1].end, max(windows)[0] if seed % 2 else QUARTER.end)
    tags = ["mw-undo", "mw-rollback", "mw-manual-revert", "mw-reverted", "other", "other"]
    changes = {
        window: {
            reverted: [
                RecentChange(timestamp=window.start, revid=chance.randrange(1, 10**6), pageid=chance.randrange(1, 12),
                             tags=[*chance.sample(tags, 1), *(["mw-reverted"] if reverted else [])])
                for _ in range(chance.randrange(5))
            ]
            for reverted in (True, False)
        }
        for window in windows
    }  # fmt: skip

    def answer(window, *, tag, bots, ask):
        asked.append((window, ask))
        assert bots is settings.keep_bots and tag in ("mw-reverted", None)
        return changes[window][tag is not None]

    task = _Task((Path(),), QUARTER, settings)
    run = SimpleNamespace(site=SimpleNamespace(changes=answer), task=task, say=said.append)
    found = _draw(run, sampling, reach)
    assert {target.page: target.drawn for target in found} == plainly_drawn(sampling, reach, changes, settings)
    assert {target.lookback for target in found} <= {0 if settings.keep_restored else 7}
    assert all(ask is (window.end > reach.start) for window, ask in asked)
    visited = [window for window in windows if window.start < reach.end]
    assert dict.fromkeys(window for window, _ in asked).keys() <= set(visited)
    assert said[-1] == f"drawing edits: {len(found):,} pages from {len(said):,} of {len(visited):,} windows"


def test_what_was_read_of_a_page_has_a_digest_of_all_that_counts():
    revisions = [Revision(7, None, QUARTER.start, "A", None), Revision(8, 7, QUARTER.start, "B", "é\ud800")]
    ledger = _Ledger()
    assert list(ledger.pass_on(revisions)) == revisions
    text = "é\ud800".encode("utf-8", "surrogatepass")
    heads = [(7, None, "2026-04-01T00:00:00Z", True, 0), (8, 7, "2026-04-01T00:00:00Z", False, 5)]
    content = f"{heads[0]}\n{heads[1]}\n".encode() + text
    assert (ledger.ids, ledger.size, ledger.hash.hexdigest()) == ([7, 8], 5, hashlib.sha256(content).hexdigest())


def test_an_old_text_is_known_by_the_hashes_of_so_many_revisions_before(monkeypatch):
    monkeypatch.setattr("collectors.wikipedia.site._HASHES", 2)
    site = WikiSite.__new__(WikiSite)
    site._api = API
    for hashes in (hashes for count in range(5) for hashes in product(("a", "b", None), repeat=count)):
        for lookback in range(4):
            limits = []

            def answer(page, question, _paging, hashes=hashes, limits=limits):
                assert (page, question["rvstartid"], question["rvdir"]) == (5, "9", "older")
                start, limit = int(question.get("rvcontinue", "0")), int(question["rvlimit"])
                limits.append(limit)
                rows = [{"revid": 9 - n, "timestamp": QUARTER.start, "sha1": hashes[n]}
                        for n in range(start, min(start + limit, len(hashes)))]  # fmt: skip
                more = {"continue": {"rvcontinue": start + limit}} if start + limit < len(hashes) else {}
                pages = [{"pageid": 5, "revisions": rows}]
                return _Body.model_validate({"curtimestamp": QUARTER.end, "query": {"pages": pages}} | more)

            monkeypatch.setattr(site, "_asked", answer, raising=False)
            expected = bool(hashes) and hashes[0] is not None and hashes[0] in hashes[1 : lookback + 1]
            assert site.gives_old_text(5, 9, lookback=lookback) is expected, (hashes, lookback)
            assert max(limits) <= 2 and sum(limits) <= max(lookback + 1, len(limits))
    monkeypatch.setattr(site, "_asked", lambda *_: None, raising=False)
    assert site.gives_old_text(5, 9, lookback=3) is False


def test_revisions_of_another_content_model_are_hidden_and_counted(monkeypatch):
    models = ["wikitext", "json", "javascript", "wikibase-item", "", "wikitext"]
    rows = [
        {
            "revid": n,
            "user": "A",
            "timestamp": QUARTER.start,
            "slots": {"main": {"content": "x", "contentmodel": model}},
        }
        for n, model in enumerate(models, start=1)
    ]
    site = WikiSite.__new__(WikiSite)
    site._api, site.losses = API, {}
    pages = {"pages": [{"pageid": 5, "title": "Mill", "revisions": rows}]}
    body = _Body.model_validate({"curtimestamp": QUARTER.end, "query": pages})
    monkeypatch.setattr(site, "_revisions", lambda *_: body, raising=False)
    assert [one.text for one in site.page(5).revisions] == ["x", None, None, None, "x", "x"]
    assert site.losses == dict.fromkeys((2, 3, 4), OTHER_MODEL)


def test_no_more_is_read_than_decides_the_drawn_edit():
    revisions = history("ABCABCABCABC", [n // 3 for n in range(12)])
    some, read = followed(revisions, {103}, EditsSettings(min_changed_characters=1))
    assert list(some) == ["we-103-1"]
    assert read[-1] == 105


@pytest.mark.parametrize(
    "text",
    [
        "",
        f'dump = ["a.xml"]\napi = "{API}"',
        "dump = []",
        'contact = "me@example.org"',
        "api = 5",
        f'api = "{API}"\ndraw_pages = 1',
        f'api = "{API}"\nwindow_minutes = "60"',
        f'api = "{API}"\nper_window = 0',
        f'api = "{API}"\nlookback = -1',
        f'api = "{API}"\nper_minute = 0',
        f'api = "{API}"\ndeadline_hours = nan',
        f'api = "{API}"\ndraws = 5',
        'dump = ["a.xml"]\nwindow_minutes = 60',
    ],
)
def test_wrong_settings_of_the_source_are_refused(tmp_path, text):
    path = tmp_path / "hellofresh.toml"
    path.write_text(f"[sources.wikipedia-edits]\n{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        Configuration.load(path)


NUMBERS = "draw_pages = 8\nwindow_minutes = 7\nper_window = 6\nlookback = 0\nper_minute = 5\ndeadline_hours = 4.0\n"


def test_the_draw_is_as_configured_unless_the_command_line_says_otherwise():
    settings = WikiSourceSettings(api=API, contact="me@example.org", draw_pages=8, lookback=0, draw_seed="x")
    names = ("api", "contact", "draw_pages", "window_minutes", "per_window", "lookback", "draw_seed", "per_minute")
    silent = argparse.Namespace(**dict.fromkeys((*names, "deadline_hours")), pages=())
    assert live_source(settings, vars(silent)) == live_source(settings)
    assert live_source(settings).sampling == EditSampling(pages=8, lookback=0, seed="x")
    silent.draw_pages, silent.deadline_hours = 20, 1.5
    said = live_source(settings, vars(silent))
    assert (said.sampling.pages, said.sampling.lookback, said.deadline_h) == (20, 0, 1.5)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "no-source"),
        (("--api", API), "no-contact"),
        (("--pages", "Tea"), "no-source"),
        (("--dump", "a.xml", "--api", API), "two-sources"),
        (("--dump", "a.xml", "--pages", "Tea"), "two-sources"),
        (("--api", API, "--contact", "me"), "bad-contact"),
        (("--api", "wiki", "--contact", "me@example.org"), "bad-api"),
        (("--api", API, "--contact", "me@example.org", "--draw-pages", "0"), "bad-setting"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(place, cli, arguments, code):
    assert f"[{code}]" in cli("collect", "wikipedia-edits", "--quarter", "2026Q2", *arguments, code=2)
    assert not (place / "data").exists()


def configured(tmp_path, text):
    path = tmp_path / "hellofresh.toml"
    path.write_text(f"[sources.wikipedia-edits]\n{text}", encoding="utf-8")
    return collection_jobs(Workspace(tmp_path), Configuration.load(path), SourceRequest((QUARTER,)))


def test_the_whole_path_takes_a_configured_wiki(tmp_path):
    (job,) = configured(tmp_path, f'api = "{API}"\ncontact = "me@example.org"\n')
    assert (job.source, job.quarter, job.task.name) == ("api", QUARTER, "wikipedia-edits")
    assert job.parameters["api"] == API
    (numbered,) = configured(tmp_path, f'api = "{API}"\ncontact = "me@example.org"\n{NUMBERS}')
    expected = {"drawn_pages": 8, "window_minutes": 7, "per_window": 6, "lookback": 0}
    assert expected.items() <= numbered.parameters.items()
    assert "me@example.org" not in str(job.parameters)
    refused("no-contact", configured, tmp_path, f'api = "{API}"\n')
