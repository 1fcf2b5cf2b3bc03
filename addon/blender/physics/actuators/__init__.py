"""Actuators: servos, springs, friction, point-to-point forces, initial velocities and stops of several turns."""
