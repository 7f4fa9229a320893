"""The stand-in as one ASGI application: the register under `/eudamed`, the Data Lake under `/datalake`."""

from starlette.applications import Starlette
from starlette.routing import Mount

from registerwatch.sandbox.register.answers import refused
from registerwatch.sandbox.register.datalake import DataLake
from registerwatch.sandbox.register.eudamed import Eudamed
from registerwatch.sandbox.register.queries import Refused
from registerwatch.sandbox.register.world import World


def create_app(world: World, *, basic_udi_filter_works: bool = True) -> Starlette:
    eudamed = Eudamed(world, basic_udi_filter_works=basic_udi_filter_works)
    app = Starlette(routes=[Mount("/eudamed", routes=eudamed.routes()), Mount("/datalake", routes=DataLake(world).routes())], exception_handlers={Refused: refused})
    app.router.redirect_slashes = False
    return app
