"""The golden workspace: what one version of the code makes, and whether another makes the same of it, byte for byte.

    python tests/golden.py make FOLDER --code CHECKOUT       # once, with the code that sets the standard
    python tests/golden.py compare FOLDER --code CHECKOUT    # with later code; exit code 1 if anything differs

All is done by the command line of CHECKOUT, in processes without keys, with a clock that stands still. `make` writes
FOLDER/sources, FOLDER/workspace (STEPS), FOLDER/again (REREAD on a copy of the workspace) and FOLDER/golden.json.
`compare` makes both once more in a temporary place: a workspace from the same sources, and REREAD on the old workspace.
Files are compared by their bytes, but for what UNSTEADY names. What steps with --json print is in `shown/`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

import polars as pl

OPEN, LATER, REVEALED, AFTER = (f"2026-{day}:00:00Z" for day in ("07-22T06", "08-20T06", "10-22T06", "10-24T06"))
"""2026Q2 opens; systems are evaluated; its labels are revealed and 2026Q3 opens; two days later."""

DUMP, NOTED, FEED = "source/sample/x-notes", "source/noted", "source/sample/claims/feed.json"
HISTORY = "source/sample/wikipedia-edits/history.xml.bz2"
RETRIEVAL, REPLIES, MUSE = "scifact-retrieval@dev-16-4b2a3513", "claim-responses@dev-16-4b2a3513", "muse-study@94662cc"
SETS = {
    "liar-new": "jsonl", "fever": "jsonl", "fever-v2": "jsonl", "faviq": "jsonl", "averitec": "jsonl",
    "covid-fact": "jsonl", "check-covid": "jsonl", "liar": "tsv", "x-fact": "tsv", "healthver": "csv",
}  # fmt: skip
TASKS = ("x-notes", "x-notes-media", "wikipedia-edits", "claims")

Step = tuple[str, str | Callable[[Path], None]]
"""When, and a command as it was spelled when the golden workspace was made, or what else is done to the workspace."""

RENAMED: dict[str, str] = {
    "agents analyse": "analyse agents",
    "corpus build pool --base small --add others": "corpus import pool small others --name pool",
    "corpus check small": "corpus show small --check",
    "corpus search small 'otters of the hill' --retriever bm25": "corpus show small --search 'otters of the hill'",
    "dataset list": "dataset show",
    "rate agreement": "rate report --kind agreement",
    "rate export": "rate report --export",
    "rate import": "dataset import",
    "rate judges": "rate report --kind judges",
    "rate prepare --edition 2026Q2 --task x-posts": "rate assign --edition 2026Q2 --task x-posts --prepare",
    "rate standings": "rate report --kind standings",
    "report": "analyse all",
    "runs list": "runs show",
    "sample write": "archive sample --to",
}
"""How commands are spelled today: the beginning of a command of STEPS or REREAD (or all of it), and what replaces it.

The longest beginning counts. As in {"rate report": "judge report", "corpus check small": "corpus show small --check"}.
"""


def collected(quarter: str) -> list[Step]:
    moment = OPEN if quarter == "2026Q2" else REVEALED
    sources = {"x-notes": DUMP, "x-notes-media": DUMP, "x-posts": NOTED, "wikipedia-edits": HISTORY}
    steps: list[Step] = [
        (moment, f"collect {task} --quarter {quarter} --dump {path}") for task, path in sources.items()
    ]
    steps.append((moment, f"collect claims --quarter {quarter} --feed {FEED}"))
    steps.append((moment, f"release build --quarter {quarter} --json"))
    return steps


def evaluated(
    edition: str, task: str, regime: str, model: str = "scripted", more: str = "--limit 6 --prompts manual"
) -> str:
    model = "scripted:source/script.toml" if model == "script" else model
    return f"evaluate --edition {edition} --task {task} --regime {regime} --model {model} {more} --json"


def hand_in(workspace: Path) -> None:
    """A submission for all decisions of 2026Q2, with predictions that follow from the samples' ids."""
    folder, rows = workspace / "handed/team/system", []
    for task in TASKS:
        for line in (workspace / f"data/releases/2026Q2/{task}/samples.jsonl").read_text().splitlines():
            key = json.loads(line)["id"]
            number = hashlib.sha256(key.encode()).digest()[0]
            rows.append({"id": key, "label": number % (3 if task == "claims" else 2)})
    folder.mkdir(parents=True)
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "system.toml").write_text(
        'name = "Hashes"\nteam = "Team"\ncontact = "c"\nregime = "other"\nmodels = ["m"]\n'
        'knowledge_cutoff = "unknown"\n'
    )


