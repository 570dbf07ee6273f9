"""Tuning of the planner's and the controller's parameters."""
