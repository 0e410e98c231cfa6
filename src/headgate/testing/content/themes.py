"""What a simulated library is about: titles, authors, file names and texts that look like real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headgate.kernel.randomness import Randomness

AUTHORS = (
    "Ines Marlow", "Tobias Reuter", "kestrel_prints", "Yuki Amano", "Odile", "M. Okafor", "paperlantern",
    "Soren Vik", "Dagny", "quietworkshop", "Lucía Prado", "hexbolt", "Anselm K.", "Mirela", "old_growth",
)  # fmt: skip

_ADJECTIVES = (
    "Ancient", "Brass", "Broken", "Coastal", "Crooked", "Drowned", "Elder", "Frost", "Gilded", "Hollow",
    "Iron", "Lantern", "Mossy", "Northern", "Obsidian", "Painted", "Quiet", "Runed", "Silver", "Wandering",
)  # fmt: skip
_FIGURES = (
    "Dragon", "Golem", "Harbour Crane", "Knight", "Lighthouse", "Mimic Chest", "Owlbear", "Planter", "Raven",
    "Ruined Gate", "Sea Serpent", "Siege Tower", "Tavern", "Toolbox", "Treant", "Watchtower", "Windmill",
)  # fmt: skip
MAKERS = (
    "Kestrel Forge", "Paper Lantern", "Old Growth Studio", "Hexbolt Minis", "Tidal Works", "Loam & Ash",
    "Salt & Iron", "Nightjar Miniatures", "Copperleaf",
)  # fmt: skip
_PLACES = (
    "Lofoten", "Cinque Terre", "Kyoto Backstreets", "Atacama", "Isle of Skye", "Dolomites", "Hoi An",
    "Faroe Cliffs", "Old Lisbon", "Saxon Switzerland", "Patagonia", "Snowdonia", "Bukhara", "Valparaíso",
)  # fmt: skip
_LIGHTS = ("at Dawn", "in Fog", "after Rain", "at Night", "in Late Summer", "under Snow", "at Blue Hour")
_COMICS = (
    "The Cartographer's Daughter", "Nine Lanterns", "Salt Road", "Clockwork Orchard", "Below the Weir",
    "Station Aster", "Paper Foxes", "The Last Ferryman", "Moth & Ember", "Undertow",
)  # fmt: skip
_SOUNDS = ("Field Recordings", "Tape Loops", "Granular Pads", "Rain Textures", "Felt Piano", "Workshop Foley")
_TEXTURES = ("Weathered Wood", "Wet Cobblestone", "Hammered Copper", "Linen & Felt", "Lichen", "Rusted Plate")

_CHAT = (
    "Has anyone tried this at 0.12 mm? Came out great here.",
    "Thank you for sharing, this made my week.",
    "The second folder holds the supported versions.",
    "Please keep requests in the requests topic.",
    "Reminder: no reposts from the last month.",
    "Is there a version without the base?",
    "Mirror is slow today, give it an hour.",
    "Which of these would you like to see finished first?",
    "Colours are straight out of camera, no grading.",
    "Part four was broken, replaced it a minute ago.",
)
_NOTES = (
    "Everything in one archive this time.", "Password-free, as always.", "Free to use, credit is welcome.",
    "Tell me if a file is missing.", "Second version, the first had a broken file.",
)  # fmt: skip


@dataclass(frozen=True)
class Theme:
    """One kind of library."""

    name: str
    title: Callable[[Randomness], str]
    member: Callable[[Randomness, int], str]
    """The name of the nth file inside an archive."""
    notes: tuple[str, ...]
    archive_suffixes: tuple[str, ...] = ("zip", "7z", "rar", "tar.gz")


def _print_title(choices: Randomness) -> str:
    return f"{choices.choice(_ADJECTIVES)} {choices.choice(_FIGURES)} – {choices.choice(MAKERS)}"


def _print_member(choices: Randomness, n: int) -> str:
    folder = choices.choice(("supported", "unsupported", "parts"))
    return f"{folder}/{choices.choice(('body', 'base', 'arm', 'head', 'cloak', 'roof', 'wall'))}_{n:02}.stl"


def _photo_title(choices: Randomness) -> str:
    return f"{choices.choice(_PLACES)} {choices.choice(_LIGHTS)} ({2012 + choices.below(14)})"


def _comic_title(choices: Randomness) -> str:
    return f"{choices.choice(_COMICS)} #{1 + choices.below(60):02}"


def _sound_title(choices: Randomness) -> str:
    return f"{choices.choice(_ADJECTIVES)} {choices.choice(_SOUNDS)} Vol. {1 + choices.below(9)}"


def _texture_title(choices: Randomness) -> str:
    return f"{choices.choice(_TEXTURES)} – {choices.choice(('2K', '4K', '8K'))} Materials"


def _sound_member(choices: Randomness, n: int) -> str:
    return f"{n:02}_{choices.choice(('take', 'loop', 'pad'))}.wav"


def _texture_member(choices: Randomness, n: int) -> str:
    return f"{choices.choice(('albedo', 'normal', 'rough'))}_{n:02}.png"


_PRINTS = Theme(
    name="prints",
    title=_print_title,
    member=_print_member,
    notes=("Pre-supported and hollowed. Scale 32 mm.", "New in this version: fixed the left arm."),
)
_PHOTOS = Theme(
    name="photos",
    title=_photo_title,
    member=lambda _, n: f"raw/IMG_{4100 + n}.dng",
    notes=("Full resolution, sorted by day.", "Developed twice, colour and monochrome."),
    archive_suffixes=("zip", "tar.gz"),
)
_COMIC_BOOKS = Theme(
    name="comics",
    title=_comic_title,
    member=lambda _, n: f"page_{n:03}.webp",
    notes=("Scanned and cleaned, reading order checked.", "Cover by a guest this time."),
    archive_suffixes=("cbz", "cbr", "zip"),
)
_RECORDINGS = Theme(
    name="sounds", title=_sound_title, member=_sound_member, notes=("96 kHz, uncut.", "Loops at 84 bpm.")
)
_MATERIALS = Theme(
    name="textures", title=_texture_title, member=_texture_member, notes=("Seamless on both axes.",)
)
THEMES = {theme.name: theme for theme in (_PRINTS, _PHOTOS, _COMIC_BOOKS, _RECORDINGS, _MATERIALS)}


_TAGS = {
    "prints": ("miniature", "resin", "32mm", "Pre_Supported", "terrain", "fantasy"),
    "photos": ("landscape", "longexposure", "35mm", "travel"),
    "comics": ("comics", "Slice_of_Life", "complete", "translated"),
    "sounds": ("fieldrecording", "ambient", "loops", "96kHz"),
    "textures": ("seamless", "pbr", "wood", "metal"),
}


def credited_to(title: str, maker: str) -> str:
    """Return the title of a print as that of another maker; other titles name none."""
    name, dash, _ = title.rpartition(" – ")
    return f"{name}{dash}{maker}" if dash else title


def chat_line(choices: Randomness) -> str:
    return choices.choice(_CHAT)


def note_on(choices: Randomness, *, theme: Theme, title: str) -> str:
    """Return the text that goes with a file."""
    return f"{title}\n{choices.choice(theme.notes + _NOTES)}" if choices.chance(0.7) else title


def credits_of(choices: Randomness, *, theme: Theme, title: str) -> str:
    """Return who made a thing and what it is about, as some people add to what they post."""
    named = title.rpartition(" – ")[2]
    maker = f"\nCreator: {named}" if named in MAKERS and choices.chance(0.6) else ""
    tags = sorted({choices.choice(_TAGS[theme.name]) for _ in range(3)}) if choices.chance(0.5) else []
    return maker + ("\n" + " ".join(f"#{tag}" for tag in tags) if tags else "")
