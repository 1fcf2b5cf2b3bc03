"""Helpers for tests of mesh files: one tetrahedron with a known box, as a small file of every format."""

from __future__ import annotations

import struct

#: Corners of the tetrahedron, and the edges of the box around it.
POINTS = ((0.25, -0.5, 1.0), (2.25, -0.5, 1.0), (0.25, 0.75, 1.0), (0.25, -0.5, 4.5))
EDGES = (2.0, 1.25, 3.5)
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))


def _numbers(points: tuple[tuple[float, ...], ...]) -> str:
    return " ".join(f"{x:g}" for point in points for x in point)


def obj(head: str = "") -> bytes:
    lines = [f"v {_numbers((point,))}" for point in POINTS] + [
        f"f {' '.join(str(i + 1) for i in face)}" for face in FACES
    ]
    return (head + "\n".join(lines) + "\n").encode()


def stl() -> bytes:
    corners = b"".join(struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in POINTS[i]), 0) for face in FACES)
    return b"one tetrahedron".ljust(80) + struct.pack("<I", len(FACES)) + corners


def stl_text() -> bytes:
    faces = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {_numbers((POINTS[i],))}\n" for i in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    return f"solid one\n{faces}endsolid one\n".encode()


def _ply_head(kind: str) -> bytes:
    properties = "".join(f"property float {axis}\n" for axis in "xyz")
    return (
        f"ply\nformat {kind} 1.0\ncomment by hand\nelement vertex {len(POINTS)}\n{properties}"
        f"element face {len(FACES)}\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()


def ply() -> bytes:
    points = struct.pack("<12f", *(x for point in POINTS for x in point))
    return _ply_head("binary_little_endian") + points + b"".join(struct.pack("<B3i", 3, *face) for face in FACES)


def ply_text() -> bytes:
    points = "".join(f"{_numbers((point,))}\n" for point in POINTS)
    return _ply_head("ascii") + (points + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)).encode()


def dae(unit: float = 1.0, up: str = "Y_UP", node: str = "", extra: str = "", faces: str = "triangles") -> bytes:
    """The tetrahedron under a node with the transforms ``node``, in a red material."""
    flat = " ".join(str(i) for face in FACES for i in face)
    bodies = {
        "triangles": f'<triangles count="4" material="paint"><input semantic="VERTEX" source="#points" offset="0"/>'
        f"<p>{flat}</p></triangles>",
        "polylist": f'<polylist count="4" material="paint"><input semantic="VERTEX" source="#points" offset="0"/>'
        f"<vcount>3 3 3 3</vcount><p>{flat}</p></polylist>",
        "polygons": '<polygons count="4" material="paint"><input semantic="VERTEX" source="#points" offset="0"/>'
        + "".join(f"<p>{a} {b} {c}</p>" for a, b, c in FACES)
        + "</polygons>",
    }
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><created>yesterday</created><unit meter="{unit}"/><up_axis>{up}</up_axis></asset>{extra}
<library_effects><effect id="look"><profile_COMMON><technique sid="t"><lambert><diffuse>
<color>1 0 0 1</color></diffuse></lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="red" name="Red"><instance_effect url="#look"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">{_numbers(POINTS)}</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="points"><input semantic="POSITION" source="#s"/></vertices>
{bodies[faces]}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node id="n">{node}<instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="paint" target="#red"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>""".encode()


#: A file of each kind, by its name.
SAMPLES = {
    "a.obj": obj(),
    "a.stl": stl(),
    "text.stl": stl_text(),
    "a.ply": ply(),
    "text.ply": ply_text(),
    "a.dae": dae(),
    "list.dae": dae(faces="polylist"),
    "polygons.dae": dae(faces="polygons"),
}

#: Files of each kind that cannot be read, and none of which may do harm.
BROKEN = {
    "empty.obj": b"",
    "text.obj": b"this is no mesh",
    "points.obj": b"v 0 0 0\nv 1 0 0\n",
    "wild.obj": b"v 0 0 0\nf 1 2 99\n",
    "nan.obj": b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "short.stl": stl()[:100],
    "noise.stl": bytes(range(256)) * 3,
    "lying.stl": stl()[:80] + struct.pack("<I", 2**31) + stl()[84:],
    "noise.ply": bytes(range(256)) * 3,
    "headless.ply": ply().replace(b"end_header", b"end_headr_"),
    "short.ply": ply_text()[:-20],
    "lying.ply": ply().replace(b"vertex 4", b"vertex 4000000000"),
    "greedy.ply": ply().replace(b"vertex 4", b"vertex 400000000"),
    "loose.ply": ply().replace(b"element vertex 4", b"elephant vertex 4"),
    "negative.ply": ply().replace(b"face 4", b"face -4"),
    "empty.dae": b"",
    "noise.dae": bytes(range(1, 256)) * 3,
    "cut.dae": dae()[:900],
    "other.dae": b"<html/>",
    "hollow.dae": b'<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"/>',
    "wild.dae": dae().replace(b"<p>0 2 1", b"<p>0 2 9"),
    "infinite.dae": dae().replace(b"2.25", b"1e99"),
    "bomb.dae": b'<!DOCTYPE COLLADA [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + dae().split(b"\n", 1)[1],
    "wide bomb.dae": ("<!DOCTYPE COLLADA [<!ENTITY a 'a'>]>" + dae().decode().split("\n", 1)[1]).encode("utf-16"),
    "mesh.3ds": b"MM",
    "mesh": b"",
}
