"""How the manual tells the figures of ``build.py bench physics``: sections of lines, each for figures that are alike.

A line is a pattern that their names match as a whole, and the words of the manual. ``build.py docs --tables`` refuses
to write the page where a figure with a bar is in no line.
"""

from __future__ import annotations

SECTIONS: dict[str, list[tuple[str, str]]] = {
    "Joints stay together": [
        (
            r"chain, links .*, tip .*: gap",
            "chain of five links of 2 cm to 1 m let go from level, the last 1 to 1,000 times as heavy: gap of a joint, of a link",
        ),
        (r"chain with stops, .*: gap", "the same with stops"),
        (r"chain with flywheels, .*: gap", "the same with moments of inertia that no box has"),
        (r".*, posed by keys: gap", "seven closed linkages, posed by their driver: gap, of the shortest link"),
        (r".*, closed by a hinge: gap", "the same under physics, a servo turning the crank: gap"),
        (r".*, closed by a hinge: drift of phase", "and how far the crank falls behind in four turns"),
    ],
    "It swings as the equations say": [
        (r"pendulum .*: period", "pendulum of 2 cm to 1 m, out to 0.5 and 2 rad: period"),
        (r"pendulum .*: amplitude after 10 s", "what it has lost or gained after 10 s"),
        (r"pendulum, friction .*: worst error", "with friction and damper in its joint: worst angle, rad"),
        (r"pendulum thrown .*", "thrown by its file's initial speed: worst angle, rad"),
        (r"double pendulum, .*, against its equations: worst angle", "double pendulum, 2 s: worst angle, rad"),
        (
            r"free rotation of the file's tensor, with a flywheel",
            "body that spins with three different moments of inertia: how far its axes stray",
        ),
        (
            r"free rotation of the file's tensor, as its shape has it",
            "the same without a flywheel (File's Inertia off)",
        ),
    ],
    "Against other programs": [
        (r"double pendulum, .*, against DART: worst angle", "double pendulum, 2 s, against DART: worst angle, rad"),
        (
            r"\d+ SKEL models, free: median share that they stray",
            "24 SKEL models that touch nothing, against DART: how far they stray of the way they go, median",
        ),
        (r"\d+ SKEL models, touching: median share that they stray", "33 that touch something, where contacts decide"),
        (
            r"walkers that do otherwise than in the reference, of 12",
            "walkers that go elsewhere than Juice's own program has them, of 12",
        ),
    ],
    "Servos": [
        (
            r"track .*: .*, worst error",
            "a weight against gravity led along 0.8 sin t, every joint type, 24 to 60 frames/s: worst error, rad or m",
        ),
        (r"track a full turn of a ball .*: worst error", "a ball joint led through a full turn: worst error, rad"),
        (r"hold, .*: largest share of its limit held", "largest share of its Max Force that a servo holds"),
        (r"hold, .*: smallest share that it yields to", "smallest share that it gives way to"),
        (r"three turns at .*: gives way at 97 %", "three servos in one joint, each near its limit: gives way by"),
        (r"three turns at .*: held / given way at 103 %", "the same just beyond it: held, of what it gave way"),
        (
            r"PD, stiffness .*: worst deviation / sag",
            "PD law under a load: off the spring that it is meant to be, of its sag",
        ),
        (
            r"PD, .*: beyond the oscillator's peak",
            "PD law after a jump of the keys: beyond the peak of that spring, share",
        ),
    ],
    "Springs, dampers, restraints, screws, stops": [
        (r"spring, .*: period off \(share\)", "spring of any joint type, 5 to 60 rad/s: period, share"),
        (r"spring, .*: swing off \(share\)", "the same: swing, share"),
        (
            r"restraint on a .*: worst error \(share\)",
            "restraint on a slide or hinge, seven formulas: worst error, share",
        ),
        (r"spring between two bodies: .*\(share\)", "spring between two bodies: worst error, share"),
        (r"spring between two bodies: .*\(m\)", "how far their middle strays, m"),
        (
            r"spring at the end of an arm .*: worst error \(share\)",
            "spring at the end of an arm, 5, 20 and 60 rad/s: worst error, share",
        ),
        (
            r"spring of .* at the end of . links: .*",
            "spring at the end of a chain, up to 50,000 N/m: swing too wide, share",
        ),
        (r"screw, .*: fall off \(share\)", "nut that runs down a screw: fall, share"),
        (r"screw, .*: worst slip \(m\)", "the same: slip of slide against turn, m"),
        (
            r"screw raises .*: worst error of the turn",
            "screw that a servo turns to raise a weight: error of the turn, rad",
        ),
        (r"screw raises .*: worst slip \(m\)", "the same, swept and jerked: slip, m"),
        (r"stop of a .*: passed by", "stop hit at 1 to 30 rad/s or m/s: passed by, rad or m"),
    ],
    "Baking, going back, clearing": [
        (
            r".*, 300 frames baked: worst of every body \(m\)",
            "All Bodies: bake played against run, worst of every body, m",
        ),
        (r".*, the same on bones alone \(m\)", "Bake Simulation alone, on bones without joint separation, m"),
        (
            r"60 frames of a run gone to, kept: wrong ones",
            "frames of a run that were gone back to and not as they were",
        ),
        (r"looking for edits before a jump \(s\)", "what looking for edits costs at a jump, s"),
        (r"truth about 600 frames of .* \(s\)", "measuring the accuracy of 600 frames, s"),
        (
            r"a frame with account kept of the run, over one without",
            "a frame of a run that is kept, over one that is not",
        ),
        (r".*after clearing", "datablocks that differ after Remove Rigid Bodies"),
    ],
    "Speed": [
        (r"slowest walker: seconds per second", "slowest of 12 walkers: seconds for a second of its time"),
        (r"a frame with 100 servos .*: ratio", "a frame with 100 servos, over the same scene without us"),
        (r"a frame of a four-bar that follows its keyed crank: ms", "a frame of a loop that follows its driver, ms"),
        (r"a frame with .* restraints .*: ms for each", "a restraint, per frame, ms"),
        (r"a restraint among 80, over one among 20: .*", "a restraint among 80, over one among 20"),
        (r"a loop that is held at a stop, over a free one: .*", "a loop that is held at a stop, over a free one"),
        *(
            (rf"frames per second, {n} bodies with servos", f"frames per second with {n} bodies")
            for n in (30, 100, 300)
        ),
    ],
}
