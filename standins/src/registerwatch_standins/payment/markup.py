"""The frame of the stand-in's pages: plain HTML, no script."""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse

from registerwatch_standins.payment.records import Card, Price

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1c2330 }
.notice { background: #fff4d6; border: 1px solid #d8b24a; padding: .5rem .8rem }
.wrong { background: #fde4e1; border: 1px solid #c0392b; padding: .5rem .8rem }
fieldset { border: 1px solid #b9c0cc; margin: 1rem 0; padding: .6rem 1rem }
label { display: block; padding: .2rem 0 }
button { font: inherit; padding: .4rem .9rem; margin: .2rem .4rem .2rem 0 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .5rem; vertical-align: top }
tr { border-top: 1px solid #d5dae2 } form.inline { display: inline }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
CARDS = (
    (Card.GOOD, "a good card"),
    (Card.REFUSED, "a card that is refused"),
    (Card.REFUSED_LATER, "a card that is taken now and refused at every charge after that"),
)


def page(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page. The title is text, the body markup."""
    return HTMLResponse(
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head><body>"
        f"<p class='notice'>A stand-in for a payment provider: nothing is charged, no card is real.</p>"
        f"<h1>{escape(title)}</h1>\n{body}\n</body></html>\n",
        status,
        {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
    )


def link(address: str, text: str) -> str:
    """A link."""
    return f"<a href='{escape(address)}'>{escape(text)}</a>"


def button(action: str, text: str, **fields: str) -> str:
    """A form that is one button."""
    hidden = "".join(f"<input type='hidden' name='{escape(name)}' value='{escape(fields[name])}'>" for name in fields)
    return (
        f"<form class='inline' method='post' action='{escape(action)}'>{hidden}<button>{escape(text)}</button></form>"
    )


def card_choice() -> str:
    """Which card somebody pays with."""
    choices = "".join(
        f"<label><input type='radio' name='card' value='{card}'{' checked' if card is Card.GOOD else ''}> "
        f"{_in_fours(card)} – {text}</label>"
        for card, text in CARDS
    )
    return f"<fieldset><legend>Card</legend>{choices}</fieldset>"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table. Its heads are text, its cells markup."""
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cost(price: Price) -> str:
    """`49.00 EUR a month`."""
    return f"{price.unit_amount / 100:,.2f} {price.currency.upper()} a {price.interval}"


def moment(instant: float) -> str:
    """`2026-11-21 03:38 UTC`."""
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M} UTC"


async def posted(request: Request) -> dict[str, str]:
    """The fields of a form."""
    return dict(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))


def card_of(fields: dict[str, str]) -> Card | None:
    """The card that was chosen, None for none or one that nobody knows."""
    number = fields.get("card", "").replace(" ", "")
    return Card(number) if number in list(Card) else None


def _in_fours(card: Card) -> str:
    return " ".join(card[first : first + 4] for first in range(0, 16, 4))
