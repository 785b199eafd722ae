"""Every data set is read from files of its authors' form, row for row, and nothing that differs is taken silently."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from collectors.datasets import (
    DATASETS,
    ImportRequest,
    OriginalFile,
    StatementRow,
    fetch_dataset,
    get_dataset,
    import_dataset,
    read_dataset,
    register_dataset,
    task_of,
)
from hellofresh.core.errors import HelloFreshError, ReleaseError, SourceError, UnknownNameError, UsageError
from hellofresh.core.files import read_json, read_jsonl, sha256_file, sha256_text
from hellofresh.core.net.transfer import DownloadPolicy
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_release
from hellofresh.tasks import get_task
from tests.conftest import Cli
from tests.fakes import contents, fails_with, refused

LIAR = ["7.json", "false", 'The "Bridge Act closed nine bridges.', "roads", "ann-example", "Mayor", "Ohio", "none"]
ROWS = {item["name"]: item["row"] for item in read_jsonl(Path(__file__).with_name("rows.jsonl"))}
"""By data set, an invented row in its authors' form."""
X_FACT = ["pt", "checks.example", *[""] * 10, "2020-05-01", "2020-05-03", "None", "Nove pontes caíram.", "Mostly False"]
X_HEADER = ["language", "site", *[f"evidence_{n}" for n in range(1, 6)], *[f"link_{n}" for n in range(1, 6)]]
X_HEADER += ["claimDate", "reviewDate", "claimant", "claim", "label"]