# {sample} is the first note of 2026Q3 and {run} the run of the search agent.
STEPS: list[Step] = [
    (OPEN, "sample write bundled"),
    *collected("2026Q2"),
    (OPEN, "quarter status --json"),
    # Every regime, while 2026Q2 is open.
    *((LATER, evaluated("2026Q2", task, "zero-shot", "always-yes", more="")) for task in TASKS[:3]),
    *((LATER, evaluated("2026Q2", task, "zero-shot", "coin", more="")) for task in TASKS),
    *((LATER, evaluated("2026Q2", "x-notes", regime, "script"))
      for regime in ("zero-shot", "web-search", "web-search-dated", "placebo")),
    (LATER, evaluated("2026Q2", "x-notes", "search-agent")),
    (LATER, evaluated("2026Q2", "x-notes", "search-agent", more="--limit 4 --set certainty=true")),
    (LATER, evaluated("2026Q2", "wikipedia-edits", "web-search", "script")),
    (LATER, evaluated("2026Q2", "claims", "search-agent")),
    (LATER, evaluated("2026Q2", "x-posts", "correction", "script")),
    (LATER, "evaluate --edition 2026Q2 --task x-notes --model scripted --limit 4 --agent source/agent.py:solve --json"),
    (LATER, evaluated("2026Q2", "x-notes", "web-search", more="--limit 20 --dry-run")),
    (LATER, "sweep --edition 2026Q2 --task x-notes --model scripted --limit 3 --set k=2,1 --json"),
    (LATER, hand_in),
    (LATER, "submission check handed/team/system --edition 2026Q2 --json"),
    (LATER, "submission add handed/team/system --edition 2026Q2 --json"),
    (LATER, "score --edition 2026Q2 --private --json"),
    (LATER, "analyse ranking --edition 2026Q2 --private --json"),
    (LATER, "board build --private"),
    # 2026Q3 opens and 2026Q2 is revealed; a sample is taken down.
    *collected("2026Q3"),
    (REVEALED, "release run --quarter 2026Q2 2026Q3 --models coin tfidf-logreg --no-analyses "
               f"--notes-dump {DUMP} --wiki-dump {HISTORY}"),
    (AFTER, "release takedown {sample} --reason asked --everywhere --json"),
    # Data sets, a corpus with its editions, and a rated study.
    *((AFTER, f"dataset import {name} source/sets/{name}/part.{end} --part --json") for name, end in SETS.items()),
    *((AFTER, evaluated(f"{name}@12", name, "zero-shot", "coin", more=""))
      for name in ("liar-new", "x-fact", "check-covid")),
    (AFTER, "dataset list --json"),
    (AFTER, "corpus import jsonl source/corpus --name small --json"),
    (AFTER, "corpus import jsonl source/others --name others --json"),
    (AFTER, "corpus build pool --base small --add others --size 60 --seed 1 --json"),
    (AFTER, "corpus search small 'otters of the hill' --retriever bm25 --json"),
    (AFTER, "corpus compare small --split dev --retrievers tf-idf,bm25 --runs rankings --json"),
    (AFTER, "corpus freeze small --task scifact-retrieval --split dev --published 2020-01-01 --json"),
    (AFTER, "corpus freeze small --task claim-responses --split dev --published 2020-01-01 --json"),
    (AFTER, evaluated(RETRIEVAL, "scifact-retrieval", "retrieve", "bm25", more="")),
    (AFTER, evaluated(RETRIEVAL, "scifact-retrieval", "retrieve", "tf-idf", more="")),
    (AFTER, evaluated(REPLIES, "claim-responses", "evidence-response", "script",
                      "--prompts manual --set retriever=bm25")),
    (AFTER, "rate import muse source/study --json"),
    (AFTER, "judge --model scripted:source/script.toml --limit 2 --json"),
    (AFTER, evaluated(MUSE, "corrections", "correction", "script", "--set retrieval=false")),
    *((AFTER, f"rate {report} --json") for report in ("report", "standings", "agreement", "judges")),
    (AFTER, "rate export ratings.jsonl"),
    (AFTER, "rate prepare --edition 2026Q2 --task x-posts prepared"),
]  # fmt: skip

