"""Which verdicts are known, which texts begin or end with one, and which groups of claims would."""

from __future__ import annotations

import gzip
import json
import tomllib
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest

from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.tasks import CLAIMS
from hellofresh_parts.claims.collect import collect
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.jobs import claims_job
from hellofresh_parts.claims.reviews import ReviewRating
from hellofresh_parts.claims.verdicts import Reading, VerdictTable
from tests.fakes import dropped, fails_with

KNOWN = {
    "politifact.com": "True|Mostly-True|Half-True|Barely-True|False|Pants-Fire|Full Flop|"
    "Half Flip|No Flip|Promise Broken",
    "washingtonpost.com": "One Pinocchio|Two Pinocchios|Three Pinocchios|Four Pinocchios|Geppetto Checkmark",
    "snopes.com": "Mixture|Mostly False|Research In Progress|Miscaptioned|"
    "Originated as Satire|Correct Attribution|Scam",
    "correctiv.org": "Falsch|Größtenteils falsch|Teilweise falsch|Fehlender Kontext|Falscher Kontext|Manipuliert|"
    "Frei erfunden|Unbelegt|Richtig|Größtenteils richtig|Satire",
    "chequeado.com": "Verdadero|Verdadero, pero...|Falso|Engañoso|Exagerado|Apresurado|Insostenible|Discutible",
    "fullfact.org": "False|Correct|Incorrect|This isn't true|Missing context",
    "africacheck.org": "Correct|Mostly-correct|Unproven|Misleading|Exaggerated|Understated|Incorrect|Hoax",
    "aosfatos.org": "VERDADEIRO|FALSO|NÃO É BEM ASSIM|DISTORCIDO|CONTRADITÓRIO|EXAGERADO",
    "pagellapolitica.it": "Vero|C'eri quasi|Nì|Pinocchio andante|Panzana pazzesca",
    "factual.ro": "Adevărat|Parțial adevărat|Trunchiat|Parțial fals|Fals",
    "demagog.org.pl": "Prawda|Fałsz|Manipulacja|Częściowy fałsz|Nieweryfikowalne",
    "turnbackhoax.id": "SALAH|Benar|Menyesatkan|Hoaks",
}


@pytest.mark.parametrize(
    ("site", "words"), [(site, word) for site, listed in KNOWN.items() for word in listed.split("|")]
)
def test_verdicts_of_known_publishers_are_read(site, words):
    assert VerdictTable.load().read(site, ReviewRating(words)) is not Reading.UNKNOWN


READINGS = {
    Reading.TRUE: [
        ("washingtonpost.com", "One Pinocchio"), ("pagellapolitica.it", "Vero"), ("factual.ro", "Adevărat"),
        ("a.example", "Verdadero"), ("a.example", "MOSTLY TRUE."),
    ],
    Reading.MIXED: [
        ("chequeado.com", "Verdadero, pero…"), ("a.example", "Verdadeiro, mas..."), ("a.example", "Vrai, mais"),
        ("a.example", "\u201cMisleading\u201d"),
    ],
    Reading.FALSE: [
        ("politifact.com", "Pants on Fire!"), ("www2.politifact.com", "barely true"), ("a.example", "Altered"),
        ("washingtonpost.com", "Four Pinocchios"),
    ],
    Reading.NO_TRUTH: [("politifact.com", "Full Flop"), ("politifact.com", "No Flip"), ("a.example", "Satire")],
    Reading.CHECKING: [("snopes.com", "Research in progress"), ("a.example", "Checking")],
    Reading.UNKNOWN: [("a.example", "Very odd words"), ("a.example", "Four Pinocchios")],
    Reading.MISSING: [("a.example", "")],
}  # fmt: skip


@pytest.mark.parametrize(("site", "words", "reading"), [(*row, key) for key, rows in READINGS.items() for row in rows])
def test_a_verdict_means_what_its_publisher_says(site, words, reading):
    assert VerdictTable.load().read(site, ReviewRating(words)) is reading


def test_every_list_of_words_names_its_source_and_every_language_knows_true_and_false():
    table = tomllib.loads(files("hellofresh_parts.claims").joinpath("verdicts.toml").read_text("utf-8"))
    sections = [table["common"], *table["languages"].values(), *table["publishers"].values()]
    assert all(section["source"].startswith("https://") for section in sections)
    assert all(section["false"] and section["true"] for section in table["languages"].values())


def test_a_word_that_two_languages_read_in_two_ways_is_refused(tmp_path):
    path = tmp_path / "v.toml"
    path.write_text('[common]\nfalse = ["no"]\n[languages.xx]\ntrue = ["no"]\n')
    with fails_with("bad-verdicts", r"'no' of xx is read in two ways"):
        VerdictTable.load(path)


