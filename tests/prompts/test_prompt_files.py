"""Tables that take from others, steps that are cut, and sets that are written as files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import PromptError
from hellofresh.core.texts import clean
from hellofresh.runs.dry_run import Question, preview
from hellofresh.runs.prompts import Prompt, PromptSet, load_prompt_set, parse_prompt_set, prompt_set_toml
from hellofresh.runs.regimes import REGIMES, regimes_for
from hellofresh.tasks import TASKS

GOOD = """
name = "mine"
task = "x-notes"
[regimes.zero-shot]
frame = "{post} {instruction}"
prompts = [{id = "manual", author = "me", instruction = "yes or no?"}]
[regimes.web-search]
frame = "{summaries} {post} {instruction}"
prompts_from = "zero-shot"
[regimes.web-search.steps]
query = "{post}{cut}Query?"
[regimes.placebo]
like = "web-search"
"""


def parsed(text: str, regime: str) -> PromptSet:
    return parse_prompt_set(text.encode(), "x-notes", regime, "set.toml")


def test_a_table_takes_prompts_or_everything_from_another() -> None:
    zero, search, placebo = (parsed(GOOD, name) for name in ("zero-shot", "web-search", "placebo"))
    assert zero.prompts == search.prompts == placebo.prompts
    assert zero.frame != search.frame == placebo.frame
    assert search.steps == placebo.steps == {"query": "{post}{cut}Query?"}
    assert len({item.sha256 for item in (zero, search, placebo)}) == 3


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('like = "web-search"', 'like = "web-search"\nframe = "{instruction}"', "bad-prompt-set"),
        ('like = "web-search"', "", "bad-prompt-set"),
        ('like = "web-search"', 'like = "placebo"', "bad-reference"),
        ('like = "web-search"', 'like = "other"', "bad-reference"),
        ('prompts_from = "zero-shot"', "", "bad-prompt-set"),
        ('prompts_from = "zero-shot"', 'prompts_from = "web-search"', "bad-reference"),
        ('prompts_from = "zero-shot"', 'prompts_from = "placebo"', "bad-reference"),
        ('prompts_from = "zero-shot"', 'prompts_from = ["zero-shot"]', "bad-prompt-set"),
        ('prompts_from = "zero-shot"', 'prompts_from = "zero-shot"\nprompts = []', "bad-prompt-set"),
        ('frame = "{summaries} {post} {instruction}"', "", "bad-prompt-set"),
    ],
)
def test_a_reference_that_leads_nowhere_or_says_two_things_is_refused(old: str, new: str, code: str) -> None:
    assert old in GOOD
    with pytest.raises(PromptError) as caught:
        parsed(GOOD.replace(old, new), "placebo")
    assert (caught.value.code, caught.value.where) == (code, "set.toml")


@given(st.text(max_size=20))
def test_a_step_is_cut_where_its_text_says_so_and_never_where_a_sample_does(post: str) -> None:
    search = parsed(GOOD, "web-search")
    sample, instruction = search.step("query", {"post": f"{post}{{cut}}"}).parts
    assert sample.endswith(f"{clean(f'{post}{{cut}}')}\n{sample.splitlines()[-1]}") and instruction == "Query?"


def test_missing_steps_and_slots_are_named() -> None:
    search = parsed(GOOD, "web-search")
    for wanted, code in (({"steps": ["summary"]}, "missing-step"), ({"slots": ["page"]}, "missing-slot")):
        with pytest.raises(PromptError) as caught:
            search.require(**wanted)
        assert caught.value.code == code
        assert next(iter(wanted.values()))[0] in str(caught.value)
    search.require(slots=["summaries", "post"], steps=["query"])


def test_the_projects_manual_instructions_meet_the_criteria_of_their_sets() -> None:
    from hellofresh.models import Answer, Finish
    from hellofresh.runs.prompts.rephrase import faults

    for task in (name for name in TASKS if TASKS[name].classes):
        prompts = load_prompt_set(task, "zero-shot")
        of_many = bool(TASKS[task].prompts) and TASKS[task].prompts not in TASKS
        assert len(prompts.criteria) >= (2 if of_many else 6)
        for prompt in prompts.prompts[: None if of_many else 1]:
            answer = Answer(prompt.instruction, Finish.STOP)
            assert faults(answer, ["word " * 40], prompts.criteria, prompts.answers) == []


def test_a_task_that_chooses_nothing_and_names_no_prompts_says_so(monkeypatch) -> None:
    monkeypatch.setitem(TASKS, "corrections", replace(TASKS["corrections"], prompts=""))
    with pytest.raises(PromptError, match="--prompt-set"):
        load_prompt_set("corrections", "zero-shot")


WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(WORD, WORD, st.dictionaries(WORD, WORD, max_size=2), WORD)
def test_a_set_that_is_written_reads_back_as_the_same(frame, instruction, steps, author) -> None:
    def tame(text: str) -> str:
        # TOML knows one line break only, and a set's last one is not a part of a text.
        return text.replace("\r", " ").replace("{instruction}", " ").rstrip("\n")

    prompts = (Prompt("manual", author[:80], f"{tame(instruction)} 'yes' or 'no'?".strip()),)
    whole = PromptSet(
        "made",
        "x-notes",
        "own",
        tame(frame),
        prompts,
        {name: tame(text) for name, text in steps.items()},
        {"a": ("b",)},
    )
    text = prompt_set_toml(whole, about="A line.\nAnd another.")
    assert parse_prompt_set(text.encode(), "x-notes", "own", "") == whole


@pytest.mark.parametrize("task", [name for name in TASKS if TASKS[name].classes])
@pytest.mark.parametrize("regime", regimes_for(TASKS["x-notes"]))
def test_every_set_of_the_project_survives_being_written(task: str, regime: str) -> None:
    whole = load_prompt_set(task, REGIMES[regime].prompts_from)
    text = prompt_set_toml(whole, about="x")
    assert parse_prompt_set(text.encode(), task, whole.regime, "") == whole


@pytest.mark.parametrize("regime", regimes_for(TASKS["x-notes"]))
def test_a_preview_shows_every_question_filled(make, regime: str) -> None:
    import asyncio

    for sample in (make.note(1), make.edit(1)):
        prompts = load_prompt_set(sample.task, REGIMES[regime].prompts_from)
        calls = asyncio.run(preview(REGIMES[regime], sample, prompts))
        questions = [item for item in calls if isinstance(item, Question)]
        steps = {item.step for item in questions}
        searching = {"query", "summarise-1", "classify"} if REGIMES[regime].needs else {"classify"}
        numbers = range(1, 5)
        known = {
            "search-agent": {"turn-1", "search-1", "turn-2", "search-2", "turn-3"},
            "hiss": {"parts", "decide", *(f"{step}-{n}" for step in ("doubt", "search", "check") for n in numbers)},
            "retrieve-verify": {"query", "search-1", "draft", "claims", "decide"}
            | {name for n in numbers for name in (f"search-{n + 1}", f"verify-{n}")},
        }
        assert steps == known.get(regime, searching)
        deciding = [item for item in questions if item.step in ("classify", "turn-1", "decide")]
        assert len(deciding) == (1 if regime in known else 5)
        own = sample.note.text if sample.task == "x-notes" else sample.paragraph
        for item in questions:
            text = item.messages[0].text
            assert (own in text) != item.step.startswith("search-")  # the search side never sees the sample
            assert not {"{mark}", "{summaries}", "{page}", "{cut}"} & set(text.split())
