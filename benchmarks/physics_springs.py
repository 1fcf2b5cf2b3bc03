"""``build.py bench physics_springs``: what springs, restraints and screws do under physics, against mechanics.

Every row is a run in Blender's own world at the settings that an import chooses: what, value, bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from addon.core.model import Dof
from benchmarks.physics_servos import Row, fresh, table
from tests.support import (
    first_speeds_helpers,
    pairs_helpers,
    restraints_helpers,
    screws_helpers,
    softness_helpers,
    spring_rest_helpers,
)
from tests.support.degrees_helpers import Z


def springs() -> Iterator[Row]:
    """A spring on each coordinate of each kind of joint, at rest away from where the run begins, 4 s: by how much its
    time and the width of its swing are off (shares)."""
    rest, start = 0.3, 0.1
    for name, number in spring_rest_helpers.all_springs():
        for frequency in (5.0, 20.0, 60.0):
            mechanism = spring_rest_helpers.sprung(name, number, frequency, rest, start)
            values = spring_rest_helpers.coordinates(fresh(), mechanism, 241)
            late, wide = spring_rest_helpers.off(values, number, frequency, rest, start)
            what = f"spring, {name} axis {number}, {frequency:g} rad/s"
            yield f"{what}: period off (share)", abs(late), 0.001, abs(late) < 0.001
            yield f"{what}: swing off (share)", abs(wide), 0.005, abs(wide) < 0.005


def restraints() -> Iterator[Row]:
    """Formulas along a slide and a hinge, and a spring between two bodies, 4 s, against a numerical integration: the
    worst error as a share of the whole movement."""
    for name in restraints_helpers.LAWS:
        for what, run in (("slide", restraints_helpers.slide_run), ("hinge", restraints_helpers.hinge_run)):
            found, true = run(fresh(), name, 241)
            error = float(np.abs(found - true).max() / np.ptp(true))
            bar = 0.03 if (what, name) == ("hinge", "slack in the middle") else 0.01
            yield f"restraint on a {what}, {name}: worst error (share)", error, bar, error < bar
    found, true, strayed = restraints_helpers.pair_run(fresh(), 241)
    error = float(np.abs(found - true).max() / np.ptp(true))
    yield "spring between two bodies: worst error (share)", error, 0.005, error < 0.005
    yield "spring between two bodies: their middle strays by (m)", strayed, 1e-5, strayed < 1e-5


def pairs() -> Iterator[Row]:
    """Springs between a place on a body and one in the world, 2 s: by how much an arm on a joint of a kind is off
    (share of its swing), and by how much (share) a spring at the end of a chain swings more than it was let go with."""
    for name in ("hinge", "universal", "ball"):
        for frequency, bar in ((5.0, 0.01), (20.0, 0.04), (60.0, 0.1)):
            found, true = pairs_helpers.arm_run(fresh(), name, frequency)
            error = float(np.abs(found - true).max() / 0.1)
            what = f"spring at the end of an arm on a {name}, {frequency:g} rad/s"
            yield f"{what}: worst error (share)", error, bar, error < bar
    for links in (2, 3):
        for strength in (50.0, 500.0, 5000.0, 50000.0):
            more = float(np.abs(pairs_helpers.chain_run(fresh(), links, strength, 301)[0]).max() / 0.05) - 1.0
            what = f"spring of {strength:g} N/m at the end of {links} links"
            yield f"{what}: swing too wide (share)", more, 0.02, more < 0.02


def screws() -> Iterator[Row]:
    """Screws that run down under a weight for a second, and one that a servo turns: how far the slide is from where the
    turn has it (m), and by how much the fall is off (share)."""
    for pitch in (0.01, 0.05, 0.25, -0.6):
        values = screws_helpers.screwed(fresh(), Dof("screw", Z, pitch=pitch), 61)
        fall = values[-1, 1] / (screws_helpers.fall(pitch) / 2) - 1.0
        yield f"screw, {pitch:g} m/rad, runs down: fall off (share)", abs(fall), 0.002, abs(fall) < 0.002
        slip = screws_helpers.slip(values, pitch)
        yield f"screw, {pitch:g} m/rad, runs down: worst slip (m)", slip, 1e-5, slip < 1e-5
    for smooth in (True, False):
        values, off = screws_helpers.raised(fresh(), smooth)
        slip, bar = screws_helpers.slip(values, 0.1), 0.005 if smooth else 0.025
        how = "sweeping" if smooth else "with a jerk"
        yield f"screw raises a weight by its servo, {how}: worst error of the turn", off, 1e-4, off < 1e-4
        yield f"screw raises a weight by its servo, {how}: worst slip (m)", slip, bar, slip < bar


def speeds() -> Iterator[Row]:
    """A pendulum that begins level at 3 rad/s, 1.5 s, against a numerical integration (rad)."""
    found, true = first_speeds_helpers.thrown_pendulum(fresh(), 91)
    error = float(np.abs(found - true).max())
    yield "pendulum thrown at 3 rad/s: worst error (rad)", error, 0.015, error < 0.015


def softness() -> Iterator[Row]:
    """Static sag of a body on a soft joint of a Juice file, over ODE's force * step * CFM / ERP, with a bake's solver
    steps; and how far the joints of the real files are softer than in the file with these."""
    for cfm, erp, mass, gravity in softness_helpers.CASES:
        found = softness_helpers.sag_ratio(fresh(), cfm, erp, mass, gravity)
        what = f"soft joint, CFM {cfm:g}, ERP {erp:g}, {mass:g} kg at {gravity:g} m/s2, baking: sag / ODE's"
        yield what, found, 1.1, 0.9 < found <= 1.1
    for quality, label in (("BAKE", "baking"), ("PREVIEW", "playing")):
        factors = softness_helpers.real_factors(fresh, quality)
        silent = sum(factor > 1.1 and not said for factor, said in factors)
        soft = sum(factor > 1.1 for factor, _ in factors)
        if factors:
            what = (
                f"soft joints over 1.1 times the file's, {label}, {soft} of {len(factors)} real files: without a notice"
            )
            yield what, silent, 0.0, not silent


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "springs": springs, "restraints": restraints, "pairs": pairs, "screws": screws, "speeds": speeds,
    "softness": softness,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return table("physics_springs", "Springs under physics.", PARTS, arguments)
