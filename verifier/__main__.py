"""`python -m verifier FOLDER ...`: check releases by this folder alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from verifier.checks import beside_checks, find_releases, neighbours, repeat_checks, report_lines, verify_release
from verifier.publication import publication_checks, publications_above
from verifier.scores import FigureName


def main() -> int:
    """Run the checks and print the results; the exit status is 1 after any fault."""
    parser = argparse.ArgumentParser(prog="verifier", description="Check released files as a stranger does.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="with releases in or below it")
    parser.add_argument("--figure", action="append", default=[], metavar="FIGURE", help=FigureName.EXPECTED)
    parser.add_argument("--known", metavar="SHA256", help="of a manifest that you noted earlier")
    options = parser.parse_args()
    try:
        figures = [FigureName.parse(text) for text in options.figure]
        folders = [found for folder in options.folders for found in find_releases(folder)]
    except ValueError as error:
        parser.error(str(error))
    checks = [check for one in folders for check in verify_release(one, figures=figures, known=options.known)]
    checks += beside_checks(folders)
    checks += repeat_checks(folders, set().union(*map(neighbours, folders)))
    checks += [check for root in publications_above(folders) for check in publication_checks(root)]
    sys.stdout.write("".join(f"{line}\n" for line in report_lines(checks)))
    return 0 if all(check.ok for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
