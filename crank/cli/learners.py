"""``crank learners``: list split learners, show or check one, begin a new one."""

from __future__ import annotations

import argparse
import json
from typing import Any

from crank.cli.shared import add_json, print_json

HELP = "list the installed split learners; show or check one, or begin a plugin of your own"
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
    show = verbs.add_parser("show", help="parameters, capabilities and origin of a learner")
    show.add_argument("name")
    check = verbs.add_parser("check", help="run the conformance kit on a learner")
    check.add_argument("name")
    check.add_argument("--params", type=json.loads, default={}, help="its parameters, as JSON")
    new = verbs.add_parser("new", help="write the project of a new plugin")
    new.add_argument("name", help="what users will write as learner=")
    new.add_argument("--folder", help="where to write it (default: crank-NAME)")


def run(arguments: argparse.Namespace) -> None:
    """Do what the verb says; without one, print a line for each learner."""
    verbs: dict[str | None, Any] = {None: _list, "show": _show, "check": _check, "new": _new}
    verbs[arguments.verb](arguments)


def _list(arguments: argparse.Namespace) -> None:
    from crank.plugins.registry import learners

    if arguments.json:
        print_json(learners())
    else:
        print(learners().to_string(index=False))


def _show(arguments: argparse.Namespace) -> None:
    from crank.plugins.shown import learner_text

    print(learner_text(arguments.name))


def _check(arguments: argparse.Namespace) -> None:
    from crank.plugins.registry import get_learner
    from crank.testing import check_learner

    print(check_learner(get_learner(arguments.name, arguments.params)))


def _new(arguments: argparse.Namespace) -> None:
    from crank.testing.new_project import new_project

    home = new_project(arguments.name, arguments.folder)
    print(
        f"Wrote {home}. Next:\n  cd {home}\n  pip install --editable '.[test]'\n  pytest\n"
        f"  crank learners check {arguments.name}"
    )
