"""Names of devices, wherever people read of them. Pure."""

from typing import Protocol


class DeviceNames(Protocol):
    """A device, or the part of a stored one that has its names."""

    @property
    def trade_name(self) -> str:
        """Empty where the register has none."""

    @property
    def device_name(self) -> str:
        """The name of its Basic UDI-DI, empty where the register has none."""

    @property
    def device_model(self) -> str:
        """The model, or empty."""


def given_name(device: DeviceNames) -> str:
    """A device's trade name, else device name, else model; empty where none is known (the UDI-DI is used then)."""
    return device.trade_name or device.device_name or device.device_model
