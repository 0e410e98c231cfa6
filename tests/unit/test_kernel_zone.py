"""The time zone of the machine."""

from __future__ import annotations

from pathlib import Path

from headgate.kernel.zone import machine_zone


def test_the_environment_goes_before_the_system_and_both_before_utc(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert machine_zone({}, link=link) == "UTC"
    link.symlink_to("/usr/share/zoneinfo/Asia/Kuala_Lumpur")
    assert machine_zone({}, link=link) == "Asia/Kuala_Lumpur"
    assert machine_zone({"TZ": ":Europe/London"}, link=link) == "Europe/London"
    assert machine_zone({"TZ": "nonsense"}, link=link) == "Asia/Kuala_Lumpur"
    assert machine_zone({"TZ": "../etc"}, link=tmp_path / "none") == "UTC"
