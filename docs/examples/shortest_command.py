"""The declaration of a command of another package, in a module that imports little (docs/extending.md)."""

from hellofresh.cli.arguments import Noun
from hellofresh.cli.arguments.declare import command

COMMANDS = (command("shortest", "Print the board's shortest samples.", "shortest:run"),)
NOUN = Noun("evaluate", "print the board's shortest samples", "shortest_command")
