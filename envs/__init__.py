"""Gymnasium environments around the walker: ``Sandbox/Walk-v0``, ``Stand-v0``, ``PushRecovery-v0``, ``StartStop-v0``, ``Uneven-v0``.

    import gymnasium

    env = gymnasium.make("sandbox:Sandbox/Walk-v0", action="planner")

The environments register with ``import sandbox``, which the prefix ``sandbox:`` does; the engines load when one is made.
"""
