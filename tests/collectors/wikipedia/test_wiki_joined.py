"""Histories that an export cuts into several files, by revision: read as one, whatever the order of the files."""

from __future__ import annotations

import bz2
import hashlib
import random
from itertools import pairwise, permutations

import pytest

from collectors.wikipedia.collect import collect
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import Quarter
from hellofresh.releases.collection import write_candidates
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.wikipedia_edits import TASK
from tests.fakes import fails_with, refused

QUARTER = Quarter(2026, 2)
WORDS = ("mill", "river", "water", "stone", "wheel", "miller", "flour", "bread", "grain", "field", "harvest", "autumn")
JOINED = "pages that were joined from several files"


class Export:
    """Writes files as Wikimedia names them."""

    def __init__(self, wiki, folder):
        self.wiki, self.folder = wiki, folder
        folder.mkdir()

    def write(self, name, *pages):
        path = self.folder / f"testwiki-2026-10-01-{name}.xml.bz2"
        path.write_bytes(bz2.compress(self.wiki.export(*pages).encode(), 1))
        return path

    def whole(self, page, title, history):
        return self.write(f"p{page}p{page}", self.wiki.page_xml(title, history, id_=page))

    def cut(self, page, title, history, parts, *, ns="<ns>0</ns>"):
        cuts = [len(history) * part // parts for part in range(parts + 1)]
        pieces = [history[start:stop] for start, stop in pairwise(cuts)]
        return [
            self.write(f"p{page}r{piece[0].id}r{piece[-1].id}", self.wiki.page_xml(title, piece, id_=page, ns=ns))
            for piece in pieces
        ]

    def sums(self):
        files = sorted(self.folder.glob("*.bz2"))
        lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (self.folder / "SHA256SUMS").write_text("".join(lines))


@pytest.fixture
def export(wiki, tmp_path):
    return lambda name: Export(wiki, tmp_path / name)


def story(wiki, number, length=14):
    chance = random.Random(number)
    texts = [" ".join(chance.choices(WORDS, k=40)) for _ in range(3)]
    states = ["\n\n".join(texts)]
    while len(states) < length:
        if len(states) > 1 and chance.random() < 0.3:
            states.append(states[-2])
            continue
        texts = states[-1].split("\n\n")
        texts[chance.randrange(3)] += " " + " ".join(chance.choices(WORDS, k=15))
        states.append("\n\n".join(texts))
    history = wiki.history(states, [f"User {chance.randrange(6)}" for _ in states])
    first = 1000 * number
    return [r._replace(id=first + r.id, parent=r.parent and first + r.parent) for r in history]


def as_bytes(found, path):
    write_candidates(path, TASK, found.candidates)
    return path.read_bytes()


def counts(found):
    funnel = to_json(found.funnel)
    context = {name: count for name, count in funnel.pop("context").items() if name.startswith(("page", "revision"))}
    context.pop(JOINED, None)
    return funnel, context


def run(files, **settings):
    return collect(QUARTER, files, EditsSettings(), **settings)


@pytest.mark.slow
def test_an_export_of_many_pages_gives_the_same_cut_and_uncut(wiki, export, tmp_path):
    pages = {number: (f"P {number}", story(wiki, number)) for number in range(1, 241)}
    cut = set(random.Random(5).sample(sorted(pages), 24))
    whole, other = export("whole"), export("other")
    for start in range(1, 241, 60):
        block = range(start, start + 60)
        for place, numbers in ((whole, block), (other, [number for number in block if number not in cut])):
            xml = [wiki.page_xml(*pages[number], id_=number) for number in numbers]
            place.write(f"p{numbers[0]}p{numbers[-1]}", *xml)
    for number in sorted(cut):
        other.cut(number, *pages[number], 2 + number % 4)
    for place in (whole, other):
        place.sums()
    expected, found = run([whole.folder]), run([other.folder], jobs=2)
    assert as_bytes(found, tmp_path / "a.parquet") == as_bytes(expected, tmp_path / "b.parquet")
    assert len(expected.candidates) > 120
    assert counts(found) == counts(expected)
    assert found.funnel.context[JOINED] == 24
    assert not found.warnings


def test_any_order_of_the_files_is_one_history(wiki, export):
    history = story(wiki, 3)
    whole = run([export("whole").whole(3, "Mill", history)])
    for order in permutations(export("cut").cut(3, "Mill", history, 4)):
        assert run(list(order)).candidates == whole.candidates


def test_parts_named_by_numbers_that_fall_with_time_are_ordered_by_time(wiki, export):
    history = story(wiki, 3)
    numbers = {revision.id: 5000 - revision.id for revision in history}
    turned = [r._replace(id=numbers[r.id], parent=numbers.get(r.parent)) for r in history]
    whole = run([export("whole").whole(3, "Mill", turned)])
    assert run(export("cut").cut(3, "Mill", turned, 3)).candidates == whole.candidates


def test_parts_that_overlap_are_read_once(wiki, export):
    history = story(wiki, 3)
    cut = export("cut")
    files = [*cut.cut(3, "Mill", history[:9], 2), *cut.cut(3, "Mill", history[6:], 1)]
    found = run(files)
    assert found.candidates == run([export("whole").whole(3, "Mill", history)]).candidates
    assert any("each was counted once" in warning for warning in found.warnings)


def test_a_page_that_is_no_article_is_counted_once(wiki, export):
    parts = export("cut").cut(9, "Talk:Mill", story(wiki, 9), 3, ns="<ns>1</ns>")
    context = run(parts).funnel.context
    assert (context["pages"], context["pages of other namespaces"], context["revisions"]) == (0, 1, 0)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_part_is_refused_and_every_one_that_a_list_of_checksums_names_is_needed(
    wiki, export, listed, missing
):
    cut = export("cut")
    files = cut.cut(3, "Mill", story(wiki, 3), 4)
    if listed:
        cut.sums()
    gone = files.pop(missing)
    with fails_with("missing-part") as caught:
        run(files)
    assert not listed or gone.name in caught.value.what
    if listed:
        with pytest.raises(SourceError, match=r"SHA256SUMS.*in none of the files"):
            run([gone])


@pytest.mark.parametrize("listed", [(), (0,), (0, 1)])
def test_without_the_last_parts_a_page_is_warned_of_and_one_part_alone_is_refused(wiki, export, listed):
    cut = export("cut")
    parts = cut.cut(3, "Mill", story(wiki, 3), 3)
    files = [parts[place] for place in listed or (2,)]
    if len(files) == 1:
        with fails_with("missing-part", "is one part of a page, by its name; another part is in none"):
            run(files)
    else:
        assert any("a missing last one would go unnoticed" in warning for warning in run(files).warnings)


def test_a_revision_that_the_wiki_deleted_is_not_taken_for_a_missing_part_where_a_list_says_so(wiki, export):
    history = story(wiki, 3)
    del history[6]
    cut = export("cut")
    files = cut.cut(3, "Mill", history[:6], 1) + cut.cut(3, "Mill", history[6:], 1)
    with pytest.raises(SourceError, match="SHA256SUMS"):
        run(files)
    cut.sums()
    assert run(files).candidates == run([export("whole").whole(3, "Mill", history)]).candidates


def test_parts_that_say_nothing_of_parents_and_have_no_list_are_warned_of(wiki, export):
    history = [revision._replace(parent=None) for revision in story(wiki, 3)]
    cut = export("cut")
    files = cut.cut(3, "Mill", history, 2)
    unlisted = "page was joined from files without a list of them, so a missing last one would go unnoticed; put"
    said = f"{files[0].name} and 1 more: 1 {unlisted} the export's SHA256SUMS beside them."
    assert run(files).warnings == [said]
    assert run(files).funnel.context["joined pages without a list of their files"] == 1
    cut.sums()
    assert not run(files).warnings


def test_a_page_in_two_files_of_which_one_is_not_its_part_is_refused_by_name(wiki, export):
    cut, history = export("cut"), story(wiki, 3)
    files = [*cut.cut(3, "Mill", history, 2), cut.write("p1p5", wiki.page_xml("Mill", history[:1], id_=3))]
    with pytest.raises(SourceError, match=r"p3r3100r3106.*p3r3107|p1p5") as caught:
        run(files)
    assert (caught.value.code, "'Mill'" in caught.value.what) == ("duplicate-page", True)


@pytest.mark.parametrize("second", ["other", "none", "more"])
def test_a_part_that_holds_another_page_than_its_name_says_is_refused(wiki, export, second):
    cut, history = export("cut"), story(wiki, 3)
    first = cut.cut(3, "Mill", history[:7], 1)[0]
    own, other = wiki.page_xml("Mill", history[7:], id_=3), wiki.page_xml("River", story(wiki, 4), id_=4)
    pages = {"other": [other], "none": [], "more": [own, other]}[second]
    refused("other-page", run, [first, cut.write("p3r3107r3113", *pages)])


def test_a_temporary_account_is_one_user(wiki, export):
    """Its name begins with a tilde; who takes back what they did themselves has not rejected it."""
    paragraph = story(wiki, 3)[0].text.split("\n\n")[0]
    texts = [paragraph, f"{paragraph} {' '.join(WORDS)}", paragraph, *[f"{paragraph}\n\nNo {n}." for n in range(6)]]
    labels = {}
    for second in ("~2025-12345-67", "~2025-12345-68"):
        users = ["A", "~2025-12345-67", second, *"BCDEFG"]
        path = export(second).whole(3, "Mill", wiki.history(texts, users))
        labels[second] = [candidate.label.label for candidate in run([path]).candidates]
    assert labels["~2025-12345-67"] == []
    assert labels["~2025-12345-68"] == [0]
