"""Texts of pages: what is read of them, which sentences, and how much two overlap."""

from __future__ import annotations

import asyncio
import resource
import signal
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import RunError
from hellofresh.evidence.sentences import sentences, whole_sentences, word_count
from hellofresh.evidence.web import SearchResult, _workers
from hellofresh.evidence.web._workers import Extraction, WorkerError
from hellofresh.evidence.web.text import canary, clean, main_text
from hellofresh.runs.regimes.correction.pages import Link, read_evidence
from hellofresh.runs.regimes.correction.post import CorrectionSettings

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


AROUND = html("<nav>Home</nav><div>few words</div><footer>Subscribe</footer>")


@pytest.mark.parametrize(
    ("body", "kind", "extractor", "text"),
    [
        (html("<div>few words</div>"), "text/html", "trafilatura", "few words"),
        (AROUND, "text/html", "trafilatura", "few words"),  # where it finds nothing, the plain text is taken
        (AROUND, "text/html", "beautifulsoup", "t\nHome\nfew words\nSubscribe"),
        (b"a < b & c\r\n\r\nsecond  line", "text/plain", "trafilatura", "a < b & c\nsecond line"),
        (b" \n<!DOCTYPE html><p>a</p><p>b</p>", "text/plain", "beautifulsoup", "a\nb"),  # markup, whatever it says
        (b"caf\xe9", "text/plain", "trafilatura", "caf\u00e9"),  # western, without any name
    ],
)
def test_a_body_is_read_by_what_it_is(body: bytes, kind: str, extractor: str, text: str) -> None:
    found = main_text(body, kind, extractor)  # type: ignore[arg-type]
    assert (found.text, found.title) == (text, "t" if kind == "text/html" else found.title)


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


DEEP = "<div>" * 100_000 + "deep words" + "</div>" * 100_000
WILD = [
    "<table><tr><td>" * 2_000 + "deep words", "<p>deep words</p>" * 20_001, "<ul><li>" * 2_000 + "deep words",
    "<![CDATA[" * 1000 + "<p>deep words", "<!--" * 9 + "--><p>deep words", "<svg><math><p>deep words",
    "<p>deep words</p>" + "</p>" * 5_000, "<select><option>deep words" * 500,
]  # fmt: skip


async def test_markup_of_any_depth_and_width_neither_crashes_nor_hangs() -> None:
    for extractor, bodies in (("trafilatura", [DEEP, *WILD]), ("beautifulsoup", [DEEP])):
        extraction = Extraction(extractor, cpu_s=15)  # type: ignore[arg-type]
        for body in bodies:
            found = await extraction.main_text(html(body), "text/html")
            assert "deep words" in found.text, body[:20]
        await extraction.close()


# Looking for a repeated attribute takes the parser quadratic time.
HOSTILE = html("<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</p>")


async def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    extraction = Extraction("trafilatura", cpu_s=1, at_once=1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(WorkerError, match="over 1 s of CPU time"):
        await extraction.main_text(HOSTILE, "text/html")
    # Imports come before the second that the page is given.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 15
    extraction_again = await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
    assert "river rose" in extraction_again.text
    await extraction.close()


async def test_a_page_costs_its_workers_cpu_time_and_not_the_time_that_the_worker_waits_for_the_machine() -> None:
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


async def test_a_worker_that_hangs_ends_the_run_and_not_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    extraction = Extraction("trafilatura", at_once=1)
    await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
    (worker,) = extraction.idle
    worker.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(_workers, "_HUNG_S", 0.2)
    with pytest.raises(RunError, match="hangs"):
        await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")
    assert worker.returncode is not None
    await extraction.close()


async def test_a_worker_that_has_died_is_replaced() -> None:
    extraction = Extraction("trafilatura", at_once=1)
    for _ in range(2):
        assert "river rose" in (await extraction.main_text(html(f"<p>{PROSE}</p>"), "text/html")).text
        (worker,) = extraction.idle
        worker.kill()
        await worker.wait()
    await extraction.close()


async def test_the_event_loop_goes_on_meanwhile() -> None:
    extraction, beats = Extraction("trafilatura"), 0
    task = asyncio.ensure_future(extraction.main_text(html("<p>words here</p>" * 6_000), "text/html"))
    while not task.done():
        await asyncio.sleep(0.01)
        beats += 1
    await extraction.close()
    assert task.result().text and beats > 3


def test_invisible_characters_are_taken_out() -> None:
    hidden = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u202a\u2066\u2069\u061c"
    hidden += "\U000e0041\ufe0f\U000e0101\u3164\u115f\u2800\x00\x1b\x7f\ue000"
    assert clean(f"ig{hidden}nore") == "ignore"
    assert clean("a\u0301") == "\u00e1"


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


# --- The canary finds an item in a page by thirteen words in a row, and nothing less.


WORDS = [f"word{n}" for n in range(40)]
ITEM = " ".join(WORDS[:20])


def test_thirteen_whole_words_in_a_row_are_found_and_twelve_are_not() -> None:
    assert canary(f"before {' '.join(WORDS[3:16])} after", [ITEM])
    assert not canary(f"before {' '.join(WORDS[3:15])} after", [ITEM])
    assert not canary(" ".join(reversed(WORDS)), [ITEM])
    assert not canary("x" + " ".join(WORDS[:13]), [" ".join(WORDS[:13])])
    assert not canary(" ".join(WORDS[:13]) + "x", [" ".join(WORDS[:13])])
    assert not canary("breaking news today", ["breaking news today", ""])
    assert canary("breaking news today", ["Breaking news!"], n=2)


def test_case_punctuation_forms_and_hidden_characters_do_not_hide_it() -> None:
    page = " -- ".join(f"\u201c{word[0].upper()}\u200b{word[1:]}\u201d" for word in WORDS[:13])
    assert canary(page, [ITEM])
    assert canary("STRASSE " + " ".join(WORDS[:12]), ["stra\u00dfe " + " ".join(WORDS[:12])])
    assert canary(" ".join(WORDS[:13]).replace("1", "\uff11"), [ITEM])


@given(st.lists(st.sampled_from(WORDS), min_size=13, max_size=30), st.data())
def test_a_page_that_quotes_any_piece_is_found(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 13))
    assert canary("so it says: " + ", ".join(words[start : start + 13]) + ".", ["other words", " ".join(words)])


