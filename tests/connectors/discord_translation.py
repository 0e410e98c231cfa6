"""What the tests' proxy changes in what the server says, so that it is what Discord would say."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

LINK_LIFE_S = 86_400


@dataclass
class Translation:
    """Links, forums, archived threads and forwarded messages."""

    upstream: int
    port: int
    snapshots: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(
        default_factory=dict[str, tuple[dict[str, Any], dict[str, Any]]]
    )
    forums: set[str] = field(default_factory=set[str])
    archived: set[str] = field(default_factory=set[str])
    valid_since: int = 0
    """Links that were given before have expired."""

    def translate(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.translate(one) for one in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        shape = {name: self.translate(one) for name, one in cast("dict[str, Any]", value).items()}
        if isinstance(url := shape.get("url"), str):
            shape["url"] = self._link(url)
        key = shape.get("id")
        if key in self.forums and "type" in shape:
            shape["type"] = 15
        if key in self.archived and "thread_metadata" in shape:
            shape["thread_metadata"] = shape["thread_metadata"] | {"archived": True}
        if key in self.snapshots and "channel_id" in shape:
            reference, source = self.snapshots[key]
            content = {name: source[name] for name in ("content", "attachments", "embeds")}
            shape |= {
                "content": "",
                "message_reference": reference,
                "message_snapshots": [{"message": content}],
            }
        return shape

    def _link(self, url: str) -> str:
        """Sign a link as Discord does: it names the second in which it expires."""
        if not (found := re.fullmatch(rf"https://127\.0\.0\.1:{self.upstream}(/media/.*)", url)):
            return url
        now = int(time.time())
        return f"http://127.0.0.1:{self.port}{found[1]}?ex={now + LINK_LIFE_S:x}&is={now:x}&hm=0"

    def is_good(self, query: str) -> bool:
        given = parse_qs(query).get("is", ["0"])[0]
        return int(given, 16) >= self.valid_since
