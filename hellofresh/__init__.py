"""HelloFresh: a living benchmark that asks language models to predict fresh, real human decisions.

The rooms, in the order in which data passes through them: `tasks` (what is asked), `releases` (frozen quarterly
splits), `prompts`, `models` and `regimes` (how it is asked), `runs` (asking, and losing nothing), `answers`,
`stats` and `scoring` (judging), `submissions` (other people's predictions), `board` (tables for the site).
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
