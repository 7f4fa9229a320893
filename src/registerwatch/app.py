"""The ASGI application: middleware, routes, lifespan."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial

from fastapi import FastAPI
from starlette.middleware import Middleware

from registerwatch import __version__
from registerwatch.bootstrap import Service, build_service, running
from registerwatch.mcp.description import describe_tools
from registerwatch.mcp.endpoint import ToolEndpoint
from registerwatch.pages import routes
from registerwatch.pages.page_instead import PageInstead, answer_page_instead
from registerwatch.pages.rendering import compile_templates
from registerwatch.pages.sitemap import Sitemap
from registerwatch.register.identifiers.gs1_fields import load_fields
from registerwatch.rest import (
    account,
    billing,
    certificates,
    channels,
    codes,
    feeds,
    history,
    imports,
    lists,
    mail_bounces,
    open_sessions,
    register,
    sessions,
    watches,
    webhooks,
)
from registerwatch.rest.health import metrics, system
from registerwatch.rest.health.health_report import HealthReport
from registerwatch.rest.openapi.description import DescribedApi
from registerwatch.rest.openapi.webhook_description import describe_webhooks
from registerwatch.rest.routing import errors
from registerwatch.rest.routing.every_answer import EveryAnswer, RequestCounts
from registerwatch.rest.routing.middleware import BodyRequired, StoredDevices
from registerwatch.settings import Settings
from registerwatch.web.compression import Compression
from registerwatch.web.document_response import document_slots
from registerwatch.web.files.spreadsheet import Workbooks
from registerwatch.web.limits.body_limits import BodyLimits
from registerwatch.web.limits.forwarded_headers import ForwardedHeaders, NoticeForwardedHeaders
from registerwatch.web.limits.large_bodies import file_slots, large_body_slots, photo_slots
from registerwatch.web.limits.query_limit import QueryLimit
from registerwatch.web.limits.rate_limits import build_limits
from registerwatch.web.route_table import install_route_table
from registerwatch.web.security_headers import security_headers

ROUTERS = (
    certificates.router,  # before the actors' router, which matches any path below theirs
    codes.router,
    history.router,  # before the routes of devices and actors, whose codes may have slashes
    register.router,
    sessions.router,
    account.router,
    open_sessions.router,
    watches.router,
    imports.router,
    lists.files,
    lists.router,
    webhooks.router,
    channels.router,
    billing.router,
    mail_bounces.router,
    feeds.router,
    system.liveness,
    system.router,
    metrics.router,
    routes.router,
)
DESCRIPTION = """\
A stored copy of the public EU register of medical devices, EUDAMED: search it, read a device by UDI-DI, an actor
by SRN.

Source: European Commission, EUDAMED; each record says when it was read (`read_at`). Reused under Decision 2011/833/EU.
This service is not affiliated with or endorsed by the Commission. Records may be missing, late or wrong because the
register's are; an answer is not a certificate of conformity.

Times are ISO 8601 in UTC. Errors are `{"error": message, "code": …}`. A POST needs a body; send `{}` when there are no
fields.
"""


def create_app(settings: Settings, *, background: bool = True) -> FastAPI:
    """The application for an ASGI server. Nothing is opened before its lifespan starts."""
    return app_over(build_service(settings), background=background)


def work_app(service: Service) -> FastAPI:
    """The application of a process that only does background work: metrics and liveness."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    counts: RequestCounts = Counter()
    app.state.service, app.state.request_counts, app.state.has_index = service, counts, False
    app.include_router(metrics.router)
    app.include_router(system.liveness)
    errors.install(app, None, install_route_table(app).methods_at)
    always = security_headers(service.settings)
    app.middleware_stack = EveryAnswer(app.build_middleware_stack(), always=always, counts=counts)
    return app


def prepare_first_requests() -> None:
    """Do the slow work of first requests ahead of them, in a thread: half a second of the processor."""
    compile_templates()
    load_fields()


def app_over(service: Service, *, background: bool = True) -> FastAPI:
    """The application over a service that is built already, such as a test's own."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with aclosing(limits), running(service, background=background):
            preparing = asyncio.create_task(asyncio.to_thread(prepare_first_requests), name="prepare first requests")
            yield
            await preparing

    settings = service.settings
    limits = build_limits(settings, service.clock)
    counts: RequestCounts = Counter()
    forwarded = ForwardedHeaders(are_trusted=bool(settings.trusted_proxies))
    app = DescribedApi(
        additions=(describe_tools, partial(describe_webhooks, service_name=settings.service_name)),
        title="Registerwatch",
        version=__version__,
        description="\n\n".join(filter(None, (settings.source_note, DESCRIPTION))),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        servers=[{"url": settings.public_url}],
        telemetry={"tracing": False, "metrics": False, "logs": False},  # checking for it costs a tenth of a hot read
        middleware=[
            Middleware(BodyRequired),
            *(() if forwarded.are_trusted else (Middleware(NoticeForwardedHeaders, forwarded=forwarded),)),
            Middleware(QueryLimit),
            Middleware(BodyLimits),
            Middleware(ToolEndpoint, service=service, limits=limits),
        ],
    )
    app.state.service, app.state.limits, app.state.readiness = service, limits, system.Readiness()
    app.state.request_counts, app.state.has_index = counts, True
    app.state.health = HealthReport(service, forwarded)
    app.state.large_bodies, app.state.large_files = large_body_slots(), file_slots()
    app.state.photos, app.state.documents = photo_slots(), document_slots()
    app.state.sections = routes.SECTIONS
    app.state.workbooks = Workbooks(settings.data_dir)
    app.state.sitemap = Sitemap.of(service) if settings.reads_real_register else None
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` would build each of them again, which takes 30 ms
    errors.install(app, routes.error_page, install_route_table(app).methods_at)
    app.add_exception_handler(PageInstead, answer_page_instead)
    app.middleware_stack = EveryAnswer(
        StoredDevices(Compression(app.build_middleware_stack()), service.devices, limits),
        always=security_headers(settings),
        counts=counts,
        logs=settings.access_log,
        trusted_proxies=settings.trusted_proxies,
    )
    return app
