"""How the stages look: their colours, the pattern of the floor, the light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .options import Stage

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Look:
    """Colours are sRGB. ``shades`` are those of the floor: by turns on its tiles (CHECKER), blended as on open ground
    (GROUND), or its ground, its lines and every fifth of them (GRID). The floor fades into ``horizon`` and the sky
    from there to ``zenith``; where that is the same there is no sky to see. ``key``, ``fill`` and ``sky`` are how
    bright the lamps shine, ``warmth`` is the main lamp's colour and ``softness`` (degrees) how large it is seen.
    ``tile`` is a tile's share of the model's size, ``labels`` whether the grid says how long it is and ``ink``
    in which colour. ``pitch`` (degrees) is how far cameras at three quarters look down: little where there is a sky to
    see."""

    pattern: Literal["CHECKER", "GROUND", "GRID"]
    shades: tuple[Color, ...]
    horizon: Color
    zenith: Color
    key: float = 4.1
    fill: float = 0.25
    sky: float = 0.34
    warmth: Color = (1.0, 0.95, 0.89)
    softness: float = 2.6
    shadow: float = 0.45
    tile: float = 0.22
    labels: bool = False
    ink: Color = (0.12, 0.14, 0.18)
    pitch: float = 17.0


LOOKS: dict[Stage, Look] = {
    "STUDIO": Look(
        pattern="CHECKER",
        shades=((0.75, 0.78, 0.82), (0.85, 0.87, 0.89)),
        horizon=(0.88, 0.91, 0.94),
        zenith=(0.62, 0.73, 0.85),
    ),
    "OUTDOOR": Look(
        pattern="GROUND",
        shades=((0.50, 0.44, 0.33), (0.59, 0.52, 0.39), (0.65, 0.59, 0.45), (0.72, 0.66, 0.52)),
        horizon=(0.84, 0.88, 0.90),
        zenith=(0.30, 0.53, 0.84),
        key=5.0,
        sky=0.42,
        warmth=(1.0, 0.91, 0.76),
        softness=1.0,
        shadow=0.55,
        tile=0.05,
        pitch=9.0,
    ),
    "BLUEPRINT": Look(
        pattern="GRID",
        shades=((0.09, 0.23, 0.47), (0.27, 0.43, 0.68), (0.48, 0.64, 0.86)),
        horizon=(0.07, 0.18, 0.38),
        zenith=(0.07, 0.18, 0.38),
        key=3.0,
        fill=1.0,
        sky=1.6,
        warmth=(1.0, 1.0, 1.0),
        shadow=0.35,
    ),
    "SCIENTIFIC": Look(
        pattern="GRID",
        shades=((0.96, 0.96, 0.96), (0.74, 0.76, 0.79), (0.45, 0.48, 0.53)),
        horizon=(0.98, 0.98, 0.98),
        zenith=(0.98, 0.98, 0.98),
        key=2.6,
        fill=0.4,
        sky=0.55,
        warmth=(1.0, 1.0, 1.0),
        softness=4.0,
        shadow=0.3,
        labels=True,
    ),
}


def linear(value: float) -> float:
    """sRGB to linear light."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
