"""What a model says comes to yes, no, none or blocked by its first word."""

# ruff: noqa: E501, RUF001 - sentences of many languages
from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.models import Answer, Finish
from hellofresh.runs.regimes import is_refusal, is_refusal_of_paper, read_choice
from hellofresh.runs.regimes._reading import DecisionForm, read_certainty, read_leaning
from hellofresh.runs.regimes.search_agent import normalised, read_turn
from hellofresh.tasks.outputs import Status

YES, NO, NONE, BLOCKED = "yes", "no", "none", "blocked"
REFUSALS = files("hellofresh.runs.regimes").joinpath("refusals.toml")
OPENINGS = tomllib.loads(REFUSALS.read_text(encoding="utf-8"))["openings"]
NOISE = st.text(
    st.sampled_from(" \t\n\r*_#>-\u2013\u2014.,:;!?()[]{}\"'`\u201c\u201d\u2018\u2019«»…•/\\|~=+\u200b\ufeff"),
    max_size=6,
)
TAIL = st.sampled_from(
    ["", " ", ".", ", because", "\n\nThe note is right.", "**", "!", " no yes no", ": 1", "\u2014it is"]
)


def verdict_of(answer: Answer) -> str:
    choice = read_choice("manual", answer)
    assert (choice.label is None) == (choice.status is not Status.ANSWERED)
    return str(choice.status) if choice.label is None else (NO, YES)[choice.label]


def said(text: str) -> str:
    return verdict_of(Answer(text, Finish.STOP))


def confidence(answer: Answer) -> float | None:
    chances = read_choice("manual", answer).probabilities
    assert not chances or sum(chances) == pytest.approx(1)
    return chances[1] if chances else None


VERDICTS = {
    YES: ["**Yes**", "yes", "YES!", "Yes. As an AI, I think so"],
    NO: ["No.", "'no'", "\n\n  - No, it is not", "No, I'm sorry"],
    BLOCKED: [
        *("I'm sorry, but I can't help with that.", "I\u2019m sorry", "I apologize, but no", "I CANNOT ANSWER"),
        *("As an AI language model, yes", "  \u201cI cannot\u201d"),
    ],
    NONE: [
        *("I know", "Not sure", "Nope", "Know", "None", "Nobody can say", "Yesterday", "yes1", "1. Yes"),
        *("I cannothing", "The answer is yes", "", "?!", "Да", "\uff39\uff45\uff53"),
    ],
}


