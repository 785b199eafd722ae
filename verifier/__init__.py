"""Checks a release as an outsider would: from its public files alone, without trusting their claims.

It imports no code that makes releases (`hellofresh`) and needs NumPy and Polars. A copy of this folder runs on its
own: `python -m verifier FOLDER ...`. Every file is read by parsers of its documented format
(`docs/formats.md`), every figure derived from labels, predictions and ratings is recomputed, and the published
files (tables, card, Croissant) are compared with the releases beside them.
"""