# The reading half: it ends STEPS, and is what later code does with a finished workspace.
REREAD: list[Step] = [
    *((AFTER, f"score --edition {edition} --json")
      for edition in ("2026Q2", "liar-new@12", "x-fact@12", "check-covid@12", RETRIEVAL, MUSE)),
    (AFTER, "score --edition 2026Q3 --private --json"),
    (AFTER, "analyse all --edition 2026Q2 --json"),
    (AFTER, "agents analyse --edition 2026Q2 --json"),
    (AFTER, "report --edition 2026Q2"),
    (AFTER, "board build"),
    (AFTER, "board export site"),
    (AFTER, "release publish --to published --json"),
    (AFTER, "release export --edition 2026Q2 --task x-notes --lm-eval harness"),
    (AFTER, "release verify data/releases --submissions submissions "
            "--figure edition=2026Q2,system=coin,task=x-notes,metric=f1,period=all --json"),
    (AFTER, "submission list --edition 2026Q2 --json"),
    (AFTER, "corpus check small --json"),
    (AFTER, "runs list --json"),
    (AFTER, "runs show {run} --json"),
    (AFTER, "runs resume {run} --json"),
    (AFTER, "runs export {run} --format parquet --to exported"),
    (AFTER, "rate report --json"),
    (AFTER, "quarter status --json"),
]  # fmt: skip
DERIVED = ("scores", "judgements", "analyses", "board", "private/scores", "private/judgements", "private/analyses",
           "private/board", "private/receipts")  # fmt: skip
"""Folders of data/ that REREAD makes anew: they are removed before it."""

UNSTEADY: list[tuple[str, tuple[str, ...], str]] = [
    ("*/journal.sqlite", ("number", "latency_s", "sha256"), "order and time of answers; the hash covers both"),
    ("*/web.sqlite", ("at", "sha256"), "when a page was read, by the real clock; the hash covers it"),
    ("data/private/receipts/*board.json", ("key",), "a hash over the journals, which hold times"),
    ("shown/*.json", ("seconds",), "how long the steps of a run took"),
]
"""Files by pattern, what is left out of them (fields of JSON with a line of their own; columns of databases), why."""

MAKERS = """
import sys
from pathlib import Path
from rated_study import write_study
from tests.retrieval.conftest import small_documents, small_queries, write_rows
folder = Path(sys.argv[1])
write_study(folder / "study")
corpus = folder / "corpus"
write_rows(corpus / "documents.jsonl", [{"id": d.id, "title": d.title, "text": d.text} for d in small_documents()])
write_rows(corpus / "queries.jsonl", [query.model_dump() for query in small_queries()])
others = [{"id": str(n), "title": f"Other {n}", "text": f"Something else, number {n}."} for n in range(30)]
write_rows(folder / "others" / "documents.jsonl", others)
(corpus / "qrels").write_text("".join(f"q{n} 0 {d.id} 1\\n" for n, d in enumerate(small_documents())))
"""
"""Makes the study and the corpus of the tests; only `make` needs it, so that later code may move what it imports."""
SCRIPT = """about = "Answers for tests."
[[answers]]
sample = "(?i)(only|never|every|all) "
say = "No. The records say the same."
[[answers]]
sample = "no instruction within them"
say = "That is false [1]: otters come to the river at dawn. Please see what is told."
[[answers]]
sample = "EVIDENCE: none was found"
say = "The post misleads: the records say otherwise."
[[answers]]
sample = "."
say = "Yes. The records say otherwise."
"""
AGENT = """import hellofresh as hf


async def solve(sample, tools):
    found = await tools.search(tools.question[:200])
    pages = [await tools.read(hit.url) for hit in found.results[:2]]
    said = await tools.ask(tools.question)
    return hf.Choice(label=len(said) % 2, sources=tuple(page.url for page in pages))
"""


def environment(code: Path, home: Path, moment: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(code), "HELLOFRESH_NOW": moment, "TZ": "UTC",
        "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "120",
    }  # fmt: skip


