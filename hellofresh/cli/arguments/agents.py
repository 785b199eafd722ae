"""Commands about agents: `proxy` and `sweep`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_private,
)


def add_proxy(nouns: Subparsers) -> None:
    """Add `proxy`."""
    about = "Serve an OpenAI-compatible endpoint on this machine: a program of your own asks there, as a run."
    parser = add_command(nouns, "proxy", about, "proxy:run", timed=True)
    add_edition(parser)
    parser.add_argument("--task", required=True, metavar="T", help="the task")
    parser.add_argument("--model", required=True, metavar="M", help="the model that answers, as for evaluate")
    parser.add_argument(
        "--name", required=True, metavar="NAME", help="name of your program; another name, another system"
    )
    parser.add_argument("--base-url", metavar="URL", help="the endpoint of openai:NAME (default: OPENAI_BASE_URL)")
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=MODEL", help="another model, which clients call ROLE"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a bound for each sample, such as requests=50"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="N samples (default: the model's own limit)")
    parser.add_argument("--budget", type=float, metavar="USD", help="stop before the run costs more than this")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port (default: one that is free)")
    parser.epilog = (
        "A client needs the base URL of a sample, http://127.0.0.1:PORT/s/SAMPLE/v1, and the token that is printed, or "
        "set in HELLOFRESH_PROXY_TOKEN, as key. The program ends a sample with POST .../v1/output."
    )


def add_sweep(nouns: Subparsers) -> None:
    """Add `sweep`."""
    about = "Run variants of an evaluation, share what is equal between them, and compare them in one table."
    parser = add_command(nouns, "sweep", about, "sweep:run", timed=True)
    add_edition(parser)
    parser.add_argument("--task", required=True, metavar="T", help="a task with classes, or of responses")
    parser.add_argument("--model", required=True, metavar="M[,M]", help="main models")
    parser.add_argument("--regime", default="search-agent", metavar="R", help="the regime (default: search-agent)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=V[,V]", help="values of a setting, such as k=10,5,2"
    )
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=M[,M]", help="models for a role, such as summariser=A,B"
    )
    parser.add_argument(
        "--block",
        default="",
        metavar="[D],[D+D]",
        help="domains that are not read: alternatives with commas between them, one may be empty; + joins domains",
    )
    parser.add_argument("--provider", default="", metavar="P[,P]", help="search providers (default: as configured)")
    parser.add_argument("--prompts", default="all", metavar="P", help="all, or ids such as manual")
    parser.add_argument("--prompt-set", type=Path, metavar="FILE", help="your own prompt set (TOML)")
    parser.add_argument("--limit", type=int, metavar="N", help="judge N samples (default: the model's own limit)")
    parser.add_argument("--budget", type=float, metavar="USD", help="stop before all runs together cost more than this")
    parser.add_argument("--dry-run", action="store_true", help="show what it would take; send and write nothing")
    add_private(parser)
    parser.epilog = "Example: hellofresh sweep --edition 2026Q2 --task x-notes --model scripted --set k=10,5,2"
