"""``Sandbox/Stand-v0``: stand still and take pushes."""

from __future__ import annotations

from typing import Any

from sandbox.envs.rewards import Outcome, StandWeights, stand_terms
from sandbox.envs.walker import Command, WalkerEnv


class StandEnv(WalkerEnv):
    """A humanoid that stands still while it is pushed.

    Action space: ``Box(-1, 1, (n,), float32)``. -1 stands for the lowest value of the table, +1 for the highest, in a straight line;
    values outside [-1, 1], infinite ones too, are clipped; NaN is an error. The argument ``action`` picks the mode.

    ``residual``, the default: added to the planner's pose targets, in the order of the joints below; zero is the shipped walker. A
    joint without a pose target (hip and knee of a leg that stands) goes without.

    | Num | Name | Min | Max | Unit |
    |---|---|---|---|---|
    | 0-26 | change of each joint's target | -0.15 | 0.15 | rad |

    ``planner``: added to the planner's parameters; zero is the shipped walker.

    | Num | Name | Min | Max | Unit |
    |---|---|---|---|---|
    | 0 | foothold, forward | -0.08 | 0.08 | m |
    | 1 | step width | -0.04 | 0.04 | m |
    | 2 | step time, over that of the speed law | -0.12 | 0.12 | 1 |
    | 3 | forward lean of the trunk at 1 m/s | -0.1 | 0.1 | rad |

    ``joint`` (left range: target under stable PD) and ``torque`` (right range: joint torque). The planner then only watches.

    | Num | Name | Min | Max | Unit | Min | Max | Unit |
    |---|---|---|---|---|---|---|---|
    | 0 | lumbar_flexion | -0.4363 | 1.047 | rad | -245 | 245 | N m |
    | 1 | lumbar_lateral | -0.5236 | 0.5236 | rad | -175 | 175 | N m |
    | 2 | lumbar_rotation | -0.6109 | 0.6109 | rad | -105 | 105 | N m |
    | 3 | thorax_rotation | -0.6109 | 0.6109 | rad | -105 | 105 | N m |
    | 4 | head_flexion | -1.047 | 1.047 | rad | -35 | 35 | N m |
    | 5, 9 | shoulder_flexion, left and right | -1.047 | 2.932 | rad | -70 | 70 | N m |
    | 6, 10 | shoulder_adduction, left and right | -2.618 | 0.5236 | rad | -70 | 70 | N m |
    | 7, 11 | shoulder_rotation, left and right | -1.745 | 1.222 | rad | -35 | 35 | N m |
    | 8, 12 | elbow_flexion, left and right | 0 | 2.531 | rad | -56 | 56 | N m |
    | 13, 20 | hip_flexion, left and right | -0.3491 | 2.094 | rad | -210 | 210 | N m |
    | 14, 21 | hip_adduction, left and right | -0.6981 | 0.4363 | rad | -175 | 175 | N m |
    | 15, 22 | hip_rotation, left and right | -0.6981 | 0.6109 | rad | -84 | 84 | N m |
    | 16, 23 | knee_flexion, left and right | -0.01745 | 2.409 | rad | -210 | 210 | N m |
    | 17, 24 | ankle_dorsiflexion, left and right | -0.8727 | 0.5236 | rad | -189 | 189 | N m |
    | 18, 25 | ankle_inversion, left and right | -0.2618 | 0.3491 | rad | -56 | 56 | N m |
    | 19, 26 | mtp_extension, left and right | -0.1745 | 1.134 | rad | -35 | 35 | N m |

    Observation space: ``Box`` of 84 numbers in single precision, in the order of the table; a value outside its range is clipped.
    Right and forward are those of the commanded heading. Ranges of actions and observations are those of the default body.

    | Num | Name | Min | Max | Unit |
    |---|---|---|---|---|
    | 0 | height of mid-hip above the ground | 0 | 3 | m |
    | 1-3 | world's up in the pelvis's axes | -1 | 1 | 1 |
    | 4 | pelvis's heading less the commanded one | -3.142 | 3.142 | rad |
    | 5-7 | velocity of mid-hip: right, forward, up | -10 | 10 | m/s |
    | 8-10 | angular velocity of the pelvis, in its own axes | -100 | 100 | rad/s |
    | 11-37 | angle of each joint | -3.142 | 3.142 | rad |
    | 38-64 | speed of each joint | -100 | 100 | rad/s |
    | 65-70 | vertical force on heel, ball, toes; left, right | 0 | 10 | body weight |
    | 71-72 | XCoM from the left ankle: right, forward | -3 | 3 | m |
    | 73-74 | XCoM from the right ankle: right, forward | -3 | 3 | m |
    | 75 | commanded speed | 0 | 2 | m/s |
    | 76 | commanded heading rate | -0.6 | 0.6 | rad/s |
    | 77 | planner walks | 0 | 1 | 0 or 1 |
    | 78 | swing foot: left, none, right | -1 | 1 | -1, 0, 1 |
    | 79 | double support | 0 | 1 | 0 or 1 |
    | 80 | time since the phase of the step began | 0 | 2 | s |
    | 81 | time to the predicted touchdown or lift-off | -1 | 2 | s |
    | 82-83 | planned foothold from mid-hip: right, forward | -3 | 3 | m |

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.StandWeights`: ``stillness`` (CoM's mean
    velocity in the control step), ``drift`` (from where the episode began), ``heading``, ``effort``, ``action``, and ``fall``, once.

    Episode: starts standing, in a pose and with a velocity perturbed by the seed. Pushes at the chest of 0.2 s come every 3 to 6 s, with
    a force up to ``push_force`` and a direction drawn for each; a step to keep from falling is allowed. The commands are zero.
    Terminated by a fall, with ``info["fall_cause"]``; truncated after ``episode_seconds``.

    Info: ``time`` [s], ``speed_command`` [m/s], ``heading_rate_command`` [rad/s], ``ground_force`` (2, 3) [N] of the left and the right
    foot and ``push`` (3,) [N], both in the world frame and means over the control step; ``reward_terms`` after a step.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        push_force: largest force of a push [N]; 0 for none.
        weights: of the reward's terms.
        settings: those of :class:`sandbox.envs.walker.WalkerEnv`: ``action``, ``anatomy``, ``parameters``, ``terrain``, ``policy_rate``,
            ``physics_rate``, ``episode_seconds``, ``width``, ``height``.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    def __init__(
        self, render_mode: str | None = None, *, push_force: float = 50.0, weights: StandWeights | None = None, **settings: Any
    ) -> None:
        super().__init__(render_mode, push_force=push_force, **settings)
        self.weights = weights or StandWeights()

    def _draw_command(self, options: dict[str, Any]) -> Command:  # noqa: ARG002  # it takes none
        return Command(0.0, 0.0)

    def _terms(self, outcome: Outcome) -> dict[str, float]:
        return stand_terms(outcome, self.weights)
