"""A generated register from which a test takes records away."""

from registerwatch_standins.register.filters import DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Actor, Registration


class ForgetfulWorld(GeneratedWorld):
    """A register that no longer lists some of its records (by uuid) and actors (by SRN)."""

    def __init__(self, devices: int) -> None:
        super().__init__(devices, seed=7)
        self.forgotten: set[str] = set()

    def search(self, wanted: DeviceFilter, offset: int, limit: int) -> tuple[int, list[Registration]]:
        """The page without what is forgotten."""
        total, records = super().search(wanted, offset, limit)
        kept = [record for record in records if record.uuid not in self.forgotten]
        return total - len(records) + len(kept), kept

    def actor(self, srn: str) -> Actor | None:
        """The actor, if it is not forgotten."""
        return None if srn in self.forgotten else super().actor(srn)
