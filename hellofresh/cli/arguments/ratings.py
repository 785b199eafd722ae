"""Commands about ratings of responses: `rate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import UsageError

__all__ = ["add_judge", "add_rate"]

_EDITION = "muse-study@94662cc"


def add_rate(nouns: Subparsers) -> None:
    """Add `rate`."""
    verbs = add_group(nouns, "rate", "Rate responses by a rubric, and compare systems and judges by the ratings.")
    _add_import(verbs)
    _add_agreement(verbs)
    _add_report(verbs)
    _add_standings(verbs)
    _add_prepare(verbs)
    _add_assign(verbs)
    _add_serve(verbs)
    _add_close(verbs)
    _add_export(verbs)
    _add_judges(verbs)
    _add_rewards(verbs)


def _add_import(verbs: Subparsers) -> None:
    sources = add_group(verbs, "import", "Import a study that others have rated.", kind="study")
    about = "Import the released study of MUSE: 232 posts, four systems, ten experts, correction-13."
    muse = add_command(sources, "muse", about, "rate.studies:run_import_muse")
    muse.add_argument("path", metavar="PATH", type=Path, help="folder of the authors' repository, or its packed data")
    muse.epilog = "Example: hellofresh rate import muse muse-data.tar.xz, then: hellofresh rate report"


def _add_agreement(verbs: Subparsers) -> None:
    about = "Show how far raters agree: weighted kappa, Krippendorff's alpha and observed agreement, with intervals."
    parser = add_command(verbs, "agreement", about, "rate.report:run_agreement")
    add_study(parser)
    parser.add_argument(
        "--weights",
        choices=("quadratic", "linear", "none"),
        default="quadratic",
        help="how much two answers disagree by their distance (default: quadratic)",
    )


def _add_report(verbs: Subparsers) -> None:
    about = (
        "Show a study's results: systems by overall quality, with every two of them compared, by part of the samples, "
        "by criterion with shares of options, and how far raters agree."
    )
    parser = add_command(verbs, "report", about, "rate.report:run_report")
    add_study(parser)
    parser.add_argument(
        "--p-values",
        choices=("honest", "published"),
        default="honest",
        help="published: as the released study made them, from rows that stand twice; far too small",
    )
    parser.add_argument(
        "--shared", action="store_true", help="count a response also for other systems that have the very same one"
    )


def _add_standings(verbs: Subparsers) -> None:
    about = "Rank the systems of a rated study, with intervals and tie groups: overall, by part and by criterion."
    parser = add_command(verbs, "standings", about, "rate.report:run_standings")
    add_study(parser)


def _add_prepare(verbs: Subparsers) -> None:
    about = "Write the files that 'rate assign' takes: samples of a release, what people wrote for them, and runs."
    parser = add_command(verbs, "prepare", about, "rate.people:run_prepare")
    _add_new_study(parser)
    parser.add_argument(
        "--run",
        dest="runs",
        action="append",
        default=[],
        metavar="RUN",
        help="a run whose responses are rated (repeat it for each)",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where samples.jsonl and responses.jsonl are written")


def _add_assign(verbs: Subparsers) -> None:
    about = "Assign responses to raters in pairs: blinded, at random, a share of them to both of a pair."
    parser = add_command(verbs, "assign", about, "rate.people:run_assign")
    _add_new_study(parser)
    parser.add_argument("--samples", required=True, type=Path, metavar="FILE", help="what was responded to, as JSONL")
    parser.add_argument("--responses", required=True, type=Path, metavar="FILE", help="responses of systems, as JSONL")
    parser.add_argument(
        "--rater",
        required=True,
        action="append",
        metavar="NAME",
        help="a rater's name (repeat it for each); it stays private",
    )
    parser.add_argument(
        "--rubric", default="correction-13", metavar="R", help="a rubric's name or file (default: correction-13)"
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
    about = "Open the page Rate for assigned raters, in a process that cannot read who wrote the responses."
    parser = add_command(verbs, "serve", about, "rate.people:run_serve")
    _add_new_study(parser)
    parser.add_argument("--address", default="localhost", metavar="HOST", help="where to listen (default: localhost)")
    parser.add_argument("--port", type=int, default=8502, metavar="N", help="port (default: 8502)")


def _add_close(verbs: Subparsers) -> None:
    about = "Close a study: nothing more is taken, and its ratings and key become tables."
    parser = add_command(verbs, "close", about, "rate.people:run_close")
    _add_new_study(parser)
    parser.add_argument("--incomplete", action="store_true", help="close although responses are not rated")


def _add_export(verbs: Subparsers) -> None:
    about = "Export the ratings of a closed study as JSONL, each with its system."
    parser = add_command(verbs, "export", about, "rate.people:run_export")
    add_study(parser)
    parser.add_argument("file", metavar="FILE", type=Path, help="file to write")


def _add_judges(verbs: Subparsers) -> None:
    about = "Judge what can be decided by rules: whether each link can be reached."
    add_study(add_command(verbs, "links", about, "rate.judges:run_links"))
    about = "Judge by a classifier that learns from people's ratings of other posts (a smoke test)."
    add_study(add_command(verbs, "classify", about, "rate.judges:run_classify"))
    about = "Compare every judge with people: kappa, Spearman, pairwise accuracy, and what sways it."
    judges = add_command(verbs, "judges", about, "rate.judges:run_judges")
    add_study(judges)
    judges.add_argument(
        "--own",
        action="append",
        default=[],
        metavar="JUDGE=SYSTEM",
        help="a system whose responses a judge wrote itself, to see whether it prefers them (repeat it for each)",
    )


def _add_rewards(verbs: Subparsers) -> None:
    about = (
        "Judge what systems responded to claims by reward models: refutation, factuality, politeness and relevance "
        "with intervals and paired tests, beside plain signs that nothing was trained on."
    )
    parser = add_command(verbs, "rewards", about, "rate.rewards:run")
    parser.add_argument("--edition", type=_edition, required=True, metavar="E", help="edition of claim-responses")
    parser.add_argument("--task", default="claim-responses", metavar="T", help="its task (default: claim-responses)")
    parser.add_argument(
        "--model", action="append", default=[], type=Path, metavar="DIR", dest="models",
        help="folder of a reward model, see 'hellofresh train reward' (repeat it for each)",
    )  # fmt: skip
    parser.add_argument("--head", type=Path, metavar="DIR", help="a trained reranker whose relevance counts")
    parser.add_argument("--alpha", type=float, default=1.0, metavar="A", help="what relevance is worth (1)")
    parser.add_argument(
        "--retriever", default="bm25+minilm", metavar="R", help="finds the evidence to judge by (bm25+minilm)"
    )
    parser.add_argument("--evidence", type=int, default=3, metavar="K", help="documents to judge by (3)")
    parser.add_argument(
        "--responses", type=Path, metavar="FILE", help="further systems' responses, as JSONL: sample, system and text"
    )
    parser.add_argument(
        "--learnt", type=Path, metavar="FILE",
        help="responses that a model was trained on (column response), to find copies of",
    )  # fmt: skip
    parser.epilog = (
        "Example: hellofresh rate rewards --edition claim-responses@dev-207-62023170 --model data/training/R "
        "--model data/training/F --model data/training/P"
    )


def add_judge(nouns: Subparsers) -> None:
    """Add `judge`."""
    about = (
        "Have a model judge the responses of a rated study by its rubric, blinded; its ratings join those of people."
    )
    parser = add_command(nouns, "judge", about, "rate.judges:run_judge")
    add_study(parser)
    parser.add_argument("--model", required=True, metavar="M", help="a name from: hellofresh models list")
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
