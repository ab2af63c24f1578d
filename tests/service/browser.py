"""The main path of each page in a browser, at two widths, light and dark; axe-core looks at each page on the way.

Run by `test_clients.py` with playwright and axe-core: ADDRESS BROWSER, in a folder that holds the files to upload.
"""

import base64
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ADDRESS, BROWSER = sys.argv[1:]
AXE = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
POINT_ABOVE_CARD = """async picture => {
  const map = get("map").getBoundingClientRect(), card = get("card").getBoundingClientRect(), image = new Image();
  const [left, top] = [...data.x].map((x, i) => [map.x + across(x), map.y + down(data.y[i]), i]).find(([x, y, i]) =>
    x > 20 && x < map.right - 20 && y > map.y + 20 && y < card.y - 20 && i !== chosen && !near(chosen).includes(i));
  image.src = picture;
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  return [left, 2].map(x => context.getImageData(x, top, 1, 1).data.join());
}"""
problems: list[str] = []
looked_at: set[str] = set()


@contextmanager
def open_page(browser: Browser, width: int, scheme: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.on(
        "request", lambda request: request.url.startswith((ADDRESS, "data:", "blob:")) or problems.append(request.url)
    )
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()


def look(page: Page, name: str) -> None:
    """Note what axe-core finds on a page, and whether it is wider than the window."""
    found = page.evaluate("([code, rules]) => { (0, eval)(code); return axe.run(document, rules); }", [AXE, RULES])
    problems.extend(f"{name}: {item['id']} {item['nodes'][0]['html']}" for item in found["violations"])
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        problems.append(f"{name} is too wide")
    looked_at.add(name)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        with page.expect_navigation():
            page.keyboard.press(key)


def click(page: Page, selector: str) -> None:
    with page.expect_navigation():
        page.locator(selector).first.click()


def send(page: Page, button: str, name: str) -> str:
    """Send a form that has a field for a title; return the link to what becomes of it."""
    title = f"{page.url.rpartition('/')[2]} {page.viewport_size}"
    page.fill("#title", title)
    page.click(f"main button:has-text('{button}')")
    link = f'#items a:text-is("{title}")'
    page.wait_for_selector(link)
    look(page, name)
    assert page.inner_text("#said") == f"{title}: ready"
    return link


def search_and_read(page: Page) -> None:
    page.goto(f"{ADDRESS}/library/landmarks")
    look(page, "start of a search")
    page.fill("#q", "how the continents moved apart")
    click(page, "main button:has-text('Search')")
    look(page, "results")
    click(page, ".results h3 a")
    look(page, "paper")


def find_on_map(page: Page) -> None:
    page.goto(f"{ADDRESS}/library/landmarks/papers/watson1953molecular")
    click(page, ".actions a:has-text('On the map')")
    page.wait_for_selector("html[data-ready]", timeout=300_000)  # the first visit waits for the map
    assert "Francis H. C. Crick" in page.inner_text("#card")
    look(page, "map")
    if page.viewport_size["width"] < 700:
        shown = base64.b64encode(page.screenshot()).decode()
        point, ground = page.evaluate(POINT_ABOVE_CARD, f"data:image/png;base64,{shown}")
        assert point != ground


def screen(page: Page) -> None:
    page.goto(f"{ADDRESS}/library/landmarks/screening")
    page.fill("#criteria", "continents")
    click(page, "main button:has-text('Begin')")
    press(page, "i", "e", "z")
    assert "1 of 286 decided, 1 included" in page.inner_text(".progress")
    look(page, "desk")
    page.goto(f"{ADDRESS}/library/landmarks/screening")
    look(page, "screening reviews")


def review_tags(page: Page) -> None:
    page.goto(f"{ADDRESS}/library/landmarks/tags")
    page.set_input_files("#vocabulary", "subjects.csv")
    page.fill("#threshold", "0.02")
    click(page, send(page, "Suggest tags", "tag reviews"))
    press(page, "a", "r", "z", "n")
    assert "1 accepted" in page.inner_text(".progress")
    look(page, "tags of a paper")


def match_reviewers(page: Page) -> None:
    page.goto(f"{ADDRESS}/matching")
    page.set_input_files("#submissions", "submissions.jsonl")
    page.set_input_files("#reviewers", sorted(map(str, Path("reviewers").iterdir())))
    page.fill("#per_paper", "1")
    click(page, send(page, "Match", "matches"))
    look(page, "assignment")
    click(page, ".pairs a")
    former = page.locator(".pairs b").first.inner_text()
    click(page, "[aria-label^=Forbid]")
    look(page, "reviewers of a submission")
    submission = page.url
    click(page, "main button:has-text('Solve again')")
    page.wait_for_selector("[data-pending]", state="detached")
    page.goto(submission)
    assert page.locator(".pairs b").first.inner_text() != former


def upload(page: Page) -> None:
    page.goto(f"{ADDRESS}/uploads")
    page.set_input_files("#file", "submissions.jsonl")
    send(page, "Upload", "uploads")
    page.goto(f"{ADDRESS}/docs")
    look(page, "addresses")


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    for width, scheme in ((1280, "light"), (390, "dark")):
        with open_page(browser, width, scheme) as page:
            for follow in (search_and_read, find_on_map, screen, review_tags, match_reviewers, upload):
                follow(page)
print(len(looked_at), "pages;", "; ".join(problems) or "no problem")
