/** Counts the requests of a port and their durations, with few enough labels to stay readable. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../async/index.js';
import type { RequestMetrics } from '../metrics.js';
import { pathOf } from '../responder.js';

export type ServerType = 'readwrite' | 'readonly';

const methods = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const buckets = new Set(
  'healthz pods stats metrics metrics/cadvisor metrics/probes metrics/resource run exec attach portForward containerLogs runningpods logs'.split(
    ' ',
  ),
);
/** Counted by name only where they are served. */
const debugBuckets = new Set('allocatedPods configz checkpoint debug flagz statusz'.split(' '));
const longRunning = new Set(['exec', 'attach', 'debug']);

export interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly server_type: ServerType;
  readonly long_running: string;
}

export function requestLabels(
  method: string,
  target: string,
  serverType: ServerType,
  debugging: boolean,
): RequestLabels {
  const [first = '', ...rest] = pathOf(target).replace(/^\/+/, '').replace(/\/+$/, '').split('/');
  const whole = first === 'metrics' && rest.length > 0 ? `${first}/${rest.join('/')}` : first;
  const path = buckets.has(whole) || (debugging && debugBuckets.has(whole)) ? whole : 'other';
  return {
    method: methods.has(method) ? method : 'other',
    path,
    server_type: serverType,
    long_running: String(longRunning.has(path)),
  };
}

/** Counts the requests of one port: the result is called with each, and what that returns when it ends. */
export function countRequests(
  { total, inFlight, duration }: RequestMetrics,
  clock: Clock,
  serverType: ServerType,
  debugging: boolean,
): (request: IncomingMessage) => () => void {
  return ({ method = '', url = '' }) => {
    const labels = requestLabels(method, url, serverType, debugging);
    const begunMs = clock.monotonic();
    total.inc(labels);
    inFlight.inc(labels);
    return () => {
      inFlight.inc(labels, -1);
      duration.observe((clock.monotonic() - begunMs) / 1000, labels);
    };
  };
}