GIVEAWAYS = """FALSE: The mayor closed nine bridges
Nine bridges were closed (rated Pants on Fire)
False. The mayor did not close nine bridges.
Misleading - Nine bridges were closed
Nine bridges closed? FALSE
HOAX ALERT: Nine bridges were closed
Fact check: false. Nine bridges are open.
Falso: el alcalde cerró nueve puentes
C'est faux : le maire n'a pas fermé neuf ponts
[SALAH] Sembilan jembatan ditutup
Neun Brücken wurden gesperrt (Falsch)
Nine bridges were closed - rated: mostly false
WRONG: The tariffs raised prices
[Confirmed] Nine bridges were closed
Fact check: wrong. Nine bridges were closed
Nine bridges were closed (rated correct)""".splitlines()


@pytest.mark.parametrize("claim", GIVEAWAYS)
def test_a_text_that_begins_or_ends_with_a_verdict_is_seen(claim):
    assert VerdictTable.load().begins_or_ends(claim, "a.example")


@pytest.mark.parametrize(
    "claim",
    [
        "Nine bridges were closed by the mayor.",
        "Climate change is a hoax invented by scientists",
        "The moon landing was fake",
        "The mayor said that the story was fake news",
        "Half of the banknotes were fake",
        "It is true that nine bridges are open",
        "It is true blue that voters want, says the mayor",
        "No other city has nine bridges.",
        "The mayor was wrong about the bridges",
        "A fake bridge was sold to tourists",
        "El alcalde cerró nueve puentes",
        "Das Rathaus ist richtig teuer geworden",
        "Wrong! The tariffs raised prices, said Trump",
        "Real: a documentary opens on Monday",
        "The minister said the photo was edited. Confirmed",
        "Certo: o salário mínimo subiu 5%, diz Lula",
        "Right, we closed nine bridges. Correct",
        "Fake! Nine bridges were never closed",
        "Falso: no cerré los puentes, dijo el alcalde",
        "Richtig: Die Stadt hat neun Brücken",
        "Edited: the letters of a miller. Verified",
        "Stimmt! Neun Brücken sind offen, sagt der Bürgermeister",
        "False",
    ],
)
def test_a_verdict_within_a_sentence_is_part_of_the_claim(claim):
    assert not VerdictTable.load().begins_or_ends(claim, "a.example")


READ = {
    "false": """\u274c False|rated_false|Rated false|This claim is false.|FALSE - altered image|F\u200bALSE|not-true
        |Not_True|AI-generated image|KI-generiert|Stimmt nicht|No es cierto|Nieprawda|Doğru değil|गलत|خاطئ|거짓
        |Não é verdade|completely false|The video is fake|Verdict: False|We rate it False|Our rating: FALSE|Fake/Hoax
        |False \U0001f6ab|This photo was digitally altered|Non è vero|Niet waar|Ikke sant|Tidak benar|Это ложь|虚假
        |Це неправда|誤情報|Nu este adevărat|Det stämmer inte|False. Fabricated.|Totally Fake|ψευδές""",
    "mixed": "half_true|This post is misleading|partly true, partly false|Half Truth \u26a0|C'est trompeur",
    "true": "\u2705 True|Rated true|mostly_true|This statement is accurate|C'est exact|Das stimmt|É verdade|সত্য",
    "unknown-verdict": """False, but true|\u2705 False|\u274c True|not false|False (satire)|True if you squint|rated
        |this claim|false flag|the truth is out there|completely|True/False|Nearly|___|\u274c""",
}


@pytest.mark.parametrize("reading", READ)
def test_signs_and_words_around_a_verdict_change_nothing_and_nothing_is_guessed(reading):
    table = VerdictTable.load()
    words = [" ".join(one.split()) for one in READ[reading].split("|")]
    assert {one: table.read("a.example", ReviewRating(one)) for one in words} == dict.fromkeys(words, reading)


def test_a_publishers_own_verdict_is_one_of_its_own_claims_only():
    table = VerdictTable.load()
    claim = "Nine bridges were closed. Four Pinocchios."
    assert table.begins_or_ends(claim, "washingtonpost.com")
    assert not table.begins_or_ends(claim, "checks.example")


