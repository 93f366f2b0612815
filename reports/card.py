"""The preview card of a link in a chat: title, one figure, drawn once when the link is made."""

import html
import os
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from analysis.result import Figure
from charts.palette import LIGHT
from charts.text import figure_quantity, interval, unit_tail
from reports.freeze import FrozenReport, folder

SIZE = (1200, 630)
BRAND = "Intelligence per Dollar"
SYNTHETIC = "Synthetic example data"
HIDDEN = "Amounts are hidden by the author."
LIVE = "Numbers are computed when the link is opened."
_MARGIN = 72
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf")
_BOLD = ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "Arial Bold.ttf")
_ELLIPSIS = "…"


def keep_card(report: FrozenReport, home: Path) -> dict[str, str]:
    """Draw the card of a report, keep it by its own hash, and return what the link keeps of it."""
    return _keep(words(report), home)


def _keep(told: dict[str, str], home: Path) -> dict[str, str]:
    image = draw(told)
    digest = sha256(image).hexdigest()
    place = _path(home, digest)
    if not place.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.{os.getpid()}.part")
        part.write_bytes(image)
        part.replace(place)
    return {**told, "image": digest}


def keep_live_card(report: FrozenReport, home: Path) -> dict[str, str]:
    """Keep a card without a number: the one that a live link shows later is not known."""
    return _keep({**_title(report), "label": LIVE, "foot": f"Live report, {BRAND}"}, home)


def read_card(home: Path, card: Mapping[str, str] | None) -> bytes | None:
    """Return the picture of a card, None when there is none or it is no longer the bytes that were drawn."""
    if not card:
        return None
    try:
        raw = _path(home, card["image"]).read_bytes()
    except FileNotFoundError:
        return None
    return raw if sha256(raw).hexdigest() == card["image"] else None


def words(report: FrozenReport) -> dict[str, str]:
    """Return the texts of a card. With dollars hidden it has no number: none could be told from an amount."""
    told = _title(report)
    if report.payload["redaction"].get("dollars"):
        return {**told, "label": HIDDEN}
    found = _headline(report)
    if found is None:
        return told
    value = f"{figure_quantity(found)} {unit_tail(found.unit)}".strip()
    return {
        **told,
        "label": found.label or found.name.replace("_", " "),
        "value": value,
        "interval": interval(found),
    }


def _title(report: FrozenReport) -> dict[str, str]:
    mark = SYNTHETIC if report.synthetic else ""
    foot = f"Frozen report, {BRAND}"
    return {"title": report.title, "label": "", "value": "", "interval": "", "mark": mark, "foot": foot}


def _headline(report: FrozenReport) -> Figure | None:
    for section in report.sections:
        for raw in section.get("headline") or []:
            if raw.get("value") is not None:
                return Figure(**raw)
    return None


def description(card: Mapping[str, str]) -> str:
    """Return the one sentence that chats print under the title."""
    figure = f"{card['label']}: {card['value']}" if card["value"] else card["label"]
    if card["interval"]:
        figure += f", {card['interval']}"
    return " · ".join(text for text in (card["mark"], figure, card["foot"]) if text)


def meta(card: Mapping[str, str], image_url: str) -> str:
    """Return the OpenGraph and Twitter tags, escaped."""
    said = {
        "og:type": "article",
        "og:site_name": BRAND,
        "og:title": card["title"],
        "og:description": description(card),
        "og:image": image_url,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": description(card),
    }
    tags = [f'<meta property="{name}" content="{html.escape(text)}">' for name, text in said.items()]
    return "\n".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def draw(told: Mapping[str, str]) -> bytes:
    """Return the card as PNG, 1200 x 630: readable at the size of a stamp, so few words."""
    image = Image.new("RGB", SIZE, LIGHT.surface)
    pen = ImageDraw.Draw(image)
    width = SIZE[0] - 2 * _MARGIN
    pen.rectangle((0, 0, 16, SIZE[1]), fill=LIGHT.accent)
    pen.text((_MARGIN, 56), BRAND, font=_font(30), fill=LIGHT.quiet)
    title_font = _font(58, bold=True)
    y = 118
    for line in _lines(pen, told["title"], title_font, width, 2):
        pen.text((_MARGIN, y), line, font=title_font, fill=LIGHT.text)
        y += 74
    _figure(pen, told, width)
    if told["mark"]:
        pen.rounded_rectangle((_MARGIN, 546, SIZE[0] - _MARGIN, 602), 8, fill="#FFF7E8")
        pen.rectangle((_MARGIN, 546, _MARGIN + 8, 602), fill=LIGHT.bad)
        pen.text((_MARGIN + 28, 574), f"{told['mark']}: nothing here was measured", _INK, _font(30), "lm")
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


_INK = "#8A4B00"


def _figure(pen: ImageDraw.ImageDraw, told: Mapping[str, str], width: int) -> None:
    label_font, value_font = _font(34), _font(96, bold=True)
    if not told["value"]:
        for line in _lines(pen, told["label"], label_font, width, 1):
            pen.text((_MARGIN, 330), line, font=label_font, fill=LIGHT.quiet)
        return
    for line in _lines(pen, told["label"], label_font, width, 1):
        pen.text((_MARGIN, 302), line, font=label_font, fill=LIGHT.quiet)
    while value_font.getlength(told["value"]) > width and value_font.size > 40:
        value_font = _font(int(value_font.size) - 8, bold=True)
    for line in _lines(pen, told["value"], value_font, width, 1):
        pen.text((_MARGIN, 348), line, font=value_font, fill=LIGHT.accent)
    for line in _lines(pen, told["interval"], label_font, width, 1):
        pen.text((_MARGIN, 474), line, font=label_font, fill=LIGHT.quiet)


def _lines(
    pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, width: int, most: int
) -> list[str]:
    """Break a text at spaces, or inside a word that is too long; what does not fit ends with an ellipsis."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < most:
        end = _fitting(pen, rest, font, width)
        if end < len(rest) and len(lines) < most - 1:
            end = rest.rfind(" ", 1, end + 1) if " " in rest[1 : end + 1] else end
        line, rest = rest[:end].rstrip(), rest[end:].lstrip()
        lines.append(line)
    if rest:
        last = lines[-1]
        while last and pen.textlength(last + _ELLIPSIS, font=font) > width:
            last = last[:-1]
        lines[-1] = last.rstrip() + _ELLIPSIS
    return lines


def _fitting(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, width: int) -> int:
    """How many characters fit, one at least."""
    low, high = 1, min(len(text), 400)
    while low < high:
        middle = (low + high + 1) // 2
        if pen.textlength(text[:middle], font=font) <= width:
            low = middle
        else:
            high = middle - 1
    return low


def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """A sans serif of the machine, else the one that Pillow brings (Latin letters only)."""
    for name in _BOLD if bold else _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType: its own font has one size")
    return found


def _path(home: Path, digest: str) -> Path:
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f"no hash of a card: {digest!r}")
    return folder(home) / "cards" / f"{digest}.png"
