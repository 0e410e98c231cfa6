"""The pages, the JSON API, and the door in front of both."""

from headgate.web.app import create_app
from headgate.web.links import EntryLink, create_entry_link, create_setup_link
from headgate.web.parts import WebParts
from headgate.web.server import Server

__all__ = ["EntryLink", "Server", "WebParts", "create_app", "create_entry_link", "create_setup_link"]
