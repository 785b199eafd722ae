"""Exports that are not what their heads say: what is missing in them is counted and named, or they are refused."""

from __future__ import annotations

import hashlib
import lzma

import pytest

from collectors.settings import EditsSettings
from collectors.wikipedia.clean import read
from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import DAMAGED, NO_USER, NOT_LOADED, OTHER_MODEL, ExportReader, read_pages
from collectors.wikipedia.names import wiki_names
from hellofresh.core.quarters import Quarter
from tests.fakes import dropped, fails_with

QUARTER = Quarter(2026, 2)
LEAD = "The mill stands on the river and was built in 1780."
BAD = LEAD.replace("1780", "1580, which makes it the oldest building of the whole world, as everybody knows")
TEXTS = [LEAD, BAD, LEAD, f"{LEAD}\n\n2", f"{LEAD}\n\n3", f"{LEAD}\n\n4"]


def base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits.rjust(31, "0")


@pytest.fixture
def written(wiki, tmp_path):
    """Collects a page of which one revision's XML is changed, with a second page of two revisions beside it."""

    def run(old: str = "", new: str = "", *, at: int = 1, texts=TEXTS, head: str = ""):
        parts = [wiki.revision_xml(revision) for revision in wiki.history(texts)]
        assert old in parts[at]
        parts[at] = parts[at].replace(old, new, 1) if old else parts[at]
        page = f"<page><title>Mill</title><ns>0</ns><id>5</id>{''.join(parts)}</page>"
        other = wiki.page_xml("Other", wiki.history(["a", "b"])[:2], id_=6)
        path = wiki.write(tmp_path / "d.xml", page, other)
        path.write_text(path.read_text().replace("<siteinfo>", f"{head}<siteinfo>"))
        return collect(QUARTER, [path], EditsSettings())

    return run


def test_a_whole_export_is_read_whole(written):
    found = written()
    assert [one.label.label for one in found.candidates] == [0] and not found.warnings


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("<model>wikitext", "<model>json", OTHER_MODEL),
        ("<model>wikitext", "<model>javascript", OTHER_MODEL),
        (f"<text xml:space='preserve'>{BAD}</text>", "<text bytes='3000' sha1='abc' />", NOT_LOADED),
        (f"<text xml:space='preserve'>{BAD}</text>", "", NOT_LOADED),
        ("<text ", "<text bytes='7' ", DAMAGED),
        ("<text ", "<text sha1='0000000000000000000000000000abc' ", DAMAGED),
        ("<sha1 />", "<sha1>0000000000000000000000000000abc</sha1>", DAMAGED),
    ],
)
@pytest.mark.parametrize("at", [1, 3])
def test_a_text_that_is_not_there_counts_as_hidden_and_is_named(written, old, new, count, at):
    old = old.replace(BAD, TEXTS[at])
    found = written(old, new, at=at)
    assert not [one for one in found.candidates if at == 1] and dropped(found)["hidden-text"] >= 1
    assert found.funnel.context[count] == 1 and [f"d.xml: 1 {count}"[:18] in line for line in found.warnings] == [True]


def test_texts_that_are_what_their_heads_say_are_read(written):
    sha1 = base36(int(hashlib.sha1(BAD.encode()).hexdigest(), 16))
    assert len(written("<text ", f"<text bytes='{len(BAD)}' sha1='{sha1}' ").candidates) == 1
    assert len(written("<sha1 />", f"<sha1>{sha1}</sha1>").candidates) == 1


PAGE = "<page><title>B</title><ns>0</ns><id>9</id></page>"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<model>", f"{PAGE}<model>"), ("<comment>", "<revision><id>1</id></revision><comment>"),
        ("<comment>of no account</comment>", "<comment><text>x</text></comment>"), ("<id>", "<id>3</id><id>"),
        ("<text ", "<text>first</text><text "), ("</model>", "</model><title>B</title>"),
        ("<timestamp>", "<timestamp>2020-01-01T00:00:00Z</timestamp><timestamp>"),
        ("The mill", "The <b>mill</b>"), ("The mill", "The <x:y xmlns:x='z'>mill</x:y>"),
    ],
)  # fmt: skip
def test_what_stands_where_the_schema_does_not_allow_it_is_refused(written, old, new):
    with fails_with("bad-structure", "line [0-9]+"):
        written(old, new)


