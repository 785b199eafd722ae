"""The small corpus of the retrieval tests."""

from tests.retrieval.conftest import small, workspace

__all__ = ["small", "workspace"]
