"""What can be chosen about the regime `correction`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hellofresh.runs.regimes._base import RegimeSettings

__all__ = ["Bound", "CorrectionSettings"]

Bound = Literal["post", "note-high", "note-average"]
"""What nothing that is used may be younger than: the post, or a note of high or of average quality under it."""


class CorrectionSettings(RegimeSettings):
    """How a post is corrected.

    Attributes:
        retrieval: whether the web is searched; without it the model answers from what it knows.
        vision: whether pictures are described.
        describe: `merged`: captions, text that is read in the picture, and known people are made one description;
            `direct`: a model that sees does it in one step; `given`: only descriptions that come with the post.
        captions: of a merged description: `given`: the description that comes with the post; `model`: a model that sees
            writes one.
        pictures: most pictures of a post that are described, the first ones.
        ocr: what reads text in pictures, for merged descriptions.
        ocr_confidence: from 0 to 100; a line that was read with less is left out.
        ocr_lines: most lines of a picture.
        people: known people in pictures: empty for none (it is biometric), else a file of one's own, or the address of
            a service; see docs/correction.md.
        bound: up to when pages may be from.
        note_minutes: so long before a note the search ends, where the bound is a note.
        queries, queries_images: most queries for a post of text alone, and for one with pictures.
        query_words: most words of a query.
        results: results that are asked for with each query, before publishers are looked at.
        links: most links of one priority that are read.
        image_links: links of each reverse image search that are looked at, before publishers are.
        sites: `rated`: only publishers with a priority; on a corpus of this machine, all. `any`: all, those without a
            rating as of low priority. Satire, questionable sources and conspiracy sites never.
        undated: whether a page that names no date may be used.
        pages: most pages of one priority that evidence is looked for in, for a post of text alone.
        pages_text, pages_image: the same for a post with pictures: by its text, and by its pictures.
        encoder: turns texts into vectors, as for `hellofresh corpus search`.
        relevance, relevance_images: least cosine of post and page, for a post of text alone and for one with pictures.
        page_characters: characters of a page that are read for evidence.
        refuting, context: most paragraphs of a page that refute the post, and that give context.
        quote_least, quote_most: least words of a quote, and words after which it is cut.
        refuting_pages: after so many pages that refute it, no further page is read.
        words: most words of the response.
    """

    retrieval: bool = True
    vision: bool = True
    describe: Literal["merged", "direct", "given"] = "merged"
    captions: Literal["given", "model"] = "given"
    pictures: int = Field(default=4, ge=1, le=8)
    ocr: Literal["rapidocr", "off"] = "rapidocr"
    ocr_confidence: float = Field(default=80.0, ge=0, le=100)
    ocr_lines: int = Field(default=100, ge=1, le=1000)
    people: str = Field(default="", max_length=500)
    bound: Bound = "post"
    note_minutes: int = Field(default=30, ge=0, le=100_000)
    queries: int = Field(default=3, ge=1, le=20)
    queries_images: int = Field(default=5, ge=1, le=20)
    query_words: int = Field(default=20, ge=1, le=100)
    results: int = Field(default=50, ge=1, le=50)
    links: int = Field(default=10, ge=1, le=50)
    image_links: int = Field(default=50, ge=0, le=50)
    sites: Literal["rated", "any"] = "rated"
    undated: Literal["leave-out", "use"] = "leave-out"
    pages: int = Field(default=3, ge=1, le=50)
    pages_text: int = Field(default=1, ge=0, le=50)
    pages_image: int = Field(default=1, ge=0, le=50)
    encoder: str = Field(default="minilm", min_length=1, max_length=200)
    # Found with `hellofresh calibrate relevance` on 6,231 labelled pairs for MiniLM (docs/correction.md has the error
    # rates): the best balance of recall and false positives, and at most 5% false positives.
    relevance: float = Field(default=0.37, ge=-1, le=1)
    relevance_images: float = Field(default=0.55, ge=-1, le=1)
    page_characters: int = Field(default=20_000, ge=100, le=200_000)
    refuting: int = Field(default=2, ge=0, le=20)
    context: int = Field(default=2, ge=0, le=20)
    quote_least: int = Field(default=5, ge=1, le=100)
    quote_most: int = Field(default=100, ge=5, le=2000)
    refuting_pages: int = Field(default=2, ge=1, le=100)
    words: int = Field(default=100, ge=10, le=1000)