def write(folder: Path, name: str, lines: Sequence[str]) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def invented(folder: Path, name: str) -> Path:
    if name == "liar":
        return write(folder, "part.tsv", ["\t".join([*LIAR, "0", "1", "2", "3", "4", "a speech"])])
    if name == "x-fact":
        return write(folder, "part.tsv", ["\t".join(X_HEADER), "\t".join(X_FACT)])
    if name == "healthver":
        row = '7,"Two, or three, studies.",Tea cures colds,Neutral,3,does tea help'
        return write(folder, "part.csv", ["id,evidence,claim,label,topic_ip,question", row])
    if name == "check-covid":
        abstract = {"cord_id": "abc", "title": "Masks", "abstract": ["One sentence.", "Another one."], "gold": True}
        write(folder, "corpus.json", [json.dumps(abstract)])
    return write(folder, "part.jsonl", [json.dumps(ROWS[name])])


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_row_of_each_form_is_read_and_counted(name: str, tmp_path: Path) -> None:
    found = read_dataset(get_dataset(name), invented(tmp_path, name), part=True)
    (row,) = found.rows
    assert row.statement and row.label in get_dataset(name).labels
    assert found.labels == {label: int(label == row.label) for label in get_dataset(name).labels}
    assert "were not compared" in found.warnings[0]


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_copy_under_gzip_reads_the_same(name: str, tmp_path: Path) -> None:
    plain = invented(tmp_path, name)
    packed = plain.with_name(f"{plain.name}.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    dataset = get_dataset(name)
    assert read_dataset(dataset, packed, part=True).rows == read_dataset(dataset, plain, part=True).rows


FIELDS = {
    "liar": {"statement": LIAR[2], "speaker": "ann example", "context": "a speech", "key": "7"},  # quotes are text
    "check-covid": {"evidence": ("One sentence.", "Another one."), "group": "document abc"},  # its label is about it
    "averitec": {"day": date(2020, 10, 31)},
    "x-fact": {"language": "pt", "label": "mostly false", "day": date(2020, 5, 1), "speaker": ""},
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_read_and_normalised(name: str, tmp_path: Path) -> None:
    (row,) = read_dataset(get_dataset(name), invented(tmp_path, name), part=True).rows
    assert {field: getattr(row, field) for field in FIELDS[name]} == FIELDS[name]
    # Behind the prefix of an archive.
    assert name != "averitec" or row.facts["publisher"] == "checks.example"


def test_the_french_statements_are_a_second_language(tmp_path: Path) -> None:
    path = invented(tmp_path, "liar-new")
    (french,) = read_dataset(get_dataset("liar-new"), path, part=True, language="fr").rows
    (english,) = read_dataset(get_dataset("liar-new"), path, part=True).rows
    assert french.statement.startswith("Le fleuve") and french.language == "fr"
    assert (french.key, french.label, french.facts) == (english.key, english.label, english.facts)
    assert english.day == date(2022, 10, 3) and english.facts["possibility"] == "hard"
    with pytest.raises(UnknownNameError):
        read_dataset(get_dataset("liar-new"), path, part=True, language="de")


def test_rows_with_one_key_stay_apart(tmp_path: Path) -> None:
    path = write(tmp_path, "part.jsonl", [json.dumps(ROWS["covid-fact"])] * 3)
    found = read_dataset(get_dataset("covid-fact"), path, part=True)
    key = found.rows[0].key
    assert [row.key for row in found.rows] == [key, f"{key}-2", f"{key}-3"]
    assert len({row.group for row in found.rows}) == 1
    assert found.warnings[-1] == "2 rows have the key of an earlier row; a number was added to their keys."


TWO = OriginalFile(name="a.jsonl", rows=2, labels={"false": 1, "true": 1})


@pytest.mark.parametrize(
    ("original", "labels", "differences"),
    [
        (TWO, "false true", ""),
        (TWO, "false", "1 rows instead of 2; 0 rows with 'true' instead of 1"),
        (TWO, "false false", "2 rows with 'false' instead of 1; 0 rows with 'true' instead of 1"),
        (TWO, "false true half-true", "3 rows instead of 2"),
        (
            replace(TWO, rows=None, labels={}),
            "false",
            "counts are not known here, so its 1 rows were not compared",
        ),
    ],
)
def test_rows_and_labels_are_compared_with_the_originals(
    original: OriginalFile, labels: str, differences: str, tmp_path: Path
) -> None:
    rows = [StatementRow(key=f"k{n}", statement="said", label=label) for n, label in enumerate(labels.split())]
    dataset = replace(get_dataset("liar-new"), files=(original,), read=lambda *_: iter(rows))
    path = write(tmp_path, "a.jsonl", ["any"])
    found = read_dataset(dataset, path, part=True).warnings
    if original.rows is None or not differences:
        assert read_dataset(dataset, path).warnings == found
        assert differences in found[0] if differences else not found
    else:
        assert found == [f"a.jsonl differs from the original: {differences}."]
        said = refused("other-counts", read_dataset, dataset, path)
        assert f"not the original: {differences}" in said and "a.jsonl" in said


def test_a_file_of_another_name_is_not_taken_as_an_original(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no file of fever has this name"):
        read_dataset(get_dataset("fever"), invented(tmp_path, "fever"))
    with pytest.raises(SourceError, match="no file of fever"):
        read_dataset(get_dataset("fever"), tmp_path)


@pytest.mark.parametrize(("name", "field"), [("fever", "attack"), ("fever-v2", "verifiable")])
def test_a_file_of_fever_is_not_taken_for_one_of_fever_2(name: str, field: str, tmp_path: Path) -> None:
    row = {"id": 7, "label": "SUPPORTS", "claim": "Basalt is a rock.", "evidence": [], field: "any"}
    path = tmp_path / get_dataset(name).files[0].name
    path.write_text(json.dumps(row))
    refused("other-dataset", read_dataset, get_dataset(name), path, part=True)


BROKEN = {
    "not JSON": b'{"id": 7, "claim": ',
    "a number for an object": b"7",
    "no claim": b'{"id": 7, "label": "SUPPORTS", "evidence": []}',
    "an empty claim": b'{"id": 7, "label": "SUPPORTS", "claim": " ", "evidence": []}',
    "an unknown label": b'{"id": 7, "label": "MAYBE", "claim": "a", "evidence": []}',
    "evidence of another form": b'{"id": 7, "label": "SUPPORTS", "claim": "a", "evidence": [7]}',
    "half a surrogate pair": b'{"id": 7, "label": "SUPPORTS", "claim": "\\ud800", "evidence": []}',
    "a repeated key": b'{"id": 7, "id": 8, "label": "SUPPORTS", "claim": "a", "evidence": []}',
    "not a number": b'{"id": NaN, "label": "SUPPORTS", "claim": "a", "evidence": []}',
    "deep nesting": b"[" * 100_000,
    "not UTF-8": b'{"id": 7, "claim": "\xff"}',
    "torn gzip": gzip.compress(b'{"id": 7}' * 1000)[:40],
    "a line of 5 MB": b'{"id": "' + b"a" * 5_000_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_an_error_with_a_name_and_a_place(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "paper_dev.jsonl"
    path.write_bytes(content)
    with pytest.raises(HelloFreshError) as error:
        read_dataset(get_dataset("fever"), path, part=True)
    assert error.value.code != "error" and "paper_dev.jsonl" in error.value.where


@pytest.mark.parametrize("row", ["7\tfalse\ttoo few", "\t".join([*LIAR[:1], "maybe", *LIAR[2:], *"01234", "x"])])
def test_broken_rows_of_tables_are_named(row: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"part\.tsv line 1"):
        read_dataset(get_dataset("liar"), write(tmp_path, "part.tsv", [row]), part=True)


def test_an_open_quote_swallows_no_rows_silently(tmp_path: Path) -> None:
    rows = ["id,evidence,claim,label,topic_ip,question", '7,"open,Tea,Neutral,3,q', "8,closed,Tea,Neutral,3,q"]
    refused("bad-csv", read_dataset, get_dataset("healthver"), write(tmp_path, "part.csv", rows), part=True)


REAL = {
    "liar": ("liar", False, {"pants-fire": 958, "false": 2261, "barely-true": 1894, "half-true": 2371}),
    "liar-new": ("liar_new/liar_new.jsonl.gz", True, {"false": 534, "pants-fire": 180, "half-true": 73, "true": 23}),
    "fever": ("fever_v1/fever_paper_dev.jsonl.gz", True, {"NOT ENOUGH INFO": 665, "REFUTES": 668, "SUPPORTS": 668}),
    "fever-v2": ("fever_v2/fever2_dev_part.jsonl.gz", True, {"NOT ENOUGH INFO": 83, "REFUTES": 83, "SUPPORTS": 84}),
    "averitec": ("averitec/averitec_dev.jsonl.gz", True, {"Refuted": 152, "Supported": 57, "Not Enough Evidence": 17}),
    "check-covid": ("check_covid", False, {"NOTENOUGHINFO": 419, "REFUTE": 428, "SUPPORT": 428}),
    "healthver": ("healthver", False, {"Neutral": 993, "Refutes": 391, "Supports": 533}),
    "post-domains": ("muse/tweets.jsonl.gz", True, {"Politics & international affairs": 53, "Other": 13}),
    "covid-fact": ("covid_fact/covidfact.jsonl.gz", True, {"REFUTED": 1670, "SUPPORTED": 774}),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(REAL))
def test_real_rows_have_exactly_the_label_counts_that_are_stated(name: str, shared_data: Path) -> None:
    where, part, stated = REAL[name]
    found = read_dataset(get_dataset(name), shared_data / where, part=part)
    assert {label: found.labels[label] for label in stated} == stated
    assert sum(found.labels.values()) == len(found.rows) == len({row.key for row in found.rows})


@pytest.mark.integration
def test_attacks_and_possibilities_of_real_rows_are_those_stated(shared_data: Path) -> None:
    new = read_dataset(get_dataset("liar-new"), shared_data / REAL["liar-new"][0], part=True)
    kinds = [row.facts["possibility"] for row in new.rows]
    assert [kinds.count(kind) for kind in ("possible", "hard", "impossible")] == [462, 290, 226]
    second = read_dataset(get_dataset("fever-v2"), shared_data / REAL["fever-v2"][0], part=True)
    attacks = [row.facts["attack"] for row in second.rows]
    assert (attacks.count("Multihop"), attacks.count("date manipulation")) == (74, 71)


@pytest.mark.integration
def test_real_files_have_the_hashes_that_downloads_are_pinned_by(shared_data: Path) -> None:
    for name, folder in (("liar", "liar"), ("healthver", "healthver")):
        for original in get_dataset(name).files:
            if original.sha256:
                content = gzip.decompress((shared_data / folder / f"{original.name}.gz").read_bytes())
                assert sha256_text(content.decode()) == original.sha256


@pytest.fixture
def url(tmp_path: Path, serve: Callable[..., str]) -> str:
    folder = tmp_path / "served"
    folder.mkdir()
    return f"{serve(folder)}/a.jsonl"


def test_a_download_is_checked_and_kept(url: str, tmp_path: Path) -> None:
    served = tmp_path / "served" / "a.jsonl"
    served.write_text("content")
    before = OriginalFile(name="0.jsonl", url="http://nowhere.invalid", sha256=sha256_text("kept"))
    write(tmp_path, before.name, []).write_text("kept")
    file = OriginalFile(name="a.jsonl", url=url, sha256=sha256_text("content"))
    unknown = OriginalFile(name="b.jsonl", url=url), OriginalFile(name="c.jsonl", sha256=file.sha256)
    dataset = replace(get_dataset("fever"), name="small", licence="MIT", files=(before, file, *unknown), tasks={})
    kept, path = fetch_dataset(dataset, tmp_path, progress=lambda _: None)
    assert (kept.read_text(), sha256_file(path)) == ("kept", sha256_text("content"))
    served.unlink()
    assert fetch_dataset(dataset, tmp_path, progress=lambda _: None) == [kept, path]
    path.unlink()
    with pytest.raises(SourceError, match="the file no longer exists"):
        fetch_dataset(dataset, tmp_path, progress=lambda _: None)
    served.write_text("another")
    policy = DownloadPolicy(attempts=1)
    with pytest.raises(SourceError, match="SHA-256"):
        fetch_dataset(dataset, tmp_path, progress=lambda _: None, policy=policy)
    assert not path.exists()


def test_where_no_hash_is_known_the_authors_address_is_named(tmp_path: Path) -> None:
    with fails_with("no-download", "MitigateMisinfo"):
        fetch_dataset(get_dataset("liar-new"), tmp_path, progress=lambda _: None)


def test_a_data_set_from_outside_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(get_dataset("fever"), name="own-set")
    monkeypatch.setitem(DATASETS, own.name, own)
    register_dataset(own)
    assert get_dataset("own-set") is own
    refused("dataset-exists", register_dataset, replace(own, title="Another"))
    del DATASETS["own-set"]
    register_dataset(own)
    assert get_dataset("own-set") is own


# --- An import is the same bytes everywhere, has the data set's own skew, and is scored as anybody would score it.


LABELS = ["false"] * 6 + ["pants-fire"] * 2 + ["half-true", "true", "mostly-true", "barely-true"]
PART = ImportRequest(part=True)


def rows(folder: Path, count: int = 60, *, backwards: bool = False) -> Path:
    made = [
        {
            "example_id": number,
            "statement": f"The town of number {number} has {number % 7} bridges.",
            "french": f"La ville numéro {number} a {number % 7} ponts.",
            "date": f"October {1 + number % 28}, 2022",
            "label": LABELS[number % len(LABELS)],
            "possibility_label": "phi"[number % 3],
        }
        for number in range(count)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "rows.jsonl"
    ordered = made[::-1] if backwards else made
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered), encoding="utf-8")
    return path


def test_two_machines_import_the_same_bytes(tmp_path: Path) -> None:
    for place in ("a", "b"):
        import_dataset(Workspace(tmp_path / place), get_dataset("liar-new"), rows(tmp_path / f"rows {place}"), PART)
    assert contents(tmp_path / "a" / "releases") == contents(tmp_path / "b" / "releases")


def test_the_order_of_rows_changes_no_sample(tmp_path: Path) -> None:
    found = []
    for place, backwards in (("a", False), ("b", True)):
        path = rows(tmp_path / f"rows {place}", backwards=backwards)
        request = ImportRequest(part=True, size=20)
        done, _ = import_dataset(Workspace(tmp_path / place), get_dataset("liar-new"), path, request)
        found.append([sha256_file(done.folder / name) for name in ("samples.jsonl", "labels.jsonl")])
    assert found[0] == found[1]


def test_six_labels_become_two_and_stay_known(tmp_path: Path) -> None:
    done, _ = import_dataset(Workspace(tmp_path / "w"), get_dataset("liar-new"), rows(tmp_path), PART)
    assert (str(done.edition), done.labels) == ("liar-new@60", (45, 15))
    six, _ = import_dataset(
        Workspace(tmp_path / "w6"), get_dataset("liar-new"), rows(tmp_path), replace(PART, labels="six")
    )
    assert len(six.labels) == 6 and (sum(six.labels[:3]), sum(six.labels[3:])) == done.labels
    facts = list(read_jsonl(done.folder / "labels.jsonl"))
    assert Counter(row["original_label"] for row in facts) == Counter(LABELS[n % 12] for n in range(60))
    assert {row["possibility"] for row in facts} == {"possible", "hard", "impossible"}


def test_a_draw_records_its_seed_size_and_skew(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    request = ImportRequest(part=True, size=24, seed="other")
    done, _ = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), request)
    parameters = read_json(done.folder / "manifest.json")["collection"]["parameters"]
    assert (parameters["size"], parameters["seed"]) == (24, "other")
    assert sum(parameters["samples_by_label"].values()) == 24 and sum(parameters["rows_by_label"].values()) == 60
    with pytest.raises(ReleaseError, match="a version is never rewritten"):
        import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=24))
    again = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), request)[0]
    assert again.skipped
    for size in (0, 61):
        with pytest.raises(UsageError, match=f"a sample of {size}"):
            import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=size))
    one, _ = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=1))
    assert (str(one.edition), one.samples) == ("liar-new@1", 1)


