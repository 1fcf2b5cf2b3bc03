"""Files of a size, of what is cheap to write and may be dear to read: many small elements, long chains, long words,
deep nesting, names that are all the same, and all joints on one body."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def filled(head: str, row: Callable[[int], str], tail: str) -> Callable[[int], bytes]:
    """A file of about so many bytes: ``head``, the first, second, ... ``row``, and ``tail``."""

    def make(size: int) -> bytes:
        found, length, count = [], len(head) + len(tail), 0
        while length < size:
            count += 1
            found.append(row(count))
            length += len(found[-1])
        return (head + "".join(found) + tail).encode()

    return make


def halves(head: str, first: Callable[[int], str], between: str, second: Callable[[int], str], tail: str):  # type: ignore[no-untyped-def]
    """The same with two rows of each number, in two lists."""

    def make(size: int) -> bytes:
        count, length = 0, len(head) + len(between) + len(tail)
        while length < size:
            count += 1
            length += len(first(count)) + len(second(count))
        rows = ("".join(row(at) for at in range(1, count + 1)) for row in (first, second))
        return (head + between.join(rows) + tail).encode()

    return make


def padded(head: str, tail: str, pad: str = "x") -> Callable[[int], bytes]:
    return lambda size: (head + pad * ((size - len(head) - len(tail)) // len(pad)) + tail).encode()


def nested(head: str, opener: str, closer: str, tail: str) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        depth = (size - len(head) - len(tail)) // (len(opener) + len(closer))
        return (head + opener * depth + closer * depth + tail).encode()

    return make


JUICE = "<Model><Name>m</Name><Bodies>"
JUICE_JOINTS, JUICE_END = "</Bodies><RevoluteJoints>", "</RevoluteJoints></Model>"
SKEL = '<skel version="1.0"><world name="w"><skeleton name="s">'
SKEL_END = "</skeleton></world></skel>"
X_XY, X_XY_END = '<x_xy model="m"><worldbody>', "</worldbody></x_xy>"


def revolute(at: int, base: int) -> str:
    ids = f"<ID>{at}</ID><Body1>{base}</Body1><Body2>{at + 1}</Body2>"
    return f"<RevoluteJoint>{ids}</RevoluteJoint>"


def skel_joint(at: int, parent: str) -> str:
    ends = f"<parent>{parent}</parent><child>b{at}</child>"
    return f'<joint type="revolute" name="j{at}">{ends}<axis><xyz>0 0 1</xyz></axis></joint>'


SHIFT = '{"model_parameters":{},"fixed":{},"assemblies":[{"name":"m","bodies":['
SHIFT_JOINTS, SHIFT_END = '{"name":"b0"}],"joints":[', "]}]}"
XMDI, XMDI_END = '<xmdi><motions><motion name="m">', "</motion></motions></xmdi>"
DAE = (
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><library_geometries>'
    '<geometry id="g"><mesh><source id="p"><float_array id="a" count="3">0 0 0'
)
DAE_POINTS = (
    '</float_array><technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>'
    '<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>'
    '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
    '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>'
)
DAE_MESH_END = "</mesh></geometry></library_geometries></COLLADA>"
DAE_END = "</float_array></source></mesh></geometry></library_geometries></COLLADA>"


def shift_joint(at: int, parent: str) -> str:
    return f'{{"name":"j{at}","type":"Rx","body_frame_pairs":[["{parent}","origin"],["b{at}","origin"]]}}'


def joined(at: int, text: str) -> str:
    """A row of a list of JSON, after the first."""
    return text if at == 1 else "," + text


GROWN: Mapping[str, Mapping[str, Callable[[int], bytes]]] = {
    "juice": {
        "bodies": filled(JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", JUICE_JOINTS + JUICE_END),
        "one id": filled(JUICE, lambda _: "<Body><ID>1</ID></Body>", JUICE_JOINTS + JUICE_END),
        "chain": halves(
            JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", JUICE_JOINTS, lambda i: revolute(i, i), JUICE_END
        ),
        "star": halves(
            JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", JUICE_JOINTS, lambda i: revolute(i, 1), JUICE_END
        ),
        "joints": filled(
            JUICE + "<Body><ID>1</ID></Body><Body><ID>2</ID></Body>" + JUICE_JOINTS,
            lambda _: revolute(1, 1), JUICE_END,
        ),
        "empty elements": filled(JUICE, lambda _: "<a/>", JUICE_JOINTS + JUICE_END),
        "attributes": filled("<Model ", lambda i: f'a{i}="" ', "><Bodies/></Model>"),
        "text": padded("<Model><Name>", "</Name><Bodies/></Model>"),
        "entities": padded("<Model><Name>", "</Name><Bodies/></Model>", "&amp;"),
        "comments": filled(JUICE, lambda _: "<!---->", JUICE_JOINTS + JUICE_END),
        "depth": nested("<Model>", "<a>", "</a>", "</Model>"),
    },
    "skel": {
        "bodies": filled(SKEL, lambda i: f'<body name="b{i}"/>', SKEL_END),
        "one name": filled(SKEL, lambda _: '<body name="b"/>', SKEL_END),
        "chain": halves(
            SKEL, lambda i: f'<body name="b{i}"/>', "",
            lambda i: skel_joint(i, f"b{i - 1}" if i > 1 else "world"), SKEL_END,
        ),
        "star": halves(
            SKEL, lambda i: f'<body name="b{i}"/>', "",
            lambda i: skel_joint(i, "b1" if i > 1 else "world"), SKEL_END,
        ),
        "joints": filled(SKEL + '<body name="b1"/>', lambda _: skel_joint(1, "world"), SKEL_END),
        "skeletons": filled('<skel version="1.0"><world name="w">', lambda _: "<skeleton/>", "</world></skel>"),
        "text": padded(SKEL + '<body name="', '"/>' + SKEL_END),
        "depth": nested(SKEL, "<a>", "</a>", SKEL_END),
    },
    "x_xy": {
        "bodies": filled(X_XY, lambda i: f'<body name="b{i}" joint="rx"/>', X_XY_END),
        "one name": filled(X_XY, lambda _: '<body name="b" joint="rx"/>', X_XY_END),
        "shapes": filled(
            X_XY + '<body name="b" joint="rx">', lambda _: '<geom type="box" mass="1" dim="1 1 1"/>',
            "</body>" + X_XY_END,
        ),
        "text": padded(X_XY + '<body joint="rx" name="', '"/>' + X_XY_END),
        "depth": nested(X_XY, '<body name="b" joint="rx">', "</body>", X_XY_END),
    },
    "shift": {
        "bodies": filled(SHIFT, lambda i: f'{{"name":"b{i}"}},', SHIFT_JOINTS + SHIFT_END),
        "one name": filled(SHIFT, lambda _: '{"name":"b"},', SHIFT_JOINTS + SHIFT_END),
        "chain": halves(
            SHIFT, lambda i: f'{{"name":"b{i}"}},', SHIFT_JOINTS,
            lambda i: joined(i, shift_joint(i, f"b{i - 1}")), SHIFT_END,
        ),
        "star": halves(
            SHIFT, lambda i: f'{{"name":"b{i}"}},', SHIFT_JOINTS,
            lambda i: joined(i, shift_joint(i, "b0")), SHIFT_END,
        ),
        "joints": filled(
            SHIFT + '{"name":"b1"},' + SHIFT_JOINTS, lambda i: joined(i, shift_joint(1, "b0")), SHIFT_END
        ),
        "assemblies": filled(
            '{"model_parameters":{},"fixed":{},"assemblies":[',
            lambda i: joined(i, f'{{"name":"m{i}","bodies":[],"joints":[]}}'), "]}",
        ),
        "nested assemblies": nested(
            '{"model_parameters":{},"fixed":{},"assemblies":[{"name":"m"', ',"assemblies":[{"name":"m"', "}]", "}]}"
        ),
        "text": padded(SHIFT + '{"name":"', '"},' + SHIFT_JOINTS + SHIFT_END),
        "numbers": padded(SHIFT + '{"name":"a","x":[0', "]}," + SHIFT_JOINTS + SHIFT_END, ",0"),
        "empty lists": padded(SHIFT + '{"name":"a","x":[0', "]}," + SHIFT_JOINTS + SHIFT_END, ",[]"),
    },
    "xmdi": {
        "servos": filled(
            XMDI, lambda i: f'<servo name="s{i}"><position>0</position><frames>0</frames></servo>', XMDI_END
        ),
        "one name": filled(
            XMDI, lambda _: '<servo name="s"><position>0</position><frames>0</frames></servo>', XMDI_END
        ),
        "motions": filled(
            "<xmdi><motions>", lambda i: f'<motion name="m{i}"/>', "</motions></xmdi>",
        ),
        "keys": lambda size: (
            XMDI + '<servo name="s"><position>' + "0 " * (size // 9) + "</position><frames>"
            + " ".join(map(str, range(size // 9))) + "</frames></servo>" + XMDI_END
        ).encode(),
        "empty elements": filled(XMDI, lambda _: "<a/>", XMDI_END),
        "empty lines": filled(XMDI, lambda _: "<a/>\n", XMDI_END),
        "attributes": filled(XMDI + "<servo ", lambda i: f'a{i}="" ', "/>" + XMDI_END),
        "one number": padded(
            XMDI + '<servo name="s"><position>0.', "</position><frames>0</frames></servo>" + XMDI_END, "0"
        ),
        "no order": lambda size: (
            XMDI + '<servo name="s"><position>' + "0 " * (size // 9) + "</position><frames>"
            + " ".join(map(str, range(size // 9, 0, -1))) + "</frames></servo>" + XMDI_END
        ).encode(),
        "text": padded('<xmdi><motions><motion name="', '"/></motions></xmdi>'),
        "depth": nested(XMDI, "<a>", "</a>", XMDI_END),
    },
    "webots": {
        "frames": filled(
            "#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i // 60_000:02}:{i // 1000 % 60:02}:{i % 1000:03},P,0\n", ""
        ),
        "servos": lambda size: (
            "#WEBOTS_MOTION,V1.0" + "".join(f",s{i}" for i in range(size // 10))
            + "\n00:00:000,P" + ",0" * (size // 10) + "\n"
        ).encode(),
        "short frames": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,*\n", ""),
        "names below": filled("#WEBOTS_MOTION,V1.0\n", lambda _: "a,", "\n0,P\n"),
        "odd numbers": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,0x1\n", ""),
        "lines after the end": padded("#WEBOTS_MOTION,V1.0,a\n0,P,0\n", "", "\n"),
        "text": padded("#WEBOTS_MOTION,V1.0,", "\n00:00:000,P,0\n"),
    },
    "csv": {
        "rows": filled("time [s],a [rad]\n", lambda i: f"{i},0\n", ""),
        "columns": lambda size: (
            "time [s]" + "".join(f",s{i}" for i in range(size // 10)) + "\n0" + ",0" * (size // 10) + "\n"
        ).encode(),
        "one name": lambda size: (
            "time [s]" + ",s" * (size // 4) + "\n0" + ",0" * (size // 4) + "\n"
        ).encode(),
        "many columns": lambda size: (
            "time [s]" + "".join(f",s{i}" for i in range(min(size // 9, 15_000))) + "\n"
            + "".join(f"{row}" + "," * min(size // 9, 15_000) + "\n" for row in range(max(size // 18_000, 1)))
        ).encode(),
        "no headings": lambda size: (
            "time [s],a" + "," * (size // 200) + ("\n0,0" + "," * (size // 200)) * 200
        ).encode(),
        "short rows": padded("t,a\n", "", "0,\n"),
        "steps": filled("t,a\n", lambda i: f"{i // 2},{i // 2 - 1 + i % 2}\n", ""),
        "two at once": filled("t,a\n", lambda i: f"{i},0\n", "9e9,0\n9e9,1\n"),
        "odd numbers": filled("t;a\n", lambda i: f"{i};1,5\n", "9e9;x"),
        "quotes": padded("t,a\n0,0\n", "", '"'),
        "quoted cells": padded("t,a\n", "", '0,""\n'),
        "open quotes": padded("t,a\n0,0\n", "", '1,"a\n'),
        "comments": padded("t,a\n0,0\n", "", "#\n"),
        "one number": padded("t,a\n0,0.", "\n", "0"),
        "text": padded("time [s],", "\n0,0\n"),
        "empty lines": padded("time [s],a\n0,0\n", "1,0\n", "\n"),
    },
    "obj": {
        "points": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "f 1 2 3\n", "v 0 0 0\n"),
        "faces": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "", "f 1 2 3\n"),
        "one face": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf", " 1 2 3\n", " 1 2"),
        "objects": filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"o {i}\nf 1 2 3\n", ""),
        "groups": filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"g {i}\nf 1 2 3\n", ""),
        "materials": filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"usemtl {i}\nf 1 2 3\n", ""),
        "corners": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n", "", "f 1/1/1 2/1/1 3/1/1\n"),
        "mixed corners": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\n", "", "f 1/1 2 3/1\nf 1 2 3\n"),
        "quads": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "", "f 1 2 4 3\n"),
        "sides": filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: "f" + " 1 2 3" * (1 + i % 200) + "\n", ""),
        "one number": padded("v 0 0 0\nv 1 0 0\nv 0 1 0.", "\nf 1 2 3\n", "0"),
        "one word": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "x"),
        "words": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "x "),
        "empty lines": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "\n"),
        "lines go on": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "\\\n"),
        "libraries": filled("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", lambda i: f"mtllib {i}\n", ""),
    },
    "mtl": {
        "materials": filled("", lambda i: f"newmtl {i}\nKd 0 0 0\n", ""),
        "pictures": filled("newmtl a\n", lambda i: f"map_Kd {i}.png\n", ""),
        "one picture": padded("newmtl a\n", "", "map_Kd a.png\n"),
        "options": padded("newmtl a\nmap_Kd", " a.png\n", " -o 1 2 3"),
        "one word": padded("newmtl ", "\n"),
        "empty lines": padded("newmtl a\n", "", "\n"),
        "curves": padded("newmtl a\n", "", "Kd curv\n"),
    },
    "stl": {
        "facets": lambda size: b"x" * 80 + (size // 50).to_bytes(4, "little") + b"\0" * (size // 50 * 50),
        "solids": padded("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
                          "endfacet\nendsolid\n", "", "solid a\nendsolid\n"),
        "one word": padded("solid a\n", "endsolid\n", "x"),
        "empty lines": padded("solid a\n", "endsolid\n", "\n"),
        "words": padded("solid a\n", "endsolid\n", "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
                         "vertex 0 1 0\nendloop\nendfacet\n"),
    },
    "ply": {
        "points": lambda size: (
            f"ply\nformat ascii 1.0\nelement vertex {size // 6}\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n" + "0 0 0\n" * (size // 6)
        ).encode(),
        "properties": filled(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n",
            lambda i: f"property char p{i}\n", "end_header\n0 0 0\n",
        ),
        "comments": padded(
            "ply\nformat ascii 1.0\n", "element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
            "end_header\n0 0 0\n", "comment\n",
        ),
        "empty faces": lambda size: (
            b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
            b"property float z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n" % size
            + bytes(36 + size)
        ),
        "faces": lambda size: (
            b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            b"element face %d\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n" % (size // 8)
            + b"3 0 1 2\n" * (size // 8)
        ),
        "mixed faces": lambda size: (
            b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            b"element face %d\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n" % (size // 9)
            + b"3 0 1 2\n4 0 1 2 0\n" * (size // 18)
        ),
        "elements": filled(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n",
            lambda i: f"element e{i} 0\n", "end_header\n0 0 0\n",
        ),
    },
    "collada": {
        "points": padded(DAE, DAE_END, " 0 0 0"),
        "sources": filled(
            "<COLLADA><library_geometries><geometry><mesh>",
            lambda i: f'<source id="s{i}"><float_array id="a{i}" count="0"/></source>',
            "</mesh></geometry></library_geometries></COLLADA>",
        ),
        "geometries": filled(
            "<COLLADA><library_geometries>", lambda i: f'<geometry id="g{i}"><mesh/></geometry>',
            "</library_geometries></COLLADA>",
        ),
        "triangles": padded(DAE + " 1 0 0 0 1 0" + DAE_POINTS, "</p></triangles>" + DAE_MESH_END, "0 1 2 "),
        "many triangles": filled(
            DAE + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles>",
            lambda _: '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>',
            DAE_MESH_END,
        ),
        "materials": filled(
            "<COLLADA><library_materials>",
            lambda i: f'<material id="m{i}"><instance_effect url="#e"/></material>', "</library_materials></COLLADA>",
        ),
        "effects": filled(
            "<COLLADA><library_effects>",
            lambda i: f'<effect id="m{i}"><profile_COMMON><technique><phong/></technique></profile_COMMON></effect>',
            "</library_effects></COLLADA>",
        ),
        "empty elements": padded("<COLLADA>", "</COLLADA>", "<a/>"),
        "idle elements": padded("<COLLADA>", "</COLLADA>", "<extra/>"),
        "attributes": filled("<COLLADA ", lambda i: f'a{i}="" ', "/>"),
        "one number": padded(DAE + " 1 0 0 0 1 0.", DAE_END, "0"),
        "nodes": filled(
            "<COLLADA><library_visual_scenes><visual_scene>", lambda i: f'<node id="n{i}"/>',
            "</visual_scene></library_visual_scenes></COLLADA>",
        ),
        "depth": nested(
            "<COLLADA><library_visual_scenes><visual_scene>", "<node>", "</node>",
            "</visual_scene></library_visual_scenes></COLLADA>",
        ),
    },
}  # fmt: skip