# Our own sentences in eleven languages: refusals, and what looks like one but only says that the model does not know.
OPENING_SENTENCES = {
    BLOCKED: [
        "I'm sorry, but I can't help with that.", "I can't assist with that request.",
        "I am not able to provide an assessment of this content.", "Sorry, I cannot comply with this request.",
        "I must decline to answer this question.", "I'd prefer not to take a position on this political matter.",
        "As a language model, I do not evaluate such posts.", "Unfortunately, I am unable to discuss this topic.",
        "It would not be appropriate for me to judge this post.", "This request goes against my guidelines.",
        "My guidelines do not allow me to answer that.", "I'm going to have to pass on this one.",
        "I respectfully decline.", "I don't feel comfortable rating this note.",
        "That is something I can't help you with.", "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Ich kann diese Anfrage leider nicht beantworten.", "Leider kann ich dazu keine Auskunft geben.",
        "Dazu möchte ich mich nicht äußern.", "Ich darf diese Frage nicht beantworten.",
        "Bei dieser Anfrage kann ich Ihnen nicht helfen.", "Lo siento, pero no puedo ayudarte con eso.",
        "No puedo responder a esta solicitud.", "Lamento no poder ayudarte.",
        "Me temo que no puedo ayudarte con esto.", "Prefiero no responder a esta pregunta.",
        "No me es posible evaluar este contenido.", "Je suis désolé, mais je ne peux pas répondre à cette demande.",
        "Désolée, je ne peux pas vous aider.", "Je ne peux malheureusement pas vous aider.",
        "Je préfère ne pas répondre à cette question.", "Je refuse de répondre.",
        "Il m'est impossible de répondre à cette demande.", "Mi dispiace, ma non posso aiutarti.",
        "Non posso rispondere a questa domanda.", "Purtroppo non posso aiutarti con questa richiesta.",
        "Preferisco non rispondere.", "Non sono in grado di aiutarti con questo contenuto.",
        "Desculpe, mas não posso ajudar com isso.", "Sinto muito, mas não posso responder.",
        "Infelizmente não posso ajudar com esse pedido.", "Lamento, mas não posso responder a essa pergunta.",
        "Prefiro não responder a essa pergunta.", "抱歉，我无法回答这个问题。", "很抱歉，我不能协助处理这个请求。", "对不起，我不能提供这方面的帮助。",
        "我无法对此内容进行评价。", "作为一个AI助手，我不能讨论政治话题。", "申し訳ありませんが、お答えできません。", "申し訳ございませんが、そのご要望にはお応えできません。",
        "すみませんが、その質問にはお答えできません。", "その件についてはお答えできません。", "ごめんなさい、それはお手伝いできません。", "죄송하지만 그 요청은 도와드릴 수 없습니다.",
        "죄송합니다. 이 질문에는 답변할 수 없습니다.", "미안하지만 도와줄 수 없어요.", "이 요청에는 응답할 수 없습니다.",
        "Извините, но я не могу помочь с этим.", "К сожалению, я не могу ответить на этот вопрос.",
        "Я не могу обсуждать эту тему.", "Простите, но я не могу ответить на этот вопрос.",
        "Мне жаль, но я не могу помочь.", "عذرًا، لا يمكنني المساعدة في ذلك.",
        "آسف، لا أستطيع الإجابة عن هذا السؤال.", "أعتذر، لكن لا يمكنني تقديم هذا المحتوى.",
        "لا يمكنني الإجابة على هذا الطلب.",
    ],
    NONE: [
        "I can't determine whether the note is helpful.", "I cannot find evidence, so no",
        "I cannot verify the claim.", "I can't tell from the text alone.", "I am unable to confirm this.",
        "Unfortunately, I cannot find a source for this.", "I'm sorry, but I can't determine whether it is true.",
        "I'm not able to say with certainty.", "I can't be sure.", "I cannot rule out that the note is right.",
        "I can't see the image, so I don't know.", "I cannot agree with the note.",
        "I can't say for certain; probably yes.", "I won't be certain without a source.",
        "I cannot access the link, so I cannot verify it.", "I cannot support the claim with evidence.",
        "I will not find more, so: no", "I must conclude that it is unclear.", "I don't know.",
        "Ich kann nicht sagen, ob das stimmt.", "Ich kann nicht beurteilen, ob die Notiz hilft.",
        "Leider kann ich das nicht überprüfen.", "Es tut mir leid, aber ich kann nicht feststellen, ob das stimmt.",
        "Ich kann diese Behauptung nicht bestätigen.", "No puedo determinar si la nota es útil.",
        "No puedo verificar la afirmación.", "Lo siento, pero no puedo confirmar si es cierto.",
        "No puedo saberlo con certeza.", "Je ne peux pas déterminer si la note est utile.",
        "Je ne suis pas en mesure de vérifier cette affirmation.",
        "Désolé, je ne peux pas confirmer cette affirmation.", "Je ne peux pas dire avec certitude.",
        "Non posso determinare se la nota è utile.", "Non posso verificare questa affermazione.",
        "Mi dispiace, ma non posso confermare se sia vero.", "Non posso esserne certo.",
        "Não posso determinar se a nota é útil.", "Não posso verificar a afirmação.",
        "Desculpe, não posso confirmar isso.", "我无法确定该注释是否有帮助。", "抱歉，我无法判断。", "我不能确定这是否属实。", "我无法核实这一说法。",
        "申し訳ありませんが、判断できません。", "確認できません。", "申し訳ありませんが、真偽を確認できません。", "죄송하지만 사실인지 확인할 수 없습니다.", "판단할 수 없습니다.",
        "Я не могу определить, полезна ли заметка.", "К сожалению, я не могу проверить это утверждение.",
        "Извините, но я не могу сказать, правда ли это.", "لا يمكنني تحديد ما إذا كانت الملاحظة مفيدة.",
        "عذرًا، لا أستطيع التحقق من ذلك.",
    ],
    NO: [
        "No, it can't be helped.", "No. I'm sorry, but the note is wrong.",
        "No, I can't help but notice the missing source.", "No - unable to verify.", "No, puedo ver la fuente.",
    ],
    YES: [
        "Yes. As an AI I can tell it is misleading.", "Yes, I cannot find any fault.",
        "Yes; sorry to say, the post misleads.",
    ],
}  # fmt: skip