# --- Quotes are whole sentences: where one ends is decided with care, in any language.


# Sentences of a text stand between bars; two that are joined lose nothing, a cut elsewhere may lose a negation.
JOINED = [
    "It is false, according to Dr. Smith, that the bridge fell on Monday night.",
    "It is false, says Gov. Jones of the U.S. Senate, that it fell.",
    "The claim of Rep. Adam B. Schiff, D-Calif., and Sen. Lee is not true.",
    "J. R. R. Tolkien did not write it, nor did George W. Bush.",
    "At 5 p.m. Eastern on Jan. 6 nobody fell, i.e. the crowd stood.",
    "Approx. 5 people, not 50, were there.",
    "It is No. 1 in the world, vs. Germany's No. 2, which is wrong.",
    "Mt. Everest and St. Paul's are not in Ltd. Co. Inc. Apple's list.",
    "Not Lt. Col. Smith, but Sgt. Miller and Capt. Brown said so.",
    "It cost $3.5 million, not 5.3 at example.org or so.",
    'He said "It fell. It burned." and lied.',
    '"Did it fall?" Smith asked, and was told that it did not.',
    "\u201cIt fell! All of it!\u201d Smith wrote in a post that is false.",
    "\u201cIt fell. It burned, wrote a man who lied.",
    "It (the bridge. Not the road) did not fall.",
    "It did not \u2026 Nobody said so.",
    "It did not... Trump said so.",
    "Yahoo! News did not report it.",
    "It is false that Louis XIV. King of France fell.",
    "the bridge did not fall. or so they say",
    "Das ist falsch, sagt Dr. Müller, z. B. am 3. März fiel die Brücke nicht.",
    "Nicht die Brücke bzw. Straße, d. h. Nr. 7, fiel am 12. Mai.",
    "\u201eSie fiel. Ganz.\u201c Das schrieb ein Mann, der log.",
    "C'est faux, selon M. Dupont, que le pont est tombé.",
    "Ce n'est pas Mme. Curie, cf. p. 3, ni J.-P. Sartre.",
    "« Il est tombé. » Voilà ce qui est faux.",
    "Es falso, según el Sr. López y la Dra. Ruiz, que cayó.",
    "No es de EE. UU. Lo dijo la Sra. Pérez.",
    "Não é verdade, diz o Sr. Silva e a Sra. Costa.",
    "Non è vero, dice il Dott. Rossi e la Sig. Bianchi.",
    "Het is niet waar, zegt dhr. De Vries, bijv. Over de brug.",
    "To nieprawda, mówi prof. Kowalski z ul. Nowej.",
    "Это неправда, сообщил г. Иванов в 2020 г. Москве не дали 5 млн. Рублей.",  # noqa: RUF001
    "Bu doğru değil, diyor Prof. Dr. Yılmaz.",  # noqa: RUF001
    "「橋は落ちた。」と彼は嘘をついた。",
    "他说\uff1a\u201c桥倒了。全倒了。\u201d这是假的。",
    "It is not true,\nas was said, that it fell.",
    "It is false that\nthe bridge fell.",
    "It is false, says Dr.\nSmith, that it fell.",
]
APART = [
    "The bridge stands. | Nobody fell.",
    "Did it fall? | No! | It stands.",
    "He came from the city. | (It rained.) | She left.",
    "The bridge fell\n | The mayor denies it.",
    "The bridge fell.\n | It burned.",
    "Er kam an. | Über die Brücke ging niemand.",
    "桥没有倒。|这是假的\uff01|真的吗\uff1f|是的。",
    "橋は落ちていない。|これは嘘です。",
    "पुल नहीं गिरा। | यह गलत है।",
    "هذا غير صحيح. | هل سقط الجسر؟ | لا أحد يعرف.",
    "Мост стоит. | Никто не упал.",
    "Ζει στην πόλη. | Δεν έπεσε.",
    "Il ponte non cade. | Lo dice il sindaco.",
    "다리는 서 있다. | 아무도 모른다.",
]


