"""Motors and what they apply: servos, springs, friction, forces, initial velocities, stops of several turns."""
