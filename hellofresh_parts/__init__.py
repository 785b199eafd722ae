"""Separate parts: each registers by entry points (pyproject.toml), as a package of a stranger does.

The core imports none of them, and works without (`HELLOFRESH_PLUGINS=none`).
"""
