"""What holds for every page in a real browser: axe finds nothing, nothing is cut off, the keyboard reaches everything,
every row is printed.

One load of a page is looked at in light and dark, at 1280 and 320 px, at 200 %, and as it is printed.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from playwright.sync_api import Page

from tests.support import node

CHECKERS = Path(__file__).parent / "node"
"""The pins of axe and vnu."""
REACHABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
WIDE, ZOOMED, NARROW = 1280, 640, 320
"""Widths in CSS pixels: a desk, the same at 200 %, a small telephone (or the desk at 400 %)."""
MAX_TABS = 40
"""How many things of a page are walked to by the key itself."""
_RULES_LEFT_OUT = {
    "color-contrast-enhanced": "level AAA",
    "identical-links-same-purpose": "level AAA",
    "meta-refresh-no-exceptions": "level AAA",
    "hidden-content": "tells only that something is hidden",
    "p-as-heading": "an experiment that guesses: a figure in large letters is no heading",
}


@cache
def axe_script() -> str:
    """The script of axe; the test is skipped where the npm registry is out of reach."""
    return (node.installed(CHECKERS) / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def add_axe(page: Page) -> None:
    """Let every page that is opened from now on bring axe along. `problems` needs it."""
    page.add_init_script(axe_script())


def problems(page: Page) -> list[str]:
    """Everything that is wrong with the page that is shown. It is left wide and light."""
    page.set_viewport_size({"width": WIDE, "height": 800})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = [*_in_light(page), *_printed(page), *_in_dark(page), *_enlarged(page), *_narrow(page)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDE, "height": 800})
    return [*found, *_by_keyboard(page)]


def problems_at_first_sight(page: Page) -> list[str]:
    """What is wrong with a state of a page that is looked at in full elsewhere: axe in light, the edge at 320 px."""
    found = [*_in_light(page), *_printed(page)]
    page.set_viewport_size({"width": NARROW, "height": 640})
    found += _overflow(page, "320 px")
    page.set_viewport_size({"width": WIDE, "height": 800})
    return found


def _in_light(page: Page) -> Iterator[str]:
    yield from _axe(page, "light")
    yield from _named("hard to read in light", page.evaluate(_CONTRASTS))
    yield from _named("a date that is not written for people", page.evaluate(_ISO_DATES))
    yield from _overflow(page, "1280 px")


def _printed(page: Page) -> Iterator[str]:
    """Rows of tables that are shown and not printed."""
    shown = page.evaluate(_ROWS)
    page.emulate_media(media="print")
    printed = page.evaluate(_ROWS)
    page.emulate_media(media="screen")
    if printed != shown:
        yield f"print: {printed} of {shown} rows are printed"


def _in_dark(page: Page) -> Iterator[str]:
    page.emulate_media(color_scheme="dark")
    yield from _axe(page, "dark", "color-contrast")
    yield from _named("hard to read in dark", page.evaluate(_CONTRASTS))
    if page.evaluate(_BRIGHTNESS) >= 64:
        yield "dark: the page is bright"


def _enlarged(page: Page) -> Iterator[str]:
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    yield from _overflow(page, "text of 200 %")
    page.evaluate("document.documentElement.style.fontSize = ''")
    page.set_viewport_size({"width": ZOOMED, "height": 400})
    yield from _overflow(page, "200 %")


def _narrow(page: Page) -> Iterator[str]:
    page.set_viewport_size({"width": NARROW, "height": 640})
    yield from _axe(page, "320 px")
    yield from _overflow(page, "320 px")


def _axe(page: Page, mode: str, *rules: str) -> Iterator[str]:
    """What axe finds with these rules, or with all."""
    for rule, help_text, html in page.evaluate(_RUN_AXE, [list(rules), list(_RULES_LEFT_OUT)]):
        yield f"{mode}: {rule} ({help_text}): {html}"


def _overflow(page: Page, mode: str) -> Iterator[str]:
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        yield f"{mode}: the page scrolls sideways"
    yield from _named(f"{mode}: cut off", page.evaluate(_CUT_OFF))


def _by_keyboard(page: Page) -> Iterator[str]:
    """What the Tab key does not reach in the order of the page, or reaches without a sign of it."""
    page.evaluate(_FOCUS_BEFORE, [REACHABLE, 0])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    if not page.evaluate("document.activeElement === document.querySelector('main')"):
        yield "the first Tab and Enter do not skip to the content"
    count = len(unmarked := page.evaluate(_FOCUS_SIGNS, REACHABLE))
    yield from _named("reached without a sign of it", [each for each in unmarked if each])
    places = _tabbed(page, 0, min(count, MAX_TABS))
    if count > MAX_TABS:
        places += _tabbed(page, count - 10, 10)
    expected = [*range(min(count, MAX_TABS)), *(range(count - 10, count) if count > MAX_TABS else ())]
    if places[: len(expected)] != expected:
        yield f"the keyboard walks {places} of {count}"


def _tabbed(page: Page, first: int, number: int) -> list[int]:
    """The places that the Tab key reaches, from a first one on. A date is one, though the key stops in it often."""
    page.evaluate(_FOCUS_BEFORE, [REACHABLE, first])
    stops = page.evaluate(_STOPS, [REACHABLE, first, number])
    for _ in range(stops):
        page.keyboard.press("Tab")
    places: list[int] = page.evaluate("window.places")
    return places


def _named(problem: str, found: list[object]) -> Iterator[str]:
    for each in found:
        yield f"{problem}: {each}"


_ISO_DATES = """[...document.querySelectorAll("body *")]
.filter((each) => !each.closest("pre, code, textarea, script, .code"))
.flatMap((each) => [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && each.checkVisibility()))
.map((node) => node.data.match(/.{0,40}\\d{4}-\\d\\d-\\d\\d.{0,20}/)?.[0]).filter(Boolean)"""
"""But for what is written for programs."""
_RUN_AXE = """async ([only, leftOut]) => {
  const rules = Object.fromEntries(axe.getRules().map((rule) => [rule.ruleId, {enabled: true}]));
  for (const rule of leftOut) rules[rule] = {enabled: false};
  const options = only.length ? {runOnly: only} : {rules};
  const {violations} = await axe.run({...options, resultTypes: ["violations"], selectors: false});
  return violations.flatMap((each) => each.nodes.map((node) => [each.id, each.help, node.html.slice(0, 160)]));
}"""
_VISIBLE = """const otherIsChosen = (each) => each.type === "radio" && !each.checked &&
  [...document.getElementsByName(each.name)].some((other) => other.checked && other.form === each.form);
