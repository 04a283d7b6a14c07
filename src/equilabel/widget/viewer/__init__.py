"""What the plugin does to the viewer: layers, threads, selection, notifications."""