def write_sources(folder: Path, code: Path) -> None:
    """What all workspaces are made from: the bundled sample, with pictures on some posts, and small files of tests."""
    environ = environment(code, folder, OPEN)
    folder.mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-m", "hellofresh", "archive", "sample", "--to", "sample"], cwd=folder, env=environ, check=True
    )
    posts = folder / "sample/x-notes/posts.jsonl"
    rows = [json.loads(line) for line in posts.read_text().splitlines()]
    for number, row in enumerate(rows[::3]):
        row["mediaDetails"] = [
            {"type": "photo", "media_url_https": f"https://pbs.example/{number}.jpg", "ext_alt_text": "A tower"}
        ]
    posts.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    write_noted_posts(folder / "sample/x-notes", folder / "noted")
    environ["PYTHONPATH"] += os.pathsep + str(code / "tests/ratings")
    subprocess.run([sys.executable, "-c", MAKERS, str(folder)], cwd=folder, env=environ, check=True)
    (folder / "script.toml").write_text(SCRIPT)
    (folder / "agent.py").write_text(AGENT)
    for name, end in SETS.items():
        place = folder / "sets" / name
        place.mkdir(parents=True)
        (place / f"part.{end}").write_text("".join(line + "\n" for line in data_set(name)))
    abstract = {"cord_id": "abc", "title": "Masks", "abstract": ["One sentence.", "Another one."], "gold": True}
    (folder / "sets/check-covid/corpus.json").write_text(json.dumps(abstract) + "\n")


def write_noted_posts(sample: Path, folder: Path) -> None:
    """A dump of posts of their own, each with a note that is helpful and one that is not, for x-posts."""
    folder.mkdir()
    helpful, rejected = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL"
    first: list[dict[str, str]] = []
    for shard in sorted(sample.glob("notes-*.tsv")):
        with shard.open(newline="") as file:
            first += list(csv.DictReader(file, delimiter="\t"))[::7]
    with (sample / "noteStatusHistory-00000.tsv").open(newline="") as file:
        status = {row["noteId"]: row for row in csv.DictReader(file, delimiter="\t")}
    notes, history, posts = [], [], []
    for number, row in enumerate(first):
        if status[row["noteId"]]["lockedStatus"] not in (helpful, rejected):
            continue
        post = str(int(row["tweetId"]) + 1)
        text = f"Somebody told me that bridge number {number} of this town was built in one night and paid by nobody."
        created = (
            f"{datetime.fromtimestamp(((int(post) >> 22) + 1_288_834_974_657) // 1000, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
        )
        posts.append({"__typename": "Tweet", "id_str": post, "lang": "en", "created_at": created, "text": text})
        for place, said in enumerate((helpful, rejected), start=1):
            key = str(int(row["noteId"]) + place)
            summary = f"The office of bridge {number} says otherwise: https://office.example/{number}/{place}."
            notes.append(row | {"noteId": key, "tweetId": post, "summary": summary})
            old = status[row["noteId"]]
            history.append(
                {name: said if value in (helpful, rejected) else value for name, value in old.items()} | {"noteId": key}
            )
    for name, rows in (("notes", notes), ("noteStatusHistory", history)):
        with (folder / f"{name}-00000.tsv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    (folder / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in posts))


def data_set(name: str) -> Iterator[str]:
    """Twelve invented rows in the form of a frozen data set."""
    binary, stated = ("SUPPORTS", "REFUTES"), ("SUPPORTED", "REFUTED")
    labels = {
        "liar-new": ("pants-fire", "half-true", "true"), "fever": (*binary, "NOT ENOUGH INFO"), "fever-v2": binary,
        "faviq": binary, "averitec": ("Refuted", "Supported"),
        "covid-fact": stated, "check-covid": ("REFUTE", "SUPPORT"), "liar": ("false", "half-true", "true"),
        "x-fact": ("Mostly False", "True"), "healthver": ("Neutral", "Supports"),
    }[name]  # fmt: skip
    if name == "x-fact":
        links = [f"{what}_{n}" for what in ("evidence", "link") for n in range(1, 6)]
        yield "\t".join(["language", "site", *links, "claimDate", "reviewDate", "claimant", "claim", "label"])
    if name == "healthver":
        yield "id,evidence,claim,label,topic_ip,question"
    for n, label in zip(range(12), itertools.cycle(labels), strict=False):
        claim = f"The river of town {n} rose by {n + 2} metres in the spring of {1900 + 7 * n}."
        if name == "liar":
            yield "\t".join([f"{n}.json", label, claim, "roads", "ann", "Mayor", "Ohio", "none", *"01234", "a speech"])
        elif name == "x-fact":
            yield "\t".join(["pt", "checks.example", *[""] * 10, "2020-05-01", "2020-05-03", "None", claim, label])
        elif name == "healthver":
            yield f'{n},"Two, or three, studies.",{claim},{label},3,does tea help'
        else:
            row = {"id": n, "claim": claim, "label": label, "evidence": [[[1, 2, "River", 0]]]}
            own: dict[str, dict[str, object]] = {
                "liar-new": {"example_id": n, "statement": claim, "french": f"Le fleuve {n}.",
                             "date": "October 3, 2022", "possibility_label": "h"},
                "fever-v2": {"attack": "Multihop"},
                "faviq": {"id": f"{n}_a", "positive_evidence": {"id": "1", "title": "River", "text": "..."},
                          "negative_evidence": {"id": "2", "title": "Town", "text": "..."}},
                "averitec": {"claim_date": "31-10-2020", "speaker": None, "reporting_source": "Forum",
                             "fact_checking_article": f"https://www.checks.example/{n}",
                             "claim_types": ["Numerical Claim"],
                             "questions": [{"question": "Which towns?", "answers": []}]},
                "check-covid": {"id": f"{n}_0", "cord_id": "abc", "evidence_set": [], "kind": "composed"},
                "covid-fact": {"evidence": ["One lab did."], "gold_source": f"https://papers.example/{n}",
                               "flair": "Report"},
            }  # fmt: skip
            yield json.dumps({**row, **own.get(name, {})})


def new_workspace(folder: Path, sources: Path) -> None:
    shutil.copytree(sources, folder / "source")
    (folder / "submissions").mkdir()
    (folder / "data/private").mkdir(parents=True, mode=0o700)
    key = folder / "data/private/escrow.key"
    key.write_text("5" * 64 + "\n")
    key.chmod(0o600)


def run_steps(steps: Sequence[Step], workspace: Path, code: Path, *, old: bool) -> list[str]:
    """Run the commands, in their old spelling or today's; the faults."""
    faults = []
    with tempfile.TemporaryDirectory() as home:
        for number, (moment, step) in enumerate(steps, start=1):
            if callable(step):
                step(workspace)
                continue
            spelled = step if old else renamed(step)
            command = shlex.split(spelled.format(**placeholders(workspace, step)))
            began = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "hellofresh", *command], cwd=workspace, text=True, capture_output=True,
                env=environment(code, Path(home), moment), check=False,
            )  # fmt: skip
            print(f"  {time.monotonic() - began:5.1f} s  {shlex.join(command)}", file=sys.stderr)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines()
                faults.append(f"exit code {done.returncode}: {shlex.join(command)}\n    " + "\n    ".join(said[-4:]))
            if "--json" in command:
                place = workspace / "shown" / f"{number:03}.json"
                place.parent.mkdir(exist_ok=True)
                place.write_text(f"{step}\n{done.stdout}")
    return faults


