"""Independent readers of the four formats: nothing here imports the extension.

Sources: the formats' documents and reference programs (Juice's help and source, DART's SkelParser, imt-ring's loader,
Shift's file format)."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np

from .document import Document, Raw, X, Y, Z, flat_json, flat_xml, placed, turn, value_of

# ---------------------------------------------------------------- Juice


def read_juice(text: str) -> Document:
    """R = Rz(yaw) Rx(pitch) Ry(roll); a hinge counts about its frame's z as its second body moves (ODE's axis)."""
    root, raw, paths = flat_xml(text, lambda element: (element.findtext("ID") or "").strip())
    out = Document(raw, spins=True)
    names = {item.findtext("ID"): item.findtext("Name") for item in root.iter() if item.find("ID") is not None}

    def number(item: ET.Element, path: str) -> float:
        return float(item.findtext(path) or 0)

    def angles(item: ET.Element) -> list[float]:
        return [math.radians(number(item, f"Rotation/{axis}")) for axis in "YPR"]

    def rotation(yaw: float, pitch: float, roll: float) -> np.ndarray:
        return turn(Z * yaw) @ turn(X * pitch) @ turn(Y * roll)

    def pose(item: ET.Element) -> np.ndarray:
        return placed([number(item, f"Position/{axis}") for axis in "XYZ"], rotation(*angles(item)))

    for tag in ("Gravity", "Friction", "ERP", "CFM", "StandardSpeed", "SpeedFactor", "PoseDelay", "PosePhase"):
        out.put(f"world/{tag}", number(root, tag), f"/{tag}")
    for item in root.iter("Body"):
        name, at = item.findtext("Name"), paths[item]
        key = f"body/{name}"
        out.put(f"{key}/is", True, at)
        out.put(f"{key}/pose", pose(item), f"{at}/Position", f"{at}/Rotation")
        out.put(f"{key}/mass", number(item, "Mass"), f"{at}/Mass")
        out.put(f"{key}/com", np.zeros(3))
        out.put(f"{key}/twin", names.get(item.findtext("Twin")), f"{at}/Twin")
        length, radius = number(item, "TubeLength"), number(item, "TubeDiameter") / 2
        kind, size = {
            1: ("box", [number(item, f"BoxDimensions/{axis}") for axis in "XYZ"]),
            2: ("capsule", [length, radius]),
            3: ("sphere", [number(item, "BallDiameter") / 2]),
            4: ("cylinder", [length, radius]),
        }[int(number(item, "Shape"))]
        where = [f"{at}/{tag}" for tag in ("BoxDimensions", "TubeLength", "TubeDiameter", "BallDiameter", "Shape")]
        out.put(f"shape/{name}/0/type", kind, f"{at}/Shape")
        out.put(f"shape/{name}/0/size", np.array(size), *where)
        out.put(f"shape/{name}/0/pose", np.eye(4))
    kinds = {"RevoluteJoint": "rotation", "PrismaticJoint": "translation", "SphericalJoint": "ball"}
    for item in (item for item in root.iter() if item.tag in kinds):
        name, at, kind = item.findtext("Name"), paths[item], kinds[item.tag]
        key, dof = f"joint/{name}", f"dof/{name}/0"
        out.put(f"{key}/is", True, at)
        stops = [f"{at}/{end}Stop{what}" for end in ("Lo", "Hi") for what in ("Value", "Flag")]
        out.put(f"{key}/frame", pose(item), f"{at}/Position", f"{at}/Rotation", *stops)  # the frame says their sense
        out.put(f"{key}/parent", names.get(item.findtext("Body1")), f"{at}/Body1")
        out.put(f"{key}/child", names.get(item.findtext("Body2")), f"{at}/Body2")
        out.put(f"{key}/active", None not in (out.facts[f"{key}/parent"], out.facts[f"{key}/child"]))
        out.put(f"{key}/motions", [(kind, Z)])
        out.put(f"{key}/twin", names.get(item.findtext("Twin")), f"{at}/Twin")
        out.put(f"{dof}/gain", number(item, "Gain"), f"{at}/Gain")
        out.put(f"{dof}/max_force", number(item, "MaxForce"), f"{at}/MaxForce")
        if kind == "ball":
            continue
        yaw, pitch, roll = angles(item)
        ode = rotation(yaw, pitch, -roll)[:, 2] if kind == "rotation" else -rotation(-yaw, pitch, roll)[:, 2]
        same, unit = -ode @ rotation(yaw, pitch, roll)[:, 2] > 0, math.radians(1) if kind == "rotation" else 1.0
        for end, tag, other in (("lower", "Lo", "Hi"), ("upper", "Hi", "Lo")):
            stop = tag if same else other
            value = number(item, f"{stop}StopValue") * (unit if same else -unit)
            value = value if number(item, f"{stop}StopFlag") else None
            out.put(f"{dof}/{end}", value, f"{at}/LoStop", f"{at}/HiStop")
    return out


# ---------------------------------------------------------------- SKEL


def _numbers(text: str | None) -> np.ndarray:
    return np.array([float(word) for word in (text or "").split()])


def _six(text: str | None) -> np.ndarray:
    """<transformation>: x y z, then Rx(a) Ry(b) Rz(c)."""
    x, y, z, a, b, c = _numbers(text) if text else np.zeros(6)
    return placed([x, y, z], turn(X * a) @ turn(Y * b) @ turn(Z * c))


_SKEL_SIZES = {
    "box": ("size",), "sphere": ("radius",), "ellipsoid": ("size",), "cylinder": ("height", "radius"),
    "capsule": ("height", "radius"), "cone": ("height", "radius"),
}  # fmt: skip
_SKEL_DOF = {
    "lower": "limit/lower", "upper": "limit/upper", "damping": "dynamics/damping", "friction": "dynamics/friction",
    "rest": "dynamics/spring_rest_position", "stiffness": "dynamics/spring_stiffness",
}  # fmt: skip


def read_skel(text: str) -> Document:
    """World pose of a body at zero: skeleton frame times <transformation>; a joint's is that of its child times its."""
    root, raw, paths = flat_xml(text, lambda element: element.get("name", ""))
    out = Document(raw)
    world = root.find("world")
    out.put("world/Gravity", _numbers(world.findtext("physics/gravity")), "/world", "")
    for skeleton in world.iter("skeleton"):
        base = _six(skeleton.findtext("transformation"))
        for body in skeleton.iter("body"):
            _skel_body(out, body, paths[body], base)
        for joint in (item for tag in ("joint", "loop_joint", "inactive_joint") for item in skeleton.iter(tag)):
            _skel_joint(out, joint, paths[joint])
    return out


