"""Estimate the cost of a run in advance: a ceiling, and an expectation from the answers in the journal.

Nothing is written, fetched or asked. For the ceiling the regime has its longest conversation: each answer has its
maximal length, hidden reasoning uses its cap, and every character of a page is a token, as in scripts without spaces;
further requests up to the regime's ceiling cost as much as the most expensive one; and each is asked twice, since an
answer that is cut off before its first word is asked for again with a wider limit. The expectation is the average of
the run's own answers; while there are too few of them, only the ceiling is known.

`preview` shows a regime's whole conversation about a sample, without a model or the web.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil, inf

from hellofresh.core.executors import completed
from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.models.sight import PAPER_IMAGE, check_images, image_tokens, images_of
from hellofresh.runs.counts import WIDER, WIDER_TOKENS, is_spent
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledger, Ledgers, sum_known
from hellofresh.runs.pace import TokenEstimate
from hellofresh.runs.regimes import MAIN, Need
from hellofresh.runs.runner import Assignment, Item
from hellofresh.tasks.images import MOST_PICTURES, Image, media_of
from hellofresh.tasks.samples import Sample

SECONDS_A_CALL = 1.0
"""Assumed time of an answer."""
_MOST_RESULTS = 50  # more than any search of ours asks for
_WORDS_A_PAGE = 1_000
_LONGEST_WORD = "\u8a9e" * 11  # with the following space, the longest word that cutting by words permits
_ASCII_A_TOKEN = 2.5  # fewer than the usual four, since this is a ceiling
_MOST_A_MESSAGE = 8  # tokens by which providers mark a message's role and end
_ENOUGH = 20  # fewest answers whose mean predicts the next ones
_FILLING = re.compile(r"(?:\bword\b ?){4,}")


@dataclass(frozen=True, slots=True)
class RoleForecast:
    """Expected and maximal requests, tokens and cost of one role; costs are None if the price is unknown.

    The maximum includes second questions after answers that were cut off; `uncut_calls` and `uncut_usd` do not.
    """

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    most_calls: int
    most_usd: float | None
    uncut_calls: int
    uncut_usd: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a run.

    Attributes:
        samples, repetitions: numbers to judge.
        known: requests with an answer in the journal, which the other numbers exclude.
        measured: whether the expectation comes from the journal's answers; else it is the ceiling.
        roles: forecast by role.
        seconds: expected time, at one second per call and by the models' limits.
    """

    samples: int
    repetitions: int
    known: int
    measured: bool
    roles: Mapping[str, RoleForecast]
    seconds: float

    @property
    def calls(self) -> int:
        """Expected requests of all roles."""
        return sum(role.calls for role in self.roles.values())

    @property
    def most_calls(self) -> int:
        """Most requests of all roles."""
        return sum(role.most_calls for role in self.roles.values())

    @property
    def cost_usd(self) -> float | None:
        """Expected cost; None if a price is unknown."""
        return sum_known(role.cost_usd for role in self.roles.values())

    @property
    def most_usd(self) -> float | None:
        """Maximal cost; None if a price is unknown."""
        return sum_known(role.most_usd for role in self.roles.values())


def forecast(assignment: Assignment, samples: Sequence[Sample], journal: Journal | None = None) -> Forecast:
    """Estimate the requests and cost of a run. The assignment's web is not used."""
    entries = [] if journal is None else list(journal.entries())
    had, seconds = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    asked: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for entry in entries:
        key, is_second = (entry.sample, entry.repetition), entry.step.endswith(WIDER)
        asked[key].add(entry.prompt)
        had[key] += not is_second
        seconds[key] += -1 if is_second else is_spent(entry.answer)  # those that are still to be asked
    prompts = {prompt.id for prompt in assignment.prompts}
    whole = {item for item, found in asked.items() if assignment.regime.one_prompt or prompts <= found}
    # Samples with a transcript are finished.
    traced = set() if journal is None else {(sample, repetition) for sample, repetition, _ in journal.traces()}
    items = [item for item in assignment.items(samples) if (item.sample.id, item.repetition) not in whole & traced]
    first, second = completed(_ceilings(assignment, items, had, seconds))
    taken = Ledgers(assignment.specs)
    for entry in entries:
        if (entry.sample, entry.repetition) in whole:
            taken.of(entry.role).add(entry.answer)
    measured = taken.answers >= _ENOUGH
    times = sum((item.sample.id, item.repetition) not in whole for item in items) / max(1, len(whole))
    usual = {
        role: _expected(taken.by_role[role], times, ledger, ledger.answers + second.by_role[role].answers)
        if measured
        else ledger
        for role, ledger in first.by_role.items()
    }
    roles = {role: _role(usual[role], ledger, second.by_role[role]) for role, ledger in first.by_role.items()}
    chosen = {(item.sample.id, item.repetition) for item in assignment.items(samples)}
    known = sum((entry.sample, entry.repetition) in chosen for entry in entries)
    return Forecast(len(samples), assignment.repetitions, known, measured, roles, max(map(_seconds, usual.values())))


