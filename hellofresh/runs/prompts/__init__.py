"""Prompt sets: the frame that shows a sample, and the wordings of the instruction that ends it.

The project's own sets are TOML files in this folder, one a task or for several tasks alike, a table a regime. A set
of one's own has the same form and is named by `--prompt-set FILE`. A slot is written `{post}`; a sample's text is put
in as it is and never read for slots again, so that a text with braces in it changes nothing else. `answers =
"classes"` says that instructions ask for the task's classes instead of yes or no; `{question}` and `{answers}` in
them are the task's.

A table has a `frame` and `prompts`, or takes the prompts of another table by `prompts_from`, or all of it by `like`.
The texts of a regime's other steps stand in `steps`.
"""

from hellofresh.runs.prompts._files import has_prompts, load_prompt_set, parse_prompt_set, prompt_set_toml
from hellofresh.runs.prompts._sets import MANUAL, YES_OR_NO, Prompt, PromptSet

__all__ = [
    "MANUAL",
    "YES_OR_NO",
    "Prompt",
    "PromptSet",
    "has_prompts",
    "load_prompt_set",
    "parse_prompt_set",
    "prompt_set_toml",
]
