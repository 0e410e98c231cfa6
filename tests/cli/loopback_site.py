"""A site on loopback with feeds and pages, that also takes what is pushed to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site:
    """Its pages by path, what is answered instead of them, and what was pushed."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.status = 200
        self.pushed: list[dict[str, Any]] = []
        self.port = 0

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def push_url(self) -> str:
        return f"json://somebody:secret-word@127.0.0.1:{self.port}/box"

    def feed(self, path: str, title: str, *entries: str) -> str:
        """Serve a feed with entries of these titles, and return its address."""
        items = "".join(
            f"<item><guid>{path}-{entry}</guid><title>{entry}</title><link>{self.url()}{n}</link></item>"
            for n, entry in enumerate(entries)
        )
        self.pages[path] = f'<rss version="2.0"><channel><title>{title}</title>{items}</channel></rss>'
        return self.url(path)

    def page(self, path: str, **feeds: str) -> str:
        """Serve a page that names feeds by title and path, and return its address."""
        links = "".join(
            f'<link rel="alternate" type="application/rss+xml" title="{title}" href="{feed}">'
            for title, feed in feeds.items()
        )
        self.pages[path] = f"<!doctype html><html><head><title>A page</title>{links}</head></html>"
        return self.url(path)


@contextmanager
def serving_site() -> Generator[Site, None, None]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site.pages.get(self.path)
            self._answer(404 if page is None else site.status, (page or "").encode())

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if site.status == 200:
                site.pushed.append(message)
            self._answer(site.status, b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "text/html" if b"<html" in body else "application/rss+xml")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as it is called there
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
