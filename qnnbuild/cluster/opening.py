"""The executor that settings and environment ask for. Dask is imported when something runs.

Without a cluster nothing of it is imported, asyncio neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.engine.appetite import Appetite
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.runner import Executor
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.trust import Trust
from qnnbuild.errors import Problem
from qnnbuild.model.cluster import VARIABLE, Cluster, with_environment
from qnnbuild.model.settings import Settings


def executor_of(
    settings: Settings, environment: Mapping[str, str], builder: Builder, trust: Trust
) -> Executor:
    """The builder's own runner when no cluster is asked for. RecipeError for no good address."""
    cluster = allowed(settings.executor, environment, trust)
    if cluster is None:
        return builder.runner
    from qnnbuild.cluster.executor import ClusterExecutor

    return ClusterExecutor(
        cluster,
        runner=builder.runner,
        identity=builder.identity,
        appetite=Appetite(builder.records),
        remote=builder.remote,
        sdks=settings.sdks,
        top=builder.inputs.root,
        tell=tell,
        brings=bool(settings.toolchains),
        trust=trust,
    )


def allowed(
    settings: Cluster | None, environment: Mapping[str, str], trust: Trust
) -> Cluster | None:
    """Who answers at an address can run code here, so a repo of strangers names none."""
    if trust.given:
        return with_environment(settings, environment)
    if settings is not None and environment.get(VARIABLE) is None:
        message = "the executor of qnnbuild.yaml is left alone: this repo is not trusted"
        hint = f"actions run on this machine; a cluster is named in the environment: {VARIABLE}"
        facts = (("not trusted", trust.why),)
        tell(Problem(message=message, at=settings.span, facts=facts, hint=hint, severity="warning"))
    return with_environment(None, environment)
