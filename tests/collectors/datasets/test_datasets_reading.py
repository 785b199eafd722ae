"""Every data set is read from files of its authors' form, row for row, and nothing that differs is taken silently."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from collectors.datasets import (
    DATASETS,
    OriginalFile,
    StatementRow,
    fetch_dataset,
    get_dataset,
    read_dataset,
    register_dataset,
)
from hellofresh.core.errors import HelloFreshError, SourceError, UnknownNameError
from hellofresh.core.files import read_jsonl, sha256_file, sha256_text
from hellofresh.core.net.transfer import DownloadPolicy
from tests.fakes import fails_with, refused

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
    assert found.warnings[-1] == "2 rows have the key of an earlier row; their keys got a number."


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
    with pytest.raises(SourceError, match="no such file any more"):
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
