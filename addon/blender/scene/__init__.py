"""Objects of a mechanism in a scene: armature, bodies, joints, attachments, meshes, materials, and reading them."""