def renamed(command: str) -> str:
    """A command in today's spelling."""
    begins = [old for old in RENAMED if f"{command} ".startswith(f"{old} ")]
    longest = max(begins, key=len, default="")
    return RENAMED.get(longest, "") + command.removeprefix(longest)


def placeholders(workspace: Path, command: str) -> dict[str, str]:
    found = {"sample": "", "run": ""}
    if "{sample}" in command:
        line = (workspace / "data/releases/2026Q3/x-notes/samples.jsonl").read_text().splitlines()[0]
        found["sample"] = json.loads(line)["id"]
    if "{run}" in command:
        found["run"] = min(path.name for path in (workspace / "data/runs").glob("2026Q2_x-notes_search-agent_*"))
    return found


def read_again(workspace: Path, code: Path, *, old: bool) -> list[str]:
    """The reading half on a workspace whose results are removed first."""
    for name in DERIVED:
        shutil.rmtree(workspace / "data" / name, ignore_errors=True)
    for name in ("shown", "site", "published", "harness", "exported"):
        shutil.rmtree(workspace / name, ignore_errors=True)
    return run_steps(REREAD, workspace, code, old=old)


def comparable(root: Path, name: str) -> bytes:
    """What of a file is compared: all of it, or lines of what is steady. The folder's own path counts as WORKSPACE."""
    path = root / name
    for pattern, without, _ in UNSTEADY:
        if fnmatch(name, pattern):
            if name.endswith(".sqlite"):
                return "\n".join(database_rows(path, without)).encode()
            lines = path.read_text().splitlines()
            left_out = tuple(f'"{field}":' for field in without)
            content = "\n".join(line for line in lines if not line.lstrip().startswith(left_out)).encode()
            break
    else:
        content = path.read_bytes()
    return content.replace(str(root).encode(), b"WORKSPACE")


