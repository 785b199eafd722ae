"""A page gives its text, whatever its bytes say, and nothing that a reader cannot see."""

from __future__ import annotations

import asyncio
import re
import resource
import signal
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import _workers
from hellofresh.evidence.web._workers import Extraction, WorkerError
from hellofresh.evidence.web.text import clean, first_words, main_text

PROSE = "The river rose in the night and left its bed before the town was awake. " * 6
CLUTTER = (
    "<html><head><title>The  flood</title><script>var hidden = 'script words';</script>"
    "<style>p { color: red }</style></head>"
    "<body><nav><a href=/>Home</a> <a href=/shop>Buy our shoes</a></nav><article><h1>The flood</h1>"
    f"<p>{PROSE}</p><p>Nobody was hurt, as the mayor said on Tuesday, {PROSE}</p></article>"
    "<footer>Subscribe to our newsletter</footer></body></html>"
)


def html(body: str) -> bytes:
    return f"<html><head><title>t</title></head><body>{body}</body></html>".encode()


def test_trafilatura_leaves_out_what_is_around_the_article() -> None:
    found = main_text(CLUTTER.encode(), "text/html; charset=utf-8", "trafilatura")
    assert found.title == "The flood"
    assert "left its bed" in found.text and "Nobody was hurt" in found.text
    assert "shoes" not in found.text and "hidden" not in found.text


def test_beautifulsoup_takes_all_text_but_no_scripts() -> None:
    found = main_text(CLUTTER.encode(), "text/html", "beautifulsoup")
    assert "left its bed" in found.text and "Buy our shoes" in found.text
    assert "hidden" not in found.text and "color" not in found.text


def test_where_trafilatura_finds_nothing_the_plain_text_is_taken() -> None:
    assert main_text(html("<div>few words</div>"), "text/html", "trafilatura").text == "few words"
    around = "<nav>Home</nav><div>few words</div><footer>Subscribe</footer>"
    assert main_text(html(around), "text/html", "trafilatura").text == "few words"
    assert main_text(html(around), "text/html", "beautifulsoup").text == "t\nHome\nfew words\nSubscribe"


def test_plain_text_stays_as_it_is() -> None:
    found = main_text(b"a < b & c\r\n\r\nsecond  line", "text/plain", "trafilatura")
    assert (found.title, found.text) == ("", "a < b & c\nsecond line")


def test_markup_that_says_it_is_plain_text_is_taken_as_markup() -> None:
    assert main_text(b" \n<!DOCTYPE html><p>a</p><p>b</p>", "text/plain", "beautifulsoup").text == "a\nb"


@pytest.mark.parametrize(
    "body", ["<!-- -->" * 250_000, "<!--" * 500_000, " \n" * 900_000 + "x", "<meta " * 300_000, "\u0301" * 900_000]
)
def test_plain_text_of_any_kind_is_cleaned_in_no_time(body: str) -> None:
    start = time.process_time()
    main_text(body.encode(), "text/plain", "trafilatura")
    assert time.process_time() - start < 5


WORD = "\u0416\u0443\u0440\u043d\u0430\u043b"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (WORD.encode("koi8-r"), "text/plain; charset=KOI8-R"),
        (WORD.encode("cp1251"), 'text/plain; charset="windows-1251"'),
        (b"\xff\xfe" + WORD.encode("utf-16-le"), "text/plain; charset=koi8-r"),
        (b"\xfe\xff" + WORD.encode("utf-16-be"), "text/plain"),
        (b"\xef\xbb\xbf" + WORD.encode(), "text/plain; charset=latin-1"),
        (WORD.encode(), "text/plain"),
        (b"<html><meta charset='cp1251'><p>" + WORD.encode("cp1251"), "text/html"),
        (
            b'<html><meta http-equiv=Content-Type content="text/html; charset=iso-8859-5"><p>'
            + WORD.encode("iso8859-5"),
            "text/html",
        ),
        (b"<html><meta charset=utf-16><p>" + WORD.encode(), "text/html"),
        (b"<html><meta charset=koi8-r><p>" + WORD.encode(), "text/html; charset=utf-8"),
    ],
)
def test_characters_are_read_by_mark_header_meta_and_guess(body: bytes, kind: str) -> None:
    assert main_text(body, kind, "beautifulsoup").text == WORD


@pytest.mark.parametrize(
    "name",
    ["base64", "zlib_codec", "rot13", "utf-7", "unicode_escape", "raw-unicode-escape", "idna", "punycode",
    "undefined", "mbcs",
     "../../etc/passwd", "os.system", "x" * 5000, "", "\x00", "utf-8\x00", "utf\u20108", ";;;", "cp65001"],
)  # fmt: skip
def test_a_hostile_charset_is_passed_over(name: str) -> None:
    body = b"<html><body><p>plain words &amp; signs</p></body></html>"
    for kind in (f"text/html; charset={name}", f'text/html; charset="{name}"; charset=utf-8'):
        assert main_text(body, kind, "beautifulsoup").text == "plain words & signs"
    meta = f"<html><meta charset='{name}'>".encode() + body[6:]
    assert main_text(meta, "text/html", "beautifulsoup").text == "plain words & signs"


def test_without_any_name_western_bytes_are_read() -> None:
    assert main_text(b"caf\xe9", "text/plain", "trafilatura").text == "caf\u00e9"


