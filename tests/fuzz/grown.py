"""Files of a size, of what is cheap to write and may be dear to read: many small elements, long chains, long words,
deep nesting, names that are all the same, and all joints on one body."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def _filled(head: str, row: Callable[[int], str], tail: str) -> Callable[[int], bytes]:
    """A file of about so many bytes: ``head``, the first, second, ... ``row``, and ``tail``."""

    def make(size: int) -> bytes:
        found, length, count = [], len(head) + len(tail), 0
        while length < size:
            count += 1
            found.append(row(count))
            length += len(found[-1])
        return (head + "".join(found) + tail).encode()

    return make


def _halves(head: str, first: Callable[[int], str], between: str, second: Callable[[int], str], tail: str):  # type: ignore[no-untyped-def]
    """The same with two rows of each number, in two lists."""

    def make(size: int) -> bytes:
        count, length = 0, len(head) + len(between) + len(tail)
        while length < size:
            count += 1
            length += len(first(count)) + len(second(count))
        rows = ("".join(row(at) for at in range(1, count + 1)) for row in (first, second))
        return (head + between.join(rows) + tail).encode()

    return make


def _padded(head: str, tail: str, pad: str = "x") -> Callable[[int], bytes]:
    return lambda size: (head + pad * ((size - len(head) - len(tail)) // len(pad)) + tail).encode()


def _nested(head: str, opener: str, closer: str, tail: str) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        depth = (size - len(head) - len(tail)) // (len(opener) + len(closer))
        return (head + opener * depth + closer * depth + tail).encode()

    return make


_JUICE = "<Model><Name>m</Name><Bodies>"
_JUICE_JOINTS, _JUICE_END = "</Bodies><RevoluteJoints>", "</RevoluteJoints></Model>"
_SKEL = '<skel version="1.0"><world name="w"><skeleton name="s">'
_SKEL_END = "</skeleton></world></skel>"
_X_XY, _X_XY_END = '<x_xy model="m"><worldbody>', "</worldbody></x_xy>"


def _revolute(at: int, base: int) -> str:
    ids = f"<ID>{at}</ID><Body1>{base}</Body1><Body2>{at + 1}</Body2>"
    return f"<RevoluteJoint>{ids}</RevoluteJoint>"


def _skel_joint(at: int, parent: str) -> str:
    ends = f"<parent>{parent}</parent><child>b{at}</child>"
    return f'<joint type="revolute" name="j{at}">{ends}<axis><xyz>0 0 1</xyz></axis></joint>'


_SHIFT = '{"model_parameters":{},"fixed":{},"assemblies":[{"name":"m","bodies":['
_SHIFT_JOINTS, _SHIFT_END = '{"name":"b0"}],"joints":[', "]}]}"
_XMDI, _XMDI_END = '<xmdi><motions><motion name="m">', "</motion></motions></xmdi>"
_DAE = (
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><library_geometries>'
    '<geometry id="g"><mesh><source id="p"><float_array id="a" count="3">0 0 0'
)
_DAE_POINTS = (
    '</float_array><technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>'
    '<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>'
    '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
    '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>'
)
_DAE_MESH_END = "</mesh></geometry></library_geometries></COLLADA>"
_DAE_END = "</float_array></source></mesh></geometry></library_geometries></COLLADA>"


def _shift_joint(at: int, parent: str) -> str:
    return f'{{"name":"j{at}","type":"Rx","body_frame_pairs":[["{parent}","origin"],["b{at}","origin"]]}}'


def _joined(at: int, text: str) -> str:
    """A row of a list of JSON, after the first."""
    return text if at == 1 else "," + text


GROWN: Mapping[str, Mapping[str, Callable[[int], bytes]]] = {
    "juice": {
        "bodies": _filled(_JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", _JUICE_JOINTS + _JUICE_END),
        "one id": _filled(_JUICE, lambda _: "<Body><ID>1</ID></Body>", _JUICE_JOINTS + _JUICE_END),
        "chain": _halves(
            _JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", _JUICE_JOINTS, lambda i: _revolute(i, i), _JUICE_END
        ),
        "star": _halves(
            _JUICE, lambda i: f"<Body><ID>{i}</ID></Body>", _JUICE_JOINTS, lambda i: _revolute(i, 1), _JUICE_END
        ),
        "joints": _filled(
            _JUICE + "<Body><ID>1</ID></Body><Body><ID>2</ID></Body>" + _JUICE_JOINTS,
            lambda _: _revolute(1, 1), _JUICE_END,
        ),
        "empty elements": _filled(_JUICE, lambda _: "<a/>", _JUICE_JOINTS + _JUICE_END),
        "attributes": _filled("<Model ", lambda i: f'a{i}="" ', "><Bodies/></Model>"),
        "text": _padded("<Model><Name>", "</Name><Bodies/></Model>"),
        "entities": _padded("<Model><Name>", "</Name><Bodies/></Model>", "&amp;"),
        "comments": _filled(_JUICE, lambda _: "<!---->", _JUICE_JOINTS + _JUICE_END),
        "depth": _nested("<Model>", "<a>", "</a>", "</Model>"),
    },
    "skel": {
        "bodies": _filled(_SKEL, lambda i: f'<body name="b{i}"/>', _SKEL_END),
        "one name": _filled(_SKEL, lambda _: '<body name="b"/>', _SKEL_END),
        "chain": _halves(
            _SKEL, lambda i: f'<body name="b{i}"/>', "",
            lambda i: _skel_joint(i, f"b{i - 1}" if i > 1 else "world"), _SKEL_END,
        ),
        "star": _halves(
            _SKEL, lambda i: f'<body name="b{i}"/>', "",
            lambda i: _skel_joint(i, "b1" if i > 1 else "world"), _SKEL_END,
        ),
        "joints": _filled(_SKEL + '<body name="b1"/>', lambda _: _skel_joint(1, "world"), _SKEL_END),
        "skeletons": _filled('<skel version="1.0"><world name="w">', lambda _: "<skeleton/>", "</world></skel>"),
        "text": _padded(_SKEL + '<body name="', '"/>' + _SKEL_END),
        "depth": _nested(_SKEL, "<a>", "</a>", _SKEL_END),
    },
    "x_xy": {
        "bodies": _filled(_X_XY, lambda i: f'<body name="b{i}" joint="rx"/>', _X_XY_END),
        "one name": _filled(_X_XY, lambda _: '<body name="b" joint="rx"/>', _X_XY_END),
        "shapes": _filled(
            _X_XY + '<body name="b" joint="rx">', lambda _: '<geom type="box" mass="1" dim="1 1 1"/>',
            "</body>" + _X_XY_END,
        ),
        "text": _padded(_X_XY + '<body joint="rx" name="', '"/>' + _X_XY_END),
        "depth": _nested(_X_XY, '<body name="b" joint="rx">', "</body>", _X_XY_END),
    },
    "shift": {
        "bodies": _filled(_SHIFT, lambda i: f'{{"name":"b{i}"}},', _SHIFT_JOINTS + _SHIFT_END),
        "one name": _filled(_SHIFT, lambda _: '{"name":"b"},', _SHIFT_JOINTS + _SHIFT_END),
        "chain": _halves(
            _SHIFT, lambda i: f'{{"name":"b{i}"}},', _SHIFT_JOINTS,
            lambda i: _joined(i, _shift_joint(i, f"b{i - 1}")), _SHIFT_END,
        ),
        "star": _halves(
            _SHIFT, lambda i: f'{{"name":"b{i}"}},', _SHIFT_JOINTS,
            lambda i: _joined(i, _shift_joint(i, "b0")), _SHIFT_END,
        ),
        "joints": _filled(
            _SHIFT + '{"name":"b1"},' + _SHIFT_JOINTS, lambda i: _joined(i, _shift_joint(1, "b0")), _SHIFT_END
        ),
        "assemblies": _filled(
            '{"model_parameters":{},"fixed":{},"assemblies":[',
            lambda i: _joined(i, f'{{"name":"m{i}","bodies":[],"joints":[]}}'), "]}",
        ),
        "nested assemblies": _nested(
            '{"model_parameters":{},"fixed":{},"assemblies":[{"name":"m"', ',"assemblies":[{"name":"m"', "}]", "}]}"
        ),
        "text": _padded(_SHIFT + '{"name":"', '"},' + _SHIFT_JOINTS + _SHIFT_END),
        "numbers": _padded(_SHIFT + '{"name":"a","x":[0', "]}," + _SHIFT_JOINTS + _SHIFT_END, ",0"),
        "empty lists": _padded(_SHIFT + '{"name":"a","x":[0', "]}," + _SHIFT_JOINTS + _SHIFT_END, ",[]"),
    },
    "xmdi": {
        "servos": _filled(
            _XMDI, lambda i: f'<servo name="s{i}"><position>0</position><frames>0</frames></servo>', _XMDI_END
        ),
        "one name": _filled(
            _XMDI, lambda _: '<servo name="s"><position>0</position><frames>0</frames></servo>', _XMDI_END
        ),
        "motions": _filled(
            "<xmdi><motions>", lambda i: f'<motion name="m{i}"/>', "</motions></xmdi>",
        ),
        "keys": lambda size: (
            _XMDI + '<servo name="s"><position>' + "0 " * (size // 9) + "</position><frames>"
            + " ".join(map(str, range(size // 9))) + "</frames></servo>" + _XMDI_END
        ).encode(),
        "empty elements": _filled(_XMDI, lambda _: "<a/>", _XMDI_END),
        "empty lines": _filled(_XMDI, lambda _: "<a/>\n", _XMDI_END),
        "attributes": _filled(_XMDI + "<servo ", lambda i: f'a{i}="" ', "/>" + _XMDI_END),
        "one number": _padded(
            _XMDI + '<servo name="s"><position>0.', "</position><frames>0</frames></servo>" + _XMDI_END, "0"
        ),
        "no order": lambda size: (
            _XMDI + '<servo name="s"><position>' + "0 " * (size // 9) + "</position><frames>"
            + " ".join(map(str, range(size // 9, 0, -1))) + "</frames></servo>" + _XMDI_END
        ).encode(),
        "text": _padded('<xmdi><motions><motion name="', '"/></motions></xmdi>'),
        "depth": _nested(_XMDI, "<a>", "</a>", _XMDI_END),
    },
    "webots": {
        "frames": _filled(
            "#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i // 60_000:02}:{i // 1000 % 60:02}:{i % 1000:03},P,0\n", ""
        ),
        "servos": lambda size: (
            "#WEBOTS_MOTION,V1.0" + "".join(f",s{i}" for i in range(size // 10))
            + "\n00:00:000,P" + ",0" * (size // 10) + "\n"
        ).encode(),
        "short frames": _filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,*\n", ""),
        "names below": _filled("#WEBOTS_MOTION,V1.0\n", lambda _: "a,", "\n0,P\n"),
        "odd numbers": _filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,0x1\n", ""),
        "lines after the end": _padded("#WEBOTS_MOTION,V1.0,a\n0,P,0\n", "", "\n"),
        "text": _padded("#WEBOTS_MOTION,V1.0,", "\n00:00:000,P,0\n"),
    },
    "csv": {
        "rows": _filled("time [s],a [rad]\n", lambda i: f"{i},0\n", ""),
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
        "short rows": _padded("t,a\n", "", "0,\n"),
        "steps": _filled("t,a\n", lambda i: f"{i // 2},{i // 2 - 1 + i % 2}\n", ""),
        "two at once": _filled("t,a\n", lambda i: f"{i},0\n", "9e9,0\n9e9,1\n"),
        "odd numbers": _filled("t;a\n", lambda i: f"{i};1,5\n", "9e9;x"),
        "quotes": _padded("t,a\n0,0\n", "", '"'),
        "quoted cells": _padded("t,a\n", "", '0,""\n'),
        "open quotes": _padded("t,a\n0,0\n", "", '1,"a\n'),
        "comments": _padded("t,a\n0,0\n", "", "#\n"),
        "one number": _padded("t,a\n0,0.", "\n", "0"),
        "text": _padded("time [s],", "\n0,0\n"),
        "empty lines": _padded("time [s],a\n0,0\n", "1,0\n", "\n"),
    },
    "obj": {
        "points": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "f 1 2 3\n", "v 0 0 0\n"),
        "faces": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "", "f 1 2 3\n"),
        "one face": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf", " 1 2 3\n", " 1 2"),
        "objects": _filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"o {i}\nf 1 2 3\n", ""),
        "groups": _filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"g {i}\nf 1 2 3\n", ""),
        "materials": _filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: f"usemtl {i}\nf 1 2 3\n", ""),
        "corners": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n", "", "f 1/1/1 2/1/1 3/1/1\n"),
        "mixed corners": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\n", "", "f 1/1 2 3/1\nf 1 2 3\n"),
        "quads": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "", "f 1 2 4 3\n"),
        "sides": _filled("v 0 0 0\nv 1 0 0\nv 0 1 0\n", lambda i: "f" + " 1 2 3" * (1 + i % 200) + "\n", ""),
        "one number": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0.", "\nf 1 2 3\n", "0"),
        "one word": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "x"),
        "words": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "x "),
        "empty lines": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "\n"),
        "lines go on": _padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "", "\\\n"),
        "libraries": _filled("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", lambda i: f"mtllib {i}\n", ""),
    },
    "mtl": {
        "materials": _filled("", lambda i: f"newmtl {i}\nKd 0 0 0\n", ""),
        "pictures": _filled("newmtl a\n", lambda i: f"map_Kd {i}.png\n", ""),
        "one picture": _padded("newmtl a\n", "", "map_Kd a.png\n"),
        "options": _padded("newmtl a\nmap_Kd", " a.png\n", " -o 1 2 3"),
        "one word": _padded("newmtl ", "\n"),
        "empty lines": _padded("newmtl a\n", "", "\n"),
        "curves": _padded("newmtl a\n", "", "Kd curv\n"),
    },
    "stl": {
        "facets": lambda size: b"x" * 80 + (size // 50).to_bytes(4, "little") + b"\0" * (size // 50 * 50),
        "solids": _padded("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
                          "endfacet\nendsolid\n", "", "solid a\nendsolid\n"),
        "one word": _padded("solid a\n", "endsolid\n", "x"),
        "empty lines": _padded("solid a\n", "endsolid\n", "\n"),
        "words": _padded("solid a\n", "endsolid\n", "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
                         "vertex 0 1 0\nendloop\nendfacet\n"),
    },
    "ply": {
        "points": lambda size: (
            f"ply\nformat ascii 1.0\nelement vertex {size // 6}\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n" + "0 0 0\n" * (size // 6)
        ).encode(),
        "properties": _filled(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n",
            lambda i: f"property char p{i}\n", "end_header\n0 0 0\n",
        ),
        "comments": _padded(
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
        "elements": _filled(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n",
            lambda i: f"element e{i} 0\n", "end_header\n0 0 0\n",
        ),
    },
    "collada": {
        "points": _padded(_DAE, _DAE_END, " 0 0 0"),
        "sources": _filled(
            "<COLLADA><library_geometries><geometry><mesh>",
            lambda i: f'<source id="s{i}"><float_array id="a{i}" count="0"/></source>',
            "</mesh></geometry></library_geometries></COLLADA>",
        ),
        "geometries": _filled(
            "<COLLADA><library_geometries>", lambda i: f'<geometry id="g{i}"><mesh/></geometry>',
            "</library_geometries></COLLADA>",
        ),
        "triangles": _padded(_DAE + " 1 0 0 0 1 0" + _DAE_POINTS, "</p></triangles>" + _DAE_MESH_END, "0 1 2 "),
        "many triangles": _filled(
            _DAE + " 1 0 0 0 1 0" + _DAE_POINTS + "0 1 2</p></triangles>",
            lambda _: '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>',
            _DAE_MESH_END,
        ),
        "materials": _filled(
            "<COLLADA><library_materials>",
            lambda i: f'<material id="m{i}"><instance_effect url="#e"/></material>', "</library_materials></COLLADA>",
        ),
        "effects": _filled(
            "<COLLADA><library_effects>",
            lambda i: f'<effect id="m{i}"><profile_COMMON><technique><phong/></technique></profile_COMMON></effect>',
            "</library_effects></COLLADA>",
        ),
        "empty elements": _padded("<COLLADA>", "</COLLADA>", "<a/>"),
        "idle elements": _padded("<COLLADA>", "</COLLADA>", "<extra/>"),
        "attributes": _filled("<COLLADA ", lambda i: f'a{i}="" ', "/>"),
        "one number": _padded(_DAE + " 1 0 0 0 1 0.", _DAE_END, "0"),
        "nodes": _filled(
            "<COLLADA><library_visual_scenes><visual_scene>", lambda i: f'<node id="n{i}"/>',
            "</visual_scene></library_visual_scenes></COLLADA>",
        ),
        "depth": _nested(
            "<COLLADA><library_visual_scenes><visual_scene>", "<node>", "</node>",
            "</visual_scene></library_visual_scenes></COLLADA>",
        ),
    },
}  # fmt: skip
