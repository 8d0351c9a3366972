"""Draw single objects: emoji sprites, an open box and a table, all with transparent surroundings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

# Debian and Ubuntu: apt-get install fonts-noto-color-emoji
FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
FONT_SIZE = 109  # the one bitmap size in the font
GLYPHS = {"dog": "🐕", "cat": "🐈", "ball": "⚽", "car": "🚙", "cup": "☕", "apple": "🍎"}

Colour = tuple[int, int, int]

# Muted wood, card and paint, apart from the colours of the sprites.
BOX_COLOURS: tuple[Colour, ...] = ((176, 128, 78), (120, 142, 110), (128, 116, 150), (152, 108, 92))
TABLE_COLOURS: tuple[Colour, ...] = ((121, 78, 48), (92, 88, 92), (150, 104, 60), (70, 92, 104))
LIP = 0.34  # share of the box's height that its front covers
WALL = 5  # thickness of the box's sides, pixels
SLAB = 9  # thickness of the table top, pixels
LEG = 7  # thickness of a table leg, pixels


@cache
def glyph(category: str, font: Path = FONT) -> Image.Image:
    """Return the emoji of a thing at full size, cut to what is visible."""
    if not font.is_file():
        raise FileNotFoundError(f"{font}: expected the Noto Color Emoji font (apt-get install fonts-noto-color-emoji)")
    picture = Image.new("RGBA", (2 * FONT_SIZE, 2 * FONT_SIZE), (0, 0, 0, 0))
    face = ImageFont.truetype(str(font), FONT_SIZE)
    ImageDraw.Draw(picture).text((10, 10), GLYPHS[category], font=face, embedded_color=True)
    return picture.crop(picture.getbbox())


@cache
def thing(category: str, size: int, mirrored: bool) -> Image.Image:
    """Return a thing whose longest side is `size` pixels."""
    full = glyph(category)
    scale = size / max(full.size)
    width, height = (max(1, round(side * scale)) for side in full.size)
    small = full.resize((width, height), Image.Resampling.LANCZOS)
    return small.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else small


def shade(colour: Colour, factor: float) -> Colour:
    """Return the colour made darker (below 1) or lighter (above 1)."""
    red, green, blue = (min(255, round(channel * factor)) for channel in colour)
    return red, green, blue


@cache
def box(width: int, height: int, colour: int) -> tuple[Image.Image, Image.Image]:
    """Return the back and the front of an open box; what is inside goes between them."""
    base = BOX_COLOURS[colour]
    back = Image.new("RGBA", (width, height), (*shade(base, 0.62), 255))
    front = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(front)
    lip = round(height * (1 - LIP))
    draw.rectangle((0, 0, WALL - 1, height), fill=(*shade(base, 0.85), 255))
    draw.rectangle((width - WALL, 0, width, height), fill=(*shade(base, 0.85), 255))
    draw.rectangle((0, lip, width - 1, height - 1), fill=(*base, 255), outline=(*shade(base, 0.7), 255))
    draw.line((0, (lip + height) // 2, width, (lip + height) // 2), fill=(*shade(base, 1.2), 255), width=2)
    return back, front


@cache
def table(width: int, height: int, colour: int) -> Image.Image:
    """Return a table: a slab on two legs, nothing between the legs."""
    base = TABLE_COLOURS[colour]
    picture = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(picture)
    inset = width // 12
    for left in (inset, width - inset - LEG):
        draw.rectangle((left, SLAB, left + LEG - 1, height - 1), fill=(*shade(base, 0.8), 255))
    draw.rectangle((0, 0, width - 1, SLAB - 1), fill=(*base, 255), outline=(*shade(base, 1.25), 255))
    return picture


def background(size: int, rng: np.random.Generator) -> Image.Image:
    """Return a plain wall: one light colour, a soft gradient and a faint, smooth texture."""
    cells = int(rng.integers(12, 80))
    colour = rng.uniform(130, 225) + rng.uniform(-26, 26, size=3)
    slope = rng.uniform(-14, 14, size=(2, 3))
    axis = np.linspace(-1, 1, cells)
    wall = colour + axis[:, None, None] * slope[0] + axis[None, :, None] * slope[1]
    wall += rng.normal(0.0, rng.uniform(1.0, 6.0), size=(cells, cells, 1))
    coarse = Image.fromarray(np.clip(wall, 0, 255).astype(np.uint8))
    return coarse.resize((size, size), Image.Resampling.BILINEAR)
