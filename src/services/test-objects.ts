/** Services, pods and slices for the tests of this room. */
import type { EndpointSlice, Pod, Service, ServiceSpec } from '../kube/types/index.js';
import { managedByLabel, serviceNameLabel, slicesManager } from './endpoints/slice-plan.js';

export function testService(name: string, spec: ServiceSpec = {}, namespace = 'shop'): Service {
  return {
    metadata: { namespace, name, uid: `uid-${name}` },
    spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
  };
}

export interface TestPodOptions {
  readonly ip?: string;
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly terminating?: boolean;
  readonly labels?: Record<string, string>;
  readonly namespace?: string;
  readonly spec?: Partial<Pod['spec']>;
}

export function testPod(name: string, options: TestPodOptions = {}): Pod {
  const {
    ip,
    ips = ip === undefined ? [] : [ip],
    ready = true,
    phase = 'Running',
    terminating = false,
  } = options;
  return {
    metadata: {
      name,
      namespace: options.namespace ?? 'shop',
      uid: `uid-${name}`,
      labels: options.labels ?? { app: 'web' },
      ...(terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { containers: [{ name: 'main', image: 'main' }], nodeName: 'node', ...options.spec },
    status: {
      phase,
      ...(ips[0] === undefined ? {} : { podIP: ips[0], podIPs: ips.map((each) => ({ ip: each })) }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

export interface TestSliceOptions {
  readonly namespace?: string;
  readonly ports?: EndpointSlice['ports'];
  readonly name?: string;
  readonly addressType?: 'IPv4' | 'IPv6';
}

/** Endpoints are ready unless their conditions say otherwise. */
export function testSlice(
  service: string,
  endpoints: EndpointSlice['endpoints'],
  options: TestSliceOptions = {},
): EndpointSlice {
  const {
    namespace = 'shop',
    ports = [{ name: '', protocol: 'TCP', port: 8080 }],
    name = `${service}-1`,
  } = options;
  return {
    metadata: {
      namespace,
      name,
      labels: { [serviceNameLabel]: service, [managedByLabel]: slicesManager },
    },
    addressType: options.addressType ?? 'IPv4',
    endpoints,
    ports,
  };
}
