"""Facts on the data set of a frozen edition, apart from editions: help needs those, and pydantic takes time."""

from __future__ import annotations

from pydantic import NonNegativeInt

from hellofresh.core.strict import Open


class DatasetFacts(Open):
    """The data set of a frozen edition.

    Attributes:
        name, address, published, licence: of the source; `published` is the day from which its labels were public.
        classes: the meaning of each label.
        labels: number of samples with each label, in the same order.
        content: SHA-256 of the canonical JSON of the SHA-256 of samples and labels as first published.
    """

    name: str
    address: str
    published: str
    licence: str
    classes: tuple[str, ...]
    labels: tuple[NonNegativeInt, ...]
    content: str
