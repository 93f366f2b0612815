"""The version of the application, written into every result."""

APP_VERSION = "0.1.0"
