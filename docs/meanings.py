"""What the manual says of every field of the four model formats: in Blender's and Knuckle's words, field by field.

The fields themselves, their units and defaults, are those of the formats' own tables; ``build.py docs --tables``
refuses to write a page where a field has no meaning here, or a meaning no field. ``{A,B}`` stands for several.
"""

from __future__ import annotations

Meanings = dict[str, str]

_PART = {
    "ID": "kept; what refers to it follows it",
    "Name": "name of object and bone",
    "Position/{X,Y,Z}": "place",
    "Rotation/{Y,P,R}": "turn: yaw, pitch, roll",
    "Twin": "twin",
}
_JOINT = {
    **_PART,
    "Body1": "parent",
    "Body2": "child",
    "Gain": "Gain: speed per error with which the servo tracks its target",
    "MaxForce": "Max Force; 0 is no force",
    "{LoStopValue,HiStopValue}": "lower and upper stop",
    "{LoStopFlag,HiStopFlag}": "whether each stop is on",
    "{SourceGain,SourceMaxForce}": "notes of ours, which Juice passes over: what they were in the format that the model came from",
    "Diameter": "kept in the file",
}

JUICE: dict[str, Meanings] = {
    "Model": {
        "Gravity": "gravity of the model; the scene's where the model made the rigid-body world",
        "Friction": "friction of bodies: 2.5 times its share of the weight, within 0.3 and 1",
        "{ERP,CFM}": "softness of joints and stops under physics",
        "{StandardSpeed,SpeedFactor}": "tempo of clockworks; Speed Factor among the controls",
        "{PoseDelay,PosePhase}": "where the model's time begins",
    },
    "Body": {
        **_PART,
        "BoxDimensions/{X,Y,Z}": "size of a box",
        "{TubeLength,TubeDiameter}": "size of a tube: a capsule, or a cylinder",
        "BallDiameter": "size of a ball",
        "Shape": "which of the three it is",
        "Mass": "Mass; the moments of inertia follow from the shape",
    },
    "RevoluteJoint, PrismaticJoint, SphericalJoint": {**_JOINT, "Length": "kept in the file (not of balls)"},
    "Clockwork": {
        "Name": "kept",
        "Enabled": "whether it moves anything",
        "Gain": "size of the whole motion",
        "{MotionSource,AmpModSource}": "what drives it, the engine or a control, and which control scales it",
        "AbsoluteValue": "kept; its own program does not use it either",
        "FeedbackSource": "the body whose tilt it feels",
    },
    "ClockworkMotor": {
        "JointID": "the servo that it moves",
        "Enabled": "whether it does",
        "{Offset,Phase,Amplitude}": "its swing",
        "MotionType": "none, sine, double sine, step or continuous; files older than the types have none, and a sine is played",
    },
}

_KEPT = "a note of ours, which the file's own program passes over"

SHIFT: dict[str, Meanings] = {
    "settings": {
        "gravity": "gravity; what points against it is up in Blender",
        "angle": "unit of the file's angles",
        "include": "folders below the model's in which meshes may lie too",
        "knuckle": _KEPT,
    },
    "assembly": {"name": "collection", "active": "the box under Assemblies", "knuckle": _KEPT},
    "frame": {"name": "small empty on its body", "{T,R}": "its place and turn", "knuckle": _KEPT},
    "body": {
        "name": "name of object",
        "active": "whether it takes part",
        "{definition,geometry}": "the mesh files",
        "collision_geometry": "whether its meshes collide",
        "center_of_mass": "origin of the object",
        "mass": "Mass",
        "{Ixx,Iyy,Izz,Ixy,Iyz,Izx}": "moments of inertia; what Blender's shape has otherwise, a hidden flywheel makes up",
        "knuckle": _KEPT,
    },
    "joint": {
        "name": "name of empty and bone",
        "active": "whether it takes part",
        "type": "type; see below",
        "axis": "axis of the joint",
        "initial_displacement": "pose that the bones come in",
        "initial_velocity": "speed at the first frame",
        "stiffness": "spring; higher powers push as formulas, once a frame",
        "damping": "damper, likewise",
        "knuckle": _KEPT,
    },
    "light": {
        "name": "name of the light",
        "type": "kind of light",
        "parent": "the frame that it hangs on",
        "{Ka,Ks}": "kept: Blender has no such light",
        "Kd": "colour",
    },
    "restraint": {
        "name": "kept",
        "active": "whether it pushes",
        "type": "spring or damper",
        "joint": "the joint that it acts on; else it acts between two bodies",
        "distance_type": "along what it is measured",
        "{knot_points,coefficients}": "its formula, piece by piece, taken once a frame",
        "knuckle": _KEPT,
    },
}