def by_outcome(table: Mapping[Any, Sequence[str]]) -> list[tuple[str, Any]]:
    """Each text beside what should come of it."""
    return [(text, outcome) for outcome, texts in table.items() for text in texts]


@pytest.mark.parametrize(("text", "verdict"), [*by_outcome(VERDICTS), *by_outcome(OPENING_SENTENCES)])
def test_examples(text: str, verdict: str) -> None:
    assert said(text) == verdict


@pytest.mark.parametrize(
    "text", ["Too early to tell.", "**It's too early to say**, because", "it is TOO EARLY to know"]
)
def test_too_early_to_tell_chooses_no_class_and_forecasts_every_class_alike(text: str) -> None:
    choice = read_choice("p", Answer(text, Finish.STOP), ("false", "mixed", "true"))
    assert (choice.label, choice.probabilities) == (None, (1 / 3, 1 / 3, 1 / 3))
    form = DecisionForm(("not helpful", "helpful"))
    assert form.early_chances(last := f"Decision: helpful\nDecision: {text}") == (0.5, 0.5) and form.read(last) is None
    assert form.early_chances(other := f"{text}\nDecision: helpful") == () and form.read(other) == 1
    assert read_choice("p", Answer("Too early morning", Finish.STOP)).probabilities == ()


@given(
    st.sampled_from([("yes", YES), ("no", NO), ("maybe", NONE)]),
    st.lists(st.booleans(), min_size=5, max_size=5),
    NOISE,
    TAIL,
)
def test_case_and_punctuation_around_the_first_word_do_not_matter(
    word: tuple[str, str], upper: list[bool], before: str, after: str
) -> None:
    text = "".join(c.upper() if up else c for c, up in zip(word[0], upper, strict=False))
    assert said(before + text + after) == word[1]


@pytest.mark.parametrize(
    ("text", "here", "paper"),
    [
        ("Hello! How can I help?", False, True), ("I do not know. yes", False, True), ("I'm just a model", False, True),
        ("I'm an assistant", False, True), ("As an accurate note, yes", False, True), ("I cannot", True, True),
        ("i'm sorry, no", True, False), ("Es tut mir leid", True, False), ("Yes", False, False),
    ],
)  # fmt: skip
def test_refusals_are_counted_here_and_as_hellofresh_2024_counts_them(text: str, here: bool, paper: bool) -> None:
    answer = Answer(text, Finish.STOP)
    assert (is_refusal(answer), is_refusal_of_paper(answer)) == (here, paper)


@given(st.sampled_from(OPENINGS), NOISE, st.booleans(), TAIL)
def test_every_opening_of_a_refusal_is_blocked_in_any_spelling(
    opening: str, before: str, upper: bool, after: str
) -> None:
    text = (opening.upper() if upper else opening.capitalize()).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
    assert said(before + text + after) == BLOCKED


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=5), st.sampled_from(["yes", "no"]))
def test_a_longer_word_is_another_word(more: str, word: str) -> None:
    assert said(word + more) == NONE
    assert said(more + word) == NONE


@given(st.text())
def test_every_text_has_one_verdict_and_a_label_only_for_yes_and_no(text: str) -> None:
    verdict = said(text)
    assert read_choice("manual", Answer(text, Finish.STOP)).label == {YES: 1, NO: 0}.get(verdict)
    assert verdict_of(Answer(text, Finish.LENGTH)) == verdict
    assert verdict_of(Answer(text, Finish.BLOCKED)) == BLOCKED


