"""Tests that every entry of a registry must pass, for this repository's entries and for a stranger's."""