def _role(usual: Ledger, first: Ledger, second: Ledger) -> RoleForecast:
    return RoleForecast(
        model=first.spec.name,
        calls=usual.answers,
        tokens_in=usual.tokens_in,
        tokens_out=usual.tokens_out,
        cost_usd=usual.known_usd,
        most_calls=first.answers + second.answers,
        most_usd=sum_known((first.known_usd, second.known_usd)),
        uncut_calls=first.answers,
        uncut_usd=first.known_usd,
    )


def _seconds(usual: Ledger) -> float:
    limits, tokens = usual.spec.limits, usual.tokens_in + usual.tokens_out
    by_minute = usual.answers / (limits.requests_per_minute or inf), tokens / (limits.tokens_per_minute or inf)
    return max(usual.answers * SECONDS_A_CALL / limits.in_flight, 60 * max(by_minute))


def _expected(taken: Ledger, times: float, most: Ledger, most_calls: int) -> Ledger:
    """`times` the role's usage, at most the ceiling; that of first questions if its model does not report usage."""
    counted = taken.answers - taken.unreported
    if not counted:
        return most if taken.answers else Ledger(most.spec)
    calls = min(taken.answers * times, most_calls)
    tokens_in, tokens_out = (round(calls * total / counted) for total in (taken.tokens_in, taken.tokens_out))
    return Ledger(most.spec, round(calls), tokens_in, tokens_out)


async def _ceilings(
    assignment: Assignment,
    items: Sequence[Item],
    had: Mapping[tuple[str, int], int],
    seconds: Mapping[tuple[str, int], int],
) -> tuple[Ledgers, Ledgers]:
    """Maximal remaining usage of all items' first and second questions.

    By sample and repetition, `had` is the number of first questions with an answer, and `seconds` that of second ones
    that these answers still need.
    """
    both, ceiling = (
        (Ledgers(assignment.specs), Ledgers(assignment.specs)),
        assignment.regime.ceiling(len(assignment.prompts)),
    )
    samples, slots = {item.sample.id: item.sample for item in items}, assignment.equipment.slots
    if Need.WEB in assignment.regime.needs and samples:  # long pages are slow: the longest sample stands for all
        longest = max(samples.values(), key=lambda item: sum(map(_most_tokens, slots(item).values())))
        samples = dict.fromkeys(samples, longest)
    played = {sample.id: sample for sample in samples.values()}
    of_sample = {name: await _conversation(assignment, sample) for name, sample in played.items()}
    left = Counter[str](), Counter[str]()
    for item in items:
        name, key = samples[item.sample.id].id, (item.sample.id, item.repetition)
        more = max(0, ceiling - had.get(key, 0))
        left[0][name] += more
        left[1][name] += more + max(0, seconds.get(key, 0))
    for place, total in enumerate(both):
        for role, ledger in total.by_role.items():
            for name, calls in left[place].items():
                one, share = of_sample[name][place].by_role[role], calls / ceiling
                ledger.answers += round(one.answers * share)
                ledger.tokens_in += round(one.tokens_in * share)
                ledger.tokens_out += round(one.tokens_out * share)
                ledger.long_usd += one.long_usd * share
    return both


async def _conversation(assignment: Assignment, sample: Sample) -> tuple[Ledgers, Ledgers]:
    """Usage of one sample's first and second questions if answers and pages have their maximal length.

    Up to the regime's ceiling, each further request costs as much as the most expensive, plus one more answer.
    """
    first, second = Ledgers(assignment.specs), Ledgers(assignment.specs)
    largest = dict.fromkeys(assignment.specs, TokenEstimate(0, 0))

    def longest_answer(question: PlannedQuestion, request: Request, ending: str) -> str:
        role = question.role if question.role in largest else MAIN
        check_images(first.of(role).spec, request)
        most = _most_of(first.of(role), request)
        count(role, most)
        largest[role] = max(largest[role], most, key=lambda item: item.total)
        return f"{_LONGEST_WORD[0] * (request.max_tokens + WIDER_TOKENS)}\n{ending}"

    def count(role: str, most: TokenEstimate) -> None:
        first.of(role).add(Answer("", Finish.STOP, most.tokens_in, most.tokens_out))
        second.of(role).add(Answer("", Finish.STOP, most.tokens_in, most.tokens_out + WIDER_TOKENS))

    addresses = (f"https://www.example{n}.org/" for n in range(1, _MOST_RESULTS + 1))
    results = [
        SearchResult(url, "A title", f"{_LONGEST_WORD} " * 25, None, n) for n, url in enumerate(addresses, start=1)
    ]
    words = max(_WORDS_A_PAGE, getattr(assignment.regime.settings, "page_words", 0))
    web = PaperWeb(results, "A title", f"{_LONGEST_WORD} " * words)
    equipment = replace(assignment.equipment, web=web)
    images = _paper_images(equipment, sample)
    await _converse(equipment, sample, longest_answer, equipment.regime.prolong, images)
    dearest = max(
        largest, key=lambda role: first.of(role).price(largest[role].tokens_in, largest[role].tokens_out) or 0
    )
    beyond = assignment.regime.ceiling(len(assignment.prompts)) - first.answers
    for number in range(1, beyond + 1):
        longer = largest[dearest].tokens_in + number * (largest[dearest].tokens_out + WIDER_TOKENS + _MOST_A_MESSAGE)
        count(dearest, TokenEstimate(longer, largest[dearest].tokens_out))
    return first, second


