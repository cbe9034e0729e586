"""The terminal interface: draws and asks, decides nothing."""
