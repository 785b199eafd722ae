"""Checks a release as a stranger does: from its public files alone, believing nothing that they say.

It imports nothing of what makes releases (`hellofresh`) and needs NumPy and Polars. A copy of this folder runs by
itself: `python -m verifier FOLDER ...`. Every file is read by parsers of its documented format
(`docs/formats.md`), every figure that follows from labels, predictions and ratings is computed again, and what people
load (tables, card, Croissant) is compared with the releases beside it.
"""
