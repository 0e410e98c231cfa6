"""The pages, the JSON API, and the door in front of both."""

from headgate.access.links import EntryLink, create_entry_link, create_setup_link
from headgate.web.app import create_app
from headgate.web.http.server import Server
from headgate.web.parts import WebParts

__all__ = ["EntryLink", "Server", "WebParts", "create_app", "create_entry_link", "create_setup_link"]