@pytest.mark.integration
def test_at_most_one_real_claim_in_a_thousand_begins_or_ends_with_a_verdict(shared_data):
    lines = lambda name: gzip.decompress((shared_data / name).read_bytes()).decode().splitlines()  # noqa: E731
    claims = [line.split("\t")[2] for name in ("train", "valid") for line in lines(f"liar/{name}.tsv.gz")]
    claims += [json.loads(line)["statement"] for line in lines("liar_new/liar_new.jsonl.gz")]
    for name in ("fever_v1/fever_paper_dev.jsonl.gz", "fever_v2/fever2_dev_part.jsonl.gz"):
        claims += [json.loads(line)["claim"] for line in lines(name)]
    assert len(claims) > 14_000
    table = VerdictTable.load()
    assert sum(table.begins_or_ends(claim, "politifact.com") for claim in claims) <= len(claims) / 1000


def review(number: int, words: str, site: str, language: str = "", claim: str = "") -> dict[str, Any]:
    return {
        "claimReviewed": claim or f"Number {number} of the {site} bridges was closed on day {number}.",
        "url": f"https://{site}/{language}{number}",
        "datePublished": "2026-05-03",
        "reviewRating": {"alternateName": words},
        "inLanguage": language,
    }


def run(tmp_path, items):
    path = tmp_path / "feed.json"
    path.write_text(json.dumps(items))
    return collect(Quarter(2026, 2), [path], ClaimsSettings(), pending=True)


def test_a_language_or_publisher_with_one_class_is_left_out_and_named(tmp_path):
    both = ("False", "True")
    items = [
        *[review(n, both[n % 2], "a.example", "en") for n in range(6)],
        *[review(n, "Falso", "a.example", "it") for n in range(10, 13)],
        review(20, "In progress", "a.example", "it"),
        *[review(n, "Fake", "b.example", "en") for n in range(30, 35)],
        *[review(n, "Fake", "c.example", "en") for n in range(40, 44)],
        *[review(n, both[n % 2], "d.example") for n in range(50, 52)],
        review(60, "Faux", "e.example", "fr"),
    ]
    found = run(tmp_path, items)
    assert {item.sample.language for item in found.candidates} == {"en", ""}
    assert len(found.candidates) == 6 + 4 + 2
    assert not found.pending
    drops = dropped(found)
    assert (drops["one-class-publisher"], drops["one-class-language"]) == (5, 4)
    languages = "language fr (1 claims, all false); language it (3 claims, all false)"
    assert [line for line in found.warnings if "wording" not in line] == [
        f"left out, because all have one class: publisher b.example (5 claims, all false); {languages}."
    ]


def test_leaving_out_a_publisher_may_leave_a_language_with_one_class(tmp_path):
    items = [review(n, "True", "a.example", "nl") for n in range(5)]
    items += [review(n, "Onwaar", "b.example", "nl") for n in range(10, 12)]
    found = run(tmp_path, [*items, review(20, "True", "c.example"), review(21, "False", "c.example")])
    assert [item.label.facts["publisher"] for item in found.candidates] == ["c.example"] * 2


def test_of_a_quarter_of_undecided_claims_a_prospective_split_can_be_drawn(tmp_path):
    """Beside decided ones of one class, which are left out, or without any."""
    texts = ["The abbey sold its organ", "Herons nest on the ferry", "A well in Trier froze", "Nobody mows the bank"]
    under_way = [review(n, "In progress", "a.example", "en", text) for n, text in enumerate(texts)]
    decided = [review(n, "Falso", "a.example", "en", f"Lamp {n} of {n} streets is blue") for n in range(10, 13)]
    for name, items in (("alone", under_way), ("beside", under_way + decided)):
        workspace, feed = Workspace(tmp_path / name), tmp_path / f"{name}.json"
        feed.write_text(json.dumps(items))
        quarter = Quarter(2026, 2)
        report = collect_quarter(
            workspace, claims_job(quarter, [feed], ClaimsSettings(), pending=True), progress=lambda _: None
        )
        assert report.funnel.total_kept == 0
        moment = datetime(2026, 5, 4, tzinfo=UTC)
        drawn = build_prospective(workspace, quarter, CLAIMS, seed="s", cap=9, days=3, moment=moment)
        assert (drawn.pending, drawn.samples) == (4, 4)


def test_giveaways_are_dropped_and_counted(tmp_path):
    items = [review(n, "False", "a.example", claim=claim) for n, claim in enumerate(GIVEAWAYS[:12])]
    items += [review(50, "True", "a.example"), review(51, "Odd words", "a.example", claim=GIVEAWAYS[0] + " again")]
    found = run(tmp_path, items)
    assert [item.label.label for item in found.candidates] == [2]
    drops = dropped(found)
    assert (drops["gives-away"], drops["unknown-verdict"]) == (12, 1)
