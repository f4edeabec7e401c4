"""Pages in a real browser: clicks, keys, the slider, the form; no errors, and accessible."""

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crank.models.base import RankingModel
from tests.page_models import in_python, models, probes, sample

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
ABSENT = [
    name
    for name, there in {
        "chromium": BROWSER,
        "chromedriver": DRIVER,
        "selenium": importlib.util.find_spec("selenium"),
    }.items()
    if not there
]
missing = f"not installed: {', '.join(ABSENT)} (Debian: chromium, chromium-driver)"
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(bool(ABSENT), reason=missing),
    pytest.mark.xdist_group("pages"),
]
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDE, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def fitted() -> dict[str, RankingModel]:
    return models()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(DRIVER))
    found.implicitly_wait(10)
    yield found
    found.quit()


@pytest.fixture(scope="module")
def pages(
    fitted: dict[str, RankingModel], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder, data = tmp_path_factory.mktemp("pages"), sample(90)
    found = {
        name: model.report(folder / f"{name}.html", data)
        for name, model in fitted.items()
        if name in ("tree", "linear", "additive", "forest", "booster", "blend")
    }
    pair = {"additive": fitted["additive"]}
    found["two"] = fitted["linear"].report(folder / "two.html", data, versus=pair, name="linear")
    return found


def opened(driver: Any, path: Path, size: tuple[int, int] = WIDE) -> Any:
    """Open a page, and wait until it is drawn."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE},
    )
    driver.get(path.as_uri())
    driver.find_element("css selector", "html[data-ready]")
    return driver


def found(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def test_pages_are_drawn_without_an_error(driver: Any, pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        for size in (WIDE, PHONE):
            opened(driver, path, size)
            text = found(driver, "body").text
            assert "[object" not in text, name
            assert "undefined" not in text, name
            assert "NaN" not in text, name
            wide = driver.execute_script(
                "return [document.documentElement.scrollWidth, innerWidth]"
            )
            assert wide[0] <= wide[1], (name, size)  # nothing but tables and trees scroll sideways
        assert driver.get_log("browser") == [], name


def test_a_pair_of_columns_is_a_heat_map(driver: Any, pages: dict[str, Path]) -> None:
    opened(driver, pages["additive"])
    assert len(driver.find_elements("css selector", ".cell")) == 21 * 21
    first = found(driver, ".cell title").get_attribute("textContent")
    assert first.startswith("x1 ")
    assert len(driver.find_elements("css selector", ".key.block")) == 2


def test_the_form_scores_as_python_does(
    driver: Any, fitted: dict[str, RankingModel], pages: dict[str, Path]
) -> None:
    for name, path in pages.items():
        if name == "two":
            continue
        rows = probes(name)
        opened(driver, path)
        scores = driver.execute_script(
            "return JSON.stringify(arguments[0].map((row) => crankReport.score(0, row)))", rows
        )
        wanted = in_python(fitted[name], rows)
        exact = name in ("tree", "forest", "booster")
        assert json.loads(scores) == (wanted if exact else pytest.approx(wanted, rel=1e-12)), name


def test_a_node_shows_what_is_known_of_it(driver: Any, pages: dict[str, Path]) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(driver, pages["tree"])
    found(driver, ".node[data-node='1']").click()
    assert found(driver, ".detail h3").text == "Node 2"
    assert "Rule" in found(driver, ".detail dl").text
    assert len(driver.find_elements("css selector", ".detail rect.bar")) == 10
    boxes = len(driver.find_elements("css selector", ".node"))
    found(driver, ".node[data-node='1']").send_keys(Keys.ARROW_LEFT)
    assert found(driver, ".detail h3").text == "Node 1"
    found(driver, ".node[data-node='0']").send_keys("-")
    assert len(driver.find_elements("css selector", ".node")) == 1
    assert found(driver, ".detail button").text == "Expand branch"
    found(driver, ".detail button").click()
    assert len(driver.find_elements("css selector", ".node")) == boxes


def test_the_slider_prunes_the_tree(
    driver: Any, fitted: dict[str, RankingModel], pages: dict[str, Path]
) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(driver, pages["tree"])
    own = fitted["tree"].tree.n_leaves  # type: ignore[attr-defined]
    assert found(driver, ".told").text.startswith(f"{own} lea")
    slider = found(driver, ".pruning input")
    slider.send_keys(Keys.HOME)
    assert found(driver, ".told").text.startswith("1 leaf")
    assert len(driver.find_elements("css selector", ".node")) == 1
    slider.send_keys(Keys.END)
    largest = max(step.n_leaves for step in fitted["tree"].pruning.steps)  # type: ignore[attr-defined]
    assert found(driver, ".told").text.startswith(f"{largest} leaves")


def test_the_form_follows_its_fields(
    driver: Any, fitted: dict[str, RankingModel], pages: dict[str, Path]
) -> None:
    opened(driver, pages["tree"])
    before = found(driver, ".answer strong").text
    box = found(driver, ".form input[type=number]")
    name = driver.execute_script("return arguments[0].labels[0].textContent", box)
    assert name == "x1"
    box.clear()
    box.send_keys("3.5")
    assert found(driver, ".answer strong").text != before
    assert "outside the range" in found(driver, ".field .note").text
    found(driver, ".form input[type=checkbox]").click()
    assert box.get_attribute("disabled")
    assert "It ranks above" in found(driver, ".answer").text
    path = driver.find_elements("css selector", ".answer ol.path li")
    marked = driver.find_elements("css selector", ".node.on-path")
    assert len(path) == len(marked)


def test_tables_sort(driver: Any, pages: dict[str, Path]) -> None:
    opened(driver, pages["tree"])
    table = driver.find_elements("xpath", "//section[h2='Leaves']//table")[0]

    def sizes() -> list[int]:
        cells = table.find_elements("css selector", "tbody td:nth-child(3)")
        return [int(cell.text.replace(",", "")) for cell in cells]

    head = table.find_elements("css selector", "th button")[2]
    head.click()
    assert sizes() == sorted(sizes(), reverse=True)
    head.click()
    assert sizes() == sorted(sizes())


def test_pages_are_accessible(driver: Any, pages: dict[str, Path]) -> None:
    """By axe-core, as its package on the index bundles it."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    for name, scheme in (("tree", "light"), ("two", "dark")):
        wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
        opened(driver, pages[name])
        driver.execute_script(axe)
        wrong = driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
            ".then((found) => done(found.violations.map((one) => [one.id, one.nodes[0].html])))"
        )
        assert wrong == [], (name, scheme)


def test_a_page_prints_on_a4(driver: Any, pages: dict[str, Path]) -> None:
    opened(driver, pages["tree"])
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(printed["data"]) > 10_000
