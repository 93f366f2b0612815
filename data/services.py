"""Hosted training services that are paid by the token: their users hold no GPUs."""

METERED_SERVICES = {"tinker": "Tinker"}
"""`runs.framework` -> what to call the service; its prices are in data/catalog/service_prices.csv."""
