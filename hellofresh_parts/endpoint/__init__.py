"""An OpenAI-compatible endpoint on this machine, for agents in frameworks and for programs of users' own."""

from hellofresh.cli.arguments import Noun

NOUN = Noun("evaluate", "evaluate your own program through an endpoint", "hellofresh_parts.endpoint.declared")
"""Here, where little is imported: help reads it."""
