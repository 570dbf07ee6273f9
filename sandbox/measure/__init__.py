"""Measures of a recorded gait. They know no body, controller or plant, and never feed back into a motion."""

from sandbox.measure.angles import LegAngles, joint_angles, leg_angles
from sandbox.measure.compare import REPORT_FIELDS, gait_report, mean_curves_deg
from sandbox.measure.cycle import Cycle, cycle_curves, cycles, resample
from sandbox.measure.events import Contacts, GaitEvents, force_events, gait_events, recorded_events, zeni_events
from sandbox.measure.flow import FLOW_FIELDS, Pop, flow, pops
from sandbox.measure.gait import SUMMARY_FIELDS, Field, Gait, summary
from sandbox.measure.norms import klaw_cadence, wbds_cadence, wbds_stride_leg, young_adults

__all__ = [
    "FLOW_FIELDS",
    "REPORT_FIELDS",
    "SUMMARY_FIELDS",
    "Contacts",
    "Cycle",
    "Field",
    "Gait",
    "GaitEvents",
    "LegAngles",
    "Pop",
    "cycle_curves",
    "cycles",
    "flow",
    "force_events",
    "gait_events",
    "gait_report",
    "joint_angles",
    "klaw_cadence",
    "leg_angles",
    "mean_curves_deg",
    "pops",
    "recorded_events",
    "resample",
    "summary",
    "wbds_cadence",
    "wbds_stride_leg",
    "young_adults",
    "zeni_events",
]
