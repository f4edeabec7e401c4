"""The tutorial as a transcript: its commands, what they print, and a run in a new environment.

``python docs/_ext/transcript.py WHEEL`` installs a wheel into a new environment in a temporary
folder, and runs the commands there; ``--write`` puts what the present environment prints into the
page instead.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "tutorial.md"
BLOCKS = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    """Commands of one block, and what they print, if the page shows it."""

    commands: tuple[str, ...]
    shown: str | None


def steps(text: str) -> list[Step]:
    """Read the commands of a page; those that install are left to the reader."""
    found: list[Step] = []
    for kind, body in BLOCKS.findall(text):
        if kind == "sh":
            found.append(Step(tuple(body.splitlines()), None))
        else:
            found[-1] = Step(found[-1].commands, body)
    return [step for step in found if step.commands[0].startswith("crank ")]


def run(step: Step, folder: Path, programs: Path) -> str:
    """Run the commands of a step in a shell, with an environment's programs first."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    said = []
    for command in step.commands:
        print("$", command, flush=True)
        done = subprocess.run(
            command, shell=True, cwd=folder, text=True, capture_output=True,
            env={**os.environ, "PATH": path, "COLUMNS": "80"}, check=False,
        )  # fmt: skip
        print(done.stdout, done.stderr, sep="", end="", flush=True)
        if done.returncode:
            sys.exit(f"{command!r} ended with {done.returncode}")
        said.append(done.stdout)
    return tidy("".join(said))


def tidy(text: str) -> str:
    """Leave out the spaces at the ends of lines, which editors do not keep."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def fresh(wheel: Path) -> None:
    """Install a wheel with its extras into a new environment, and run the tutorial there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "ranking"], check=True)
        programs = folder / "ranking" / ("Scripts" if os.name == "nt" else "bin")
        wanted = f"{wheel.resolve()}[plot,onnx]"
        subprocess.run([programs / "python", "-m", "pip", "install", "-q", wanted], check=True)
        for step in steps(PAGE.read_text(encoding="utf-8")):
            if run(step, folder, programs) != step.shown and step.shown is not None:
                sys.exit(
                    f"{step.commands[-1]!r} printed something else than docs/tutorial.md shows"
                )
    print("\nEvery command of the tutorial succeeded, and printed what the page shows.")


def write() -> None:
    """Put what the present environment prints into the page."""
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        for step in steps(text):
            said = run(step, Path(name), Path(sys.executable).parent)
            if step.shown is not None:
                block = "\n".join(step.commands) + "\n```\n\n```text\n"
                before, after = text.split(block)
                text = before + block + said + after[len(step.shown) :]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else fresh(Path(sys.argv[1]))