def _skel_body(out: Document, body: ET.Element, at: str, base: np.ndarray) -> None:
    name = body.get("name")
    key, mark = f"body/{name}", body.find("knuckle")
    out.put(f"{key}/is", True, at)
    out.put(f"{key}/pose", base @ _six(body.findtext("transformation")), f"{at}/transformation")
    out.put(f"{key}/mass", float(body.findtext("inertia/mass") or 1), f"{at}/inertia/mass")
    offset = _numbers(body.findtext("inertia/offset"))
    out.put(f"{key}/com", offset if len(offset) else np.zeros(3), f"{at}/inertia/offset")
    moments = body.find("inertia/moment_of_inertia")
    if moments is not None:
        xx, yy, zz, xy, xz, yz = (float(moments.findtext(tag)) for tag in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        out.put(f"{key}/inertia", tensor, f"{at}/inertia/moment_of_inertia")
    out.put(f"{key}/gravity", (body.findtext("gravity") or "1") in {"1", "true"}, f"{at}/gravity")
    out.put(f"{key}/twin", None if mark is None else mark.get("twin"), f"{at}/knuckle")
    for tag, letter in (("visualization_shape", "v"), ("collision_shape", "c")):
        for number, shape in enumerate(body.findall(tag)):
            own, where = f"shape/{name}/{letter}{number}", f"{at}/{tag}" + (f"[#{number + 1}]" if number else "")
            kind = next(iter(shape.find("geometry"))).tag
            sizes = [_numbers(shape.findtext(f"geometry/{kind}/{tag}")) for tag in _SKEL_SIZES[kind]]
            out.put(f"{own}/type", kind, f"{where}/geometry")
            out.put(f"{own}/size", np.concatenate(sizes), f"{where}/geometry/{kind}")
            out.put(f"{own}/pose", _six(shape.findtext("transformation")), f"{where}/transformation")
            if letter == "v":
                out.put(f"{own}/color", _numbers(shape.findtext("color")), f"{where}/color")
    for marker in body.findall("marker"):
        offset = placed(_numbers(marker.findtext("offset")))
        out.put(f"frame/{marker.get('name')}/body", name, f"{at}/marker")
        out.put(f"frame/{marker.get('name')}/pose", offset, f"{at}/marker[{marker.get('name')}]/offset")


def _skel_plane(joint: ET.Element) -> list[np.ndarray]:
    """The two directions and the axis of a planar joint."""
    plane = joint.find("plane")
    kind = "xy" if plane is None else plane.get("type", "xy")
    known = {"xy": (X, Y), "yz": (Y, Z), "zx": (Z, X)}
    if plane is not None and kind not in known:
        known[kind] = tuple(_numbers(plane.findtext(f"translation_axis{n}/xyz")) for n in (1, 2))  # type: ignore[assignment]
    return [*known[kind], np.cross(*known[kind])]


def _skel_joint(out: Document, joint: ET.Element, at: str) -> None:
    name, kind, mark = joint.get("name"), joint.get("type"), joint.find("knuckle")
    key = f"joint/{name}"
    parent, child = joint.findtext("parent"), joint.findtext("child")
    out.put(f"{key}/is", True, at)
    out.put(f"{key}/type", kind, f"{at}/@type")
    out.put(f"{key}/parent", None if parent == "world" else parent, f"{at}/parent")
    out.put(f"{key}/child", child, f"{at}/child")
    frame = out.facts[f"body/{child}/pose"] @ _six(joint.findtext("transformation"))
    out.put(f"{key}/frame", frame, f"{at}/transformation")
    out.origin[f"body/{child}/pose"] += (f"{at}/transformation", f"{at}/#")  # it goes with its child
    out.put(f"{key}/active", joint.tag == "joint")
    out.put(f"{key}/twin", None if mark is None else mark.get("twin"), f"{at}/knuckle")
    axes = [joint.find(tag) for tag in ("axis", "axis2", "axis3")]
    count = {"weld": 0, "universal": 2, "euler": 3, "translational": 3, "planar": 3}.get(kind, 1)
    plane = _skel_plane(joint)
    turns = "translation" if kind in {"prismatic", "translational"} else "rotation"
    motions = [(kind, None)] if kind in {"ball", "free"} else []
    for number in range(0 if motions else count):
        axis = None if axes[number] is None else axes[number].findtext("xyz")
        fixed = {"euler": np.eye(3), "translational": np.eye(3), "planar": plane}.get(kind, [Z, Z, Z])
        vector = _numbers(axis) if axis and kind not in {"euler", "translational", "planar"} else fixed[number]
        turns = "translation" if kind == "planar" and number < 2 else turns
        motions.append((turns if kind != "planar" or number < 2 else "rotation", vector / np.linalg.norm(vector)))
        out.put(f"dof/{name}/{number}/axis", motions[-1][1], f"{at}/axis{number + 1 if number else ''}/xyz")
    out.put(f"{key}/motions", motions)
    start, speed = _numbers(joint.findtext("init_pos")), _numbers(joint.findtext("init_vel"))
    for number in range(len(motions)):
        dof, own = f"dof/{name}/{number}", f"{at}/axis{number + 1 if number else ''}"
        size = {"ball": 3, "free": 6}.get(motions[number][0], 1)
        for what, every, tag in (("position", start, "init_pos"), ("velocity", speed, "init_vel")):
            mine = every[number : number + size] if len(every) else np.zeros(size)
            out.put(f"{dof}/{what}", mine if size > 1 else float(mine[0]), f"{at}/{tag}")
        for what, path in _SKEL_DOF.items() if size == 1 else ():
            text = None if axes[number] is None else axes[number].findtext(path)
            default = None if what in {"lower", "upper"} else 0.0
            value = float(text) if text else default
            out.put(f"{dof}/{what}", None if value is None or math.isinf(value) else value, f"{own}/{path}", own)
        for what in ("gain", "max_force", "armature"):
            kept = _numbers(None if mark is None else mark.get(what))
            out.put(f"{dof}/{what}", float(kept[number]) if len(kept) > number else 0.0, f"{at}/knuckle")


# ---------------------------------------------------------------- x_xy

_X_XY_SIZES = {"box": "xyz", "sphere": "r", "cylinder": "rl", "capsule": "rl"}
_X_XY_JOINTS = {
    "frozen": [], "rx": [("rotation", X)], "ry": [("rotation", Y)], "rz": [("rotation", Z)],
    "px": [("translation", X)], "py": [("translation", Y)], "pz": [("translation", Z)],
    "p3d": [("translation", X), ("translation", Y), ("translation", Z)],
    "saddle": [("rotation", Y), ("rotation", Z)], "spherical": [("ball", None)], "free": [("free", None)],
}  # fmt: skip
_X_XY_DOF = {"damping": "damping", "armature": "armature", "stiffness": "spring_stiff", "rest": "spring_zero"}


def _x_xy_pose(element: ET.Element) -> np.ndarray:
    """pos, and euler (degrees, Rz Ry Rx) or a passive quat."""
    position = _numbers(element.get("pos", "0 0 0"))
    if element.get("quat"):
        w, x, y, z = _numbers(element.get("quat")) / np.linalg.norm(_numbers(element.get("quat")))
        angle = 2 * math.atan2(float(np.linalg.norm([x, y, z])), w)
        axis = np.array([x, y, z]) / (np.linalg.norm([x, y, z]) or 1.0)
        return placed(position, turn(axis * angle).T)
    a, b, c = np.radians(_numbers(element.get("euler", "0 0 0")))
    return placed(position, turn(Z * c) @ turn(Y * b) @ turn(X * a))


def read_x_xy(text: str) -> Document:
    """Bodies stand in their parents; mass and center of mass are those of their geoms.

    A body's own frame is that of its joint, which stays when the body is moved: as its pose counts here that of its
    first geom. Facts that the format has no attribute for are read from the extension's notes."""
    root, raw, paths = flat_xml(text, lambda element: element.get("name", ""))
    out = Document(raw)
    options = root.find("options")
    out.put("world/Gravity", -_numbers(options.get("gravity", "0 0 9.81")), "/options/@gravity")

    # a renamed part keeps, in a note, the id by which its twin knows it
    name_of = {raw.get(f"{paths[item]}/knuckle/id", item.get("name")): item.get("name") for item in root.iter("body")}

    def places(element: ET.Element) -> list[str]:
        return [f"{paths[element]}/@{name}" for name in ("pos", "euler", "quat")]

    def walk(element: ET.Element, parent: str | None, base: np.ndarray) -> None:
        name, at = element.get("name"), paths[element]
        pose = base @ _x_xy_pose(element)
        below = [place for child in element.findall("body") for place in places(child)]
        note = _note(raw, f"{at}/knuckle")
        out.put(f"body/{name}/is", True, at)
        geoms = [geom for geom in element.findall("geom") if geom.get("type") != "xyz"]
        out.decorated |= {name} if len(geoms) < len(element.findall("geom")) else set()
        masses = [float(geom.get("mass", 0)) for geom in geoms]
        where = [paths[geom] for geom in geoms]
        first = _x_xy_pose(geoms[0]) if geoms else np.eye(4)
        every = [place for geom in (*geoms, *element.findall("omc")) for place in places(geom)]
        framed = [child for child in element.findall("body") if f"{paths[child]}/knuckle/frame/#" in raw]
        every += [paths[item] for item in (*element.findall("omc"), *framed)]  # a turned marker becomes a body
        out.put(f"body/{name}/pose", pose @ first, *places(element), *below, *every)

        def local(item: ET.Element) -> np.ndarray:
            return np.linalg.inv(first) @ _x_xy_pose(item)

        out.put(f"body/{name}/mass", sum(masses), *(f"{place}/@mass" for place in where))
        com = sum(m * local(geom)[:3, 3] for m, geom in zip(masses, geoms, strict=True)) / (sum(masses) or 1.0)
        out.put(f"body/{name}/com", com, *(f"{place}/@pos" for place in where), *(f"{place}/@mass" for place in where))
        out.put(f"body/{name}/twin", name_of.get(note.get("body/twin")), f"{at}/knuckle")
        for number, geom in enumerate(geoms):
            own, here, kind = f"shape/{name}/{number}", paths[geom], geom.get("type")
            dim = _numbers(geom.get("dim"))
            out.put(f"{own}/type", kind, f"{here}/@type")
            out.put(f"{own}/size", dim[::-1] if kind in {"capsule", "cylinder"} else dim, f"{here}/@dim")
            out.put(f"{own}/pose", local(geom), f"{here}/@pos", f"{here}/@euler", f"{here}/@quat")
            out.put(f"{own}/color", value_of(geom.get("color")), f"{here}/@color")
        joint, key = element.get("joint"), f"joint/{name}"
        out.put(f"{key}/type", joint, f"{at}/@joint")
        out.put(f"{key}/parent", parent)
        out.put(f"{key}/child", name)
        out.put(f"{key}/frame", pose, *places(element), *below, *every)
        out.put(f"{key}/active", True)
        out.put(f"{key}/motions", _X_XY_JOINTS[joint])
        out.put(f"{key}/twin", name_of.get(note.get("joint/twin")), f"{at}/knuckle")
        for number, (kind, _axis) in enumerate(_X_XY_JOINTS[joint]):
            for what, tag in _X_XY_DOF.items() if kind not in {"ball", "free"} else ():
                kept = _numbers(element.get(tag))
                out.put(f"dof/{name}/{number}/{what}", float(kept[number]) if len(kept) else 0.0, f"{at}/@{tag}")
            for what in ("lower", "upper", "gain", "max_force", "friction", "position", "velocity"):
                default = None if what in {"lower", "upper"} else 0.0
                kept = note.get(f"joint/dofs[{number}]/{what}", note.get(f"dofs[{number}]/{what}", default))
                out.put(f"dof/{name}/{number}/{what}", kept, f"{at}/knuckle")
        for marker in (*element.findall("omc"), *framed):
            out.put(f"frame/{marker.get('name')}/body", name, paths[marker])
            out.put(
                f"frame/{marker.get('name')}/pose", local(marker), paths[marker], f"{at}/body[{marker.get('name')}]"
            )
        for child in element.findall("body"):
            if child not in framed:
                walk(child, name, pose)

    for child in root.find("worldbody").findall("body"):
        walk(child, None, np.eye(4))
    return out


def _note(raw: Raw, at: str) -> Raw:
    return {path[len(at) + 1 :]: value for path, value in raw.items() if path.startswith(f"{at}/")}


# ---------------------------------------------------------------- Shift

_SHIFT_JOINTS = {
    **{f"R{axis}": [("rotation", vector)] for axis, vector in zip("xyz", np.eye(3), strict=True)},
    **{f"T{axis}": [("translation", vector)] for axis, vector in zip("xyz", np.eye(3), strict=True)},
    "spherical": [("ball", None)], "float": [("free", None)], "rigid": [],
}  # fmt: skip


def read_shift(text: str) -> Document:
    """The dialect with ``body_frame_pairs``, and one assembly: X_parent F_parent J(q) = X_child F_child."""
    data = json.loads(text)
    raw: Raw = {}
    flat_json(data, "", raw)
    out = Document(raw)
    out.put("world/Gravity", np.array(data["model_parameters"]["gravity"]), "/model_parameters/gravity")
    (assembly,) = data["assemblies"]
    base = f"/assemblies[{assembly['name']}]"
    out.put(f"assembly/{assembly['name']}/active", assembly.get("active", True), f"{base}/active")

    def pose(item: dict[str, Any]) -> np.ndarray:
        return placed(item.get("T", [0, 0, 0]), np.array(item["R"], dtype=float) if "R" in item else None)

    frames = {("fixed", item["name"]): pose(item) for item in data.get("fixed", {}).get("frames", ())}
    frames |= {
        (body["name"], item["name"]): pose(item) for body in assembly["bodies"] for item in body.get("frames", ())
    }
    joints, poses, waiting = assembly["joints"], {"fixed": np.eye(4)}, ["fixed"]
    placing: set[str] = set()  # the joints by which bodies are placed: the others close loops
    while waiting:
        parent = waiting.pop()
        for joint in joints:
            one, other = joint["body_frame_pairs"]
            if other[0] == parent and one[0] not in poses:  # of a loop that was cut: the other way round
                ends = (frames.get(tuple(end), np.eye(4)) for end in (other, one))
                poses[one[0]] = poses[parent] @ next(ends) @ np.linalg.inv(next(ends))
                waiting.append(one[0])
            if one[0] == parent and other[0] not in poses:
                back, start = np.linalg.inv(frames.get(tuple(other), np.eye(4))), joint.get("initial_displacement")
                stands = pose(start) if isinstance(start, dict) else np.eye(4)  # of rigid joints and floats
                poses[other[0]] = poses[parent] @ frames.get(tuple(one), np.eye(4)) @ stands @ back
                waiting.append(other[0])
                placing.add(joint["name"])
    lights = data.get("fixed", {}).get("lights", ())
    of_joints = {tuple(end) for joint in joints for end in joint["body_frame_pairs"]}
    of_joints |= {(light["parent"][0].rpartition(":")[2], light["parent"][1]) for light in lights}
    for body in assembly["bodies"]:
        name = body["name"]
        at, mark = f"{base}/bodies[{name}]", body.get("knuckle", {})
        out.put(f"body/{name}/is", True, at)
        ends = [f"{base}/joints", *(f"{base}/bodies[{other['name']}]/frames" for other in assembly["bodies"])]
        out.put(f"body/{name}/pose", poses.get(name, np.eye(4)), *ends, "/fixed/frames")
        out.put(f"body/{name}/mass", float(body.get("mass", 0)), f"{at}/mass")
        out.put(
            f"body/{name}/com", np.array(body.get("center_of_mass", [0, 0, 0]), dtype=float), f"{at}/center_of_mass"
        )
        if "moment_of_inertia" in body:
            i = body["moment_of_inertia"]
            rows = [["Ixx", "Ixy", "Izx"], ["Ixy", "Iyy", "Iyz"], ["Izx", "Iyz", "Izz"]]
            tensor = np.array([[float(i.get(each, 0)) for each in row] for row in rows])
            out.put(f"body/{name}/inertia", tensor, f"{at}/moment_of_inertia")
        out.put(f"body/{name}/twin", mark.get("twin"), f"{at}/knuckle")
        out.put(f"body/{name}/immobile", mark.get("immobile", False), f"{at}/knuckle")
        out.put(f"body/{name}/active", body.get("active", True), f"{at}/active")
        for item in (item for item in body.get("frames", ()) if (name, item["name"]) not in of_joints):
            out.put(f"frame/{item['name']}/body", name, f"{at}/frames[{item['name']}]")
            out.put(f"frame/{item['name']}/pose", pose(item), f"{at}/frames[{item['name']}]")
    for item in (item for item in data.get("fixed", {}).get("frames", ()) if ("fixed", item["name"]) not in of_joints):
        out.put(f"frame/{item['name']}/body", None)
        out.put(f"frame/{item['name']}/pose", pose(item), f"/fixed/frames[{item['name']}]")
    marks = [joint.get("knuckle", {}) for joint in joints]
    first_of = {mark["joint"]: mark for mark in marks if mark.get("part") == 1}
    for joint in joints:
        name, (one, other), mark = joint["name"], joint["body_frame_pairs"], joint.get("knuckle", {})
        key, at = f"joint/{name}", f"{base}/joints[{name}]"
        out.put(f"{key}/is", True, at)
        ends = [f"{base}/bodies[{end[0]}]/frames" for end in (one, other)]
        out.put(f"{key}/type", joint["type"], f"{at}/type")
        out.put(f"{key}/parent", None if one[0] == "fixed" else one[0], f"{at}/body_frame_pairs[0]")
        out.put(f"{key}/child", other[0], f"{at}/body_frame_pairs[1]")
        world, inner = (poses.get(end[0], np.eye(4)) @ frames.get(tuple(end), np.eye(4)) for end in (one, other))
        if name not in placing:
            out.inner[name] = inner
        out.put(f"{key}/frame", world, f"{at}/body_frame_pairs", *ends, "/fixed/frames")
        out.put(f"{key}/active", joint.get("active", True), f"{at}/active")
        motions = _SHIFT_JOINTS[joint["type"]]
        out.put(f"{key}/motions", motions)
        out.put(f"{key}/twin", mark.get("twin"), f"{at}/knuckle")
        whole = first_of.get(mark.get("joint", ""), mark).get("dofs") or [{}]  # of a joint that is written as several
        for number, (kind, _axis) in enumerate(motions, int(mark.get("part", 1)) - 1):
            dof, kept = f"dof/{name}/{number - int(mark.get('part', 1)) + 1}", (*whole, {}, {})[number]
            if kind in {"ball", "free"}:
                continue
            start = (("position", "initial_displacement"), ("velocity", "initial_velocity"))
            for what, tag in start:
                out.put(f"{dof}/{what}", float(joint.get(tag, 0)), f"{at}/{tag}")
            push, brake = [[*joint.get(tag, ()), 0.0, 0.0] for tag in ("stiffness", "damping")]
            springs = f"{at}/stiffness", f"{at}/knuckle"
            out.put(f"{dof}/stiffness", float(push[1]), *springs)
            rest = -push[0] / push[1] if push[1] else kept.get("rest", 0.0)
            out.put(f"{dof}/rest", float(rest), *springs)
            out.put(f"{dof}/damping", float(brake[1]), f"{at}/damping")
            for what in ("lower", "upper", "friction", "armature", "gain", "max_force"):
                out.put(f"{dof}/{what}", kept.get(what, None if what in {"lower", "upper"} else 0.0), f"{at}/knuckle")
    for light in lights:
        key, at = f"light/{light['name']}", f"/fixed/lights[{light['name']}]"
        holder = light["parent"][0].rpartition(":")[2]
        frame = f"{base}/bodies[{holder}]/frames" if holder != "fixed" else "/fixed/frames"
        out.put(f"{key}/is", True, at)
        out.put(f"{key}/type", light["type"], f"{at}/type")
        out.put(f"{key}/diffuse", np.array(light.get("Kd", [1, 1, 1]), dtype=float), f"{at}/Kd")
        out.put(f"{key}/body", None if holder == "fixed" else holder, f"{at}/parent")
        out.put(f"{key}/pose", frames.get((holder, light["parent"][1]), np.eye(4)), f"{at}/parent", frame)
    return out


READERS: dict[str, Callable[[str], Document]] = {
    "juice": read_juice,
    "skel": read_skel,
    "x_xy": read_x_xy,
    "shift": read_shift,
}
