"""``crank completion``: completion of commands and options for a shell."""

from __future__ import annotations

import argparse

from crank.errors import OptionError

EXAMPLES = """
examples:
  crank completion bash > ~/.local/share/bash-completion/completions/crank
  crank completion zsh > "${fpath[1]}/_crank"
  crank completion fish > ~/.config/fish/completions/crank.fish
"""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from crank.cli import parser

    print(script(arguments.shell, parser()), end="")


def script(shell: str, top: argparse.ArgumentParser) -> str:
    """Write the completion of a parser for a shell."""
    commands = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction)).choices
    if shell == "fish":
        return _fish(commands)
    if shell in SHELLS:
        body = _bash(commands)
        start = "#compdef crank\nautoload -U +X bashcompinit && bashcompinit\n"
        return (start if shell == "zsh" else "") + body
    raise OptionError(f"shell {shell!r} is not known. Allowed: {', '.join(SHELLS)}.")


def _options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if action.option_strings]


def _values(action: argparse.Action) -> list[str]:
    return [str(value) for value in action.choices or ()]


def _bash(commands: dict[str, argparse.ArgumentParser]) -> str:
    cases, values = [], []
    for name, command in commands.items():
        words = " ".join(word for action in _options(command) for word in action.option_strings)
        cases.append(f"    {name}) words='{words}' ;;")
        for action in _options(command):
            if known := _values(action):
                keys = "|".join(f"{name}:{word}" for word in action.option_strings)
                values.append(f"    {keys}) words='{' '.join(known)}' ;;")
    names = " ".join(commands)
    return f"""_crank() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{names} --help --version' -- "$current"))
    return
  fi
  case "$command:${{COMP_WORDS[COMP_CWORD-1]}}" in
{chr(10).join(values)}
  esac
  if [ -z "$words" ] && [[ "$current" == -* ]]; then
    case "$command" in
{chr(10).join(cases)}
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _crank crank
"""


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    lines = []
    for name, command in commands.items():
        about = (command.description or "").replace("'", r"\'")
        lines.append(f"complete -c crank -n __fish_use_subcommand -a {name} -d '{about}'")
        for action in _options(command):
            flags = " ".join(
                f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
                for word in action.option_strings
            )
            known = _values(action)
            more = f" -x -a '{' '.join(known)}'" if known else "" if action.nargs == 0 else " -r"
            lines.append(f"complete -c crank -n '__fish_seen_subcommand_from {name}' {flags}{more}")
    return "\n".join(lines) + "\n"
