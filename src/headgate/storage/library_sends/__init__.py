"""Requests to send things of the library on."""
