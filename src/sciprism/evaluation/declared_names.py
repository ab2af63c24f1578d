"""Names that the hashed declarations of tasks carry: a class or field that was renamed keeps its former one.

Results are compared where their tasks' keys are equal, so a key must not change with a name of the code.
"""

DECLARED_AS: dict[str, str] = {}
"""Class name, or "Class.field", of today -> the name in declarations."""
