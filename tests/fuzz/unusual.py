"""More files of a size, of what few files have much of: digits, attributes, comments, what is reported, what is
repaired, and what is refused only at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz.grown import (
    DAE,
    DAE_END,
    DAE_MESH_END,
    DAE_POINTS,
    JUICE,
    JUICE_END,
    JUICE_JOINTS,
    SHIFT,
    SHIFT_END,
    SHIFT_JOINTS,
    SKEL,
    SKEL_END,
    X_XY,
    X_XY_END,
    XMDI,
    XMDI_END,
    filled,
    padded,
    skel_joint,
)

_JM_END = JUICE_JOINTS + JUICE_END
_BODY = "<Body><ID>1</ID></Body><Body><ID>2</ID></Body>"
_JSON_END = "]," + '"name":"a"},' + SHIFT_JOINTS + SHIFT_END
_X_BODY, _X_BODY_END = '<body name="a" joint="rx">', "</body>" + X_XY_END
_TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"

Make = Callable[[int], bytes]


def _xml(head: str, tail: str) -> dict[str, Make]:
    """What any file of XML may have much of, between its head and its tail."""
    return {
        "many comments": filled(head, lambda i: f"<!-- {i} -->\n", tail),
        "one comment": padded(head + "<!--", "-->" + tail, "a "),
        "comments that look like elements": filled(head, lambda i: f"<!--<a{i}>-->", tail),
        "instructions": filled(head, lambda i: f"<?a{i} b?>", tail),
        "sections": filled(head, lambda i: f"<a><![CDATA[<{i}]]></a>", tail),
        "one section": padded(head + "<a><![CDATA[", "]]></a>" + tail, "<aaaaaaaaaaaaaaaaaaa"),
        "many tags": filled(head, lambda i: f"<a{i}/>", tail),
        "one tag": lambda size: (head + f"<{'a' * (size // 2)}></{'a' * (size // 2)}>" + tail).encode(),
        "blanks in tags": padded(head + "<a ", "/>" + tail, " "),
        "one attribute": padded(head + '<a b="', '"/>' + tail, "b"),
        "attributes of one element": filled(head + "<a ", lambda i: f'b{i}="1" ', "/>" + tail),
        "attributes of many elements": filled(head, lambda i: f'<a b{i}="1"/>', tail),
        "letters by number": padded(head + "<a>", "</a>" + tail, "&#65;"),
        "bare ampersands": padded(head + "<a>", "</a>" + tail, " & "),
        "lines of bare ampersands": padded(head + "<a>", "</a>" + tail, " &\n"),
        "document types": lambda size: ("<!DOCTYPE a " * (size // 12) + head + tail).encode(),
        "a document type with quotes": lambda size: ("<!DOCTYPE a " + "'" * size + ">" + head + tail).encode(),
        "no end": filled(head, lambda i: f"<a{i}>", ""),
        "open comments": padded(head, "", "<!-"),
        "open tags": padded(head, tail, "<a "),
        "open quotes": padded(head, tail, '<a b="'),
        "white space": padded(head, tail, " \n"),
        "text beside elements": filled(head, lambda i: f"a<b{i}/>", tail),
        "name spaces": filled(head, lambda i: f'<n:a xmlns:n="u{i}"/>', tail),
        "byte order": lambda size: b"\xef\xbb\xbf" + filled(head, lambda i: f"<a>\xe4{i}</a>", tail)(size),
        "eight bits": lambda size: filled(head, lambda i: f"<a>\xe4{i}</a>", tail)(size).replace(b"\xc3", b""),
    }


UNUSUAL: Mapping[str, Mapping[str, Make]] = {
    "juice": {
        **_xml(JUICE, _JM_END),
        "digits": padded(JUICE + "<Body><ID>1</ID><Mass>1", "</Mass></Body>" + _JM_END, "1"),
        "decimals": padded(JUICE + "<Body><ID>1</ID><Mass>0.", "</Mass></Body>" + _JM_END, "1"),
        "digits of an id": padded(JUICE + "<Body><ID>1", "</ID></Body>" + _JM_END, "0"),
        "a flag": padded(
            JUICE + _BODY + JUICE_JOINTS + "<RevoluteJoint><ID>3</ID><Body1>1</Body1><Body2>2</Body2><LoStopFlag>",
            "</LoStopFlag></RevoluteJoint>" + JUICE_END, "1",
        ),
        "wrong flags": filled(
            JUICE + _BODY + JUICE_JOINTS,
            lambda i: f"<RevoluteJoint><ID>{i}</ID><Body1>1</Body1><Body2>2</Body2><LoStopFlag>?</LoStopFlag>"
            "</RevoluteJoint>", JUICE_END,
        ),
        "joints of no body": filled(
            JUICE + _BODY + JUICE_JOINTS,
            lambda i: f"<RevoluteJoint><ID>{i}</ID><Body1>1</Body1><Body2>0</Body2></RevoluteJoint>", JUICE_END,
        ),
        "joints of strangers": filled(
            JUICE + _BODY + JUICE_JOINTS,
            lambda i: f"<RevoluteJoint><ID>{i}</ID><Body1>1</Body1><Body2>{i + 9}</Body2></RevoluteJoint>", JUICE_END,
        ),
        "bare brackets": padded(JUICE + "<Body><ID>1</ID><Name>", "</Name></Body>" + _JM_END, "<"),
        "names with brackets": filled(
            JUICE, lambda i: f"<Body><ID>{i}</ID><Name>a < {i}</Name></Body>", _JM_END
        ),
        "open names": filled(JUICE, lambda i: f"<Body><ID>{i}</ID><Name></Body>", _JM_END),
        "equal names": filled(JUICE, lambda i: f"<Body><ID>{i}</ID><Name>a</Name></Body>", _JM_END),
        "twins of one": filled(JUICE, lambda i: f"<Body><ID>{i}</ID><Twin>1</Twin></Body>", _JM_END),
        "elements of one body": filled(JUICE + "<Body><ID>1</ID>", lambda i: f"<a{i}>1</a{i}>", "</Body>" + _JM_END),
        "lists of bodies": filled(
            "<Model>", lambda i: f"<Bodies><Body><ID>{i}</ID></Body></Bodies>", "</Model>"
        ),
        "behaviors": filled(
            JUICE + _BODY + "</Bodies><Behaviors>", lambda i: f"<Clockwork><Name>c{i}</Name></Clockwork>",
            "</Behaviors></Model>",
        ),
        "motors": filled(
            JUICE + _BODY + "</Bodies><Behaviors><Clockwork><ClockworkMotors>",
            lambda i: f"<ClockworkMotor><JointID>{i}</JointID></ClockworkMotor>",
            "</ClockworkMotors></Clockwork></Behaviors></Model>",
        ),
        "nodes": filled(
            JUICE + _BODY + "</Bodies><Behaviors><NetworkBehavior><FunctionNodes>",
            lambda i: f"<ConstantNode><ID>{i}</ID></ConstantNode>",
            "</FunctionNodes></NetworkBehavior></Behaviors></Model>",
        ),
        "nodes without ids": filled(
            JUICE + _BODY + "</Bodies><Behaviors><NetworkBehavior><FunctionNodes>", lambda _: "<MultiplyNode/>",
            "</FunctionNodes></NetworkBehavior></Behaviors></Model>",
        ),
        "edges": filled(
            JUICE + _BODY + "</Bodies><Behaviors><NetworkBehavior><FunctionNodes><MultiplyNode><ID>1</ID>"
            "</MultiplyNode></FunctionNodes><Edges>",
            lambda _: "<Edge><Source>1</Source><Destination>1</Destination></Edge>",
            "</Edges></NetworkBehavior></Behaviors></Model>",
        ),
    },
    "skel": {
        **_xml(SKEL, SKEL_END),
        "digits": padded(SKEL + '<body name="a"><inertia><mass>1', "</mass></inertia></body>" + SKEL_END, "1"),
        "decimals": padded(SKEL + '<body name="a"><inertia><mass>0.', "</mass></inertia></body>" + SKEL_END, "1"),
        "digits and letters": padded(
            SKEL + '<body name="a"><inertia><mass>1', "x</mass></inertia></body>" + SKEL_END, "1"
        ),
        "a number and letters": padded(
            SKEL + '<body name="a"><inertia><mass>1', "</mass></inertia></body>" + SKEL_END, "x"
        ),
        "digits, a letter and a digit": padded(
            SKEL + '<body name="a"><inertia><mass>1', "x1</mass></inertia></body>" + SKEL_END, "1"
        ),
        "decimals, a letter and a digit": padded(
            SKEL + '<body name="a"><inertia><mass>0.1', "x1</mass></inertia></body>" + SKEL_END, "1"
        ),
        "numbers": padded(
            SKEL + '<body name="a"><transformation>', "</transformation></body>" + SKEL_END, "0 "
        ),
        "numbers with commas": padded(
            SKEL + '<body name="a"><transformation>', "</transformation></body>" + SKEL_END, "0, "
        ),
        "commas": padded(SKEL + '<body name="a"><transformation>', "</transformation></body>" + SKEL_END, ","),
        "elements of one body": filled(SKEL + '<body name="a">', lambda i: f"<a{i}>1</a{i}>", "</body>" + SKEL_END),
        "unknown elements of bodies": filled(SKEL, lambda i: f'<body name="b{i}"><a/></body>', SKEL_END),
        "attributes of one body": filled(SKEL + "<body ", lambda i: f'a{i}="" ', "/>" + SKEL_END),
        "shapes": filled(
            SKEL + '<body name="a">',
            lambda _: "<visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>",
            "</body>" + SKEL_END,
        ),
        "shapes of nothing": filled(SKEL + '<body name="a">', lambda _: "<collision_shape/>", "</body>" + SKEL_END),
        "balls": filled(
            SKEL + '<body name="a"><visualization_shape><geometry><multi_sphere>',
            lambda i: f"<sphere><radius>1</radius><position>{i} 0 0</position></sphere>",
            "</multi_sphere></geometry></visualization_shape></body>" + SKEL_END,
        ),
        "markers": filled(SKEL + '<body name="a">', lambda i: f'<marker name="m{i}"/>', "</body>" + SKEL_END),
        "degrees of one joint": filled(
            SKEL + '<body name="a"/><joint type="free" name="j"><parent>world</parent><child>a</child>',
            lambda i: f'<dof local_index="{i}"/>', "</joint>" + SKEL_END,
        ),
        "joints of strangers": filled(SKEL + '<body name="b0"/>', lambda i: skel_joint(i, "x"), SKEL_END),
        "wrong flags": filled(SKEL, lambda i: f'<body name="b{i}"><gravity>x{i}</gravity></body>', SKEL_END),
        "wrong counts": filled(
            SKEL, lambda i: f'<body name="b{i}"><transformation>{i}</transformation></body>', SKEL_END
        ),
        "a ring": lambda size: (
            SKEL + "".join(f'<body name="b{i}"/>' for i in range(size // 200))
            + "".join(skel_joint(i, f"b{(i + 1) % (size // 200)}") for i in range(size // 200)) + SKEL_END
        ).encode(),
        "links of one chain": lambda size: (
            SKEL + "".join(f'<body name="b{i}"><knuckle link_of="j"/></body>' for i in range(1, size // 250))
            + f'<body name="b{size // 250}"/>'
            + "".join(skel_joint(i, f"b{i - 1}" if i > 1 else "world") for i in range(1, size // 250 + 1)) + SKEL_END
        ).encode(),
        "worlds": filled('<skel version="1.0">', lambda _: "<world/>", "</skel>"),
    },
    "x_xy": {
        **_xml(X_XY, X_XY_END),
        "digits": padded(X_XY + '<body name="a" joint="rx" damping="1', '"/>' + X_XY_END, "1"),
        "decimals": padded(X_XY + '<body name="a" joint="rx" damping="0.', '"/>' + X_XY_END, "1"),
        "numbers": padded(X_XY + '<body name="a" joint="rx" pos="0', '"/>' + X_XY_END, " 0"),
        "separators": padded(X_XY + '<body name="a" joint="rx" pos="0', '0"/>' + X_XY_END, ", "),
        "attributes of one body": filled(X_XY + "<body ", lambda i: f'a{i}="" ', "/>" + X_XY_END),
        "attributes of the defaults": filled(
            "<x_xy><defaults><body ", lambda i: f'a{i}="" ', '/></defaults><worldbody><body name="a" joint="rx"/>'
            + X_XY_END,
        ),
        "attributes of the options": filled(
            "<x_xy><options ", lambda i: f'a{i}="" ', '/><worldbody><body name="a" joint="rx"/>' + X_XY_END
        ),
        "markers": filled(X_XY + _X_BODY, lambda i: f'<omc name="m{i}" pos_marker="{i}"/>', _X_BODY_END),
        "colors": filled(
            X_XY + _X_BODY, lambda i: f'<geom type="sphere" mass="1" dim="1" color="c{i}"/>', _X_BODY_END
        ),
        "notes": filled(X_XY, lambda i: f'<body name="b{i}" joint="rx"><!--knuckle {{}}--></body>', X_XY_END),
        "notes of one": filled(X_XY + _X_BODY, lambda _: "<!--knuckle {}-->", _X_BODY_END),
        "bad notes": filled(X_XY, lambda i: f'<body name="b{i}" joint="rx"><!--knuckle x--></body>', X_XY_END),
        "unknown joints": filled(X_XY, lambda i: f'<body name="b{i}" joint="j{i}"/>', X_XY_END),
        "one body in another": lambda size: (
            X_XY + "".join(f'<body name="b{i}" joint="rx">' for i in range(min(size // 40, 4_900)))
            + "</body>" * min(size // 40, 4_900) + X_XY_END
        ).encode(),
    },
    "shift": {
        "digits": padded(SHIFT + '{"name":"a","mass":1', "}," + SHIFT_JOINTS + SHIFT_END, "1"),
        "decimals": padded(SHIFT + '{"name":"a","mass":0.', "}," + SHIFT_JOINTS + SHIFT_END, "1"),
        "digits and letters": padded(SHIFT + '{"name":"a","mass":1', "x}," + SHIFT_JOINTS + SHIFT_END, "1"),
        "keys": filled(SHIFT + "{", lambda i: f'"a{i}":0,', '"name":"a"},' + SHIFT_JOINTS + SHIFT_END),
        "keys twice": filled(SHIFT + "{", lambda _: '"a":0,', '"name":"a"},' + SHIFT_JOINTS + SHIFT_END),
        "keys twice with comments": filled(
            SHIFT + "/**/{", lambda _: '"a":0,', '"name":"a"},' + SHIFT_JOINTS + SHIFT_END
        ),
        "comments": padded(SHIFT, SHIFT_JOINTS + SHIFT_END, "//\n"),
        "many comments": filled(SHIFT, lambda i: f'/*{i}*/{{"name":"b{i}"}},', SHIFT_JOINTS + SHIFT_END),
        "one comment": padded(SHIFT + "/*", "*/" + SHIFT_JOINTS + SHIFT_END, "* "),
        "open comments": padded(SHIFT, SHIFT_JOINTS + SHIFT_END, "/*"),
        "slashes": padded(SHIFT, SHIFT_JOINTS + SHIFT_END, "/"),
        "commas behind the last": filled(
            SHIFT, lambda i: f'{{"name":"b{i}","x":[1,]}},', SHIFT_JOINTS + SHIFT_END
        ),
        "escapes": padded(SHIFT + '{"name":"', '"},' + SHIFT_JOINTS + SHIFT_END, "\\u0041"),
        "nuls": filled(SHIFT, lambda _: '{"name":"\\u0000"},', SHIFT_JOINTS + SHIFT_END),
        "open texts": padded(SHIFT + '{"name":"', "", '\\"'),
        "white space": padded(SHIFT, SHIFT_JOINTS + SHIFT_END, " \n"),
        "white space in lists": padded(SHIFT + '{"x":[1', _JSON_END, " ,1"),
        "objects": padded(SHIFT + '{"x":[1', _JSON_END, ',{"a":0}'),
        "frames": filled(
            SHIFT + '{"name":"a","frames":[{"name":"f"}', lambda i: f',{{"name":"f{i}"}}',
            "]}," + SHIFT_JOINTS + SHIFT_END,
        ),
        "joints of strangers": filled(
            SHIFT + '{"name":"b1"},' + SHIFT_JOINTS + '{"name":"j"}',
            lambda i: f',{{"name":"j{i}","type":"Rx","body_frame_pairs":[["x{i}","o"],["b1","origin"]]}}', SHIFT_END,
        ),
        "unknown types": filled(
            SHIFT + '{"name":"b1"},' + SHIFT_JOINTS + '{"name":"j"}',
            lambda i: f',{{"name":"j{i}","type":"x","body_frame_pairs":[["b0","origin"],["b1","origin"]]}}', SHIFT_END,
        ),
        "lights": filled(
            '{"model_parameters":{},"fixed":{"lights":[{}', lambda i: f',{{"name":"l{i}","type":"point"}}',
            ']},"assemblies":[]}',
        ),
        "restraints": filled(
            SHIFT + '{"name":"b1"},' + SHIFT_JOINTS
            + ',{"name":"j","type":"Rx","body_frame_pairs":[["b0","origin"],["b1","origin"]]}],"restraints":[{}',
            lambda i: f',{{"name":"r{i}","joint":"j","type":"spring","coefficients":[[1]],"knot_points":[]}}',
            SHIFT_END,
        ),
        "meshes": filled(
            SHIFT + '{"name":"a","definition":["a.obj"', lambda i: f',"{i}.obj"', "]}," + SHIFT_JOINTS + SHIFT_END
        ),
        "equal names": filled(
            '{"model_parameters":{},"fixed":{},"assemblies":[{"name":"m","bodies":[]}',
            lambda _: ',{"name":"m","bodies":[{"name":"b"}],"joints":[]}', "]}",
        ),
    },
    "xmdi": {
        **_xml(XMDI, XMDI_END),
        "digits": padded(
            XMDI + '<servo name="s"><position>', "</position><frames>0</frames></servo>" + XMDI_END, "1"
        ),
        "digits and letters": padded(
            XMDI + '<servo name="s"><position>', "x</position><frames>0</frames></servo>" + XMDI_END, "1"
        ),
        "digits that are none": padded(
            XMDI + '<servo name="s"><position>', "</position><frames>0</frames></servo>" + XMDI_END, "1,"
        ),
        "attributes of a motion": filled(
            "<xmdi><motions><motion ", lambda i: f'a{i}="1" ',
            'name="m"><servo name="s"><position>0</position><frames>0</frames></servo>' + XMDI_END,
        ),
        "attributes of a servo": filled(
            XMDI + "<servo ", lambda i: f'a{i}="1" ',
            'name="s"><position>0</position><frames>0</frames></servo>' + XMDI_END,
        ),
        "attributes of keys": filled(
            XMDI + '<servo name="s"><position ', lambda i: f'a{i}="1" ',
            ">0</position><frames>0</frames></servo>" + XMDI_END,
        ),
        "elements of a servo": filled(
            XMDI + '<servo name="s"><position>0</position>', lambda _: "<a/>",
            "<frames>0</frames></servo>" + XMDI_END,
        ),
        "positions of a servo": filled(
            XMDI + '<servo name="s">', lambda _: "<position>0</position>", "</servo>" + XMDI_END
        ),
        "motions in motions": filled(XMDI, lambda i: f'<motion name="n{i}"/>', XMDI_END),
    },
    "webots": {
        "times": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,1.5\n", ""),
        "digits": padded("#WEBOTS_MOTION,V1.0,a\n0,P,", "\n", "1"),
        "half numbers": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,1x\n", ""),
        "digits and letters": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,{'1' * 3000}x\n", ""),
        "commas": padded("#WEBOTS_MOTION,V1.0,a\n0,P,0\n", "", ","),
        "undefined": filled("#WEBOTS_MOTION,V1.0,a\n", lambda i: f"{i},P,-9999999.9\n", ""),
    },
    "csv": {
        "digits": padded("t,a\n0,", "\n", "1"),
        "digits and letters": padded("t,a\n0,", "x\n", "1"),
        "headings in brackets": filled("time [s]", lambda i: f",s{i} [rad]", "\n0\n"),
        "brackets": padded("t,a", "\n0,0\n", "["),
        "round brackets": padded("t,a", "\n0,0\n", "("),
        "blanks": padded("t,a", "b\n0,0\n", " "),
        "quotes in the heading": padded("t,", ",a\n0,0\n", '"'),
        "quoted headings": padded("t", "\n0,0\n", ',"a"'),
        "delimiters": padded("t,a\n0,0\n", "", ",;\t"),
        "blank rows": padded("t,a\n0,0\n", "", ",\n"),
        "returns": filled("t,a\r", lambda i: f"{i},0\r", ""),
        "lines in quotes": filled("t,a\n0,0\n", lambda i: f'{i},"\n"\n', ""),
        "semicolons": filled("t;a\n", lambda i: f"{i},5;1,5\n", ""),
        "degrees": filled("time [ms],a [deg]\n", lambda i: f"{i},1.5\n", ""),
    },
    "obj": {
        "digits": padded("v 0 0 0\nv 1 0 0\nv 0 1 ", "\nf 1 2 3\n", "1"),
        "digits of a face": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", "\n", "1"),
        "backward faces": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "", "f -1 -2 -3\n"),
        "comments": padded(_TRIANGLE, "", "#\n"),
        "comments behind points": padded(_TRIANGLE, "", "v 0 0 0 # a\n"),
        "decimal commas": padded(_TRIANGLE, "", "v 0,5 0 0\n"),
        "bad faces": padded(_TRIANGLE, "", "f 1 2 99\n"),
        "faces of letters": padded(_TRIANGLE, "", "f a b c\n"),
        "slashes": padded("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", "\n", "/"),
        "blanks": padded(_TRIANGLE, "f 1 2 3\n", " "),
        "colors of points": padded(_TRIANGLE, "", "v 0 0 0 1 1 1\n"),
        "short points": padded(_TRIANGLE, "", "v 0 0\n"),
        "one library": padded("mtllib a", "\n" + _TRIANGLE, " a"),
    },
    "ply": {
        "digits": padded(
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 ",
            "\n3 0 1 2\n", "1",
        ),
        "blanks in the head": padded("ply\nformat ascii 1.0", "\nelement vertex 1\nend_header\n", " "),
        "no end of the head": padded("ply\nformat ascii 1.0\n", "", "comment a\n"),
        "blanks behind the head": padded("ply\nformat ascii 1.0\nend_header", "x", " "),
    },
    "collada": {
        **_xml("<COLLADA>", "</COLLADA>"),
        "digits": padded(DAE + " 1 0 0 0 1 1", DAE_END, "1"),
        "polygons": lambda size: (
            DAE + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles><polygons count='1'>"
            '<input semantic="VERTEX" source="#v" offset="0"/>' + "<p>0 1 2</p>" * (size // 12)
            + "</polygons>" + DAE_MESH_END
        ).encode(),
        "polygons with holes": lambda size: (
            DAE + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles><polygons count='1'>"
            '<input semantic="VERTEX" source="#v" offset="0"/>' + "<ph><p>0 1 2</p><h>0 1 2</h></ph>" * (size // 34)
            + "</polygons>" + DAE_MESH_END
        ).encode(),
        "pieces with holes": lambda size: (
            DAE + " 1 0 0 0 1 0" + " 0 0 0" * (size // 12) + DAE_POINTS + "0 1 2</p></triangles>"
            + '<polygons><input semantic="VERTEX" source="#v" offset="0"/><ph><p>0 1 2</p><h>0 1 2</h></ph></polygons>'
            * (size // 220) + DAE_MESH_END
        ).encode(),
        "lines": filled(
            DAE + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles>",
            lambda _: '<lines count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1</p></lines>',
            DAE_MESH_END,
        ),
        "broken references": filled(
            DAE + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles>",
            lambda i: f'<triangles count="1"><input semantic="VERTEX" source="#n{i}" offset="0"/><p>0 1 2</p>'
            "</triangles>", DAE_MESH_END,
        ),
        "materials without effects": filled(
            "<COLLADA><library_materials>", lambda i: f'<material id="m{i}"><instance_effect url="#e{i}"/></material>',
            "</library_materials></COLLADA>",
        ),
        "images": filled(
            "<COLLADA><library_images>", lambda i: f'<image id="i{i}"><init_from>a{i}.png</init_from></image>',
            "</library_images></COLLADA>",
        ),
        "instances of geometry": filled(
            "<COLLADA>" + DAE.partition(">")[2] + " 1 0 0 0 1 0" + DAE_POINTS + "0 1 2</p></triangles>"
            "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id='s'>",
            lambda _: "<node><instance_geometry url='#g'/></node>",
            "</visual_scene></library_visual_scenes><scene><instance_visual_scene url='#s'/></scene></COLLADA>",
        ),
    },
}  # fmt: skip
