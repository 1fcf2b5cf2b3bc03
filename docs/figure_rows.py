"""Rows of the manual's tables of ``build.py bench physics``: sections of rows, each for figures of the same kind.

A row is a pattern that matches the full names of its figures, and its text in the manual. ``build.py docs --tables``
raises an error if a figure with a threshold has no row.
"""

from __future__ import annotations

SECTIONS: dict[str, list[tuple[str, str]]] = {
    "Playing and baking": [
        (
            r".*, playing: CPU time \(s\) per simulated second",
            "six sample mechanisms, Ragdoll and Servos, playing: CPU time per simulated second, s",
        ),
        (
            r".*, playing: joint separation \(%\)",
            "same, playing: joint separation, % of a link (without threshold: soft by their files)",
        ),
        (
            r".*, baking: joint separation \(%\)",
            "same, baking: joint separation, % of a link (without threshold: soft by their files)",
        ),
        (
            r".*, baking: path shift \(%\)",
            "same, a second of a bake without contact, substeps doubled: shift of the paths, % of the mechanism",
        ),
        (r".*, baking: path shift with contacts \(%\)", "same, with contacts"),
        (r"humanoid over hexapod, .*: CPU time", "humanoid relative to hexapod, playing: CPU time"),
        (
            r"humanoid, Servos, playing, over MuJoCo with steps of 2 ms: CPU time",
            "humanoid, Servos, playing, relative to MuJoCo with steps of 2 ms: CPU time",
        ),
        (
            r"humanoid, Ragdoll, playing, over MuJoCo with steps of 2 ms: CPU time",
            "humanoid, Ragdoll, playing, relative to MuJoCo with steps of 2 ms: CPU time",
        ),
        (
            r".*: largest distance from MuJoCo after a second without contact \(m\)",
            "samples, a bake without contact for a second: distance from MuJoCo, m",
        ),
        (
            r"real files: share of the models below real time, playing \(%\)",
            "168 mechanisms from other programs, playing: share below real time, %",
        ),
        (
            r"real files: share of the rigid models with more than 0.5 % joint separation, playing \(%\)",
            "same, rigid ones: share with more than 0.5 % joint separation, %",
        ),
        (
            r"samples and real files: CPU time of playing over the least that 0.5 % joint separation needs, .*",
            "samples and these mechanisms, playing: CPU time relative to the least that 0.5 % separation needs",
        ),
        (
            r".*, baked keyframes, over the world switched off: CPU time",
            "samples, playing baked keyframes: CPU time relative to the rigid-body world being switched off",
        ),
        (
            r"bake at .* over 60 frames per second: CPU time per simulated second",
            "bake at 24 and 30 frames/s, relative to 60: CPU time per simulated second",
        ),
        (
            r".*: playback from the bake in 5 s \(mm\)",
            "hexapod and rover, 24 to 60 frames/s, 5 s: distance of playback from the bake, mm",
        ),
        (r".*: settings changed, helper objects", "same: changed settings of the scene, helper objects"),
        (r"soft joint, .*: sag / ODE's", "soft joint of Juice in a bake: sag relative to ODE"),
        (r"soft joints over 1.1 times .*", "soft joints more than 1.1 times as soft as in the file, without a notice"),
    ],
    "Joint separation": [
        (
            r"chain, links .*, tip .*: gap",
            "chain of five links of 2 cm to 1 m, released horizontally, last link 1 to 1,000 times as heavy: separation, relative to a link",
        ),
        (r"chain with stops, .*: gap", "same chain with stops: separation"),
        (
            r"chain with flywheels, .*: gap",
            "same chain with moments of inertia that no box has (inertia proxies): separation",
        ),
        (
            r".*, posed by keys: gap",
            "seven closed linkages, posed by their input joint: separation, relative to the shortest link",
        ),
        (
            r".*, closed by a hinge: gap",
            "same linkages under physics, crank driven by a servo: separation, relative to the shortest link",
        ),
        (
            r".*, closed by a hinge: drift of phase",
            "same linkages under physics: lag of the crank after four revolutions",
        ),
    ],
    "Comparison with equations of motion": [
        (r"pendulum .*: period", "pendulum of 2 cm to 1 m, amplitude 0.5 and 2 rad: error of the period"),
        (r"pendulum .*: amplitude after 10 s", "same pendulum: change of the amplitude after 10 s"),
        (r"pendulum, friction .*: worst error", "pendulum with joint friction and joint damping: angle error, rad"),
        (r"pendulum thrown .*", "pendulum with an initial velocity from its file: angle error, rad"),
        (r"double pendulum, .*, against its equations: worst angle", "double pendulum, 2 s: angle error, rad"),
        (
            r"A0\d .*: path( of P3)?",
            "IFToMM benchmarks A01 (pendulum, 10 s), A02 (two four-bars, 4 s), A04 (Bricard, 5 s): error of the path",
        ),
        (r"A02 four-bar: speed of B0 .*", "A02, initial velocity of the closed loops: error"),
        (
            r"A03 squeezer, .*\(50 x 200 .*: crank",
            "A03 (Andrews), 0.03 s, 16 rad of the crank, 50 substeps and 200 iterations: error",
        ),
        (r"A03 squeezer, .*: crank", "A03, with the 10 substeps and 75 iterations of the formula: error"),
        (r"A03 squeezer, .*\(50 x 200 .*: energy drift.*", "A03, 50 substeps and 200 iterations: change of the energy"),
        (r"A0[124] .*: energy drift.*", "A01, A02, A04: change of the energy"),
        (
            r"A05 governor: Blender's solver cannot, .*",
            "A05 (governor, springs of 8e5 N/m): time until the simulation diverges, which it reports",
        ),
        (r"top, .*: axis after 2 s", "spinning top, 30 to 400 rad/s, 2 s: error of its axis"),
        (r"top, .*: by how much it nods further .*", "same top: error of its nutation"),
        (
            r"thrown chain, .*: (linear|angular) momentum off",
            "free chain with initial velocities, 24 and 60 frames/s: error of its momenta after 4 frames and 2 s",
        ),
        (r"thrown chain, .*: energy off", "same chain: error of its energy"),
        (r"thrown chain, .*: worst place of its bodies", "same chain, 2 s: error of the path"),
        (
            r"box on a slope at .*",
            "box on a slope, 0.98, 1.02 and 1.2 of the friction threshold, 1 s: error of its travel",
        ),
        (
            r"PD step of an arm .*: steady error / sag",
            "PD servos of an arm with a light tip: steady error, relative to the sag",
        ),
        (
            r"free rotation of the file's tensor, with a flywheel",
            "free rotation of a body with three different moments of inertia: error of its axes",
        ),
        (
            r"free rotation of the file's tensor, as its shape has it",
            "same body without inertia proxy (File's Inertia off)",
        ),
    ],
    "Comparison with other programs": [
        (
            r"double pendulum, .*, against DART: worst angle",
            "double pendulum, 2 s, compared with DART: angle difference, rad",
        ),
        (
            r"\d+ SKEL models, free: median share that they stray",
            "24 SKEL models without contact, compared with DART: deviation of the center of mass, relative to its travel, median",
        ),
        (
            r"\d+ SKEL models, touching: median share that they stray",
            "33 SKEL models with contact, compared with DART: same quantity",
        ),
        (
            r"walkers that do otherwise than in the reference, of 12",
            "number of walkers, of 12, that move differently than in Juice",
        ),
        (
            r"walkers that do otherwise with a bake's steps, times .*",
            "same, with a bake's steps, and with two and four times as many",
        ),
    ],
    "Servos": [
        (
            r"track .*: .*, worst error",
            "weight that tracks 0.8 sin t against gravity, every joint type, 24 to 60 frames/s: tracking error, rad or m",
        ),
        (
            r"track a full turn of a ball .*: worst error",
            "ball joint that tracks a full revolution: tracking error, rad",
        ),
        (r"hold, .*: largest share of its limit held", "static load: largest fraction of Max Force that a servo holds"),
        (
            r"hold, .*: smallest share that it yields to",
            "static load: smallest fraction of Max Force at which a servo yields",
        ),
        (
            r"three turns at .*: gives way at 97 %",
            "three servos in one joint, one loaded with 97 % of its limit: displacement, rad",
        ),
        (
            r"three turns at .*: held / given way at 103 %",
            "same joint, loaded with 103 %: 0.002 rad relative to the displacement",
        ),
        (
            r"PD, stiffness .*: worst deviation / sag",
            "PD control law under a load: deviation from the ideal spring, relative to its deflection",
        ),
        (
            r"PD, .*: beyond the oscillator's peak",
            "PD control law after a step: overshoot over the peak of the ideal oscillator, relative",
        ),
    ],
    "Springs, dampers, restraints, screws, stops": [
        (r"spring, .*: period off \(share\)", "spring of any joint type, 5 to 60 rad/s: relative error of the period"),
        (r"spring, .*: swing off \(share\)", "same spring: relative error of the amplitude"),
        (
            r"restraint on a .*: worst error \(share\)",
            "restraint at a prismatic or revolute joint, seven formulas: relative error",
        ),
        (r"spring between two bodies: .*\(share\)", "spring between two bodies: relative error"),
        (r"spring between two bodies: .*\(m\)", "same spring: drift of the common center of mass, m"),
        (
            r"spring at the end of an arm .*: worst error \(share\)",
            "spring at the end of an arm, 5, 20 and 60 rad/s: relative error",
        ),
        (
            r"spring of .* at the end of . links: .*",
            "spring at the end of a chain, up to 50,000 N/m: relative excess of the amplitude",
        ),
        (r"screw, .*: fall off \(share\)", "nut that descends on a screw: relative error of the fall"),
        (r"screw, .*: worst slip \(m\)", "same nut: slip between translation and rotation, m"),
        (
            r"screw raises .*: worst error of the turn",
            "screw that raises a weight by a servo: angle error, rad",
        ),
        (r"screw raises .*: worst slip \(m\)", "same screw, smooth and abrupt motion: slip, m"),
        (r"stop of a .*: passed by", "stop hit at 1 to 30 rad/s or m/s: overshoot, rad or m"),
    ],
    "Baking, cache, removal of physics": [
        (
            r".*, 300 frames baked: worst of every body \(m\)",
            "Bake All Bodies: difference between bake and simulation, worst body, m",
        ),
        (
            r".*, the same on bones alone \(m\)",
            "Bake Simulation, on bones without joint separation: same difference, m",
        ),
        (
            r"60 frames of a run gone to, kept: wrong ones",
            "frames shown from the cache that differ from the simulation, of 60",
        ),
        (r"looking for edits before a jump \(s\)", "search for edits at a jump in the timeline, s"),
        (r"truth about 600 frames of .* \(s\)", "computation of the accuracy of 600 frames, s"),
        (
            r"a frame with account kept of the run, over one without",
            "frame that is cached, relative to one that is not: time",
        ),
        (r".*after clearing", "datablocks that differ after Remove Rigid Bodies"),
    ],
    "Speed": [
        (
            r"servos, friction and damping of 22 joints: CPU time \(ms\) per frame",
            "servos, friction and damping of the humanoid's 22 joints: CPU time per frame, ms",
        ),
        (r"slowest walker: seconds per second", "slowest of 12 walkers: seconds of computation per simulated second"),
        (
            r"a frame with servos on .* joints .*: ratio",
            "frame with 33 ball joints or 50 universal joints with servos, relative to the same scene without control: time",
        ),
        (
            r"a frame of a four-bar that follows its keyed crank: ms",
            "frame of a closed loop, posed by its input joint, ms",
        ),
        (r"a frame with .* restraints .*: ms for each", "restraint, per frame, ms"),
        (r"a restraint among 80, over one among 20: .*", "restraint among 80, relative to one among 20: time"),
        (
            r"a loop that is held at a stop, over a free one: .*",
            "closed loop held at a stop, relative to a free one: time",
        ),
    ],
}
