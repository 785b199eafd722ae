"""Analyses of a quarter: one file per family of questions, each with a table and a figure.

They read the systems' outputs on a release (`Panel`), use the statistics of `hellofresh.stats`, and ask no model.
`make_analyses` writes them to the workspace. Rendering figures needs the extra `analyse`.
"""

from collections.abc import Sequence

from hellofresh.core.errors import UnknownNameError
from hellofresh.core.plugins import Registry
from hellofresh.results.analyses import confidence, knowledge, order, prompts, samples, voters
from hellofresh.results.analyses.base import Analysis
from hellofresh.results.figures.charts import ORDER
from hellofresh.results.split.panel import Panel

_ALL = "all"
_FAMILIES = (confidence, knowledge, order, prompts, samples, voters)
_OWN: dict[str, Analysis[Panel]] = {
    one.name: one for family in _FAMILIES for one in vars(family).values() if isinstance(one, Analysis)
}
ANALYSES: Registry[Analysis[Panel]] = Registry("analysis", "hellofresh.analyses", map(_OWN.__getitem__, ORDER))
"""By name, in order of display; analyses of other packages come last."""


def get_analyses(name: str) -> Sequence[Analysis[Panel]]:
    """The analysis of this name, or all of them.

    Raises:
        UnknownNameError: if the analysis does not exist.
    """
    if name == _ALL:
        return list(ANALYSES.values())
    if name not in ANALYSES:
        raise UnknownNameError("analysis", name, [_ALL, *ANALYSES])
    return [ANALYSES[name]]