@pytest.mark.parametrize("marked", [*JOINED, *APART])
def test_no_sentence_is_cut_and_plain_ones_are_told_apart(marked: str) -> None:
    text = marked.replace("\n | ", "\n").replace(" | ", " ").replace("|", "")
    expected = marked.split("|") if marked in APART else [text]
    found = [text[begin:end] for begin, end in sentences(text)]
    assert [" ".join(part.split()) for part in found] == [" ".join(part.split()) for part in expected]


TEXTS = [part.replace("|", "") for part in (*JOINED, *APART)]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), st.data())
def test_a_quote_begins_and_ends_where_sentences_do(lines: list[str], data: st.DataObject) -> None:
    page = "\n".join(lines)
    start = data.draw(st.integers(0, len(page) - 1))
    end = data.draw(st.integers(start + 1, len(page)))
    most = data.draw(st.sampled_from([5, 20, 100, 1000]))
    found = whole_sentences(page, start, end, most)
    whole = list(sentences(page))
    runs = {" ".join(page[begin:stop].split()) for k, (begin, _) in enumerate(whole) for _, stop in whole[k:]}
    assert found == "" or (found in runs and word_count(found) <= 2 * most + 1)
    assert most < 1000 or " ".join(page[start:end].split()) in found


def quoted(page: str, part: str, most: int = 100) -> str:
    start = page.index(part)
    return whole_sentences(page, start, start + len(part), most)


def test_a_contradiction_comes_with_what_it_contradicts() -> None:
    page = "A man wrote of the bridge. He said that it fell. That is false. It stands. However, the road is closed."
    assert quoted(page, "A man") == "A man wrote of the bridge. He said that it fell. That is false."
    assert quoted(page, "it fell") == "He said that it fell. That is false."
    assert quoted(page, "is false") == "He said that it fell. That is false. It stands. However, the road is closed."
    assert quoted(page, "It stands") == quoted(page, "road is closed") == "It stands. However, the road is closed."
    chinese = "有人说桥倒了。但这是假的。桥很好。"
    assert quoted(chinese, "桥倒了") == chinese[:13] and quoted(chinese, "假的") == chinese


@pytest.mark.parametrize("case", Path(__file__).with_name("denied.txt").read_text(encoding="utf-8").splitlines()[1:])
def test_a_quote_comes_with_what_its_page_says_of_it(case: str) -> None:
    page, part, verdict = case.replace("\\n", "\n").split(" | ")
    around = f"The town lies on a lake.\n{page}\nIt has many visitors in the summer.\nRead more on Sunday."
    link = Link(1, SearchResult("https://a.example/", "", "", None, 1), number=1)
    found = read_evidence(link, around, f"QUOTES: {part}", CorrectionSettings(quote_least=1))
    assert set(found.quotes) == {"reported"} and verdict in found.quotes["reported"][0]


def test_a_sentence_over_the_limit_is_no_quote_and_none_is_cut() -> None:
    page = f"{'word ' * 98}which is entirely false. It stands."
    assert quoted(page, "word word") == "" and quoted(page, "It stands") == "It stands."
    assert quoted(page, "word word", 102).endswith("which is entirely false. It stands.")
    assert quoted("桥" * 300 + "。", "桥桥") == ""
    assert word_count("市长说桥没有倒塌") == 4


def test_markup_and_wrapped_lines_within_a_sentence_end_none() -> None:
    page = "<p>It is <b>not</b> true that\n <a href=/>the bridge</a> fell.</p><p>It stands.</p>"
    for extractor in ("trafilatura", "beautifulsoup"):
        found = main_text(f"<html><body>{page}</body></html>".encode(), "text/html", extractor)  # type: ignore[arg-type]
        assert "It is not true that the bridge fell." in found.text.split("\n")
    wrapped = "It is not at all true, as one can see from the road,\nBridge Street, that it fell.\n\nIt stands."
    assert main_text(wrapped.encode(), "text/plain", "trafilatura").text.split("\n")[1:] == ["It stands."]
