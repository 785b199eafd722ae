"""Ratings of publishers are read from a user's file, and hold for a domain and what is below it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hellofresh.core.errors import SourceError
from hellofresh.evidence.publishers import Publisher, import_publishers, load_publishers, read_lists, read_publishers

GOOD = "domain,bias,factuality,quality\nwww.One.example,-2,high,0.9\ntwo.example,right-center,,\nhttps://three.example/x,,0.4,\n"


@pytest.fixture
def file(tmp_path):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "ratings.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_rating_holds_for_a_domain_and_its_subdomains(file) -> None:
    publishers = read_publishers(file(GOOD))
    one = Publisher("one.example", -2.0, 0.8, 0.9)
    for url in ("https://one.example/a", "http://www.one.example", "https://news.one.example/b?c"):
        assert publishers.of(url) == one
    assert publishers.of("https://two.example/") == Publisher("two.example", 1.0, None, None)
    assert publishers.of("https://three.example/y") == Publisher("three.example", None, 0.4, None)
    for url in ("https://else.example/one.example", "https://notone.example/", "one", "", "mailto:a@one.example"):
        assert publishers.of(url) is None


def test_the_nearest_rating_counts(file) -> None:
    publishers = read_publishers(file("domain,quality\none.example,0.1\nnews.one.example,0.9\n"))
    assert publishers.of("https://a.news.one.example/").quality == 0.9
    assert publishers.of("https://a.one.example/").quality == 0.1


def test_ratings_stay_in_the_workspace_until_others_are_imported(file, make) -> None:
    workspace = make.workspace()
    assert load_publishers(workspace).of("https://one.example/") is None
    first = import_publishers(workspace, file(GOOD))
    assert load_publishers(workspace) == first
    import_publishers(workspace, file("domain,quality\nfour.example,1\n"))
    assert list(load_publishers(workspace).rated) == ["four.example"]


def test_a_damaged_table_says_what_to_do(file, make) -> None:
    workspace = make.workspace()
    import_publishers(workspace, file(GOOD))
    (workspace.root / "publishers.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="dataset import publishers"):
        load_publishers(workspace)


@pytest.mark.parametrize("character", "\u2028\u2029\x85")
def test_a_line_of_json_ends_at_its_line_break_only(file, character: str) -> None:
    row = f'{{"domain": "one.example", "name": "a{character}b", "bias": "-2"}}'
    assert set(read_publishers(file(f"{row}\n")).rated) == {"one.example"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "domain\n",
        "site\none.example\n",
        "domain,bias\none.example,4\n",
        "domain,bias\none.example,purple\n",
        "domain,quality\none.example,1.1\n",
        "domain,quality\none.example,nan\n",
        "domain\nnot a domain\n",
        'domain\n"one.example\n',
        "{}\n",
        '{"domain": "one.example"\n',
        "{}[]\n",
        b"\xff\xfe\x00",
    ],
)
def test_a_faulty_file_is_refused_and_leaves_nothing(file, make, text) -> None:
    workspace = make.workspace()
    with pytest.raises(SourceError) as caught:
        import_publishers(workspace, file(text))
    assert caught.value.code == "bad-publishers"
    assert not (workspace.root / "publishers.parquet").exists()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "columns", "at_least"),
    [
        ("domain_pc1.csv", {"quality": "pc1"}, 11_000),
        ("cred1_current.csv", {"quality": "credibility_score"}, 2_600),
        ("wikipedia_perennial_sources.jsonl", {"domain": "domains", "factuality": "status"}, 700),
    ],
)
def test_public_ratings_can_be_imported(file, shared_data: Path, name: str, columns, at_least: int) -> None:
    content = gzip.decompress((shared_data / "ratings" / f"{name}.gz").read_bytes())
    publishers = read_publishers(file(content), columns)
    assert len(publishers.rated) >= at_least


@pytest.mark.parametrize(
    ("bias", "factuality", "priority"),
    [
        ("least biased", "very high", "high"),
        ("Pro-Science", "VERY HIGH", "high"),
        ("left-center", "very high", "medium"),
        ("right-center bias", "high", "medium"),
        ("least biased", "mostly factual", "low"),
        ("", "very high", "medium"),
        ("", "mostly factual", "low"),
        ("left", "very high", None),
        ("least biased", "mixed", None),
        ("least biased", "", None),
        ("satire", "very high", None),
        ("questionable source", "high", None),
        ("conspiracy-pseudoscience", "", None),
    ],
)
def test_the_priority_of_a_source_follows_from_its_rating(file, bias: str, factuality: str, priority) -> None:
    publishers = read_publishers(file(f"domain,bias,factuality\na.example,{bias},{factuality}\n"))
    assert publishers.of("https://a.example/").priority == priority


def test_a_category_forbids_a_source_whatever_list_it_stands_in(file, tmp_path: Path) -> None:
    ratings = read_publishers(file("domain,category\na.example,satire\nb.example,reliable\nc.example,fake\n"))
    listed = tmp_path / "high.txt"
    listed.write_text("# the best\na.example\nb.example\nhttps://www.c.example\n\nno domain!\n")
    found = read_lists({"high": listed}, ratings)
    assert [found.of(f"https://{name}.example/").priority for name in "abc"] == [None, "high", None]
    assert found.left_out == ("no domain!",)


def test_of_a_domain_in_several_lists_the_highest_counts_and_ratings_are_kept(file, make, tmp_path: Path) -> None:
    for name, text in (("high", "a.example"), ("medium", "a.example\nb.example"), ("low", "b.example\nc.example")):
        (tmp_path / name).write_text(text)
    workspace = make.workspace()
    lists = {name: tmp_path / name for name in ("high", "medium", "low")}
    found = import_publishers(workspace, file("domain,quality\nc.example,0.5\nd.example,0.1\n"), None, lists)
    assert load_publishers(workspace) == found
    assert {name: item.priority for name, item in found.rated.items()} == {
        "a.example": "high", "b.example": "medium", "c.example": "low", "d.example": None,
    }  # fmt: skip
    assert found.rated["c.example"].quality == 0.5


def test_lists_without_a_domain_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(SourceError, match="no domains"):
        read_lists({"low": tmp_path / "empty"})


@pytest.mark.integration
def test_the_lists_of_the_released_study_are_read_whole(shared_data: Path, tmp_path: Path) -> None:
    sizes = {"high": 118, "medium": 2_123, "low": 204}
    for name in sizes:
        packed = (shared_data / "muse" / f"publisher_priority_{name}.txt.gz").read_bytes()
        (tmp_path / name).write_bytes(gzip.decompress(packed))
    found = read_lists({name: tmp_path / name for name in sizes})
    assert len(found.left_out) == 1  # one line is a name, not a domain
    for name, size in sizes.items():
        alone = read_lists({name: tmp_path / name}).rated
        assert size - 1 <= len(alone) <= size
        assert {item.priority for item in alone.values()} == {name}
    assert found.of("https://www.reuters.com/x").priority == "high" and found.of("https://facebook.com/y") is None


def test_a_part_of_a_site_is_listed_alone(tmp_path: Path) -> None:
    listed = tmp_path / "low.txt"
    listed.write_text("one.example/news\nwww.two.example/A/b/\n")
    found = read_lists({"low": listed})
    for url in ("https://one.example/news", "http://www.one.example/news/2023?x=1", "https://two.example/a/B/c"):
        assert found.of(url).priority == "low"
    for url in (
        "https://one.example/",
        "https://one.example/newsroom",
        "https://two.example/a",
        "https://one.example/x/news",
    ):
        assert found.of(url) is None
