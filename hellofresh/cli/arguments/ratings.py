"""Commands about ratings of responses: `rate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, add_private
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import UsageError

_EDITION = "muse-study@94662cc"


def add_rate(nouns: Subparsers) -> None:
    """Add `rate`."""
    verbs = add_group(nouns, "rate", "Rate responses by a rubric, and compare systems and judges by the ratings.")
    _add_report(verbs)
    _add_assign(verbs)
    _add_serve(verbs)
    _add_close(verbs)


def _add_report(verbs: Subparsers) -> None:
    about = "Show or export a study's results: systems compared, their standings, agreement, or the judges."
    parser = add_command(verbs, "report", about, "rate.report:run_report")
    add_study(parser)
    parser.add_argument(
        "--kind", choices=("results", "agreement", "standings", "judges"), default="results",
        help="results: systems by overall quality, every two of them compared, by part and by criterion; agreement: "
        "kappa, Krippendorff's alpha and observed agreement of raters; standings: ranks, intervals and tie groups; "
        "judges: each judge against people, and what sways it (default: results)",
    )  # fmt: skip
    parser.add_argument(
        "--export", type=Path, metavar="FILE", help="write the ratings as JSONL instead, each with its system"
    )
    parser.add_argument(
        "--weights", choices=("quadratic", "linear", "none"), default="quadratic",
        help="agreement: how much two answers disagree by their distance (default: quadratic)",
    )  # fmt: skip
    parser.add_argument(
        "--p-values", choices=("honest", "published"), default="honest",
        help="results: published as the released study made them, from rows that stand twice; far too small",
    )  # fmt: skip
    parser.add_argument(
        "--shared", action="store_true",
        help="results: count a response also for other systems that have the very same one",
    )  # fmt: skip
    parser.add_argument(
        "--own", action="append", default=[], metavar="JUDGE=SYSTEM",
        help="judges: a system whose responses a judge wrote itself, to see whether it prefers them (repeat it)",
    )  # fmt: skip
    add_private(parser)


def _add_assign(verbs: Subparsers) -> None:
    about = "Assign responses to raters in pairs: blinded, at random, a share of them to both of a pair."
    parser = add_command(verbs, "assign", about, "rate.people:run_assign")
    _add_new_study(parser)
    parser.add_argument(
        "--prepare", type=Path, metavar="DIR",
        help="assign nothing; write samples.jsonl and responses.jsonl to DIR: what people, submissions and runs wrote",
    )  # fmt: skip
    parser.add_argument(
        "--run", dest="runs", action="append", default=[], metavar="RUN",
        help="with --prepare: a run whose responses are rated (repeat it for each); submissions that count always are",
    )  # fmt: skip
    parser.add_argument("--samples", type=Path, metavar="FILE", help="what was responded to, as JSONL")
    parser.add_argument("--responses", type=Path, metavar="FILE", help="responses of systems, as JSONL")
    parser.add_argument(
        "--rater", action="append", metavar="NAME", help="a rater's name (repeat it for each); it stays private"
    )
    parser.add_argument(
        "--rubric", metavar="R", help="a rubric's name or file (default: the one that the task's systems are ranked by)"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.3,
        metavar="S",
        help="share of a rater's samples that the other rates too (default: 0.3)",
    )
    parser.add_argument(
        "--onboarding", type=int, default=0, metavar="N", help="samples that all start with, for practice (default: 0)"
    )
    parser.add_argument("--seed", default="hellofresh", metavar="TEXT", help="the same seed deals the same samples")


def _add_serve(verbs: Subparsers) -> None:
    about = "Serve the pages of assigned raters, which then hand over their ratings by themselves."
    parser = add_command(verbs, "serve", about, "rate.people:run_serve")
    _add_new_study(parser)
    parser.add_argument("--address", default="localhost", metavar="HOST", help="where to listen (default: localhost)")
    parser.add_argument("--port", type=int, default=8502, metavar="N", help="port (default: 8502)")
    parser.add_argument(
        "--origin", action="append", default=[], metavar="URL",
        help="where raters reach it through a proxy, such as https://rate.example.org",
    )  # fmt: skip


def _add_close(verbs: Subparsers) -> None:
    about = "Close a study: nothing more is taken, and its ratings and key become tables."
    parser = add_command(verbs, "close", about, "rate.people:run_close")
    _add_new_study(parser)
    parser.add_argument(
        "--file", type=Path, action="append", default=[], metavar="FILE",
        help="first take what a rater's page gave as a file (repeat it for each)",
    )  # fmt: skip
    parser.add_argument("--incomplete", action="store_true", help="close although responses are not rated")


def add_judge(nouns: Subparsers) -> None:
    """Add `judge`."""
    about = "Judge the responses of a rated study, blinded, by a model or otherwise; the ratings join those of people."
    parser = add_command(nouns, "judge", about, "judge:run_judge")
    parser.add_argument(
        "--edition", type=_edition, metavar="E", help=f"edition of the study (default: {_EDITION}; rewards: none)"
    )
    parser.add_argument("--task", metavar="T", help="its task (default: corrections; rewards: claim-responses)")
    parser.add_argument(
        "--by", default="model", metavar="JUDGE",
        help="model: by the study's rubric; links: whether links can be reached; classifier: learns from people's "
        "ratings (a smoke test); rewards: reward models, for responses to claims; or a judge of another package "
        "(default: model)",
    )  # fmt: skip
    parser.add_argument("--model", metavar="M", help="a name from: hellofresh models")
    parser.add_argument("--rubric", metavar="R", help="the study's rubric, by name or file; another one is refused")
    parser.add_argument(
        "--mode",
        choices=("together", "single", "pairs"),
        default="together",
        help="all criteria in one question, one criterion a question, or two responses against each other",
    )
    parser.add_argument(
        "--seed", default="hellofresh", metavar="TEXT", help="decides the order of criteria and options"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="judge the responses to N samples (default: all)")
    parser.add_argument("--budget", type=float, metavar="USD", help="stop before the judging costs more than this")
    parser.add_argument(
        "--dry-run", action="store_true", help="estimate calls, tokens, cost and time; send and write nothing"
    )
    _add_rewards(parser)


def _add_rewards(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reward", action="append", default=[], type=Path, metavar="DIR", dest="rewards",
        help="rewards: folder of a reward model, see 'hellofresh train reward' (repeat it for each)",
    )  # fmt: skip
    parser.add_argument("--head", type=Path, metavar="DIR", help="rewards: a trained reranker whose relevance counts")
    parser.add_argument("--alpha", type=float, default=1.0, metavar="A", help="rewards: what relevance is worth (1)")
    parser.add_argument(
        "--retriever", default="bm25+minilm", metavar="R", help="rewards: finds the evidence to judge by (bm25+minilm)"
    )
    parser.add_argument("--evidence", type=int, default=3, metavar="K", help="rewards: documents to judge by (3)")
    parser.add_argument(
        "--responses",
        type=Path,
        metavar="FILE",
        help="rewards: further responses, as JSONL: sample, system and text",
    )
    parser.add_argument(
        "--learnt", type=Path, metavar="FILE",
        help="rewards: responses that a model was trained on (column response), to find copies of",
    )  # fmt: skip
    parser.epilog = (
        "Example: hellofresh judge --by rewards --edition claim-responses@dev-207-62023170 --reward data/training/R "
        "--reward data/training/F --reward data/training/P"
    )


def _add_new_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--edition", type=_edition, required=True, metavar="E", help="edition, such as corrections@2")
    parser.add_argument("--task", default="corrections", metavar="T", help="task of the study (default: corrections)")


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add `--edition E` and `--task T`."""
    parser.add_argument(
        "--edition",
        type=_edition,
        default=_edition(_EDITION),
        metavar="E",
        help=f"edition of the study (default: {_EDITION})",
    )
    parser.add_argument("--task", default="corrections", metavar="T", help="task of the study (default: corrections)")


def _edition(text: str) -> Edition:
    try:
        return parse_edition(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
