"""The declaration of `hellofresh proxy`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.declare import BASE_URL, EDITION, command, fields, option

COMMANDS = (
    command(
        "proxy",
        "Serve an OpenAI-compatible endpoint on this machine for your own program, and record its run.",
        "hellofresh_parts.endpoint.command:run",
        EDITION,
        *fields("task", "model", model="the model that answers, named as for 'hellofresh evaluate'"),
        *fields("roles", roles="another model, which clients request as ROLE"),
        *fields("settings", "limit", "budget_usd", settings="a limit per sample, such as requests=50"),
        option("--name NAME", "name of your program; each name is a separate system"),
        BASE_URL,
        option("--port N", "port (default: any free port)", default=0),
        option("--socket PATH", "also listen at this Unix socket, for a program without a network", Path),
        timed=True,
        submissions="own",
        epilog="A client needs a sample's base URL, http://127.0.0.1:PORT/s/SAMPLE/v1, and a token as key: the one "
        "printed, or the one in HELLOFRESH_PROXY_TOKEN. The program ends a sample with POST .../v1/output.",
    ),
)
