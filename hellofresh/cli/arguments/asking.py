"""Commands that try things out before an evaluation: `models`, `prompts` and `web`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, edition_option, parse_day

QUESTION = "Is water wet? Answer with 'yes' or 'no'."
"""What `models NAME --check` asks."""


def add_models(nouns: Subparsers) -> None:
    """Add `models`."""
    about = "List the models that can be evaluated; or ask one a question and show its answer."
    parser = add_command(nouns, "models", about, "models:run")
    parser.add_argument("name", nargs="?", metavar="M", help="only this model; another endpoint's is openai:NAME")
    about = f"ask it this, and show the answer with its cost (default: {QUESTION})"
    parser.add_argument("--check", nargs="?", const=QUESTION, metavar="TEXT", help=about)


def add_prompts(nouns: Subparsers) -> None:
    """Add `prompts`."""
    about = (
        "List prompts; show those of a task and regime, as templates or filled from a sample; or have models rephrase "
        "the manual instruction, check the results, and write a prompt set."
    )
    parser = add_command(nouns, "prompts", about, "prompts:run")
    parser.add_argument("task", nargs="?", metavar="TASK", help="such as x-notes (default: list all prompts)")
    parser.add_argument("regime", nargs="?", metavar="REGIME", help="such as zero-shot (default: list the task's)")
    parser.add_argument("--prompt-set", type=Path, metavar="FILE", help="your own prompt set (TOML)")
    parser.add_argument("--sample", metavar="ID", help="fill them from this sample (with --edition)")
    edition_option(parser, "the sample's edition, such as 2023Q2")
    group = parser.add_argument_group("new wordings")
    group.add_argument(
        "--rephrase", metavar="MODEL[,MODEL]", help="models that rephrase (regime: zero-shot if left out)"
    )
    group.add_argument("--out", type=Path, metavar="FILE", help="TOML file to write")
    group.add_argument("--each", type=int, default=1, metavar="N", help="rephrasings per model (default: 1)")
    about = "maximum tries per rephrasing (default: 4)"
    group.add_argument("--attempts", type=int, default=4, metavar="N", help=about)
    about = "name of the prompt set (default: rephrased)"
    group.add_argument("--name", default="rephrased", metavar="NAME", help=about)


def add_web(nouns: Subparsers) -> None:
    """Add `web`."""
    about = "Search the web, or print a page's main text, as regimes do, with the settings of [web] in hellofresh.toml."
    parser = add_command(nouns, "web", about, "web:run")
    parser.add_argument("what", metavar="QUERY|URL", help="what to look for, or the page: https://...")
    about = "only results from before this day, such as 2023-04-03"
    parser.add_argument("--before", type=parse_day, metavar="DAY", help=about)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="store results in DIR, as a run does")
    parser.add_argument("--replay", action="store_true", help="use only stored results, without the network")