def test_the_list_of_openings_is_kept_as_it_says() -> None:
    assert all(text == text.casefold() and "\N{RIGHT SINGLE QUOTATION MARK}" not in text for text in OPENINGS)
    assert len(set(OPENINGS)) == len(OPENINGS)


def with_chances(chances: dict[str, float] | None) -> Answer:
    return Answer("", Finish.STOP, logprobs=chances)


@given(st.floats(-10_000, 0), st.floats(-10_000, 0))
def test_confidence_is_the_share_of_yes(yes: float, no: float) -> None:
    chance = confidence(with_chances({"yes": yes, "no": no}))
    other = confidence(with_chances({"yes": no, "no": yes}))
    assert chance is not None and other is not None
    assert 0 <= chance <= 1
    assert chance + other == pytest.approx(1)
    assert (chance > 0.5) == (yes - no > 0) or abs(yes - no) < 1e-12


def test_without_both_chances_there_is_no_confidence() -> None:
    for chances in (None, {}, {"yes": -0.1}, {"no": -0.1}):
        assert confidence(with_chances(chances)) is None


DEGREES = ("pants on fire", "false", "barely true", "half true", "mostly true", "true")


FIRST_DEGREES = {
    0: ["Pants on fire!"],
    1: ["False"],
    3: ["**Half-true**, since"],
    4: ["MOSTLY TRUE.", "mostly  true"],
    5: ["true"],
    None: ["Truth be told", "Not false", "pants", "half", "yes", "falsehood"],
}


@pytest.mark.parametrize(("text", "label"), by_outcome(FIRST_DEGREES))
def test_of_several_answers_the_one_that_the_text_begins_with_is_read(text: str, label: int | None) -> None:
    choice = read_choice("manual", Answer(text, Finish.STOP), DEGREES)
    assert choice.label == label
    assert (choice.status is Status.ANSWERED) == (label is not None)


def test_probabilities_of_several_answers_sum_to_one() -> None:
    words = ("false", "mixed", "true")
    answer = Answer("mixed", Finish.STOP, logprobs={"false": -2.0, "mixed": -0.5, "true": -800.0})
    chances = read_choice("manual", answer, words).probabilities
    assert sum(chances) == pytest.approx(1) and max(chances) == chances[1]
    assert read_choice("manual", answer, (*words, "other")).probabilities == ()


TWO = DecisionForm(("not helpful", "helpful"))
SIX = DecisionForm(("pants-fire", "false", "barely-true", "half-true", "mostly-true", "true"))


DECISIONS = {
    1: [
        *("Decision: helpful", "## Decision\n**helpful**", "> **Decision**: `helpful`", "Decision: helpful (in doubt)"),
        *("Summary: so it is.\n\nDecision:\nhelpful\n\nThis rests on it.", "Decision\uff1a\u201chelpful\u201d"),
    ],
    0: [
        *("**Decision:** *Not helpful*.", "DECISION - NOT-HELPFUL!", "<b>Decision: not_helpful</b>"),
        *("Decision: helpful. Wait, there is more.\nDecision: not helpful", "Decision: [not helpful]"),
    ],
    None: [
        *("", "My decision is helpful", "Decision: unhelpful", "Decision: helpfully", "Decision: helpful?"),
        *("Decision: helpful / not helpful", "Decision: helpful or not helpful", "Indecision: helpful"),
        *("Decision: the note is helpful", "Either Decision: helpful, or Decision: not helpful."),
    ],
}


@pytest.mark.parametrize(("text", "label"), by_outcome(DECISIONS))
def test_the_fixed_form_is_read_and_nothing_else(text: str, label: int | None) -> None:
    assert TWO.read(text) == label


