"""Commands and options of the version before that have another name now: the old one answers so, for one version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

RENAMED: Mapping[str, str] = {
    "agents": "analyse agents",
    "calibrate": "train relevance, with --data for --pairs and --model for --encoder",
    "corpus build": "corpus import pool, or corpus import wiki",
    "corpus check": "corpus show NAME --check",
    "corpus index": "corpus compare NAME --index-only",
    "corpus search": "corpus show NAME --search TEXT",
    "dataset list": "dataset show",
    "models check": "models NAME --check",
    "models list": "models",
    "prompts list": "prompts",
    "prompts rephrase": "prompts TASK REGIME --rephrase MODEL --out FILE",
    "prompts show": "prompts TASK REGIME",
    "publishers": "dataset import publishers FILE",
    "rate agreement": "rate report --kind agreement",
    "rate classify": "judge --by classifier",
    "rate export": "rate report --export FILE",
    "rate import": "dataset import muse PATH",
    "rate judges": "rate report --kind judges",
    "rate links": "judge --by links",
    "rate prepare": "rate assign --prepare DIR",
    "rate rewards": "judge --by rewards",
    "rate standings": "rate report --kind standings",
    "release resolve": "release prospective --quarter Q --resolve",
    "report": "analyse all",
    "resume": "runs resume RUN",
    "runs list": "runs show",
    "sample write": "archive sample --to DIR",
    "submission collect": "submission add --inbox",
    "submission folder": "submission list --folder",
    "submission from-inspect": "submission new --from-inspect LOG",
    "submission review": "submission check DIR --against BASE",
    "submission score": "submission check TEAM/SYSTEM --score",
    "web read": "web URL",
    "web search": "web QUERY",
}
"""Words to words, without `hellofresh`."""
DROPPED: Mapping[str, Mapping[str, str]] = {
    "analyse": {"--ratings": "import them first: hellofresh dataset import publishers FILE"},
    "collect": {
        f"--{key.replace('_', '-')}": f"write {key} under [sources.wikipedia-edits] in hellofresh.toml"
        for key in ("window_minutes", "per_window", "lookback", "draw_seed", "per_minute", "deadline_hours")
    },
    "corpus": {
        **dict.fromkeys(("--document", "--query"), "write the id after the corpus"),
        "--retriever": "the search is by bm25; to compare others: hellofresh corpus compare",
    },
    "dataset": {
        **{f"--{name}": f"use --priority {name}=FILE" for name in ("high", "medium", "low")},
        **{f"--{name}": f"use --set {name}=VALUE" for name in ("language", "seed")},
    },
    "release": {"--final": "use --resolve final"},
    "respond": {"--port": "write the port after --serve"},
    "runs": {f"--{name}": f"use --format {name}" for name in ("inspect", "html")},
    "train": {
        "--lambda": "use --set weight=X,X,...",
        **{f"--{name}": f"use --set {name}=VALUE" for name in ("rate", "seed", "steps", "tau")},
    },
    "prompts": {"--each": "name a model several times after --rephrase"},
    "submission": {
        **dict.fromkeys(("--notes", "--url", "--knowledge-cutoff"), "write it into system.toml"),
        "--yes": "leave it out, nothing is prompted for",
        **dict.fromkeys(("--team-folder", "--system-folder"), "use --folder TEAM/SYSTEM"),
    },
}
"""Options that a command of the version before had, by its first word, with what to do instead."""


def new_name(arguments: Sequence[str]) -> str:
    """The sentence to answer with if the words before the first option are an old command; empty if they are not."""
    words = list(takewhile(lambda word: not word.startswith("-"), arguments[:3]))
    for count in range(1, len(words) + 1):
        old = " ".join(words[:count])
        if old in RENAMED:
            return f"'hellofresh {old}' is now: hellofresh {RENAMED[old]}"
    return ""
