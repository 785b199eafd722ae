"""Commands about ratings of responses: `judge` and `rate`."""

from __future__ import annotations

from hellofresh.cli.arguments.declare import BASE_URL, PRIVATE, command, option, to_edition

MUSE = "muse-study@94662cc"
_TASK = option("--task T", "task of the study (default: corrections)", default="corrections")
_NEW_STUDY = (option("--edition E", "edition, such as corrections@2", required=True), _TASK)

COMMANDS = (
    command(
        "judge",
        "Have a model or another judge rate a study's responses, blinded; its ratings are kept beside people's.",
        "judge:run_judge",
        option("--edition E", f"edition of the study (default: {MUSE}; rewards: none)"),
        option("--task T", "its task (default: corrections; rewards: claim-responses)"),
        option(
            "--by JUDGE",
            "model: by the study's rubric; links: whether links can be reached; classifier: learns from people's "
            "ratings (a smoke test); rewards: reward models, for responses to claims; or a judge of another "
            "package (default: model)",
            default="model",
        ),
        option("--model M", "a name from: hellofresh models"),
        BASE_URL,
        option(
            "--rubric R",
            "model: a rubric's name or file; missing-evidence and justification-4 judge the reasons of runs on a "
            "task with classes, inaccuracy the posts themselves",
        ),
        option(
            "--mode",
            "all criteria in one question, one criterion a question, or two responses against each other",
            choices=("together", "single", "pairs"),
            default="together",
        ),
        option("--limit N", "judge the responses to N samples (default: all)"),
        option("--budget USD", "stop before the judging costs more than this"),
        option("--dry-run", "estimate calls, tokens, cost and time; send and write nothing"),
        option("--reward DIR", "rewards: folder of a model of 'hellofresh train reward'", many=True, dest="rewards"),
        option("--retriever R", "rewards: finds the evidence to judge by (bm25+minilm)", default="bm25+minilm"),
        option("--responses FILE", "rewards: further responses, as JSONL: sample, system and text"),
        option("--learnt FILE", "rewards: responses that a model was trained on (column response), to find copies"),
        epilog="Example: hellofresh judge --by rewards --edition claim-responses@dev-207-62023170 "
        "--reward data/training/refutation --reward data/training/factuality --reward data/training/politeness",
    ),
    command(
        "rate report",
        "Show or export a study's results: systems compared, their standings, agreement, or the judges.",
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
        option("--export FILE", "write the ratings as JSONL instead, each with its system"),
        option(
            "--p-values",
            "results: published: as in the released study, from rows counted twice; far too small",
            choices=("honest", "published"),
            default="honest",
        ),
        option(
            "--own JUDGE=SYSTEM", "judges: the system that a judge wrote, to see whether it prefers itself", many=True
        ),
        PRIVATE,
    ),
    command(
        "rate assign",
        "Assign responses to pairs of raters, blinded and at random; both rate a share of them. Or, for a task of "
        "classes such as x-notes, ask people to predict the labels of an open quarter.",
        "rate_people:run_assign",
        *_NEW_STUDY,
        option(
            "--prepare DIR",
            "assign nothing; write samples.jsonl and responses.jsonl to DIR: what people, submissions and runs wrote",
        ),
        option(
            "--run RUN",
            "with --prepare: a run to be rated, beside the submissions that count",
            many=True,
            dest="runs",
        ),
        option(
            "--samples FILE|N",
            "the samples, as JSONL; or how many samples of the quarter people predict (default: 60)",
        ),
        option("--responses FILE", "responses of systems, as JSONL"),
        option("--rater NAME", "a rater's name; it stays private", many=True),
        option("--rubric R", "a rubric's name or file (default: the task's)"),
        option("--share S", "share of a rater's samples that the other rates too (default: 0.3)", float, default=0.3),
        option("--onboarding N", "practice samples that every rater begins with (default: 0)", default=0),
        epilog="Example: hellofresh rate assign --task x-notes --edition 2026Q4 --samples 60 "
        "--rater A --rater B --rater C --rater D --rater E",
    ),
    command(
        "rate serve",
        "Serve the pages of assigned raters, which then submit by themselves.",
        "rate_people:run_serve",
        *_NEW_STUDY,
        option("--port N", "port (default: 8502)", default=8502),
        option("--origin URL", "where raters reach it through a proxy, such as https://rate.example.org", many=True),
    ),
    command(
        "rate close",
        "Close a study: it accepts no more ratings, and its ratings and key become tables.",
        "rate_people:run_close",
        *_NEW_STUDY,
        option("--file FILE", "first import a file that a rater's page saved", many=True),
        option("--incomplete", "close although some responses are unrated"),
    ),
)