GROUP = "topic " + "x" * 74


@pytest.mark.parametrize("texts", [True, False])
def test_rows_become_samples_with_safe_names_groups_and_days(texts: bool, tmp_path: Path) -> None:
    """Texts are there even if the licence withholds them, where the task has no form without texts."""
    known = {"group": GROUP, "day": date(2020, 5, 1), "speaker": "Ann", "context": "a fair"}
    found = [
        StatementRow(key="plain.7", statement="One Bridge.", label="true", **known),
        StatementRow(key="odd/key", statement="Two Bridges.", label="false", group=GROUP + "x"),
        StatementRow(key="third", statement="THREE Bridges.", label="false"),
    ]
    dataset = replace(get_dataset("liar-new"), read=lambda *_: iter(found), texts=texts)
    path = tmp_path / "any.jsonl"
    path.write_text("any")
    done, _ = import_dataset(Workspace(tmp_path / "w"), dataset, path, PART)
    samples = {row["statement"]: row for row in read_jsonl(done.folder / "samples.jsonl")}
    fields = ("id", "group", "date", "speaker", "context", "license", "edition")
    published = f"{dataset.published}T00:00:00Z"
    rest = (dataset.licence, "liar-new@3")
    assert {said: tuple(row[name] for name in fields) for said, row in samples.items()} == {
        "One Bridge.": ("ln-plain.7", GROUP, "2020-05-01T00:00:00Z", "Ann", "a fair", *rest),
        "Two Bridges.": (
            f"ln-{sha256_text('odd/key')[:16]}", f"topic {sha256_text(GROUP + 'x')[:16]}", published, "", "", *rest
        ),
        "THREE Bridges.": ("ln-third", f"statement {sha256_text('three bridges.')[:16]}", published, "", "", *rest),
    }  # fmt: skip


