"""What is stored of an address: all of it, or its ends where the address is a secret."""

import pytest

from registerwatch.errors import InvalidInput
from registerwatch.notifications.targets.target_addresses import shortened, stored_address
from tests.notifications.plain_channel import PlainChannel


def test_an_address_that_is_a_secret_is_stored_as_one_and_only_its_ends_are_shown() -> None:
    address = "#" + "news" * 5

    assert stored_address(PlainChannel(), address).url == address
    concealed = stored_address(PlainChannel(address_is_secret=True), address)
    assert concealed.secret == address
    assert "newsnews" not in concealed.url + repr(concealed)
    assert shortened("https://hooks.slack.com/services/T0/B0/abcdefgh") == "https://hooks.slack.com/…efgh"
    with pytest.raises(InvalidInput):
        stored_address(PlainChannel(), "news")
