"""The preview card: what it says, what it never says, and that it stays."""

import re
from dataclasses import replace
from io import BytesIO

from PIL import Image

from reports import card
from reports.freeze import FreezeOptions, freeze
from reports.qr import modules, qr_svg
from reports.redact import Redaction
from tests.reports.samples import draw, sample_report, sample_result


def test_a_card_has_title_one_figure_its_interval_and_nothing_else():
    told = card.words(sample_report())
    assert (told["label"], told["value"], told["interval"]) == (
        "Spend",
        "$41.2k",
        "$30.0k – $52.0k (published quotes)",
    )
    assert "5.9" not in str(told)
    assert told["mark"] == ""


def test_no_number_stands_on_the_card_of_a_report_without_dollars():
    report = freeze([sample_result()], "Weekly", FreezeOptions(Redaction(dollars=True)), draw=draw)
    told = card.words(report)
    assert not re.search(r"\d", "".join(told.values()))
    assert card.HIDDEN in card.description(told)


def test_the_tags_are_escaped_and_the_picture_is_what_chats_ask_for(tmp_path):
    report = sample_report()
    kept = card.keep_card(report, tmp_path)
    tags = card.meta(kept, "https://ipd.example.org/r/x/card.png")
    assert "<img" not in tags
    assert "<script" not in tags
    assert tags.count("<meta ") == tags.count("<") == 9
    raw = card.read_card(tmp_path, kept)
    picture = Image.open(BytesIO(raw))
    assert (picture.format, picture.size) == ("PNG", (1200, 630))
    assert len(raw) < 100_000


def test_a_card_that_was_changed_or_lost_is_not_shown(tmp_path):
    kept = card.keep_card(sample_report(), tmp_path)
    (path,) = (tmp_path / "reports" / "cards").iterdir()
    path.write_bytes(b"else")
    assert card.read_card(tmp_path, kept) is None
    path.unlink()
    assert card.read_card(tmp_path, kept) is None
    assert card.read_card(tmp_path, None) is None


def ink_of_column(picture, x):
    """How many pixels of a column differ from the ground of the card."""
    ground = picture.getpixel((1190, 20))
    return sum(picture.getpixel((x, y)) != ground for y in range(picture.height))


def test_long_texts_stay_inside_the_card():
    told = {"label": "l " * 300, "value": "$" + "9" * 90, "interval": "i" * 900, "mark": "", "foot": ""}
    for title in ("w" * 500, "many words " * 60, "短い" * 200, ""):
        picture = Image.open(BytesIO(card.draw({**told, "title": title}))).convert("RGB")
        assert [ink_of_column(picture, x) for x in (1_140, 1_199)] == [0, 0]


def test_a_live_card_promises_no_number(tmp_path):
    kept = card.keep_live_card(sample_report(), tmp_path)
    assert kept["value"] == kept["interval"] == ""
    assert "Live report" in card.description(kept)


def test_the_synthetic_mark_is_on_the_card_and_in_the_sentence():
    payload = {**sample_report().payload, "synthetic": True}
    told = card.words(replace(sample_report(), payload=payload))
    assert card.description(told).startswith("Synthetic example data")


def test_a_code_is_readable_on_a_phone_and_has_a_light_border():
    address = "https://reports.example.org/r/" + "A" * 43
    svg = qr_svg(address)
    wide = modules(address)
    assert f'viewBox="0 0 {wide} {wide}"' in svg
    assert svg.startswith("<svg")
    assert 'fill="#fff"' in svg
    assert 220 / wide > 4
    """Pixels a module at the width at which the dialog shows it; phones want three."""
