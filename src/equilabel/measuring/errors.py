"""Errors of measuring: each is a ValueError, and of the type that scikit-image raises, too."""


class PropertyUnknownError(ValueError, AttributeError):
    """A property is asked for by a name that does not exist."""


class PropertyUndefinedError(ValueError, NotImplementedError):
    """A property is not defined for so many axes, or without a stack."""


class IntensityMissingError(ValueError, AttributeError):
    """A property of values was asked for without an intensity image."""
