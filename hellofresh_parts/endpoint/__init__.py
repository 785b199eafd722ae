"""An OpenAI-compatible endpoint on this machine, for agents in frameworks and for programs of users' own."""
