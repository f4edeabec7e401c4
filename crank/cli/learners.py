"""``crank learners``: list split learners, show or check one, begin a new one."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from crank.cli.shared import add_json, print_json

EXAMPLES = """
examples:
  crank learners
  crank learners show svm
  crank learners check logistic
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Take one of three verbs, or none."""
    add_json(command)
    verbs = command.add_subparsers(dest="verb", metavar="VERB")
    show = _verb(verbs, "show", "parameters, capabilities and origin of a learner", "svm")
    show.add_argument("name")
    check = _verb(verbs, "check", "run the conformance kit on a learner", "logistic --json")
    check.add_argument("name")
    check.add_argument("--json", action="store_true", help="print JSON instead of text")
    check.add_argument("--params", type=json.loads, default={}, help="its parameters, as JSON")
    new = _verb(
        verbs, "new", "write the project of a new plugin", "centroid --folder crank-centroid"
    )
    new.add_argument("name", help="what users will write as learner=")
    new.add_argument("--folder", help="where to write it (default: crank-NAME)")


def _verb(verbs: Any, name: str, words: str, example: str) -> argparse.ArgumentParser:
    """Add a verb with its help and an example."""
    added: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=words,
        description=words,
        epilog=f"\nexamples:\n  crank learners {name} {example}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return added


def run(arguments: argparse.Namespace) -> int | None:
    """Do what the verb says; without one, print a line for each learner."""
    verbs: dict[str | None, Any] = {None: _list, "show": _show, "check": _check, "new": _new}
    code: int | None = verbs[arguments.verb](arguments)
    return code


def _list(arguments: argparse.Namespace) -> None:
    from crank.plugins.registry import learners

    if arguments.json:
        print_json(learners())
    else:
        print(learners().to_string(index=False))


def _show(arguments: argparse.Namespace) -> None:
    from crank.plugins.shown import learner_text

    print(learner_text(arguments.name))


def _check(arguments: argparse.Namespace) -> int:
    from crank.plugins.registry import get_learner
    from crank.testing import check_learner

    learner = get_learner(arguments.name, arguments.params)
    found = check_learner(learner, raise_on_failure=not arguments.json)
    if not arguments.json:
        print(found)
        return 0
    print_json(asdict(found))
    return 0 if found.ok else 1


def _new(arguments: argparse.Namespace) -> None:
    from crank.testing.new_project import new_project

    home = new_project(arguments.name, arguments.folder)
    print(
        f"Wrote {home}. Next:\n  cd {home}\n  pip install --editable '.[test]'\n  pytest\n"
        f"  crank learners check {arguments.name}"
    )
