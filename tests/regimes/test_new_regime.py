"""A regime of one's own goes through the same seam: here, one that searches until the model has seen enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hellofresh.core.texts import fence
from hellofresh.models import Request
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import BaseRegime, Case, Need, Outcome, Regime, read_choice
from hellofresh.runs.regimes._outside import cut_words
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.transcripts import SearchedEvent

SET = """
name = "loop"
task = "x-notes"
[regimes.loop]
frame = "{found}\\n{note}\\n{instruction}"
prompts = [{id = "manual", author = "me", instruction = "Is it helpful? Say 'yes' or 'no', then why."}]
[regimes.loop.steps]
search = "{note}\\n{cut}{found}\\nWrite a query, or 'enough'."
"""


@dataclass(frozen=True)
class Loop(BaseRegime):
    """Searches and reads the first page until the model says enough, at most nine times; answers with a correction."""

    name: str = "loop"
    needs = frozenset({Need.WEB})

    def ceiling(self, prompts: int) -> int:
        return 9 + prompts

    async def solve(self, case: Case) -> Outcome:
        assert case.web is not None
        read, trace = {}, []
        for turn in range(1, 10):
            found = fence(list(read.values())).text
            question = Request((case.step("search", found=found),), 20, sample=case.sample)
            query = (await case.ask(f"search-{turn}", "", question)).text
            if query == "enough":
                break
            for result in (await case.web.search(query)).results[:1]:
                page = await case.web.read(result.url)
                read[page.url] = cut_words(page.text, 100).text
            trace.append(SearchedEvent(number=turn, query=query))
        choices = []
        for prompt in case.prompts:
            message = case.question(prompt, found=fence(list(read.values())).text)
            answer = await case.ask("classify", prompt.id, Request((message,), 200, sample=case.sample))
            rationale = answer.text.partition(",")[2].strip()
            choices.append(replace(read_choice(prompt.id, answer), rationale=rationale, sources=tuple(read)))
        return Outcome(choices, trace)


def test_a_loop_that_searches_as_often_as_it_likes_and_gives_its_sources(stage, make, tmp_path) -> None:
    path = tmp_path / "set.toml"
    path.write_text(SET)
    regime: Regime = Loop()
    answers = {"search-1": "first", "search-2": "second", "search-3": "enough", "classify": "Yes, the sea is salt."}
    world = stage.World(answers, {}, stage.results(1))
    outcome = stage.judged(regime, make.note(1), world, load_prompt_set("x-notes", "loop", path))
    assert [text for text, _ in world.searched] == ["first", "second"]
    assert [item.step for item in world.asked] == ["search-1", "search-2", "search-3", "classify"]
    assert list(outcome.outputs) == [
        Choice(prompt="manual", label=1, rationale="the sea is salt.", sources=("https://example.org/1",))
    ]
    assert len(outcome.events) == 2
    assert "The page at https://example.org/1 says little." in world.asked[-1].text
    assert len({item.request.messages[0].parts[0] for item in world.of("search")}) == 1
