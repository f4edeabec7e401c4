"""What the build of the documentation adds to its pages: versions, and names of figures."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

EXTENSIONS = Path(__file__).parents[1] / "docs" / "_ext"


def extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXTENSIONS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_versions_are_listed_newest_first_and_the_front_page_leads_to_the_newest(
    tmp_path: Path,
) -> None:
    for name in ("0.9.0", "0.10.0rc1", "0.10.0", "img"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("", encoding="utf-8")
    found = extension("versions").list_versions(tmp_path)
    assert found == ["0.10.0", "0.10.0rc1", "0.9.0"]
    listed = (tmp_path / "versions.js").read_text(encoding="utf-8")
    assert listed == 'window.crankVersions = ["0.10.0", "0.10.0rc1", "0.9.0"];\n'
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_pages_of_a_release_load_the_list_from_beside_their_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build, page = extension("versions"), SimpleNamespace(url="cases/concrete.html")
    monkeypatch.delenv(build.SWITCH, raising=False)
    assert build.on_post_page("<head></head>", page=page, config=None) == "<head></head>"
    monkeypatch.setenv(build.SWITCH, "1")
    shown = build.on_post_page("<head></head>", page=page, config=None)
    assert shown == '<head><script src="../../versions.js"></script></head>'


def test_figures_have_their_subscript_in_prose_but_not_in_code() -> None:
    text = "d_τ of `d_τ`\n\n```pycon\n>>> d_τ\n```\n\\(d_τ\\)"
    shown = extension("figures").on_page_markdown(text, page=None, config=None, files=None)
    assert shown == text.replace("d_τ", '<span class="tau">d<sub>τ</sub></span>', 1)
