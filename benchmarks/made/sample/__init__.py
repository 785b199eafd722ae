"""What made the bundled sample: texts written by hand, and scripts that render them in the formats of the real sources.

`python benchmarks/made/sample` writes the files anew to `collectors/sample/`; a test holds that they are the same.
"""
