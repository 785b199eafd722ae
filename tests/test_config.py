"""Settings are taken as they are meant, or refused."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from collectors.jobs import configured_jobs
from hellofresh.config import Settings, SourceSettings
from hellofresh.core.errors import ConfigError
from hellofresh.core.quarters import Quarter
from hellofresh.core.strict import Strict
from hellofresh.core.workspace import Workspace
from hellofresh.models.catalogue import hosted_models
from hellofresh_parts.claims.settings import ClaimsSourceSettings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch) -> None:
    """A folder without settings, and no environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)


def test_what_the_file_says_holds_and_the_rest_stays() -> None:
    Path("hellofresh.toml").write_text(
        '[release]\nseed = "s"\ncaps = { x-notes = 3 }\n[sources.x-notes]\ndump = "d"\n[evaluate]\nlimit = 5\n',
        encoding="utf-8",
    )
    settings = Settings.load()
    assert (settings.release.seed, settings.release.caps, settings.evaluate.limit) == ("s", {"x-notes": 3}, 5)
    assert settings.sources.any
    assert settings.sources.x_notes is not None and settings.sources.x_notes.dump == "d"
    assert settings.evaluate.models == Settings().evaluate.models


def test_an_address_for_downloads_is_no_source_by_itself() -> None:
    Path("hellofresh.toml").write_text('[sources.x-notes]\nbase_url = "http://127.0.0.1:8000/dumps"\n')
    settings = Settings.load()
    assert settings.sources.x_notes is not None and settings.sources.x_notes.base_url == "http://127.0.0.1:8000/dumps"
    assert settings.sources.any


def test_a_named_file_goes_before_the_environment_and_the_folder(tmp_path, monkeypatch) -> None:
    for name in ("hellofresh.toml", "environment.toml", "named.toml"):
        (tmp_path / name).write_text(f'[release]\nseed = "{name}"\n')
    assert Settings.load().release.seed == "hellofresh.toml"
    monkeypatch.setenv("HELLOFRESH_CONFIG", "environment.toml")
    assert Settings.load().release.seed == "environment.toml"
    assert Settings.load(tmp_path / "named.toml").release.seed == "named.toml"


def test_a_file_that_was_named_must_be_there(tmp_path, monkeypatch) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        Settings.load(tmp_path / "none.toml")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "other.toml"))
    with pytest.raises(ConfigError, match=r"other\.toml"):
        Settings.load()


