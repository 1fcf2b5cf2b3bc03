"""Helpers for tests in Blender: a small mechanism as a text file, and counts of what the open file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: A trunk with two flaps that a clockwork swings by 20 degrees, as far as joystick 1 Y says; the right one slides.
FLAPPER = """<?xml version="1.0"?>
<!-- kept as it is -->
<Model FileVersion="1">
	<Gravity>9.81</Gravity>
	<Friction>75</Friction>
	<ERP>0.8</ERP>
	<CFM>1e-006</CFM>
	<StandardSpeed>60</StandardSpeed>
	<SpeedFactor>1</SpeedFactor>
	<PoseDelay>0</PoseDelay>
	<PosePhase>0</PosePhase>
	<Bodies>
		<Body>
			<ID>11</ID><Name>Trunk</Name>
			<Position><X>0</X><Y>0</Y><Z>2</Z></Position><Rotation><Y>0</Y><P>0</P><R>0</R></Rotation>
			<Twin>0</Twin><BoxDimensions><X>1</X><Y>2</Y><Z>0.50</Z></BoxDimensions><Shape>1</Shape><Mass>4</Mass>
		</Body>
		<Body>
			<ID>12</ID><Name>Left Flap</Name>
			<Position><X>-1.25</X><Y>0</Y><Z>2</Z></Position><Rotation><Y>0</Y><P>0</P><R>0</R></Rotation>
			<Twin>0</Twin><BoxDimensions><X>1</X><Y>0.5</Y><Z>0.1</Z></BoxDimensions><Shape>1</Shape><Mass>1</Mass>
		</Body>
		<Body>
			<ID>13</ID><Name>Right Slide</Name>
			<Position><X>1.25</X><Y>0</Y><Z>2</Z></Position><Rotation><Y>0</Y><P>0</P><R>0</R></Rotation>
			<Twin>0</Twin><BoxDimensions><X>1</X><Y>0.5</Y><Z>0.1</Z></BoxDimensions><Shape>1</Shape><Mass>1</Mass>
		</Body>
	</Bodies>
	<RevoluteJoints>
		<RevoluteJoint>
			<ID>21</ID><Name>Left Joint</Name>
			<Position><X>-0.6</X><Y>0</Y><Z>2</Z></Position><Rotation><Y>0</Y><P>-90</P><R>0</R></Rotation>
			<Twin>0</Twin><Body1>11</Body1><Body2>12</Body2><Gain>10</Gain><MaxForce>500</MaxForce>
			<LoStopValue>-45</LoStopValue><HiStopValue>30</HiStopValue>
			<LoStopFlag>1</LoStopFlag><HiStopFlag>1</HiStopFlag>
		</RevoluteJoint>
	</RevoluteJoints>
	<PrismaticJoints>
		<PrismaticJoint>
			<ID>22</ID><Name>Right Joint</Name>
			<Position><X>0.6</X><Y>0</Y><Z>2</Z></Position><Rotation><Y>0</Y><P>-90</P><R>0</R></Rotation>
			<Twin>0</Twin><Body1>11</Body1><Body2>13</Body2><Gain>10</Gain><MaxForce>500</MaxForce>
			<LoStopValue>0</LoStopValue><HiStopValue>0</HiStopValue>
			<LoStopFlag>0</LoStopFlag><HiStopFlag>0</HiStopFlag>
		</PrismaticJoint>
	</PrismaticJoints>
	<Behaviors>
		<Clockwork><Name>Flap</Name><Enabled>1</Enabled><Gain>100</Gain>
			<ClockworkMotors><ClockworkMotor><JointID>21</JointID><Enabled>1</Enabled><Offset>0</Offset>
				<MotionType>1</MotionType><Phase>0</Phase><Amplitude>20</Amplitude></ClockworkMotor></ClockworkMotors>
			<MotionSource>1</MotionSource><AmpModSource>2</AmpModSource><FeedbackSource>0</FeedbackSource></Clockwork>
	</Behaviors>
</Model>
"""

#: Two bodies with one id: well-formed, but no sound model.
BROKEN = FLAPPER.replace("<ID>12</ID>", "<ID>11</ID>")

MOTION = """<?xml version="1.0" encoding="UTF-8"?>
<motions><motion name="nod"><servo name="Left Joint">
<position>0 0.25 -0.5</position><frames>0 10 50</frames></servo></motion></motions>
"""


def datablocks() -> dict[str, int]:
    """How many datablocks of each kind the file holds."""
    import bpy

    kinds = ("objects", "meshes", "armatures", "collections", "materials", "texts", "actions", "scenes", "cameras")
    return {kind: len(getattr(bpy.data, kind)) for kind in kinds}


def put(path: Path, text: str = FLAPPER) -> Path:
    """Write a file byte for byte and return its path."""
    path.write_bytes(text.encode())
    return path


def models() -> list[Any]:
    """The armatures of all models in the file, in the order of their names."""
    import bpy

    return sorted((obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"), key=lambda obj: obj.name)
