"""`hellofresh release export`: an edition as tasks of another harness."""

from __future__ import annotations

import argparse

from hellofresh.api.harnesses.lm_eval_folder import write_folder
from hellofresh.cli._output import CommandOutput
from hellofresh.core.workspace import Workspace
from hellofresh.tasks import get_task

__all__ = ["export"]


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    names = write_folder(Workspace.from_environment(), options.edition, get_task(options.task), options.lm_eval)
    output.result({"folder": str(options.lm_eval), "tasks": list(names)})
    output.text(f"{options.lm_eval}: {', '.join(names)}")
    output.text(
        f"Next: lm_eval --include_path {options.lm_eval} --tasks {names[0]} --apply_chat_template "
        "--model local-chat-completions --model_args model=M,base_url=http://127.0.0.1:8000/v1/chat/completions"
    )
    return 0