_PLACE = {"transformation": "place and turn"}
_AXIS_PARTS = {
    "dynamics/damping": "Damping",
    "dynamics/friction": "friction: a brake under physics",
    "dynamics/spring_rest_position": "where the spring rests",
    "dynamics/spring_stiffness": "spring",
    "limit/{lower,upper}": "stops",
}
_SHAPE = {
    "knuckle/@type": _KEPT,
    **_PLACE,
    "geometry/{sphere,box,ellipsoid,cylinder,capsule,cone,pyramid,plane,mesh,hemisphere}/*": "see below",
}

SKEL: dict[str, Meanings] = {
    "world": {
        "@name": "kept",
        "physics/time_step": "kept; Blender's steps are fitted to the model",
        "physics/gravity": "gravity; what points against it is up in Blender",
        "physics/collision_detector": "kept",
    },
    "skeleton": {
        "@name": "collection",
        "{mobile,immobile}": "an immobile skeleton stands still under physics",
        **_PLACE,
    },
    "body": {
        "@name": "name of object",
        "knuckle/@{name,assembly,twin,link_of}": _KEPT,
        "gravity": "whether gravity pulls it",
        **_PLACE,
        "inertia/mass": "Mass",
        "inertia/offset": "origin of the object",
        "inertia/transformation": "the axes of the moments",
        "inertia/moment_of_inertia/{ixx,iyy,izz,ixy,ixz,iyz}": "moments of inertia; what Blender's shape has otherwise, "
        "a hidden flywheel makes up",
        "self_collide": "kept",
    },
    "visualization_shape": {**_SHAPE, "color": "material"},
    "collision_shape": {**_SHAPE, "collidable": "whether it collides"},
    "soft_shape": {**_SHAPE, "knuckle/@type": "", "total_mass": "Mass", "{kv,ke,damp}": "kept; it is rigid in Blender"},
    "joint": {
        "@type": "type; see below",
        "@name": "name of empty and bone",
        "@actuator": "whether it has a servo",
        "knuckle/@{name,assembly,type,twin,loose,link_of,pitch,gain,max_force,armature}": _KEPT,
        "parent": "parent; `world` is none",
        "child": "child",
        "transformation": "where the joint is, in the child",
        "parent_transformation": "where it is in the parent, of loop joints",
        "axis_order": "order of an euler joint's turns",
        "plane/*": "the plane of a planar joint",
        "{axis,axis2,axis3}/xyz": "axis",
        "axis/pitch": "pitch of a screw",
        **{f"{{axis,axis2,axis3}}/{path}": words for path, words in _AXIS_PARTS.items()},
        "init_pos": "pose that the bones come in",
        "init_vel": "speed at the first frame",
    },
    "dof": {
        "@local_index": "which of the joint's degrees it is",
        "@name": "name of the servo",
        "position/@{lower,upper}": "stops",
        "position/@initial": "pose that the bone comes in",
        "velocity/@initial": "speed at the first frame",
        "velocity/@{lower,upper}": "kept",
        "acceleration/@{lower,upper,initial}": "kept",
        "force/@{lower,upper,initial}": "kept",
        "{damping,friction,spring_rest_position,spring_stiffness}": "as under an axis",
    },
}

X_XY: dict[str, Meanings] = {
    "x_xy": {"model": "name of the model"},
    "options": {
        "gravity": "gravity, the other way round: it is what an accelerometer at rest reads",
        "dt": "kept; Blender's steps are fitted to the model",
    },
    "body": {
        "name": "name of object and bone",
        "joint": "type of the joint to the body around it; see below",
        "pos": "place, in the body around it",
        "{quat,euler}": "turn; euler is in degrees",
        "{pos_min,pos_max}": "kept: bounds for a random place",
        "damping": "Damping",
        "armature": "kept; not simulated",
        "spring_stiff": "spring",
        "spring_zero": "where the spring rests",
    },
    "geom": {
        "type": "shape; see below",
        "mass": "its share of the body's Mass and inertia",
        "pos": "place",
        "{quat,euler}": "turn",
        "dim": "size",
        "color": "material; a name of the program's, or numbers",
        "edge_color": "kept",
    },
    "omc": {"name": "small empty on its body", "{pos_marker,pos}": "its place"},
}