DEEP = "<div>" * 100_000 + "deep words" + "</div>" * 100_000
WILD = [
    "<table><tr><td>" * 2_000 + "deep words", "<p>deep words</p>" * 20_001, "<ul><li>" * 2_000 + "deep words",
    "<![CDATA[" * 1000 + "<p>deep words", "<!--" * 9 + "--><p>deep words", "<svg><math><p>deep words",
    "<p>deep words</p>" + "</p>" * 5_000, "<select><option>deep words" * 500,
]  # fmt: skip


def test_markup_of_any_depth_and_width_neither_crashes_nor_hangs() -> None:
    async def run() -> None:
        for extractor, bodies in (("trafilatura", [DEEP, *WILD]), ("beautifulsoup", [DEEP])):
            extraction = Extraction(extractor, cpu_s=15)  # type: ignore[arg-type]
            for body in bodies:
                found = await extraction.main_text(html(body), "text/html")
                assert "deep words" in found.text, body[:20]
            await extraction.close()

    asyncio.run(run())


# Looking for a repeated attribute takes the parser quadratic time.
HOSTILE = html("<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</p>")


def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    async def run() -> None:
        extraction = Extraction("trafilatura", cpu_s=1, at_once=1)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with pytest.raises(WorkerError, match="over 1 s of CPU time"):
            await extraction.main_text(HOSTILE, "text/html")
        # Imports come before the second that the page is given.
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 15
        extraction_again = await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
        assert "river rose" in extraction_again.text
        await extraction.close()

    asyncio.run(run())


def test_a_page_costs_its_workers_cpu_time_and_not_the_time_that_the_worker_waits_for_the_machine() -> None:
    async def run() -> None:
        extraction = Extraction("trafilatura", cpu_s=0.25, at_once=1)
        page = html(f"<p>{PROSE}</p>")
        quiet = await extraction.main_text(page, "text/html")
        (worker,) = extraction.idle
        worker.send_signal(signal.SIGSTOP)
        asked = asyncio.ensure_future(extraction.main_text(page, "text/html"))
        await asyncio.wait([asked], timeout=0.5)
        assert not asked.done()
        worker.send_signal(signal.SIGCONT)
        assert await asked == quiet
        assert extraction.idle == [worker]
        await extraction.close()

    asyncio.run(run())


def test_a_worker_that_hangs_ends_the_run_and_not_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        extraction = Extraction("trafilatura", at_once=1)
        await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
        (worker,) = extraction.idle
        worker.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(_workers, "_HUNG_S", 0.2)
        with pytest.raises(RunError, match="hangs"):
            await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
        assert worker.returncode is not None
        await extraction.close()

    asyncio.run(run())


def test_a_worker_that_has_died_is_replaced() -> None:
    async def run() -> None:
        extraction = Extraction("trafilatura", at_once=1)
        for _ in range(2):
            assert "river rose" in (await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")).text
            (worker,) = extraction.idle
            worker.kill()
            await worker.wait()
        await extraction.close()

    asyncio.run(run())


def test_the_event_loop_goes_on_meanwhile() -> None:
    async def run() -> None:
        extraction = Extraction("trafilatura")
        longest, stop = 0.0, False

        async def ticking() -> None:
            nonlocal longest
            while not stop:
                start = time.monotonic()
                await asyncio.sleep(0.01)
                longest = max(longest, time.monotonic() - start)

        ticker = asyncio.ensure_future(ticking())
        await extraction.main_text(html("<p>words here</p>" * 6_000), "text/html")
        stop = True
        await ticker
        await extraction.close()
        assert longest < 1.5

    asyncio.run(run())


def test_invisible_characters_are_taken_out() -> None:
    hidden = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u202a\u2066\u2069\u061c"
    hidden += "\U000e0041\ufe0f\U000e0101\u3164\u115f\u2800\x00\x1b\x7f\ue000"
    assert clean(f"ig{hidden}nore") == "ignore"
    assert clean("a\u0301") == "\u00e1"


@given(st.text())
def test_clean_text_has_single_spaces_and_is_clean_already(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert "  " not in cleaned and "\n\n" not in cleaned
    assert all(c == "\n" or unicodedata.category(c)[0] != "C" for c in cleaned)
    assert cleaned == cleaned.strip()


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "text/html; charset=shift_jis", ""]))
def test_any_bytes_give_a_text_that_can_be_written(body: bytes, kind: str) -> None:
    found = main_text(body, kind, "trafilatura")
    (found.title + found.text).encode()


@given(st.text(st.sampled_from("aé\u0301 \t\n\r\x0b\x1c\u00a0\u2003\u200b\u202e\u2028<|[é"), max_size=40))
def test_cleaning_is_the_same_with_and_without_its_short_cuts(text: str) -> None:
    by_hand = []
    for character in text.replace("\r\n", "\n"):
        if character in "\n\r\x0b\x0c\x85\u2028\u2029":
            by_hand.append("\n")
        elif character == "\t":
            by_hand.append(" ")
        elif unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn"):
            by_hand.append(character)
    lines = [" ".join(line.split()) for line in unicodedata.normalize("NFC", "".join(by_hand)).split("\n")]
    assert clean(text) == "\n".join(line for line in lines if line)


@given(st.text(st.sampled_from("ab \n\t\u00a0\x1c"), max_size=30), st.integers(0, 8))
def test_the_first_words_are_those_that_a_count_finds(text: str, n: int) -> None:
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    assert first_words(text, n) == (text[: ends[min(n, len(ends)) - 1]] if n and ends else "")
