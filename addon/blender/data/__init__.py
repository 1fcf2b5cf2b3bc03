"""Storage of mechanisms on Blender's data: property groups, queries, conversion, caches and change counters."""
