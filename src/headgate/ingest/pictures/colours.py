"""The colour that stands for a picture until it is loaded."""

from __future__ import annotations

from PIL import Image

_SIDE = 48
_COLOURS = 6
_VISIBLE = 128


def dominant_colour(picture: Image.Image) -> str:
    """Return the colour that a picture is mostly made of, like `#8a93a0`; vivid ones count more."""
    small = picture.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    if small.mode == "RGBA":
        small = _visible(small)
    palette = small.quantize(_COLOURS, Image.Quantize.MEDIANCUT)
    counts = palette.getcolors() or []
    levels = palette.getpalette() or [128, 128, 128]
    shares = [(count, tuple(levels[3 * int(index) : 3 * int(index) + 3])) for count, index in counts]  # pyright: ignore[reportArgumentType]
    _, (red, green, blue) = max(shares, key=lambda share: (share[0] * _weight(share[1]), share[1]))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _visible(picture: Image.Image) -> Image.Image:
    """Return the visible pixels in a row; a middle grey if there are none."""
    pixels = [
        pixel[:3]
        for pixel in picture.get_flattened_data()
        if isinstance(pixel, tuple) and pixel[3] >= _VISIBLE
    ] or [(128, 128, 128)]
    row = Image.new("RGB", (len(pixels), 1))
    row.putdata(pixels)
    return row


def _weight(colour: tuple[int, ...]) -> float:
    return 0.5 + (max(colour) - min(colour)) / 255
