"""Language models that run in this process: the embedded one, and those in folders of weights."""

__all__ = ["LOCAL_FOLDER"]

LOCAL_FOLDER = "local-hf:"
"""Before the folder of a model that transformers loads."""
