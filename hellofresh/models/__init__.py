"""Who is asked."""

from hellofresh.models._base import Answer, Finish, Message, Model, ModelSpec, Request

__all__ = ["Answer", "Finish", "Message", "Model", "ModelSpec", "Request"]
