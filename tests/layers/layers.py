"""The layers of the daemon and what each may include: docs/architecture.md as a table."""

_DECISIONS = {"include", "base", "wire", "core"}

# A layer, and whose headers it may include besides its own.
ALLOWED = {
    "base": {"include"},
    "wire": {"include", "base"},
    "core": {"include", "base"},
    "source": _DECISIONS,
    "probe": _DECISIONS,
    "publish": _DECISIONS,
    "app": _DECISIONS | {"source", "probe", "publish"},
    "ctl": {"include", "base", "wire"},
}
