"""Copies htmx out of its pinned wheel into the static folder, for wheels and editable installs alike."""

from __future__ import annotations

import shutil
from importlib import util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = {"htmx-2.min.js": "htmx.min.js", "ext/hx-sse-2.min.js": "htmx-sse.min.js"}
TARGET = "src/headgate/web/static/vendor"


class VendorHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        spec = util.find_spec("django_htmx")
        if spec is None or spec.origin is None:
            raise RuntimeError("the build requirement django-htmx is not installed")
        source = Path(spec.origin).parent / "static" / "django_htmx"
        target = Path(self.root) / TARGET
        target.mkdir(parents=True, exist_ok=True)
        for name, copy in FILES.items():
            shutil.copyfile(source / name, target / copy)
        build_data["artifacts"].append(f"{TARGET}/*.js")
