"""The durable pace of everything that calls outside."""

from headgate.domain.pacing import ComeBack, ComeBackLater, Pace, Permit, PermitVoid
from headgate.lanes.lane import Lanes
from headgate.lanes.plans import plan_lanes

__all__ = ["ComeBack", "ComeBackLater", "Lanes", "Pace", "Permit", "PermitVoid", "plan_lanes"]