@given(
    st.integers(0, 5),
    st.sampled_from(["", "*", "**", "__", "`", '"', "\u201c"]),
    st.sampled_from([": ", ":", " : ", ":\n", " - ", " = ", "\uff1a"]),
    st.sampled_from(["", ".", "!", " ", "\n", ", as I said", " (on balance)"]),
    st.sampled_from([str.lower, str.upper, str.title, lambda text: text.replace("-", " ")]),
    st.text(max_size=60).filter(lambda text: "decision" not in text.lower()),
)
def test_case_markup_and_punctuation_do_not_matter_for_any_class(label, mark, colon, end, case, before) -> None:
    answer = case(SIX.answers[label])
    assert SIX.read(f"{before}\n{mark}Decision{mark}{colon}{mark}{answer}{mark}{end}") == label


@given(st.text(max_size=200))
def test_any_text_at_all_can_be_read(text: str) -> None:
    assert TWO.read(text) in (None, 0, 1)
    assert read_turn(text).text in text
    assert read_certainty(text) is None or 0 <= read_certainty(text) <= 1


SEARCHES = {
    "tides at the moon": ["SEARCH: tides at the moon"],
    "a b": [
        *("**SEARCH:** `a b`", "- Search: a b", "1. SEARCH: a b", "I will look this up. SEARCH: a b"),
        *("### Step 1: Verify the event SEARCH: a b", "Step 2: Look  SEARCH: a b", "**What is known** SEARCH: a b"),
    ],
    '"a b" site news': ['SEARCH: "a b" site news'],
    "a": ["SEARCH:\nSEARCH: a"],
    "": [
        *("SEARCH: ...", "Search result: nothing", "I could search: for what?", "Research: none", "RESEARCH: none"),
        *("## The use of the SEARCH: form", "A line with SEARCH: asks"),
    ],
}


@pytest.mark.parametrize(("text", "query"), by_outcome(SEARCHES))
def test_the_first_line_that_searches_is_the_query(text: str, query: str) -> None:
    assert (read_turn(text).query, read_turn(text).text) == (query, text)


@pytest.mark.parametrize(
    ("text", "query", "kept"),
    [
        ("I look.\n\nSEARCH: a b\nSearch result: invented.\nDecision: helpful", "a b", "I look.\n\nSEARCH: a b"),
        ("SEARCH: a b Search result: invented", "a b", "SEARCH: a b"),
        ("SEARCH: first\nSEARCH: second", "first", "SEARCH: first"),
    ],
)
def test_what_comes_after_a_search_is_cut(text: str, query: str, kept: str) -> None:
    assert (read_turn(text).query, read_turn(text).text) == (query, kept)


def test_a_query_is_one_line_of_bounded_length() -> None:
    assert len(read_turn("SEARCH: " + "word " * 1000).query) <= 300
    assert read_turn("SEARCH: a\u202eb\u2028c\x00d").query.count("\n") == 0


def test_queries_that_differ_in_case_and_punctuation_are_the_same() -> None:
    assert normalised('"Moon  Cheese", news!') == normalised("moon cheese NEWS")
    assert normalised("moon cheese") != normalised("cheese moon")


CERTAINTIES = {"90": 0.9, "**85**.": 0.85, "I am 70% certain": 0.7, "95/100": 0.95, "95 out of 100": 0.95, "0": 0.0}
CERTAINTIES |= {"100": 1.0, "82.5": 0.825}
NO_CERTAINTIES = dict.fromkeys(("", "very", "between 60 and 80", "120", "-5", "1,000"))


@pytest.mark.parametrize(("text", "certainty"), (CERTAINTIES | NO_CERTAINTIES).items())
def test_a_certainty_is_one_number_from_0_to_100(text: str, certainty: float | None) -> None:
    assert read_certainty(text) == certainty


LEANINGS = {"-2": -2.0, "+1": 1.0, "**0**": 0.0, "\u22121.5": -1.5, "2,5": 2.5, "4": None, "": None, "-1 or 1": None}


@pytest.mark.parametrize(("text", "leaning"), LEANINGS.items())
def test_a_leaning_is_one_number_from_minus_3_to_3(text: str, leaning: float | None) -> None:
    assert read_leaning(text) == leaning
