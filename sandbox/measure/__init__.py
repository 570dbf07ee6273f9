"""Measures of a recorded gait. They know no body, controller or plant, and never feed back into a motion."""

from sandbox.measure.analysis import STRIDE_FIELDS, Analysis, pooled
from sandbox.measure.angles import LegAngles, joint_angles, leg_angles
from sandbox.measure.compare import REPORT_FIELDS, gait_report, mean_curves_deg
from sandbox.measure.curves import CURVES, body_curves
from sandbox.measure.cycle import Cycle, cycle_curves, cycles, resample
from sandbox.measure.dynamics import Dynamics
from sandbox.measure.events import Contacts, GaitEvents, detect, force_events, gait_events, recorded_events, zeni_events
from sandbox.measure.flow import FLOW_FIELDS, MARCH_FIELDS, Pop, flow, march, pops
from sandbox.measure.gait import SUMMARY_FIELDS, Field, Gait, summary
from sandbox.measure.norms import klaw_cadence, wbds_cadence, wbds_stride_leg, young_adults
from sandbox.measure.people import ProfileScore, Scores, compare_people, profile_score, scores
from sandbox.measure.turns import Turn, turns

__all__ = [
    "CURVES",
    "FLOW_FIELDS",
    "MARCH_FIELDS",
    "REPORT_FIELDS",
    "STRIDE_FIELDS",
    "SUMMARY_FIELDS",
    "Analysis",
    "Contacts",
    "Cycle",
    "Dynamics",
    "Field",
    "Gait",
    "GaitEvents",
    "LegAngles",
    "Pop",
    "ProfileScore",
    "Scores",
    "Turn",
    "body_curves",
    "compare_people",
    "cycle_curves",
    "cycles",
    "detect",
    "flow",
    "force_events",
    "gait_events",
    "gait_report",
    "joint_angles",
    "klaw_cadence",
    "leg_angles",
    "march",
    "mean_curves_deg",
    "pooled",
    "pops",
    "profile_score",
    "recorded_events",
    "resample",
    "scores",
    "summary",
    "turns",
    "wbds_cadence",
    "wbds_stride_leg",
    "young_adults",
    "zeni_events",
]
