/** Applies the API server's defaults to a pod. */

import { defaultPullPolicy } from '../pods/image-name.js';
import type { Container, HTTPGetAction, Probe } from '../types/container.js';
import type { ResourceList } from '../types/meta.js';
import type { PodManifest, PodSpec } from '../types/pod.js';
import { formatQuantity, parseQuantity, quantityMilliValue } from '../values/quantity.js';
import { applyVolumeDefaults } from './volume-defaults.js';

/** Applies the API defaults to the pod in place and returns it. Applying them twice changes nothing more. */
export function applyPodDefaults<P extends PodManifest>(pod: P): P {
  const { spec } = pod;
  applyPodTemplateDefaults(spec);
  spec.enableServiceLinks ??= true;
  for (const container of spec.initContainers ?? []) applyRunnableDefaults(container, spec);
  for (const container of spec.containers) applyRunnableDefaults(container, spec);
  return pod;
}

/** What the spec of a workload's template gets as well; the rest comes with the pods that are made from it. */
export function applyPodTemplateDefaults(spec: PodSpec): void {
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= 'default-scheduler';
  unifyServiceAccount(spec);
  for (const volume of spec.volumes ?? []) applyVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) applyContainerDefaults(container);
  for (const container of spec.containers) applyContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) applyContainerDefaults(container);
  roundUpToMilli(spec.overhead);
  roundUpToMilli(spec.resources?.limits);
  roundUpToMilli(spec.resources?.requests);
}

/** `serviceAccount` is the older name of `serviceAccountName`; objects carry both. */
function unifyServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

/** Init and regular containers, which count towards the pod's resources and ports. */
function applyRunnableDefaults(container: Container, spec: PodSpec): void {
  const { resources } = container;
  if (resources?.limits !== undefined) {
    resources.requests = { ...resources.limits, ...resources.requests };
  }
  if (spec.hostNetwork !== true) return;
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}

function applyContainerDefaults(container: Container): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  roundUpToMilli(container.resources.limits);
  roundUpToMilli(container.resources.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const variable of container.env ?? []) {
    const source = variable.valueFrom;
    if (source?.fieldRef !== undefined) source.fieldRef.apiVersion ||= 'v1';
    if (source?.fileKeyRef !== undefined) source.fileKeyRef.optional ??= false;
  }
  applyProbeDefaults(container.livenessProbe);
  applyProbeDefaults(container.readinessProbe);
  applyProbeDefaults(container.startupProbe);
  applyHttpDefaults(container.lifecycle?.postStart?.httpGet);
  applyHttpDefaults(container.lifecycle?.preStop?.httpGet);
}

function applyProbeDefaults(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  applyHttpDefaults(probe.httpGet);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function applyHttpDefaults(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

/** The API does not store amounts finer than a thousandth. */
function roundUpToMilli(list: ResourceList | undefined): void {
  if (list === undefined) return;
  for (const [name, text] of Object.entries(list)) {
    // A canonical text is finer than milli only with one of these endings.
    if (!/[nu]$|e-/.test(text)) continue;
    const quantity = parseQuantity(text);
    list[name] = formatQuantity({ ...quantity, nanos: quantityMilliValue(quantity) * 1_000_000n });
  }
}
