"""What the plugin computes: no Qt, no napari, so that it is tested without a screen."""
