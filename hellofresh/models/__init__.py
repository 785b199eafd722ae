"""Who is asked."""

from hellofresh.models.base import (
    Answer,
    CallError,
    Finish,
    Limits,
    Message,
    Model,
    ModelSpec,
    Price,
    Request,
    Sampling,
    Tool,
    ToolCall,
)

__all__ = [
    "Answer",
    "CallError",
    "Finish",
    "Limits",
    "Message",
    "Model",
    "ModelSpec",
    "Price",
    "Request",
    "Sampling",
    "Tool",
    "ToolCall",
]
