"""Requests that no public set has: functions and values are drawn, a writer says them, and others go on offer."""
