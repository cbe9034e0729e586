"""Tests of the memory models."""
