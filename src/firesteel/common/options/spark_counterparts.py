"""Options of Flink's deployments that become settings of Spark."""

from __future__ import annotations

from firesteel.common.options.python_options import PYTHON_EXECUTABLE
from firesteel.common.options.security_options import KERBEROS_FILE_SYSTEMS, KERBEROS_KEYTAB, KERBEROS_PRINCIPAL

SAME_VALUE = {
    PYTHON_EXECUTABLE.key: "spark.pyspark.python",
    KERBEROS_KEYTAB.key: "spark.kerberos.keytab",
    KERBEROS_PRINCIPAL.key: "spark.kerberos.principal",
    "yarn.application.name": "spark.app.name",
    "yarn.application.node-label": "spark.yarn.am.nodeLabelExpression",
    "yarn.application.priority": "spark.yarn.priority",
    "yarn.application.queue": "spark.yarn.queue",
    "yarn.staging-directory": "spark.yarn.stagingDir",
    "yarn.tags": "spark.yarn.tags",
    "yarn.taskmanager.node-label": "spark.yarn.executor.nodeLabelExpression",
    "kubernetes.cluster-id": "spark.app.name",
    "kubernetes.container.image.pull-policy": "spark.kubernetes.container.image.pullPolicy",
    "kubernetes.container.image.ref": "spark.kubernetes.container.image",
    "kubernetes.context": "spark.kubernetes.context",
    "kubernetes.namespace": "spark.kubernetes.namespace",
    "kubernetes.pod-template-file.default": "spark.kubernetes.executor.podTemplateFile",
    "kubernetes.pod-template-file.taskmanager": "spark.kubernetes.executor.podTemplateFile",
    "kubernetes.service-account": "spark.kubernetes.authenticate.executor.serviceAccountName",
    "kubernetes.taskmanager.cpu.amount": "spark.kubernetes.executor.request.cores",
    "kubernetes.taskmanager.service-account": "spark.kubernetes.authenticate.executor.serviceAccountName",
}
"""More specific options come later, so that they take precedence."""

LISTS = {
    "kubernetes.container.image.pull-secrets": "spark.kubernetes.container.image.pullSecrets",
    KERBEROS_FILE_SYSTEMS.key: "spark.kerberos.access.hadoopFileSystems",
    "yarn.ship-archives": "spark.yarn.dist.archives",
    "yarn.ship-files": "spark.yarn.dist.files",
}
"""Lists, which Flink separates with `;` and Spark with `,`."""

MAPS = {
    "kubernetes.taskmanager.annotations": "spark.kubernetes.executor.annotation.",
    "kubernetes.taskmanager.labels": "spark.kubernetes.executor.label.",
    "kubernetes.taskmanager.node-selector": "spark.kubernetes.executor.node.selector.",
}
"""Maps: `key:value,...` in Flink, a setting per key in Spark."""

ENVIRONMENT = "containerized.taskmanager.env."
"""The beginning of the options with variables of the TaskManagers' environment."""


def becomes_sparks(key: str) -> bool:
    """Return whether an option becomes a setting of Spark.

    Example:
        >>> becomes_sparks("yarn.application.queue"), becomes_sparks("yarn.containers.vcores")
        (True, False)
    """
    return key in SAME_VALUE or key in LISTS or key in MAPS or key.startswith(ENVIRONMENT)
