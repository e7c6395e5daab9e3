/** Validates probes, lifecycle hooks and their actions. */
import type {
  Container,
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  LifecycleHandler,
  Probe,
  TCPSocketAction,
} from '../../types/container.js';
import type { IntOrString } from '../../types/meta.js';
import type { PodSpec } from '../../types/pod.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { httpHeaderName, portName } from './names.js';

interface Action {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
  sleep?: { seconds: number };
}

const handlerNames = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

export function validateProbes(container: Container, field: LazyFieldPath, errors: FieldErrors): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe !== undefined) validateOnceProbe(livenessProbe, field.child('livenessProbe'), errors);
  if (startupProbe !== undefined) validateOnceProbe(startupProbe, field.child('startupProbe'), errors);
  if (readinessProbe === undefined) return;
  const at = field.child('readinessProbe');
  validateProbe(readinessProbe, at, errors);
  if (readinessProbe.terminationGracePeriodSeconds !== undefined) {
    errors.invalid(
      at.child('terminationGracePeriodSeconds'),
      readinessProbe.terminationGracePeriodSeconds,
      'a readiness probe ends nothing, so it has no grace period',
    );
  }
}

export function validateLifecycle(
  container: Container,
  spec: PodSpec,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const { lifecycle } = container;
  if (lifecycle === undefined) return;
  const graceSeconds = spec.terminationGracePeriodSeconds ?? 30;
  if (lifecycle.postStart !== undefined)
    validateHook(lifecycle.postStart, graceSeconds, field.child('postStart'), errors);
  if (lifecycle.preStop !== undefined)
    validateHook(lifecycle.preStop, graceSeconds, field.child('preStop'), errors);
  if (lifecycle.stopSignal === undefined) return;
  const at = field.child('stopSignal');
  if (spec.os === undefined) errors.forbidden(at, 'may only be set when `spec.os.name` is set');
  else if (!isSignalName(lifecycle.stopSignal))
    errors.invalid(at, lifecycle.stopSignal, 'must be the name of a signal, for example SIGTERM');
}

/** Probes that end a container need exactly one success. */
function validateOnceProbe(probe: Probe, field: LazyFieldPath, errors: FieldErrors): void {
  validateProbe(probe, field, errors);
  if (probe.successThreshold !== undefined && probe.successThreshold > 1) {
    errors.invalid(field.child('successThreshold'), probe.successThreshold, 'must be 1');
  }
}

function validateProbe(probe: Probe, field: LazyFieldPath, errors: FieldErrors): void {
  validateAction(probe, field, errors);
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    errors.nonNegative(field.child(name), probe[name]);
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    errors.invalid(field.child('terminationGracePeriodSeconds'), grace, 'must be greater than 0');
}

function validateHook(
  hook: LifecycleHandler,
  graceSeconds: number,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  validateAction(hook, field, errors);
  const seconds = hook.sleep?.seconds;
  if (seconds !== undefined && (seconds < 0 || seconds > graceSeconds)) {
    errors.invalid(
      field.child('sleep'),
      seconds,
      `must be from 0 to the terminationGracePeriodSeconds of ${graceSeconds}`,
    );
  }
}

function validateAction(action: Action, field: LazyFieldPath, errors: FieldErrors): void {
  const given = handlerNames.filter((name) => action[name] !== undefined);
  if (given.length === 0) errors.required(field, 'give one of exec, httpGet, tcpSocket, grpc or sleep');
  for (const extra of given.slice(1))
    errors.forbidden(field.child(extra), 'only one kind of handler may be given');
  switch (given[0]) {
    case 'exec':
      if ((action.exec?.command?.length ?? 0) === 0) errors.required(field.child('exec').child('command'));
      break;
    case 'httpGet':
      if (action.httpGet !== undefined) validateHttpGet(action.httpGet, field.child('httpGet'), errors);
      break;
    case 'tcpSocket':
      validatePort(action.tcpSocket?.port, field.child('tcpSocket').child('port'), errors);
      break;
    case 'grpc':
      errors.inRange(field.child('grpc').child('port'), action.grpc?.port, 1, 65535);
      errors.oneOf(field.child('grpc').child('mode'), action.grpc?.mode, ['Plaintext', 'TLS']);
      break;
    case 'sleep':
    case undefined:
      break;
  }
}

function validateHttpGet(action: HTTPGetAction, field: LazyFieldPath, errors: FieldErrors): void {
  if (!action.path) errors.required(field.child('path'));
  validatePort(action.port, field.child('port'), errors);
  errors.requiredOneOf(field.child('scheme'), action.scheme, ['HTTP', 'HTTPS']);
  for (const [index, header] of (action.httpHeaders ?? []).entries()) {
    errors.check(field.child('httpHeaders').child(index).child('name'), header.name, httpHeaderName);
  }
  const { protocol, scheme, host = '' } = action;
  errors.oneOf(field.child('protocol'), protocol, ['HTTP1', 'HTTP2']);
  if (protocol !== 'HTTP2') return;
  if (scheme !== 'HTTP')
    errors.invalid(field.child('protocol'), protocol, 'is only supported with HTTP (H2C)');
  if (host !== '') errors.invalid(field.child('host'), host, 'must be empty when `protocol` is "HTTP2"');
}

function validatePort(port: IntOrString | undefined, field: LazyFieldPath, errors: FieldErrors): void {
  if (typeof port === 'string') errors.check(field, port, portName);
  else errors.inRange(field, port, 1, 65535);
}

function isSignalName(name: string): boolean {
  return /^SIG([A-Z]{2,6}[12]?|RTMIN(\+([1-9]|1[0-5]))?|RTMAX(-([1-9]|1[0-4]))?)$/.test(name);
}