BAD = {
    "unknown table": ("[relase]\n", "relase"),
    "unknown key": ("[release]\nsed = 'x'\n", "release.sed"),
    "number for text": ("[release]\nseed = 5\n", "release.seed"),
    "empty seed": ("[release]\nseed = ''\n", "release.seed"),
    "text for number": ("[evaluate]\nlimit = '5'\n", "evaluate.limit"),
    "limit of nothing": ("[evaluate]\nlimit = 0\n", "evaluate.limit"),
    "cap below one": ("[release]\ncaps = { x-notes = -1 }\n", "release.caps"),
    "cap of an unknown task": ("[release]\ncaps = { x-note = 5 }\n", "release.caps"),
    "python name of a source": ("[sources.x_notes]\ndump = 'd'\n", "sources.x_notes"),
    "source without a dump": ("[sources.x-notes]\n", "sources.x-notes"),
    "base that is not a URL": ('[sources.x-notes]\nbase_url = "ftp://x"\n', "sources.x-notes.base_url"),
    "no files": ("[sources.wikipedia-edits]\ndump = []\n", "sources.wikipedia-edits.dump"),
    "no TOML": ("seed = ", "TOML"),
    "unknown provider": ('[web]\nprovider = "bing"\n', "web.provider"),
    "no results": ("[web]\ncount = 0\n", "web.count"),
    "a key in the open": ('[web.brave]\nkey = "secret"\n', "web.brave.key"),
    "a contact of two lines": ('[web]\ncontact = "a\\nb"\n', "web.contact"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_file_and_key(name: str) -> None:
    text, place = BAD[name]
    Path("hellofresh.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert caught.value.code == "config"
    assert caught.value.exit_code == 2
    assert caught.value.where == "hellofresh.toml"
    assert place in caught.value.what


def test_a_folder_in_place_of_the_file_is_refused() -> None:
    Path("hellofresh.toml").mkdir()
    with pytest.raises(ConfigError):
        Settings.load()


def test_services_of_posts_are_set_by_name() -> None:
    Path("hellofresh.toml").write_text(
        '[sources.x-notes]\ndump = "d"\nposts_from = ["api-v2"]\n[posts]\nreask_gone_days = 7\n'
        '[posts.api-v2]\ntoken_variable = "MY_TOKEN"\nper_second = 2\n',
        encoding="utf-8",
    )
    settings = Settings.load()
    assert settings.sources.x_notes is not None and settings.sources.x_notes.posts_from == ["api-v2"]
    assert settings.posts.reask_gone_days == 7
    said = settings.posts.service("api-v2").model_dump(exclude_none=True)
    assert said == {"token_variable": "MY_TOKEN", "per_second": 2}


@pytest.mark.parametrize(
    "line",
    [
        'base_url = "ftp://x"', 'base_url = "https://user@x"', 'base_url = "https://x?y"', "per_second = 0",
        "per_second = inf", "deadline_s = nan", 'token_variable = "a b"', "attempts = 0", 'token = "secret"',
    ],
)  # fmt: skip
def test_services_of_posts_are_set_sensibly_or_not_at_all(line: str) -> None:
    Path("hellofresh.toml").write_text(f"[posts.api-v2]\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="posts"):
        Settings.load()


def test_texts_of_notes_are_released_only_where_it_is_said() -> None:
    assert not Settings().release.texts("x-notes")
    Path("hellofresh.toml").write_text("[release]\nx_notes_texts = true\n", encoding="utf-8")
    assert Settings.load().release.texts("x-notes")


@pytest.mark.parametrize("also", [["x-posts", "x-notes-media"], ["x-notes-media", "x-posts"]])
def test_further_tasks_of_a_dump_may_be_named_in_any_order(tmp_path, monkeypatch, also) -> None:
    """They are collected in the order of the tasks, whatever the order of their names."""
    (tmp_path / "posts.jsonl").write_text("{}\n")
    said = {"x-notes": {"dump": str(tmp_path), "also": also}}
    settings = Settings(sources=SourceSettings.model_validate(said))
    jobs = configured_jobs(Workspace(tmp_path), settings, Quarter(2026, 3), afresh=False)
    assert [job.task.name for job in jobs] == ["x-notes", "x-notes-media", "x-posts"]


@pytest.mark.parametrize("name", ["x-notes", "claims", "no-such-task"])
def test_a_further_task_that_the_dump_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="known tasks: x-notes-media, x-posts"):
        SourceSettings.model_validate({"x-notes": {"dump": "d", "also": [name]}})


@pytest.mark.parametrize(
    ("said", "where", "meant"),
    [
        ("[modls.x]", "modls", "'models'"),
        ("[evaluate]\nbudget_us = 3", "evaluate.budget_us", "'budget_usd'"),
        ("[sources.x_notes]", "sources.x_notes", "'x-notes'"),
        ('[models.y]\nprovder = "openai"', "models.y.provder", "'provider'"),
        ("[sources.claim]", "sources.claim", "'claims'"),
        ("[sources.claims]\nfeeds = []", "sources: claims: feeds", "'feed'"),
        ('["sources.claims"]', "sources.claims", "'sources'"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_nearest_name(said: str, where: str, meant: str) -> None:
    Path("hellofresh.toml").write_text(said)
    with pytest.raises(ConfigError, match=f"{where}: unknown key; did you mean {meant}\\?"):
        Settings.load()


def test_whoever_reads_some_tables_refuses_their_misspelt_names_and_no_others() -> None:
    Path("hellofresh.toml").write_text("[evaluate]\nbudget_us = 3")
    assert "smollm2-135m" not in hosted_models()
    Path("hellofresh.toml").write_text("[modls.x]")
    with pytest.raises(ConfigError, match="'models'"):
        hosted_models()


def _differs(kind: type[Strict], table: dict[str, Any], at: str = "") -> list[str]:
    """Keys that only one of a type and its table has, and defaults that the table states otherwise."""
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    found = [f"{at}{name}" for name in fields.keys() ^ table.keys()]
    for name in fields.keys() & table.keys():
        field, value = fields[name], table[name]
        inner = [one for one in (field.annotation, *get_args(field.annotation)) if inspect.isclass(one)]
        within = next((one for one in inner if issubclass(one, Strict)), None)
        if within is None:
            found += [f"{at}{name} = {value}"] * (field.default not in [None, "", value, [], PydanticUndefined])
        else:
            tables = value if get_origin(field.annotation) is dict else {"": value}
            found += [fault for one in tables for fault in _differs(within, tables[one], f"{at}{name}.")]
    return sorted(found)


def test_the_example_has_every_key_with_its_default(root: Path) -> None:
    text = (root / "docs/examples/hellofresh.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {}
    table = tomllib.loads(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE))
    services = ["web.searxng", "web.serpapi", "web.serper", "web.tavily"]  # have the keys of web.brave
    added = {"claims": table["sources"].pop("claims")}  # of a part
    assert _differs(Settings, table) == ["models.provider = lab", *services]
    assert _differs(ClaimsSourceSettings, added["claims"]) == []
    table["sources"] |= added
    del table["sources"]["wikipedia-edits"]["dump"], table["models"]["big-one"]["kind"]  # of two ways
    del table["models"]["big-one"]["client"], table["models"]["big-one"]["free"]
    Settings.model_validate(table)
