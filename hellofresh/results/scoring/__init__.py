"""Writes scores, and what a reveal publishes."""
