"""The forms of the plugin, made of fields of magicgui and Qt."""
