"""Broken training runs to diagnose: what they show, and how a diagnosis is marked."""
