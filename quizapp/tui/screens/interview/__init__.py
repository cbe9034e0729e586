"""Mock interviews."""
