"""The stand-in behind a real server on a loopback port."""

import subprocess
from pathlib import Path

import httpx2
import pytest
import uvicorn

from registerwatch.settings import PREFIX, Settings
from registerwatch_standins.payment.app import PaymentSandbox
from registerwatch_standins.payment.event_sender import Webhook
from registerwatch_standins.payment.store import PRICES
from tests.support.payments import SECRET
from tests.support.processes import answers, command, free_port, until
from tests.support.receiver import receiver
from tests.support.servers import serving


async def test_a_served_stand_in_tells_by_itself_and_drops_connections() -> None:
    async with receiver() as box:
        sandbox = PaymentSandbox(base_url="http://127.0.0.1", webhook=Webhook(box.url, SECRET))
        headers = {"Authorization": "Bearer sk_test_anything"}
        async with (
            serving(uvicorn.Config(sandbox.app, host="127.0.0.1", port=0, log_level="critical")) as port,
            httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=5) as client,
        ):
            order = {"mode": "subscription", "line_items[0][price]": "price_standard", "success_url": "http://a.test/"}
            checkout = (await client.post("/v1/checkout/sessions", data=order)).json()
            paid = await client.post(f"/c/pay/{checkout['id']}", data={"card": "4242424242424242"})
            assert paid.status_code == 303
            assert (await box.wait_for(1))[0].json["type"] == "customer.created"
            sandbox.faults.fail("hang-up", times=1)
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.get("/v1/none")
            sandbox.faults.fail("silence", times=1)
            with pytest.raises(httpx2.ReadTimeout):
                await client.get("/v1/none", timeout=0.1)
            assert (await client.get("/v1/none")).status_code == 404


def test_the_command_prints_the_settings_that_lead_a_service_to_it(tmp_path: Path) -> None:
    port = free_port()
    with (tmp_path / "printed").open("w+b") as printed:
        process = subprocess.Popen(command("payment", "serve", "--port", port), stdout=printed)
        try:
            until(lambda: answers(f"http://127.0.0.1:{port}/"), "the stand-in")
        finally:
            process.terminate()
            process.wait(20)
        printed.seek(0)
        lines = printed.read().decode().splitlines()
    told = dict(line.partition("=")[::2] for line in lines)
    values = {name.removeprefix(PREFIX).lower(): value for name, value in told.items()}
    settings = Settings(**values)  # type: ignore[arg-type]  # values are checked by the settings
    assert settings.payment_api_url == f"http://127.0.0.1:{port}"
    assert settings.payment_api_key is not None
    assert settings.payment_webhook_secret is not None
    assert settings.payment_prices == {price.product.removeprefix("prod_"): price.id for price in PRICES}
