"""Export of mechanisms: an entry per format in File > Export, and the exporter of a collection."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from .... import formats
from ....core.model import Mechanism
from ....core.report import Message, Report, count_with_noun
from ....core.up_axis import rotate_mechanism, upright_transform
from ....formats.text.file_io import write_transaction
from ...data.access import record_of, settings
from ...data.preferences import ignore_collada_units, mesh_folders
from ...data.queries import collection_of, require_rig, rig_in
from ...editing.repair.checks import report_findings
from ...locale import translated
from ...scene.read.mechanism import extract
from ...scene.read.mesh_export import write_own_meshes
from ..base.operators import (
    ERRORS,
    ExportHelper,
    Result,
    active_model,
    cancel_with_error,
    deleted_armature_message,
    extension_glob,
    keep_extension,
    no_model_message,
    report_result,
    unique_extensions,
    with_extension,
)

_EXTENSIONS = unique_extensions(row.extensions for row in formats.FORMATS.values())


class EXPORT_SCENE_OT_mechanism(bpy.types.Operator, ExportHelper):
    """Operator: export a mechanism to a model file."""

    bl_idname = "export_scene.mechanism"
    bl_label = "Export Mechanism"
    bl_description = "Write the mechanism to a model file. Unedited parts keep the text of the source file"
    bl_options = {"PRESET"}

    filename_ext = _EXTENSIONS[0]
    check_extension = None  # a format may have several extensions, and the typed one decides the dialect
    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default=extension_glob(_EXTENSIONS), options={"HIDDEN"})
    format: EnumProperty(
        name="Format",
        description="Format of the file",
        items=[(row.id, row.label, "Write a file of this format") for row in formats.FORMATS.values()],
    )
    upright: BoolProperty(
        name="Upright",
        description="Rotate the mechanism so that its gravity is along -Z, as Juice needs it",
    )
    meshes: EnumProperty(
        name="Meshes",
        description="Treatment of mesh files when exporting to another folder",
        items=[
            (
                "COPY",
                "Copy",
                "Copy mesh files, materials and images to the new folder, without overwriting other files",
            ),
            ("REFER", "Reference", "Refer to the mesh files in their present folder"),
        ],
    )
    collection: StringProperty(
        name="Collection",
        description="Collection of the mechanism to write; the active mechanism if empty",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the context has a mechanism to export; set the poll message if not."""
        # in the Exporters panel of a collection, context.collection is that collection
        if active_model(context) is not None or rig_in(context.collection) is not None:
            return True
        cls.poll_message_set(translated(no_model_message(context)))
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set format and file name from the active mechanism, then open the file browser."""
        rig = active_model(context)
        if not self.properties.is_property_set("format") and rig is not None and settings(rig).format:
            self.format = settings(rig).format
        if not self.filepath and rig is not None:
            name = bpy.path.clean_name(record_of(rig).source_name or rig.name)
            self.filepath = name + formats.FORMATS[self.format].extensions[0]
        return ExportHelper.invoke(self, context, event)

    def check(self, context: bpy.types.Context) -> bool:
        """Give the file an extension of the chosen format; return whether its path changed."""
        return keep_extension(self, formats.FORMATS[self.format].extensions, _EXTENSIONS)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "format")
        layout.prop(self, "upright")
        row = layout.row()
        row.active = formats.FORMATS[self.format].names_meshes
        row.prop(self, "meshes")

    def execute(self, context: bpy.types.Context) -> Result:
        """Write the model file, and report the number of bodies, joints and changes."""
        try:
            rig = self._rig(context)
            mechanism = extract(rig)
            findings = report_findings(rig, mechanism)
            if not self.properties.is_property_set("format"):
                found = formats.format_id(mechanism, self.filepath)
                self.format = found if found in formats.FORMATS else mechanism.source.format or self.format
            extensions = formats.FORMATS[self.format].extensions
            path = with_extension(bpy.path.abspath(self.filepath), extensions, _EXTENSIONS)
            with write_transaction():
                meshes = write_own_meshes(rig, mechanism, path, self.format)
                if self.upright:
                    mechanism = rotate_mechanism(mechanism, upright_transform(mechanism))
                report: Report = mechanism.report
                report.extend(findings)
                report.extend(meshes)
                report.extend(self._save(mechanism, path))
        except ERRORS as error:
            return cancel_with_error(self, error)
        bodies = count_with_noun(len(mechanism.bodies), "body", "bodies")
        joints = count_with_noun(len(mechanism.joints), "joint")
        edits = sum(entry.code in {"added", "deleted"} for entry in report.entries)
        changes = Message("; added or deleted: {}", edits) if edits else ""
        report_result(self, Message("Exported {}: {}, {}{}", bpy.path.basename(path), bodies, joints, changes), report)
        return {"FINISHED"}

    def _save(self, mechanism: Mechanism, path: str) -> Report:
        copies = self.meshes == "COPY"
        return formats.save(mechanism, path, self.format, mesh_folders(), ignore_collada_units(), copies)

    def _rig(self, context: bpy.types.Context) -> bpy.types.Object:
        if not self.collection:
            rig = active_model(context)
            if rig is None:
                raise ValueError(no_model_message(context))
            if not rig.users_scene:
                raise ValueError(deleted_armature_message(rig))
            collection_of(rig)
            return rig
        collection: bpy.types.Collection | None = bpy.data.collections.get(self.collection)
        if collection is None:
            raise ValueError(Message("There is no collection {}", repr(self.collection)))
        rigs = [obj for obj in collection.all_objects if record_of(obj).role == "MODEL"]
        if len(rigs) > 1:
            raise ValueError(
                Message("Collection {} holds {} mechanisms: a file holds one", repr(collection.name), len(rigs))
            )
        return require_rig(collection)


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entries of File > Export, one per format."""
    for row in formats.FORMATS.values():
        entry = self.layout.operator(
            EXPORT_SCENE_OT_mechanism.bl_idname, text=translated(f"{row.label} ({row.extensions[0]})")
        )
        entry.format = row.id
        entry.filter_glob = extension_glob(row.extensions)


CLASSES = (EXPORT_SCENE_OT_mechanism,)