def database_rows(path: Path, without: Sequence[str]) -> Iterator[str]:
    """All rows of all tables in their order of content, but for some columns."""
    with closing(sqlite3.connect(path)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            rows = db.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            kept = [number for number, column in enumerate(names) if column not in without]
            yield from sorted(f"{table} {[(names[number], row[number]) for number in kept]}" for row in rows)


def hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    return {name: hashlib.sha256(comparable(folder, name)).hexdigest() for name in names}


def differences(golden: dict[str, str], before: Path, after: Path) -> Iterator[str]:
    found = hashes(after)
    for name in sorted(golden.keys() | found.keys()):
        if name not in found:
            yield f"missing  {name}"
        elif name not in golden:
            yield f"extra    {name}"
        elif golden[name] != found[name]:
            yield f"differs  {name}\n{first_difference(before, after, name)}"


def first_difference(before: Path, after: Path, name: str) -> str:
    if name.endswith(".parquet"):
        tables = [pl.read_parquet(root / name) for root in (before, after)]
        if tables[0].schema != tables[1].schema:
            return f"    schema: {tables[0].schema}\n    now:    {tables[1].schema}"
        sides = [[f"row {n}: {row}" for n, row in enumerate(table.iter_rows(named=True))] for table in tables]
    else:
        sides = [comparable(root, name).decode(errors="backslashreplace").splitlines() for root in (before, after)]
    for number, (one, two) in enumerate(itertools.zip_longest(*sides, fillvalue="(end)"), start=1):
        if one != two:
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
            shown = slice(max(0, same - 60), same + 180)
            return f"    line {number}, from character {shown.start}: {one[shown]}\n    now: {two[shown]}"
    return "    the same content in other bytes"


def make(folder: Path, code: Path) -> int:
    if folder.exists():
        sys.exit(f"{folder} is there already: name a new folder")
    write_sources(folder / "sources", code)
    workspace, again = folder / "workspace", folder / "again"
    new_workspace(workspace, folder / "sources")
    faults = run_steps([*STEPS, *REREAD], workspace, code, old=True)
    shutil.copytree(workspace, again)
    faults += read_again(again, code, old=True)
    golden = {place.name: hashes(place) for place in (workspace, again)}
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print("\n".join([*faults, f"{sum(map(len, golden.values()))} files, {len(faults)} faults"]))
    return bool(faults)


def compare(folder: Path, code: Path, keep: Path | None, old: bool) -> int:
    golden = json.loads((folder / "golden.json").read_text())
    with tempfile.TemporaryDirectory() as temporary:
        place = keep or Path(temporary)
        new_workspace(place / "workspace", folder / "sources")
        shutil.copytree(folder / "workspace", place / "again")
        with ThreadPoolExecutor(2) as pool:
            again = pool.submit(read_again, place / "again", code, old=old)
            found = run_steps([*STEPS, *REREAD], place / "workspace", code, old=old) + again.result()
        for name, files in golden.items():
            found += [f"{name}: {item}" for item in differences(files, folder / name, place / name)]
    print("\n".join([*found, f"{len(found)} differences"]))
    return bool(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("make", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--code", type=Path, required=True, help="a checkout of the project")
    parser.add_argument("--old", action="store_true", help="compare: the code still has the old spelling of commands")
    parser.add_argument("--keep", type=Path, help="compare: a new folder for what it makes, to look at")
    asked = parser.parse_args()
    folder, code = asked.folder.resolve(), asked.code.resolve()
    where = subprocess.run(
        [sys.executable, "-c", "import hellofresh; print(hellofresh.__file__)"], cwd=folder.parent, text=True,
        env=environment(code, folder, OPEN), stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip
    if not Path(where.strip()).is_relative_to(code):
        sys.exit(f"{sys.executable} imports {where.strip()}, not the code in {code}")
    return (
        make(folder, code)
        if asked.verb == "make"
        else compare(folder, code, asked.keep and asked.keep.resolve(), asked.old)
    )


if __name__ == "__main__":
    sys.exit(main())