def _most_of(ledger: Ledger, request: Request) -> TokenEstimate:
    """A request's maximal usage."""
    texts = (part for message in request.messages for part in message.parts)
    tokens_in = sum(map(_most_tokens, texts)) + _MOST_A_MESSAGE * (1 + len(request.messages))
    tokens_in += sum(image_tokens(ledger.spec, image) for image in images_of(request))
    return TokenEstimate(tokens_in, ledger.estimate(request).tokens_out)


def _most_tokens(text: str) -> int:
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ceil(ascii_characters / _ASCII_A_TOKEN) + len(text) - ascii_characters


def _paper_images(equipment: Equipment, sample: Sample) -> Sequence[Image]:
    """Blank pictures in the sizes of the sample's pictures, or the largest size for each that must be fetched.

    Blank pictures are not read by OCR, which takes seconds for each.
    """
    pictures = equipment.pictures
    if pictures is None:
        return ()
    found = [(item, pictures.at_hand(item)) for item in media_of(sample)[:MOST_PICTURES]]
    paper = [replace(PAPER_IMAGE, address=item.address) if pictures.fetches else None for item, _ in found]
    images = [image or instead for (_, image), instead in zip(found, paper, strict=True)]
    return [replace(image, content=PAPER_IMAGE.content) for image in images if image is not None]


# Previews: a regime's whole conversation about a sample


@dataclass(frozen=True, slots=True)
class PaperWeb:
    """A fake web with the same results for every search and the same text on every page; `steps` records calls."""

    results: Sequence[SearchResult]
    title: str
    text: str
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    blocked: Sequence[str] = ()
    steps: list[PlannedQuestion | OutsideCall] = field(default_factory=list)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.steps.append(OutsideCall("search", query if before is None else f"{query} (before {before})"))
        return Found(self.results)

    async def read(self, url: str) -> WebPage:
        self.steps.append(OutsideCall("read", url))
        return WebPage(url, url, PageStatus.OK, title=self.title, text=self.text)

    def reason(self, url: str) -> str:
        return ""

    async def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question of a regime with its example answer; without a prompt, the step serves all prompts."""

    step: str
    prompt: str
    messages: tuple[Message, ...]
    role: str = MAIN
    answer: str = ""


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A search or a reading of a page, by `kind`; `text` is the query or the address."""

    kind: str
    text: str


async def preview(equipment: Equipment, sample: Sample) -> list[PlannedQuestion | OutsideCall]:
    """All questions, searches and pages of a regime in order, with typical answers and a single page found.

    Raises:
        PromptError: if the prompts cannot be filled.
    """
    steps: list[PlannedQuestion | OutsideCall] = []

    def usual_answer(question: PlannedQuestion, _: Request, rehearsed: str) -> str:
        usual = _FILLING.sub(lambda filling: f"(about {len(filling[0].split())} words) ", rehearsed)
        answer = usual.strip() or f"(answer to {question.step})"
        steps.append(replace(question, answer=answer))
        return answer

    found = [SearchResult("https://example.org/", "(title)", "(snippet)", None, 1)]
    web = PaperWeb(found, "(title of a page)", "(first words of the page)", steps=steps)
    given = replace(equipment, web=web if Need.WEB in equipment.regime.needs else None)
    await _converse(given, sample, usual_answer, equipment.regime.rehearse)
    return steps


async def _converse(
    equipment: Equipment,
    sample: Sample,
    say: Callable[[PlannedQuestion, Request, str], str],
    known: Callable[[str, int], str],
    images: Sequence[Image] | None = None,
) -> None:
    """Run an equipped regime on a sample; `say` answers each question, given the example answer from `known`."""
    turns = Counter[tuple[str, str]]()

    async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        turns[step, prompt] += 1
        question = PlannedQuestion(step, prompt, request.messages, role)
        return Answer(say(question, request, known(step, turns[step, prompt])), Finish.STOP)

    await equipment.regime.solve(await equipment.case(sample, ask, images))
