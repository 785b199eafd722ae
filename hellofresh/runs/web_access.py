"""The way to the web that the settings describe, for regimes that need one."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hellofresh.config import Settings
from hellofresh.regimes import Need, get_regime
from hellofresh.runs.evaluate import Evaluation, WebAccess
from hellofresh.web import open_web

__all__ = ["with_web"]


def with_web(evaluation: Evaluation, *, replay: bool = False) -> Evaluation:
    """The evaluation with a way to the web, if its regime needs one.

    Args:
        evaluation: what is to be asked.
        replay: nothing goes to the network; only what the run has kept is there.

    Raises:
        ConfigError, UsageError: if the provider cannot be opened as it is configured.
    """
    if evaluation.web is not None or Need.WEB not in get_regime(evaluation.regime, evaluation.settings).needs:
        return evaluation
    settings = Settings.load().web
    settings = settings.model_copy(update={"excluded": [*settings.excluded, *evaluation.blocked]})
    groups = evaluation.task.blocked_sources
    with tempfile.TemporaryDirectory() as folder:  # what it is set to must be known before there is a run
        web = open_web(settings, Path(folder), replay=True, groups=groups)
        parameters = dict(web.parameters)
        asyncio.run(web.close())
    access = WebAccess(parameters, lambda folder: open_web(settings, folder, replay=replay, groups=groups))
    return replace(evaluation, web=access)
