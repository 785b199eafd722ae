"""What the documentation says of each task: how ids begin, the periods of a quarter, the classes, the form of samples.

A task that is not here is checked as far as a release describes itself: the form of its samples, and the names of the
classes of a living one, are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verifier.reading import COUNT, SHA256, UTC_TIME, Form

_COMMON: dict[str, Form] = {
    name: UTC_TIME if name == "date" else str for name in ("id", "task", "period", "date", "group", "license")
}
_EDITION: tuple[dict[str, Form], ...] = ({"edition": str}, {"quarter": str})  # as files of earlier versions call it
ANY_SAMPLE: Form = {**_COMMON, "edition?": str, "quarter?": str, "*": object}

_TEXT = {"id": str, "date": UTC_TIME, "text": str}
_HASHED = {"id": str, "date": UTC_TIME, "text_sha256": SHA256}
_HASH_OR_NOT = re.compile("([0-9a-f]{64})?")
_SHOWN = {"kind": re.compile("photo|video|animation"), "sha256": _HASH_OR_NOT, "bytes": COUNT}
_MEDIA = [{**_SHOWN, "address": str, "description": str}]
_HASHED_MEDIA = [{**_SHOWN, "address_sha256": SHA256, "description_sha256": SHA256}]
_STATEMENT = {"statement": str, "language": str, "speaker": str, "context": str}
_HASHED_STATEMENT = {"statement_sha256": SHA256, "language": str}
_QUERY = {"query": str, "corpus": str, "corpus_sha256": str}


@dataclass(frozen=True, slots=True)
class Documented:
    """What is known of a task.

    Attributes:
        prefix: how ids begin.
        fields: of its samples, with their forms.
        hashed: the same where texts are withheld.
        classes: of a living task.
        weekly: whether its periods are weeks; else they are months.
        metrics: of a task of two classes whose metrics are of label 1; else they are those of all classes.
    """

    prefix: str
    fields: dict[str, Form]
    hashed: dict[str, Form] | None = None
    classes: tuple[str, ...] = ()
    weekly: bool = False
    metrics: tuple[str, ...] = ()

    def form(self, *, withheld: bool) -> Form:
        """The form of its samples."""
        own = self.hashed if withheld and self.hashed is not None else self.fields
        return tuple({**_COMMON, **edition, **own} for edition in _EDITION)


_OF_TWO = ("f1", "precision", "recall", "accuracy")
_NOTES = ({"post": _TEXT, "note": _TEXT}, {"post": _HASHED, "note": _HASHED})
_HELPFUL = ("not helpful", "helpful")
TASKS = {
    "x-notes": Documented("xn-", *_NOTES, _HELPFUL, metrics=_OF_TWO),
    "x-notes-media": Documented(
        "xnm-",
        {**_NOTES[0], "media": _MEDIA},
        {**_NOTES[1], "media": _HASHED_MEDIA},
        _HELPFUL,
        metrics=_OF_TWO,
    ),
    "x-posts": Documented(
        "xp-",
        {"post": _TEXT, "media": _MEDIA, "modality": str},
        {"post": _HASHED, "media": _HASHED_MEDIA, "modality": str},
    ),
    "wikipedia-edits": Documented(
        "we-",
        {
            **dict.fromkeys(("article", "section", "paragraph", "deleted", "added"), str),
            "revision": {"id": int, "parent": int},
        },
        classes=("rejected", "accepted"),
        weekly=True,
        metrics=_OF_TWO,
    ),
    "claims": Documented("cl-", _STATEMENT, _HASHED_STATEMENT, ("false", "mixed", "true")),
    "corrections": Documented(
        "mp-",
        {
            **dict.fromkeys(("post", "address", "text", "modality", "domain"), str),
            **dict.fromkeys(("note_high", "note_average"), (UTC_TIME, None)),
        },
    ),
    **{
        name: Documented(prefix, _QUERY)
        for name, prefix in (
            ("claim-responses", "cr-"),
            ("check-covid-retrieval", "cce-"),
            ("scifact-retrieval", "sfe-"),
        )
    },
    **{
        name: Documented(prefix, _STATEMENT, _HASHED_STATEMENT)
        for name, prefix in (
            *(("liar", "li-"), ("liar-new", "ln-"), ("liar-binary", "lib-")),
            *(("fever", "fe-"), ("fever-binary", "feb-"), ("fever-v2", "fa-"), ("fever-v2-binary", "fab-")),
            *(("x-fact", "xf-"), ("x-fact-binary", "xfb-"), ("faviq", "fq-"), ("averitec", "av-")),
        )
    },
    **{
        name: Documented(prefix, {**_STATEMENT, "evidence": [str]}, {**_HASHED_STATEMENT, "evidence_sha256": SHA256})
        for name, prefix in (("check-covid", "cc-"), ("healthver", "hv-"), ("covid-fact", "cf-"))
    },
}


def metrics_of(task: str, classes: Sequence[str]) -> tuple[str, ...]:
    """The metrics that every entry of a task must have, the one that systems are ranked by first; none if not known."""
    if not classes or task not in TASKS:
        return ()
    overall = ("macro_f1", "accuracy", "balanced_accuracy", "weighted_f1", "matthews")
    single = (f"{kind}:{name}" for kind in ("f1", "precision", "recall") for name in classes)
    return TASKS[task].metrics or (*overall, *single)
