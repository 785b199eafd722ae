"""What holds the answers is not read: not by its name, not by a mirror, not through a proxy."""

from __future__ import annotations

import pytest

from hellofresh.config import Settings
from hellofresh.core.errors import ConfigError
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.tasks import get_task

SOURCES = ExcludedSources.load(["B\u00fccher.example", "plain.example"])


def test_the_list_is_long_and_every_entry_excludes_itself_and_its_subdomains() -> None:
    assert len(SOURCES.domains) >= 60
    for domain in SOURCES.domains:
        assert SOURCES.reason(f"https://{domain}/")
        assert SOURCES.reason(f"http://some.{domain}:8080/path?query")
        assert not SOURCES.reason(f"https://not{domain}/") or "." in domain.partition(".")[2]


@pytest.mark.parametrize(
    "url",
    [
        "https://X.COM/a/status/1", "https://x.com./a", "http://mobile.twitter.com", "https://t.co/abc", "https://EN.Wikipedia.org/wiki/A",
        "https://simple.m.wikipedia.org/", "https://www.wikiwand.com/en/A", "https://nitter.example.org/a", "https://nitter.anything/",
        "https://wikipedia.zz-not-a-suffix.com.co/", "https://xn--bcher-kva.example/", "https://b\u00dccher.EXAMPLE./", "https://www.plain.example/a",
        "https://web.archive.org/web/2023/https://en.wikipedia.org/wiki/A", "https://archive.ph/abc", "https://en-m-wikipedia-org.translate.goog/wiki/A",
        "https://r.jina.ai/https://x.com/a", "https://12ft.io/proxy", "https://proxy.example/https://en.wikipedia.org/wiki/A",
        "https://proxy.example/?url=https://x.com/a", "https://proxy.example/?url=https%3A%2F%2Fx.com%2Fa", "https://proxy.example/?u=x.com/a",
        "https://proxy.example/?u=https%253A%252F%252Ft.co%252Fa", "https://proxy.example/en.wikipedia.org/wiki/A", "https://proxy.example/http/x.com/a",
        "https://proxy.example/https:/twitter.com/a", "https://proxy.example//x.com/a", "https://en.wikipedia.org.proxy.example/wiki/A",
        "https://en-wikipedia-org.proxy.example/wiki/A", "https://proxy.example/?a=1&to=HTTPS://EN.WIKIPEDIA.ORG/", "https://proxy.example/https://user@x.com/a",
        "https://proxy.example/https://x.com.:443/a",
    ],
)  # fmt: skip
def test_excluded_sources_are_known_in_every_guise(url: str) -> None:
    assert SOURCES.reason(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://netflix.com/", "https://example.com/", "https://news.example/tag/x.com", "https://news.example/?utm_source=twitter.com",
        "https://news.example/why-x.com-matters/a", "https://max.com/", "https://notwikipedia.org/", "https://at.co/", "https://archive.org/details/a",
        "https://mail.x.com.au/", "https://news.example/wikipedia-and-the-truth", "https://my-x-com.example/", "https://news.example/a.b.c/d",
        "https://jina.ai/", "not a url", "",
    ],
)  # fmt: skip
def test_others_are_not_excluded(url: str) -> None:
    assert SOURCES.reason(url) == ""


def test_the_reason_names_host_and_reason() -> None:
    reason = SOURCES.reason("https://proxy.example/?u=https://en.wikipedia.org/wiki/A")
    assert "en.wikipedia.org through proxy.example" in reason
    assert "settings" in SOURCES.reason("https://plain.example/")


def test_what_is_no_domain_is_refused_as_a_setting() -> None:
    for wrong in ("https://x.org/", "a b", "", "127.1"):
        with pytest.raises(ConfigError, match="excluded sources"):
            ExcludedSources.load([wrong])


def test_the_hash_goes_by_what_is_excluded() -> None:
    assert ExcludedSources.load().sha256 == ExcludedSources.load().sha256
    assert ExcludedSources.load().sha256 != SOURCES.sha256
    assert (
        ExcludedSources.load(["a.example", "b.example"]).sha256
        == ExcludedSources.load(["b.example", "a.example"]).sha256
    )


def test_looking_up_suffixes_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a connection")

    from hellofresh.evidence.web import excluded

    excluded._by_public_suffix.cache_clear()
    monkeypatch.setattr("socket.socket.connect", refused)
    assert ExcludedSources.load().reason("https://nitter.example.co.uk/")


def test_a_task_blocks_its_own_answers_and_ways_around_and_nothing_else() -> None:
    notes = ExcludedSources.load(groups=get_task("x-notes").blocked_sources)
    edits = ExcludedSources.load(groups=get_task("wikipedia-edits").blocked_sources)
    assert notes.reason("https://x.com/a/status/1") and not notes.reason("https://en.wikipedia.org/wiki/Tea")
    assert edits.reason("https://en.wikipedia.org/wiki/Tea") and not edits.reason("https://x.com/a/status/1")
    for sources in (notes, edits, ExcludedSources.load()):
        assert sources.reason("https://web.archive.org/web/2020/https://example.org/")
    assert len({notes.sha256, edits.sha256, ExcludedSources.load().sha256}) == 3
    assert ExcludedSources.load(["politifact.com"], groups=()).reason("https://www.politifact.com/x")


def test_a_search_by_others_is_told_the_domains_of_the_task_and_of_the_settings() -> None:
    passed_on = ExcludedSources.load(["Own.example"], groups=["x"]).passed_on
    assert {"own.example", "x.com", "twitter.com"} <= set(passed_on)
    assert not any("archive" in domain for domain in passed_on)
    assert ExcludedSources.load(["own.example"]).passed_on == ("own.example",)


def test_hubs_and_the_projects_own_addresses_are_blocked_for_every_task() -> None:
    for task in ("x-notes", "claims", "wikipedia-edits", "corrections"):
        sources = ExcludedSources.load(groups=get_task(task).blocked_sources)
        for url in (
            "https://huggingface.co/datasets/a/b",
            "https://raw.githubusercontent.com/a/b/main/c",
            "https://www.kaggle.com/a",
        ):
            assert sources.reason(url)
    for domain in ("birdwatcharchive.org", "community-notes.net", "zamantika.com", "twiscan.com"):
        assert ExcludedSources.load(groups=get_task("x-notes").blocked_sources).reason(f"https://{domain}/")
    site = {"repository": "https://www.forge.example/a/b", "issues": "https://bugs.example:8443/a"}
    settings = Settings.model_validate({"site": site, "web": {"excluded": ["own.example"]}})
    assert settings.web.excluded == ["own.example", "bugs.example", "forge.example"]
    assert ExcludedSources.load(settings.web.excluded, groups=()).reason("https://forge.example/a/b/releases")
    assert Settings().web.excluded == []
