#!/usr/bin/env bash
# `executor`: what Spark asks of an image on Kubernetes, with what it says in the environment (as in Spark's own image).
# Anything else is a command: `firesteel jobmanager start ...`.
set -euo pipefail

if [ "${1:-}" != executor ]; then
  exec "$@"
fi

java=$(python3 -c 'from firesteel.spark.java import find_java; print(find_java().executable)')
spark=$(python3 -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')

# Spark numbers the options of Java: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ...
options=()
while IFS= read -r name; do
  options+=("${!name}")
done < <(compgen -e | grep '^SPARK_JAVA_OPT_' | sort -t_ -k4 -n)

exec "$java" "${options[@]}" \
  "-Xms${SPARK_EXECUTOR_MEMORY:?}" "-Xmx$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$spark/jars/*" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "${SPARK_DRIVER_URL:?}" \
  --executor-id "${SPARK_EXECUTOR_ID:?}" \
  --cores "${SPARK_EXECUTOR_CORES:?}" \
  --app-id "${SPARK_APPLICATION_ID:?}" \
  --hostname "${SPARK_EXECUTOR_POD_IP:?}" \
  --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:?}" \
  --podName "${SPARK_EXECUTOR_POD_NAME:?}"
