"""Commands about ratings of responses: `judge` and `rate`."""

from __future__ import annotations

from hellofresh.cli.arguments.declare import BASE_URL, PRIVATE, command, option, to_edition

MUSE = "muse-study@94662cc"
_TASK = option("--task T", "task of the study (default: corrections)", default="corrections")
_NEW_STUDY = (option("--edition E", "edition, such as corrections@2", required=True), _TASK)

COMMANDS = (
    command(
        "judge",
        "Have a model or another judge rate a study's responses blindly; its ratings are kept beside people's.",
        "judge:run_judge",
        option("--edition E", f"edition of the study (default: {MUSE}; required for rewards)"),
        option("--task T", "its task (default: corrections; rewards: claim-responses)"),
        option(
            "--by JUDGE",
            "model: by the study's rubric; links: whether links work; classifier: trained on people's "
            "ratings (a smoke test); rewards: reward models, for responses to claims; or a judge from another "
            "package (default: model)",
            default="model",
        ),
        option("--model M", "a name that 'hellofresh models' lists"),
        BASE_URL,
        option(
            "--rubric R",
            "model: a rubric's name or file; missing-evidence and justification-4 judge the reasons given in runs of a "
            "task with classes; inaccuracy judges the posts themselves",
        ),
        option(
            "--mode",
            "all criteria in one question (default), one question per criterion, or two responses in one",
            choices=("together", "single", "pairs"),
            default="together",
        ),
        option("--limit N", "judge the responses to N samples (default: all)"),
        option("--budget USD", "stop before judging costs more than this"),
        option("--dry-run", "estimate calls, tokens, cost and time; send and write nothing"),
        option("--reward DIR", "rewards: a model's folder, from 'hellofresh train reward'", many=True, dest="rewards"),
        option("--retriever R", "rewards: finds the evidence (default: bm25+minilm)", default="bm25+minilm"),
        option("--responses FILE", "rewards: further responses to judge, as JSONL with sample, system and text"),
        option("--learnt FILE", "rewards: a model's training responses (column response), to detect copies of them"),
        epilog="Example: hellofresh judge --by rewards --edition claim-responses@dev-207-62023170 "
        "--reward data/training/refutation --reward data/training/factuality --reward data/training/politeness",
    ),
    command(
        "rate report",
        "Show a study's results, standings, raters' agreement or judges; or export its ratings.",
        "rate_report:run_report",
        option("--edition E", f"edition of the study (default: {MUSE})", default=to_edition(MUSE)),
        _TASK,
        option(
            "--kind",
            "results: systems by overall quality, in pairs, by part and by criterion; agreement: kappa, "
            "Krippendorff's alpha and observed agreement of raters; standings: ranks, intervals and tie groups; "
            "judges: each judge against people, and its biases (default: results)",
            choices=("results", "agreement", "standings", "judges"),
            default="results",
        ),
        option("--export FILE", "instead, write the ratings as JSONL, each with its system"),
        option(
            "--p-values",
            "results: honest (default); or published, as in the study, which counts rows twice: far too small",
            choices=("honest", "published"),
            default="honest",
        ),
        option("--own JUDGE=SYSTEM", "judges: a judge's own system, to test whether it prefers itself", many=True),
        PRIVATE,
    ),
    command(
        "rate assign",
        "Assign responses to pairs of raters, blinded and at random; both rate a share of them. Or, for a task with "
        "classes such as x-notes, ask people to predict the labels of an open quarter.",
        "rate_people:run_assign",
        *_NEW_STUDY,
        option(
            "--prepare DIR",
            "assign nothing; write samples.jsonl and responses.jsonl (by people, submissions and runs) to DIR",
        ),
        option(
            "--run RUN",
            "with --prepare: a run to rate, in addition to the submissions that count",
            many=True,
            dest="runs",
        ),
        option(
            "--samples FILE|N",
            "the samples, as JSONL; or the number of the quarter's samples that people predict (default: 60)",
        ),
        option("--responses FILE", "responses of systems, as JSONL"),
        option("--rater NAME", "a rater's name; it stays private", many=True),
        option("--rubric R", "a rubric's name or file (default: the task's)"),
        option("--share S", "share of a rater's samples that both rate (default: 0.3)", float, default=0.3),
        option("--onboarding N", "practice samples that every rater begins with (default: 0)", default=0),
        epilog="Example: hellofresh rate assign --task x-notes --edition 2026Q4 --samples 60 "
        "--rater A --rater B --rater C --rater D --rater E",
    ),
    command(
        "rate serve",
        "Serve the pages of assigned raters, which then send their answers by themselves.",
        "rate_people:run_serve",
        *_NEW_STUDY,
        option("--port N", "port (default: 8502)", default=8502),
        option("--origin URL", "public address, if behind a proxy, such as https://rate.example.org", many=True),
    ),
    command(
        "rate close",
        "Close a study: accept no more ratings, and write its ratings and key as tables.",
        "rate_people:run_close",
        *_NEW_STUDY,
        option("--file FILE", "first import this file, which a rater's page saved", many=True),
        option("--incomplete", "close although some responses are unrated"),
    ),
)
