"""KLAW, reconstructed: goal-directed, dynamic animation of walking after Bruderlin & Calvert (SIGGRAPH 1989).

An engineering reconstruction from what is published about the method, not the original and not a copy of it. The method is credited
to Armin Bruderlin and Thomas W. Calvert. Which number is published, reconstructed, assumed or unknown stands in
``experiments/reference/KLAW_RECONSTRUCTION.md``.

One step is the unit of control, in this order::

    parameters   any one or two of speed, step length and step frequency, and attributes
    timing       step symmetry, durations of the phases, a state machine per leg
    stance       a telescoping leg that carries the upper body, solved as a boundary-value problem per step
    swing        a double pendulum that hangs from the moving hip, in three phases
    walker       steps one after another; figure: the pose at any time

"""
