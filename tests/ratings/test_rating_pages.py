"""Raters' pages and what they hand over: text stays text, each line is taken once, and only from its rater."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from hellofresh.core.errors import DataError, HelloFreshError, SubmissionError, UsageError
from hellofresh.core.net.local_site import LocalSite
from hellofresh.judging.people import OpenStudy, RaterAccess, RaterPlan, close_study, open_study, page_folder
from hellofresh.judging.rating import rater_page, rating_site, take_file, take_lines, write_pages
from hellofresh.judging.rubric import RUBRICS, guide_source, load_rubric, parse_guide
from hellofresh.judging.submitted import Step, check_answers
from hellofresh.tasks.samples import to_json
from tests.ratings.rating import assigned, full_answers

AT = "2026-11-22T10:00:0{}.000Z"


def line(study: OpenStudy, response: str, number: int = 0, *, step: str = Step.SUBMITTED, **more) -> dict[str, object]:
    answers = full_answers(study.rubric, study.responses[response].sources, overall=more.pop("overall", 7))
    none = {"values": {}, "links": {}, "comment": ""}
    said = none if step == Step.UNDONE else json.loads(json.dumps(to_json(answers)))
    usual = {"id": f"{number:032x}", "step": step, "response": response, "answers": said, "seconds": 1.5}
    return {**usual, "at": AT.format(number % 10), **more}


def first(study: OpenStudy, rater: int = 0) -> tuple[RaterPlan, str]:
    plan = study.assignments.raters[rater]
    return plan, next(response for _, response in plan.responses)


def test_a_page_holds_its_raters_responses_and_no_text_can_leave_its_place(tmp_path: Path) -> None:
    texts = {("mp-0", "first"): "</script><script>window.pwned=1</script>{script}{study}"}
    _, access, study = assigned(tmp_path, share=0.0, texts=texts)
    pages = [rater_page(study, plan, who.token) for plan, who in zip(study.assignments.raters, access, strict=True)]
    for page, plan, who, other in zip(pages, study.assignments.raters, access, reversed(access), strict=True):
        assert page.count("<script") == 2 and page.count("</script>") == 2
        data = json.loads(re.search(r'id="study">(.*?)</script>', page, re.DOTALL)[1])
        assert set(data["responses"]) == {response for _, response in plan.responses}
        assert who.token in page and other.token not in page and who.name not in page
        assert not re.search(r"(src|href)=|@import|url\(", page.replace("href = URL", "").replace("href: address", ""))
    assert any("{script}{study}" in page for page in pages)


def test_every_rubric_has_two_worked_examples_that_answer_all_that_is_asked() -> None:
    for name in RUBRICS:
        rubric = load_rubric(name)
        guide = parse_guide(guide_source(name), rubric, where=name)
        assert guide.instructions and len(guide.examples) == 2
        for example in guide.examples:
            said = example.answers.items()
            values = {key: rubric.criterion(key).value_of(v) if isinstance(v, str) else v for key, v in said}
            asked = [item.id for item in rubric.criteria if item.unit == "response" and rubric.asked(item, values)]
            assert list(values) == asked
            assert all(rubric.criterion(key).accepts(value) for key, value in values.items())
    with pytest.raises(HelloFreshError):
        parse_guide(b'[[examples]]\npost = "a"\nresponse = "b"\nwhy = "c"\nanswers = { other = 1 }', rubric, where="x")


def test_lines_are_taken_once_however_often_and_in_whatever_order_they_come(tmp_path: Path) -> None:
    files, _, study = assigned(tmp_path)
    plan, response = first(study)
    lines = [line(study, response, 1, overall=3), line(study, response, 2, step=Step.UNDONE), line(study, response, 3)]
    assert take_lines(study, plan, [lines[2], lines[0]], where="x") == 2
    assert study.sheet(plan).state().twice == (response,)  # until the line between them arrives
    assert [take_lines(study, plan, lines, where="x") for _ in range(2)] == [1, 0]
    state = study.sheet(plan).state()
    assert state.submitted[response].answers.values["overall"] == 7 and state.twice == ()
    close_study(files, secret=False, incomplete=True)
    assert take_lines(study, plan, lines, where="x") == 0
    with pytest.raises(UsageError, match="closed"):
        take_lines(study, plan, [line(study, response, 9)], where="x")


@pytest.mark.parametrize(
    "change",
    [
        {"response": "r-unknown"}, {"id": ""}, {"id": "G" * 32}, {"at": "yesterday"}, {"step": "draft"},
        {"seconds": -1.0}, {"seconds": float("nan")},{"answers": {"values": {"overall": 99}}},
        {"answers": {}}, {"answers": None},
    ],
)  # fmt: skip
def test_what_no_page_writes_is_refused_and_nothing_of_it_is_kept(tmp_path: Path, change: dict[str, object]) -> None:
    _, _, study = assigned(tmp_path)
    plan, response = first(study)
    with pytest.raises((DataError, SubmissionError)):
        take_lines(study, plan, [line(study, response, 1), {**line(study, response, 2), **change}], where="x")
    assert list(study.sheet(plan).lines()) == []


def test_characters_that_deceive_readers_do_not_come_in_with_a_comment(tmp_path: Path) -> None:
    _, _, study = assigned(tmp_path)
    plan, response = first(study)
    rated = line(study, response, 1)
    rated["answers"]["comment"] = "safe\u202egnp.exe \x1b[2J \x00 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert take_lines(study, plan, [rated], where="x") == 1
    kept = study.sheet(plan).state().submitted[response].answers.comment
    assert kept == "safegnp.exe [2J  \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"


def handed_file(folder: Path, study: OpenStudy, access: RaterAccess, **change: object) -> Path:
    plan = next(plan for plan in study.assignments.raters if plan.rater == access.rater)
    lines = [line(study, response, k) for k, (_, response) in enumerate(plan.responses)]
    content = {"format": 1, "edition": "corrections@1", "task": "corrections", "rater": access.rater,
               "token": access.token, "lines": lines}  # fmt: skip
    path = folder / "handed.json"
    path.write_text(json.dumps({**content, **change}))
    return path


def test_files_and_posts_add_up_and_a_file_counts_for_its_own_rater_only(tmp_path: Path) -> None:
    files, access, study = assigned(tmp_path)
    plan = study.assignments.raters[0]
    path = handed_file(tmp_path, study, access[0])
    posted = json.loads(path.read_text())["lines"][:4]
    assert take_lines(study, plan, posted, where="post") == 4
    assert take_file(study, path) == len(list(plan.responses)) - 4
    for change in ({"token": "x"}, {"rater": "rater-2"}, {"edition": "corrections@2"}, {"token": access[1].token}):
        with pytest.raises(SubmissionError):
            take_file(study, handed_file(tmp_path, study, access[0], **change))
    for _, response in plan.responses:
        sources = study.responses[response].sources
        check_answers(study.rubric, study.sheet(plan).state().submitted[response].answers, sources, "main")
    assert set(close_study(files, secret=False, incomplete=True)["judge"]) == {"rater-1"}


def asking(site: LocalSite, ask: Callable[[aiohttp.ClientSession, str], object]) -> object:
    """What a client gets from a site that runs."""

    async def run() -> object:
        await site.start()
        try:
            async with aiohttp.ClientSession() as session:
                return await ask(session, f"http://127.0.0.1:{site.port}")
        finally:
            await site.close()

    return asyncio.run(run())


@pytest.mark.parametrize("body", [b"no gzip at all", gzip.compress(b"0" * 2**20)], ids=["none", "a bomb"])
def test_a_packed_body_is_refused_before_it_is_read(
    tmp_path: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    files, access, _ = assigned(tmp_path)
    site = rating_site(page_folder(files), port=0, origins=[])

    async def ask(session: aiohttp.ClientSession, base: str) -> int:
        headers = {"Authorization": f"Bearer {access[0].token}", "Origin": base, "Content-Encoding": "gzip"}
        async with session.post(f"{base}/lines", data=body, headers=headers) as reply:
            return reply.status

    assert asking(site, ask) == 415 and not caplog.records


def test_only_the_page_itself_hands_over_by_its_own_host_with_its_token(tmp_path: Path) -> None:
    files, access, study = assigned(tmp_path)
    _, response = first(study)
    site = rating_site(page_folder(files), port=0, origins=["https://rate.example.org"])

    async def ask(session: aiohttp.ClientSession, base: str) -> list[int]:
        port, token = base.rpartition(":")[2], access[0].token
        found = []

        async def post(body: object, host: str, origin: str | None, token: str) -> None:
            headers = {"Host": host, "Authorization": f"Bearer {token}"}
            headers |= {} if origin is None else {"Origin": origin}
            async with session.post(f"{base}/lines", json=body, headers=headers) as reply:
                found.append(reply.status)
                assert reply.headers["Cache-Control"] == "no-store" and "frame-ancestors" in str(reply.headers)

        async def get(query: str, host: str) -> None:
            async with session.get(f"{base}/{query}", headers={"Host": host}) as reply:
                found.append(reply.status)
                assert (token in await reply.text()) == (reply.status == 200)

        body, own = {"lines": [line(study, response, 1)]}, f"127.0.0.1:{port}"
        for host, origin, given in (
            (own, f"http://localhost:{port}", token),  # another name of this machine is another origin
            (own, "http://127.0.0.1:1", token),  # another port too
            (own, f"https://{own}", token),
            (own, None, token),
            (own, "null", token),
            (own, "https://rate.example.org", token),
            (f"evil.example:{port}", f"http://evil.example:{port}", token),
            (f"127.0.0.1.evil.example:{port}", f"http://{own}", token),
            (own, f"http://{own}", ""),
            (own, f"http://{own}", token + "x"),
        ):
            await post(body, host, origin, given)
        assert not any(list(study.sheet(plan).lines()) for plan in study.assignments.raters)
        await post(body, own, f"http://{own}", token)
        await post({"lines": [], "all": True}, "rate.example.org", "https://rate.example.org", token)
        await post([], own, f"http://{own}", token)
        await post({"lines": [{**line(study, response, 2), "response": "r-x"}]}, own, f"http://{own}", token)
        for query, host in (("", own), ("?token=x", own), (f"?token={token}", f"evil.example:{port}"),
                            (f"?token={token}", own), (f"raters.json?token={token}", own)):  # fmt: skip
            await get(query, host)
        return found

    assert asking(site, ask) == [403] * 8 + [401] * 2 + [200, 200, 400, 400] + [401, 401, 403, 200, 404]
    assert len(list(open_study(page_folder(files)).sheet(study.assignments.raters[0]).lines())) == 1


def test_pages_are_private_files(tmp_path: Path) -> None:
    files, access, study = assigned(tmp_path)
    for path in write_pages(files.private / "raters", study, {who.rater: who.token for who in access}):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("origin", ["rate.example.org", "https://rate.example.org/", "ftp://x", "https://"])
def test_what_is_not_an_origin_is_refused(tmp_path: Path, origin: str) -> None:
    files, _, _ = assigned(tmp_path)
    site = rating_site(page_folder(files), port=0, origins=[origin])
    with pytest.raises(UsageError, match="origin"):
        asking(site, lambda session, base: asyncio.sleep(0))
