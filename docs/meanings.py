"""Meaning of every field of the four model formats in Blender, for the tables of the manual.

Fields, units and defaults come from the formats' own tables. ``build.py docs --tables`` raises an error if a field has
no meaning here, or a meaning no field. ``{A,B}`` stands for several fields.
"""

from __future__ import annotations

Meanings = dict[str, str]

_PART = {
    "ID": "kept, with all references to it",
    "Name": "name of object and bone",
    "Position/{X,Y,Z}": "position",
    "Rotation/{Y,P,R}": "rotation: yaw, pitch, roll",
    "Twin": "twin",
}
_JOINT = {
    **_PART,
    "Body1": "parent",
    "Body2": "child",
    "Gain": "Gain: velocity of the servo per tracking error",
    "MaxForce": "Max Force (0: no force)",
    "{LoStopValue,HiStopValue}": "lower and upper stop",
    "{LoStopFlag,HiStopFlag}": "switches of the stops",
    "{SourceGain,SourceMaxForce}": "extension data, which Juice ignores: values of the format that the model came from",
    "Diameter": "kept in the file",
}

JUICE: dict[str, Meanings] = {
    "Model": {
        "Gravity": "gravity of the mechanism. Gravity of the scene if the mechanism created the rigid-body world",
        "Friction": "friction of bodies: 2.5 times its share of the weight, between 0.3 and 1",
        "{ERP,CFM}": "softness of joints and stops under physics",
        "{StandardSpeed,SpeedFactor}": "tempo of clockworks. Gait Speed under Inputs",
        "{PoseDelay,PosePhase}": "beginning of the gait's time",
    },
    "Body": {
        **_PART,
        "BoxDimensions/{X,Y,Z}": "size of a box",
        "{TubeLength,TubeDiameter}": "size of a tube: a capsule, or a cylinder",
        "BallDiameter": "size of a ball",
        "Shape": "which of the three",
        "Mass": "Mass. The moments of inertia are computed from the shape",
    },
    "RevoluteJoint, PrismaticJoint, SphericalJoint": {**_JOINT, "Length": "kept in the file (not for ball joints)"},
    "Clockwork": {
        "Name": "kept",
        "Enabled": "on or off",
        "Gain": "amplitude of the whole motion",
        "{MotionSource,AmpModSource}": "its source (engine or input), and the input that scales it",
        "AbsoluteValue": "kept. Juice does not use it either",
        "FeedbackSource": "the body whose tilt it reads",
    },
    "ClockworkMotor": {
        "JointID": "the servo that it moves",
        "Enabled": "on or off",
        "{Offset,Phase,Amplitude}": "oscillation of the servo",
        "MotionType": "none, sine, double sine, step or continuous. Older files without a type play a sine",
    },
}

_KEPT = "extension data, which the format's own program ignores"

SHIFT: dict[str, Meanings] = {
    "settings": {
        "gravity": "gravity. The opposite direction is up in Blender",
        "angle": "unit of the file's angles",
        "include": "subfolders that can contain meshes",
        "knuckle": _KEPT,
    },
    "assembly": {"name": "collection", "active": "the checkbox under Assemblies", "knuckle": _KEPT},
    "frame": {"name": "small empty on its body", "{T,R}": "position and rotation", "knuckle": _KEPT},
    "body": {
        "name": "name of object",
        "active": "on or off",
        "{definition,geometry}": "the mesh files",
        "collision_geometry": "on if its meshes collide",
        "center_of_mass": "origin of the object",
        "mass": "Mass",
        "{Ixx,Iyy,Izz,Ixy,Iyz,Izx}": "moments of inertia. A hidden inertia proxy corrects those of Blender's shape",
        "knuckle": _KEPT,
    },
    "joint": {
        "name": "name of empty and bone",
        "active": "on or off",
        "type": "type, see below",
        "axis": "axis of the joint",
        "initial_displacement": "initial pose",
        "initial_velocity": "initial velocity",
        "stiffness": "spring. Higher powers are evaluated once per frame",
        "damping": "damper. Higher powers are evaluated once per frame",
        "knuckle": _KEPT,
    },
    "light": {
        "name": "name of the light",
        "type": "kind of light",
        "parent": "the reference frame of the light",
        "{Ka,Ks}": "kept. Blender has no such light",
        "Kd": "color",
    },
    "restraint": {
        "name": "kept",
        "active": "on or off",
        "type": "spring or damper",
        "joint": "the joint that it acts on. Without one it acts between two bodies",
        "distance_type": "direction of the measured distance",
        "{knot_points,coefficients}": "its piecewise polynomial, evaluated once per frame",
        "knuckle": _KEPT,
    },
}

