"""Effects of the plugin on the viewer: layers, threads, selection, notifications."""
