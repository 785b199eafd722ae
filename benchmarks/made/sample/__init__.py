"""The source of the bundled sample: texts written by hand, and scripts that render them in the real sources' formats.

`python benchmarks/made/sample` rewrites the files in `collectors/sample/`; a test checks that they are equal.
"""
