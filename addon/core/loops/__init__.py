"""Closed loops: joint values at which they close, design poses, and dependent joints that follow input joints."""
