"""Pages found by a picture: the same publishers and the same bound hold for them as for those found by words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.evidence.publishers import Publisher, Publishers
from hellofresh.evidence.web import Found, SearchResult
from hellofresh.runs.regimes.correction import OPENINGS
from hellofresh.tasks.images import Image
from hellofresh.tasks.transcripts import ReadEvent, SearchedEvent
from tests.regimes.correction import conftest as desk

TEXT = "The picture is from a film set, and the bridge stands as it did before."
PICTURE = "https://pics.example/0.jpg"


def world(by_picture: Mapping[str, Sequence[str]], pages: Mapping, **more):
    """A web that finds pages by pictures too; where an address has none, its search breaks."""

    @dataclass
    class PictureWorld(desk.World):
        searched_pictures: list[str] = field(default_factory=list)
        searches_images: bool = True
        page_pictures: Mapping[str, Sequence[bytes]] = field(default_factory=dict)

        async def search_image(self, address: str) -> Found:
            self.searched_pictures.append(address)
            await asyncio.sleep(0)
            if address not in by_picture:
                raise ValueError("broken")
            urls = by_picture[address]
            return Found([SearchResult(url, "A title", "", None, n) for n, url in enumerate(urls, start=1)])

        async def pictures(self, url: str) -> Sequence[bytes]:
            return self.page_pictures.get(url, ())

    answers = {"queries": "one query", "evidence-": f"REFUTES: {TEXT}", "respond": f"{OPENINGS[0]}: no."}
    return PictureWorld(pages=pages, answers=answers, **more)


def dropped(outcome) -> dict[str, str]:
    return {event.url: event.dropped for event in outcome.events if isinstance(event, ReadEvent)}


def test_publishers_and_bound_hold_for_pages_found_by_a_picture() -> None:
    good, late = (f"https://{name}.example/p" for name in ("atlas", "herald"))
    found = [good, late, "https://nobody.example/p", "https://satire.example/p", "https://x.com/p", good]
    pages = {good: desk.page(good, TEXT), late: desk.page(late, TEXT, "2023-05-11")}
    there = world({PICTURE: found}, pages)
    outcome = desk.solved(there, desk.post("Look!", "a bridge"))
    assert dropped(outcome) == {
        good: "twice", late: "after", "https://nobody.example/p": "unrated",
        "https://satire.example/p": "satire", "https://x.com/p": "excluded",
    }  # fmt: skip
    assert there.read_urls == [good, late]
    searches = [event for event in outcome.events if isinstance(event, SearchedEvent)]
    assert [(event.query, event.results) for event in searches] == [("one query", 0), ("(picture 1)", 6)]


def test_one_page_by_words_and_one_by_picture_are_used_of_each_priority() -> None:
    words = [f"https://atlas.example/w{n}" for n in range(3)]
    pictured = [f"https://atlas.example/p{n}" for n in range(3)]
    pages = {url: desk.page(url, f"{TEXT} {url[-2:]}") for url in words + pictured}
    there = world({PICTURE: pictured}, pages, results=words)
    outcome = desk.solved(there, desk.post("Look!", "a bridge"))
    assert [url for url, why in dropped(outcome).items() if not why] == [words[0], pictured[0]]
    more = desk.solved(
        world({PICTURE: pictured}, pages, results=words), desk.post("Look!", "a bridge"), "pages_image=0"
    )
    assert [url for url, why in dropped(more).items() if not why] == [words[0]]


@dataclass
class Likeness:
    """Knows how alike pictures are by their names."""

    pictures: Sequence[bytes]

    def similarity(self, content: bytes) -> float | None:
        return {b"the same": 0.6, b"another": 0.05}.get(content)


@pytest.mark.parametrize("settings", [(), ("image_similarity=0",), ("image_similarity=0.7",)])
def test_a_page_whose_pictures_are_others_is_left_out(monkeypatch, settings) -> None:
    monkeypatch.setattr("hellofresh.runs.regimes.correction.PictureMatcher", Likeness)
    shown = {"same": [b"another", b"the same"], "other": [b"another", b""], "blank": [b""], "none": []}
    urls = {name: f"https://atlas.example/{name}" for name in shown}
    there = world(
        {PICTURE: list(urls.values())}, {url: desk.page(url, f"{TEXT} {url}") for url in urls.values()},
        page_pictures={urls[name]: contents for name, contents in shown.items()},
    )  # fmt: skip
    images = [Image("image/jpeg", "0" * 64, 9, 9, b"the post's", PICTURE)]
    post = desk.post("Look!", "a bridge")
    outcome = desk.solved(there, post, "pages_image=9", "ocr=off", *settings, images=images)
    others = {(): {"other"}, ("image_similarity=0",): set(), ("image_similarity=0.7",): {"same", "other"}}[settings]
    assert dropped(outcome) == {url: "other-picture" if name in others else "" for name, url in urls.items()}
    compared = [event.values for event in outcome.events if event.kind == "noted" and event.name == "compared"]
    assert compared == ([{"similarities": [0.6, 0.05]}] if settings != ("image_similarity=0",) else [])


def test_no_more_links_of_a_picture_are_looked_at_than_the_setting_says() -> None:
    pictured = [f"https://atlas.example/p{n}" for n in range(60)]
    there = world({PICTURE: pictured}, {})
    outcome = desk.solved(there, desk.post("Look!", "a bridge"), "image_links=7")
    assert len(dropped(outcome)) == 7


def test_a_search_that_breaks_or_is_not_configured_changes_nothing_else() -> None:
    url = "https://atlas.example/w"
    pages = {url: desk.page(url, TEXT)}
    post = desk.post("Look!", "a bridge", "a river")
    broken = desk.solved(world({PICTURE: []}, pages, results=[url]), post)
    problems = [event.problem for event in broken.events if isinstance(event, SearchedEvent)]
    assert problems == ["", "", "the search failed (ValueError)"]
    without = desk.solved(world({}, pages, results=[url], searches_images=False), post)
    assert [event.query for event in without.events if isinstance(event, SearchedEvent)] == ["one query"]
    assert broken.outputs == without.outputs


def test_only_pictures_with_an_address_are_searched_for_and_only_with_vision() -> None:
    from dataclasses import replace

    post = desk.post("Look!", "a", "b")
    local = replace(post, media=(replace(post.media[0], address="attached-1"), post.media[1]))
    there = world({}, {}, parameters={"provider": "brave", "images_images": "serpapi"})
    (noted,) = (e.values for e in desk.solved(there, local).events if e.kind == "noted" and e.name == "not-searched")
    assert noted["pictures"] == 1 and noted["problem"].startswith("serpapi takes no upload")
    assert there.searched_pictures == ["https://pics.example/1.jpg"]
    blind = world({}, {})
    desk.solved(blind, post, "vision=false")
    assert blind.searched_pictures == []


def test_a_search_by_picture_is_narrowed_by_the_first_query_if_asked() -> None:
    there = world({}, {})
    there.search_image = lambda address, query="": there.searched_pictures.append((address, query)) or nothing()

    async def nothing() -> Found:
        return Found(())

    desk.solved(there, desk.post("Look!", "a bridge"), "image_query=true")
    assert there.searched_pictures == [(PICTURE, "one query")]


def test_each_priority_is_searched_for_within_groups_of_its_domains() -> None:
    there = world({}, {})
    desk.solved(there, None, "site_groups=1")
    limited = [f"one query (site:{name}.example)" for name in ("atlas", "herald", "weekly")]
    assert [query for query, _ in there.searched] == limited
    with pytest.raises(UsageError, match="searxng takes no queries"):
        desk.solved(world({}, {}, parameters={"provider": "searxng"}), None, "site_groups=1")
    many = Publishers({f"s{n}.example": Publisher(f"s{n}.example", None, None, None, "", "high") for n in range(100)})
    groups = many.site_groups("high")
    assert sorted(" OR ".join(groups).replace("site:", "").split(" OR ")) == sorted(many.rated)
    assert all(len(group) <= 240 and group.count("site:") <= 15 for group in groups)
    assert many.site_groups("low") == []