_PLACE = {"transformation": "position and rotation"}
_AXIS_PARTS = {
    "dynamics/damping": "Damping",
    "dynamics/friction": "Friction",
    "dynamics/spring_rest_position": "rest value of the spring",
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
        "physics/time_step": "kept. Knuckle chooses Blender's substeps for the mechanism",
        "physics/gravity": "gravity. The opposite direction is up in Blender",
        "physics/collision_detector": "kept",
    },
    "skeleton": {
        "@name": "collection",
        "{mobile,immobile}": "an immobile skeleton does not move under physics",
        **_PLACE,
    },
    "body": {
        "@name": "name of object",
        "knuckle/@{name,assembly,twin,link_of}": _KEPT,
        "gravity": "gravity on or off",
        **_PLACE,
        "inertia/mass": "Mass",
        "inertia/offset": "origin of the object",
        "inertia/transformation": "axes of the moments of inertia",
        "inertia/moment_of_inertia/{ixx,iyy,izz,ixy,ixz,iyz}": "moments of inertia. A hidden "
        "inertia proxy corrects those of Blender's shape",
        "self_collide": "kept",
    },
    "visualization_shape": {**_SHAPE, "color": "material"},
    "collision_shape": {**_SHAPE, "collidable": "on if it collides"},
    "soft_shape": {
        **_SHAPE,
        "knuckle/@type": "",
        "total_mass": "Mass",
        "{kv,ke,damp}": "kept. The body is rigid in Blender",
    },
    "joint": {
        "@type": "type, see below",
        "@name": "name of empty and bone",
        "@actuator": "servo or not",
        "knuckle/@{name,assembly,type,twin,loose,link_of,pitch,gain,max_force,armature}": _KEPT,
        "parent": "parent (`world`: none)",
        "child": "child",
        "transformation": "position and rotation of the joint in the child",
        "parent_transformation": "for loop joints: position and rotation in the parent",
        "axis_order": "rotation order of an Euler joint",
        "plane/*": "the plane of a planar joint",
        "{axis,axis2,axis3}/xyz": "axis",
        "axis/pitch": "pitch of a screw",
        **{f"{{axis,axis2,axis3}}/{path}": words for path, words in _AXIS_PARTS.items()},
        "init_pos": "initial pose",
        "init_vel": "initial velocity",
    },
    "dof": {
        "@local_index": "index of the degree of freedom",
        "@name": "name of the servo",
        "position/@{lower,upper}": "stops",
        "position/@initial": "initial pose",
        "velocity/@initial": "initial velocity",
        "velocity/@{lower,upper}": "kept",
        "acceleration/@{lower,upper,initial}": "kept",
        "force/@{lower,upper,initial}": "kept",
        "{damping,friction,spring_rest_position,spring_stiffness}": "as under an axis",
    },
}

X_XY: dict[str, Meanings] = {
    "x_xy": {"model": "name of the model"},
    "options": {
        "gravity": "gravity with the opposite sign, as an accelerometer at rest reads it",
        "dt": "kept. Knuckle chooses Blender's substeps for the mechanism",
    },
    "body": {
        "name": "name of object and bone",
        "joint": "type of the joint to the parent body, see below",
        "pos": "position in the parent body",
        "{quat,euler}": "rotation. `euler` is in degrees",
        "{pos_min,pos_max}": "kept. Bounds of a random position",
        "damping": "Damping",
        "armature": "rotor inertia, kept but not simulated",
        "spring_stiff": "spring",
        "spring_zero": "rest value of the spring",
    },
    "geom": {
        "type": "shape, see below",
        "mass": "share of the body's Mass and inertia",
        "pos": "position",
        "{quat,euler}": "rotation",
        "dim": "size",
        "color": "material. A color name of ring, or numbers",
        "edge_color": "kept",
    },
    "omc": {"name": "small empty on its body", "{pos_marker,pos}": "position"},
}