def test_french_is_a_version_of_its_own_with_the_same_samples(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    for language in ("", "fr"):
        import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, language=language))
    released = dict(map(reversed, ((task, str(edition)) for edition, task in workspace.released())))
    assert set(released) == {"liar-new@60", "liar-new@60-fr"}
    (english, task), (french, _) = ((edition, get_task(name)) for edition, name in workspace.released())
    one, two = (load_release(workspace, edition, task).samples for edition in (english, french))
    assert [sample.id for sample in one] == [sample.id for sample in two]
    assert one[0].statement != two[0].statement  # type: ignore[attr-defined]


def test_every_data_set_has_its_tasks_and_no_label_without_a_class() -> None:
    for dataset in DATASETS.values():
        for name, classes in dataset.tasks.items():
            task = get_task(name)
            assert set(classes) <= set(dataset.labels) and set(classes.values()) == set(range(len(task.classes)))
            assert task.track == "statements" and task.headline.name == "macro_f1"
            assert dataset.texts == (task.public_type is None)
        assert task_of(dataset, "full").name == dataset.name
    with pytest.raises(UnknownNameError, match="labels= of averitec"):
        task_of(get_dataset("averitec"), "binary")


def test_the_commands_list_import_and_show(place: Path, cli: Cli) -> None:
    path = rows(place)
    assert "other-file" in cli("dataset", "import", "liar-new", path, code=1)
    assert cli.json("dataset", "import", "liar-new", path, "--part", "--sample", "12")["edition"] == "liar-new@12"
    assert "Licence: MIT" in cli.err
    imported = cli.json("dataset", "show", "liar-new")["imported"]
    assert imported == [{"edition": "liar-new@12", "task": "liar-new"}]
    assert {row["name"] for row in cli.json("dataset", "show")} == set(DATASETS)
    cli("dataset", "import", "liar-new", code=1)
    cli("dataset", "import", "nothing", code=2)
    cli("dataset", "import", "liar-new", path, "--set", "classes=2", code=2)
    cli("release", "verify")
