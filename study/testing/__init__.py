"""Contract tests, which every entry of a registry must pass. Our tests inherit them, and tests of plugins can, too."""
