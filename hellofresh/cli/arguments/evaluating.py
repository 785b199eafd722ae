"""Commands for evaluation: `evaluate`, `respond`, `runs`, `score`, `analyse`, `models` and others."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.declare import (
    BASE_URL,
    DRY_RUN,
    EDITION,
    PRIVATE,
    SPLIT,
    command,
    edition,
    fields,
    grouped,
    option,
)
from hellofresh.runs.evaluation import OPTIONS

QUESTION = "Is water wet? Answer with 'yes' or 'no'."
"""The question of `models NAME --check`."""
_JUDGED = ("task", "split", "limit")
_SYSTEM = ("model", "regime", "roles", "settings")
_ASKED = ("prompts", "prompt_set", "repeat", "temperature", "hidden_tokens", "vote")
_BOUNDS = ("budget_usd", "stored_only", "go_on", "blocked", "allowed", "provider", "replay", "drop_damaged")
# Fields of `Evaluation` by their group in the help; a field in none of them is a further option.
_GROUPED = frozenset(_JUDGED + _SYSTEM + _ASKED + _BOUNDS)
EXAMPLE_MODELS = ("gpt-6-luna", "gemini-3.8-flash", "claude-haiku-5.5")
"""The models of examples in help and documents; their makers have not said when they end."""
_RUN = option("run_id RUN", "run id, or an unambiguous prefix or suffix")

COMMANDS = (
    command(
        "evaluate",
        "Evaluate a model on the samples of a released edition, and keep every response.",
        "evaluate:run",
        *grouped(
            "samples",
            edition("such as 2023Q2 or liar-new@588 (default: the newest on disk, else the bundled sample)"),
            *fields(*_JUDGED, required=()),
        ),
        *grouped(
            "model, regime and prompts",
            *fields(*_SYSTEM),
            option("--agent FILE:FUNCTION", "your own agent instead of a regime, such as my_agent.py:solve"),
            *fields(*_ASKED),
            BASE_URL,
        ),
        *grouped("bounds", *fields(*_BOUNDS)),
        *grouped("further options", *fields(*(name for name in OPTIONS if name not in _GROUPED), required=())),
        *grouped("result", option("--board", "then score the edition and build the board"), DRY_RUN),
        timed=True,
        epilog="Examples:\n"
        "hellofresh evaluate --model coin\n"
        "hellofresh evaluate --model openai:NAME --base-url http://localhost:8000/v1 --limit 20\n"
        "hellofresh evaluate --edition 2026Q2 --task x-notes --model gpt-6-luna --budget 2 --dry-run",
    ),
    command(
        "respond",
        "Respond to one post: say what is misleading and why; show evidence, links, transcript and cost.",
        "respond:run",
        option("--text TEXT", "the post's text", default=""),
        option("--image FILE", "a picture in the post", many=True),
        option("--date D", "when it was posted, such as 2023-04-03 or 2023-04-03T14:05Z"),
        option("--by TEXT", "its author as the site shows them: name, description, verified or not", default=""),
        *fields("model", required=(), model="a model's name (default: an embedded one, for a smoke test)"),
        *fields("roles", roles="use another model as describer, querier or extractor"),
        BASE_URL,
        *fields("settings", "budget_usd", settings="a setting of the regime correction"),
        option("--serve", "open the page Try on this machine instead"),
        option("--port N", "the port of that page (default: 8502)", default=8502),
        epilog='Example: hellofresh respond --text "The abacus is named after A, B and C." --date 2026-03-01',
    ),
    command(
        "runs show",
        "List all runs, newest last; or show one run, or all questions and answers about one of its samples.",
        "runs:show",
        option("run_id RUN", "run id, or an unambiguous prefix or suffix (default: list all runs)", nargs="?"),
        option("sample SAMPLE", "id of a sample", nargs="?"),
    ),
    command(
        "runs resume",
        "Resume a run; refused if its inputs have changed.",
        "runs:resume",
        _RUN,
        *fields("budget_usd", "stored_only", "go_on", "drop_damaged", "replay"),
        timed=True,
    ),
    command(
        "runs export",
        "Write a finished run's predictions, responses and transcripts.",
        "runs:export",
        _RUN,
        option(
            "--format",
            "jsonl or parquet: tables; inspect: one log for Inspect View (needs the extra inspect)",
            choices=("jsonl", "parquet", "inspect"),
            required=True,
        ),
        option("--to PATH", "output folder, or log file with inspect (default: named after the run)"),
    ),
    command(
        "score",
        "Score every run and submission of an edition: precision, recall, F1, accuracy with 95% intervals; for a "
        "revealed quarter, publish scores and predictions in its release. Until the reveal, scores stay in "
        "data/private and are not shown.",
        "board:score",
        EDITION,
        option("--split", "prospective: samples that were undecided when released", choices=SPLIT, default="main"),
        option("--change ENTRY", "allow adding, changing or removing this entry's published predictions", many=True),
        PRIVATE,
        timed=True,
        submissions="own",
    ),
    command(
        "compare",
        "Is first place real? Compare systems in a table of scores: ranks, all pairs, and gaps the items can detect.",
        "compare:run",
        option(
            "files FILE",
            "CSV, TSV, Parquet, JSON Lines (item, system, score; or one column per system), inspect logs, samples of "
            "lm-eval, records of Every Eval Ever; or one file each",
            Path,
            nargs="+",
        ),
        option("--item COLUMN", "the column of items, or several: a,b (this and the next two are guessed)", default=""),
        option("--system COLUMN", "the column of systems", default=""),
        option("--score COLUMN", "the column of scores", default=""),
        option("--cluster COLUMN", "column of clusters: items that belong together, as on one text", default=""),
        option("--repeat COLUMN", "the column that numbers repetitions of an item, which are averaged", default=""),
        option("--human COLUMN", "column of people's labels (of random rows) to correct a judge's scores", default=""),
        option("--systems NAMES", "the columns that are systems, or the systems to keep: a,b", default=""),
        option("--without NAMES", "columns, systems or items to leave out: a,b", default=""),
        option(
            "--scale LOW,HIGH", "the scale of scores, such as 0,10 (default: 0-1, 0-10 or 0-100, by column)", default=""
        ),
        option(
            "--missing HOW",
            "fit missing scores, count them as wrong, or drop their items (default: fit)",
            default="fit",
            choices=("fit", "wrong", "drop"),
        ),
        option("--baseline NAME", "compare each other system with this one only", default=""),
        option("--lower-is-better", "lower scores are better, as with errors and costs"),
        option("--card", "also print the ten fields of the Leaderboard Reporting Standard"),
        option("--out FILE", "also write the comparison to this file: .html (one page), .svg, .tex or .md", Path),
        epilog="Example: hellofresh compare scores.csv --cluster article --out compared.html",
    ),
    command(
        "analyse",
        "Analyse a scored edition: a table and a figure for each analysis.",
        "analyse:run",
        option(
            "name NAME",
            "an analysis; list (their names); all; or agents (tables of their sources, searches and certainty)",
        ),
        edition(),
        option("--task T", "only this task (default: all tasks of the edition)"),
        option("--system S", "only this system", many=True),
        PRIVATE,
        submissions="own",
    ),
    command("board build", "Build the board's tables from all scored editions.", "board:build", PRIVATE, timed=True),
    command(
        "board serve",
        "Serve the board as files on this machine, without Streamlit, until you press Ctrl+C.",
        "board:serve",
        option("--port N", "port (default: 8501)", default=8501),
    ),
    command(
        "board export",
        "Write the site as HTML files that need no server: all pages, samples and tables.",
        "board:export",
        option("folder DIR", "output folder: new, empty, or an earlier export, which it replaces"),
        option("--space", "add the README of a static Space of the Hugging Face hub"),
        option("--instances", "add each system's answer to each sample, for Every Eval Ever (up to 1 KB each)"),
        option("--serve N", "then serve it on this machine, on this port (default: 8501)", nargs="?", const=8501),
        epilog="Example: hellofresh board export public/ (then open public/index.html, or push it to GitHub Pages)",
    ),
    command(
        "models",
        "List the available models; or ask one a question and show its answer.",
        "models:run",
        option("name M", "only this model, named as for 'hellofresh evaluate'", nargs="?"),
        option(
            "--check TEXT",
            f"ask this question, and show the answer and its cost (default: {QUESTION})",
            nargs="?",
            const=QUESTION,
        ),
        BASE_URL,
    ),
    command(
        "prompts",
        "List prompts; show those of a task and regime, as templates or for a sample; or have models rephrase "
        "the manual instruction, check the results, and write a prompt set.",
        "prompts:run",
        option("task TASK", "such as x-notes (default: list all prompts)", nargs="?"),
        option("regime REGIME", "such as zero-shot (default: list the task's prompts)", nargs="?"),
        option("--prompt-set SET", "paper, standard, or a TOML file"),
        option("--sample ID", "fill in the prompts for this sample (with --edition)"),
        edition("the sample's edition, such as 2023Q2"),
        option("--rephrase MODEL[,MODEL]", "models that rephrase once each (default regime: zero-shot)"),
        BASE_URL,
        option("--out FILE", "with --rephrase: the TOML file to write"),
    ),
    command(
        "web",
        "Search the web or print a page's main text, as regimes do, with the settings of [web] in hellofresh.toml.",
        "web:run",
        option("what QUERY|URL", "a search query, or a page's address: https://..."),
        option("--before DAY", "only results from before this day, such as 2023-04-03"),
    ),
)