def test_a_page_without_a_title_is_refused_and_a_revision_without_a_user_is_counted(written, wiki, tmp_path):
    path = wiki.write(tmp_path / "t.xml", wiki.page_xml("Mill", wiki.history(TEXTS)).replace("<title>Mill</title>", ""))
    with fails_with("bad-structure", "without a title"):
        collect(QUARTER, [path], EditsSettings())
    user = "<contributor><username>User B</username><id>7</id></contributor>"
    found = written(user, "")
    assert found.funnel.context[NO_USER] == 1 and "1 revisions have no user" in found.warnings[0]
    assert not written(user, "<contributor deleted='deleted' />").warnings


def test_pages_after_one_with_several_slots_keep_their_titles(wiki, tmp_path):
    slot = "<content><role>mediainfo</role><model>wikibase-mediainfo</model><text>{}</text></content></revision>"
    revision = wiki.revision_xml(wiki.history(["x"])[0])
    files = "".join(
        f"<page><title>File:{n}</title><ns>6</ns><id>{n}</id>{revision.replace('</revision>', slot)}</page>"
        for n in (7, 8)
    )
    path = wiki.write(tmp_path / "d.xml", files, wiki.page_xml("Mill", wiki.history(["a", "b"])))
    pages = [(page.title, [revision.text for revision in page.revisions]) for page in read_pages(path)]
    assert pages == [("Mill", ["a", "b"])]


def test_dumps_of_another_kind_are_named_as_what_they_are(wiki, tmp_path):
    one, two = wiki.history(TEXTS), wiki.history(TEXTS)
    pages = [wiki.page_xml("A", one[-1:], id_=1), wiki.page_xml("B", two[-1:], id_=2)]
    with fails_with("no-histories", "pages-articles"):
        collect(QUARTER, [wiki.write(tmp_path / "articles.xml", *pages)], EditsSettings())
    stub = wiki.export(wiki.page_xml("A", one)).replace("<text xml:space='preserve'>", "<text bytes='5' />\0")
    stub = "".join(part.split("</text>")[-1] if number else part for number, part in enumerate(stub.split("\0")))
    (tmp_path / "stub.xml").write_text(stub)
    with fails_with("no-histories", "stub"):
        collect(QUARTER, [tmp_path / "stub.xml"], EditsSettings())
    logs = "<logitem><id>1</id><type>delete</type></logitem>"
    for name, items in (("logs", logs), ("nothing", "")):
        with fails_with("no-histories", "without a page"):
            collect(QUARTER, [wiki.write(tmp_path / f"{name}.xml", items)], EditsSettings())


@pytest.mark.parametrize("padding", [0, 4, 1 << 20])
def test_all_streams_of_an_xz_file_are_read_also_after_padding(wiki, tmp_path, padding):
    text = wiki.export(wiki.page_xml("A", wiki.history(TEXTS))).encode()
    path = tmp_path / "a.xml.xz"
    path.write_bytes(lzma.compress(text[:700]) + bytes(padding) + lzma.compress(text[700:]) + bytes(padding))
    assert len([revision for page in read_pages(path) for revision in page.revisions]) == len(TEXTS)
    path.write_bytes(path.read_bytes()[: -padding - 9 or None])
    with fails_with("bad-archive"):
        list(ExportReader(path).pages())


NAMES = {"de": "Datei Bild Kategorie", "fr": "Fichier Image Catégorie", "es": "Archivo Imagen Categoría",
         "pt": "Ficheiro Imagem Categoria", "ru": "Файл Изображение Категория", "ja": "ファイル 画像 カテゴリ",
         "ar": "ملف صورة تصنيف"}  # fmt: skip


@pytest.mark.parametrize("language", NAMES)
def test_images_and_categories_are_known_by_the_wikis_own_names_and_those_it_had(written, language):
    names = NAMES[language].split()
    known = wiki_names(language, {6: [names[0]], 14: [names[2]]})
    for name in (*names, "File", "Category"):
        assert read(f"[[{name}:x.jpg|mini|Die [[Mühle]] am Bach]] Ein Text.", known).text == "Ein Text.", name
    assert read("[[Mühle:x|Die Mühle]] am Bach.", known).text == "Die Mühle am Bach."
    wiki_of = f'<siteinfo><namespaces><namespace key="6">{names[0]}</namespace></namespaces></siteinfo>'
    texts = [f"[[{names[0]}:x.jpg|mini|Die Mühle]] {text}" for text in TEXTS]
    (found,) = written(texts=texts, head=wiki_of).candidates
    assert found.sample.paragraph == LEAD