const visible = (all) => [...document.querySelectorAll(all)].filter((each) => !each.disabled &&
  each.checkVisibility({visibilityProperty: true}) && each.getClientRects().length && !otherIsChosen(each));"""
_ROWS = """[...document.querySelectorAll("main tr")].filter((each) => !each.closest(".unprinted") &&
  each.checkVisibility({visibilityProperty: true}) && each.getClientRects().length).length"""
_FOCUS_SIGNS = f"""(all) => {{
  {_VISIBLE}
  const style = (each) => {{
    const now = getComputedStyle(each);
    return [now.outline, now.boxShadow, now.border, now.background, now.clipPath, now.transform, now.inset].join();
  }};
  return visible(all).map((each) => {{
    each.blur();
    const before = style(each);
    each.focus();
    const marked = document.activeElement === each && style(each) !== before;
    each.blur();
    return marked ? "" : each.outerHTML.slice(0, 160);
  }});
}}"""
_FOCUS_BEFORE = f"""([all, place]) => {{
  {_VISIBLE}
  if (place > 0) visible(all)[place - 1].focus();
  else {{
    document.activeElement.blur();
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
  }}
}}"""
_STOPS = f"""([all, first, number]) => {{
  {_VISIBLE}
  const reachable = visible(all);
  window.places = [];
  window.walk?.abort();
  window.walk = new AbortController();
  const keep = (event) => window.places.push(reachable.indexOf(event.target));
  document.addEventListener("focusin", keep, {{signal: window.walk.signal}});
  const dates = reachable.slice(first, first + number).filter((each) => each.type === "date");
  return number + dates.length * 3;
}}"""
"""Keeps what gets the focus, and tells how often to press the key: a date has day, month, year and a button."""
_BRIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)[0]"
_CUT_OFF = """() => [...document.querySelectorAll("main *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".hidden, thead"))
  .filter((each) => !each.parentElement.closest("[tabindex='0']"))  // the keyboard scrolls these
  .map((each) => each.outerHTML.slice(0, 100))"""
_CONTRASTS = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const textColor = (each) => numbers(getComputedStyle(each)[each.ownerSVGElement ? "fill" : "color"]);
  const background = (each) => {
    for (; each; each = each.parentElement) {
      const color = numbers(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const each of document.querySelectorAll("body *")) {
    if (!each.getClientRects().length) continue;
    const isText = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!isText && !["INPUT", "SELECT"].includes(each.tagName)) continue;
    const [text, behind] = [textColor(each), background(each)].map(luminance);
    const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (contrast < 4.5) poor.push([each.outerHTML.slice(0, 80), contrast]);
  }
  return poor;
}"""
