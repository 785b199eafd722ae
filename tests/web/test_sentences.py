"""Quotes are whole sentences: where one ends is decided with care, in any language."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.evidence.sentences import sentences, whole_sentences, word_count
from hellofresh.evidence.web import SearchResult
from hellofresh.evidence.web.text import main_text
from hellofresh.runs.regimes.correction.pages import Link, read_evidence
from hellofresh.runs.regimes.correction.post import CorrectionSettings

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


@given(st.text())
def test_sentences_hold_all_of_any_text(text: str) -> None:
    assert "".join("".join(text[begin:end].split()) for begin, end in sentences(text)) == "".join(text.split())


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


def test_the_regime_quotes_whole_sentences_or_nothing() -> None:
    whole = "It is false, according to Dr. Smith, that the bridge fell on Monday night. It stands."
    page = f"{whole}\nA {'word ' * 99}is entirely false."
    said = "REFUTES: that the bridge fell on Monday night\nCONTEXT: word word word word word word"
    link = Link(1, SearchResult("https://a.example/", "", "", None, 1), number=1)
    found = read_evidence(link, page, said, CorrectionSettings())
    assert (found.quotes, found.missing) == ({"refuting": (whole,)}, 1)
    chinese = "桥没有倒。这座桥很好所以没有人受伤。"
    found = read_evidence(link, chinese, "REFUTES: 桥很好所以没有人受伤", CorrectionSettings())
    assert found.quotes == {"refuting": (chinese[5:],)}
