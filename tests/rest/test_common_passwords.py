"""Where very common passwords are refused, by `REGISTERWATCH_COMMON_PASSWORDS`."""

import pytest

from tests.rest.answers import granted, refused
from tests.support.harness import EMAIL, ServiceStarter

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

COMMON, GIVEN_AWAY, OWN = "12345678", "member@acme.example", "words that nobody says together"


async def test_programs_set_any_password_of_eight_characters(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        granted(await harness.post("/v1/trial", email=EMAIL, password=COMMON))


async def test_no_route_takes_a_common_password_where_the_operator_refuses_them(start_service: ServiceStarter) -> None:
    async with start_service(common_passwords="everywhere") as harness:
        refused(await harness.post("/v1/trial", email=EMAIL, password=COMMON), 400)
        owner = granted(await harness.post("/v1/trial", email=EMAIL, password=OWN))
        for credential in (owner["session"], owner["api_key"]):
            refused(await harness.post("/v1/password", credential, password=COMMON), 400)
            refused(await harness.post("/v1/password", credential, password=EMAIL), 400)
            for password in (COMMON, GIVEN_AWAY):
                refused(
                    await harness.post("/v1/users", credential, email="member@acme.example", password=password), 400
                )
        token = (await harness.service.accounts.password_reset.link(EMAIL)).partition("token=")[2]
        refused(await harness.post("/v1/password/reset", token=token, password=COMMON), 400)
        granted(await harness.post("/v1/password/reset", token=token, password=f"{OWN}, really"))


async def test_who_has_a_common_password_already_signs_in(start_service: ServiceStarter) -> None:
    async with start_service() as before:
        granted(await before.post("/v1/trial", email=EMAIL, password=COMMON))
    async with start_service(common_passwords="everywhere") as harness:
        granted(await harness.post("/v1/login", email=EMAIL, password=COMMON))
        granted(await harness.post("/v1/trial", email=EMAIL, password=COMMON))
