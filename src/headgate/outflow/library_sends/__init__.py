"""Sending things of the library on: requests, and how each is sent."""
