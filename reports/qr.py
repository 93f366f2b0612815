"""The QR code of a link, for a phone that cannot copy from this screen."""

import segno

QUIET_MODULES = 4
"""ISO/IEC 18004 asks for four light modules around the code; dark themes need them light."""


def qr_svg(address: str) -> str:
    """Return the code as one `<svg>` on a light ground; error correction M (15 %)."""
    code = segno.make(address, error="m", micro=False)
    svg: str = code.svg_inline(
        border=QUIET_MODULES, dark="#000", light="#fff", omitsize=True, svgclass=None, lineclass=None
    )
    return svg


def modules(address: str) -> int:
    """Return how many modules the code is wide, its light border included."""
    return int(segno.make(address, error="m", micro=False).symbol_size(border=QUIET_MODULES)[0])
