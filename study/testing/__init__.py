"""Contract tests: what every entry of a registry must do. Our tests inherit them, and so can those of a plugin."""
