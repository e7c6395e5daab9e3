import { describe, expect, it } from 'vitest';
import type { Container } from '../types/container.js';
import type { ObjectMeta } from '../types/meta.js';
import type { PodSpec } from '../types/pod.js';
import type { Volume } from '../types/volume.js';
import { clone } from '../values/deep-equal.js';
import { applyPodDefaults } from './defaults.js';
import { formatFieldError, formatFieldErrors } from './validation/field-errors.js';
import { validatePod } from './validation.js';

const main: Container = { name: 'main', image: 'x:1' };

function errorsOf(spec: Partial<PodSpec>, metadata: ObjectMeta = {}): string[] {
  const pod = {
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: { containers: [clone(main)], ...clone(spec) },
  };
  return validatePod(applyPodDefaults(pod)).map(formatFieldError);
}
const containerErrors = (container: Partial<Container>, spec: Partial<PodSpec> = {}) =>
  errorsOf({ ...spec, containers: [{ ...main, ...container }] }).map((text) =>
    text.replace('spec.containers[0].', ''),
  );
const volumeErrors = (volume: Omit<Volume, 'name'>) =>
  errorsOf({ volumes: [{ name: 'v', ...volume }] }).map((text) => text.replace('spec.volumes[0].', ''));

const c0 = 'spec.containers[0]';
const label = 'must be lower-case letters, digits and "-", and begin and end with a letter or digit';
const subdomain =
  'must be lower-case letters, digits, "-" and ".", and each part between dots must begin and end with a letter or digit';

describe('a valid pod', () => {
  it('has no errors', () => {
    expect(
      errorsOf(
        {
          initContainers: [
            { name: 'setup', image: 'x:1' },
            {
              name: 'proxy',
              image: 'x',
              restartPolicy: 'Always',
              readinessProbe: { tcpSocket: { port: 80 } },
            },
          ],
          containers: [
            {
              name: 'main',
              image: 'x',
              ports: [
                { name: 'http', containerPort: 80, hostPort: 8080 },
                { containerPort: 80, hostPort: 8080, protocol: 'UDP' },
              ],
              env: [
                { name: 'A B', value: 'x' },
                { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
                { name: 'L', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
              ],
              resources: {
                limits: { cpu: '1', memory: '1Gi', 'example.com/gpu': '1', 'hugepages-2Mi': '4Mi' },
                requests: { cpu: '500m' },
              },
              volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'a/b' }],
              livenessProbe: { httpGet: { port: 'http' } },
              lifecycle: { preStop: { sleep: { seconds: 5 } } },
              restartPolicy: 'Never',
              restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1, 2] } }],
              securityContext: { runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
            },
          ],
          volumes: [
            { name: 'data' },
            { name: 'p', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
          ],
          tolerations: [{ operator: 'Exists' }, { key: 'a', value: 'b', effect: 'NoSchedule' }],
          dnsConfig: { searches: ['a_b.example.'], options: [{ name: 'ndots', value: '2' }] },
          hostAliases: [{ ip: '::1', hostnames: ['a.b'] }],
        },
        { labels: { 'example.com/App': 'Web_1' }, annotations: { 'Example.com/Any': 'any text at all {}' } },
      ),
    ).toEqual([]);
  });
});

describe('metadata', () => {
  const rows: [rule: string, metadata: ObjectMeta, expected: string][] = [
    ['name missing', { name: undefined }, 'metadata.name: Required value: name or generateName is required'],
    ['name in capitals', { name: 'Web' }, `metadata.name: Invalid value: "Web": ${subdomain}`],
    [
      'name too long',
      { name: 'a'.repeat(254) },
      `metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 bytes`,
    ],
    ['namespace missing', { namespace: '' }, 'metadata.namespace: Required value'],
    ['namespace with a dot', { namespace: 'a.b' }, `metadata.namespace: Invalid value: "a.b": ${label}`],
    [
      'label key',
      { labels: { 'a/b/c': 'x' } },
      'metadata.labels: Invalid value: "a/b/c": must be a name with at most one "/" after an optional domain',
    ],
    [
      'label value',
      { labels: { a: 'x y' } },
      'metadata.labels: Invalid value: "x y": must be empty or letters, digits, "-", "_" and ".", and begin and end with a letter or digit',
    ],
    [
      'annotation key',
      { annotations: { '/x': '' } },
      'metadata.annotations: Invalid value: "/x": the domain before "/" must not be empty',
    ],
    [
      'annotations too large',
      { annotations: { a: 'x'.repeat(262144) } },
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ],
    [
      'owner without UID',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: '' }] },
      'metadata.ownerReferences[0].uid: Invalid value: "": must not be empty',
    ],
    [
      'finalizer',
      { finalizers: ['a b'] },
      'metadata.finalizers[0]: Invalid value: "a b": the name must be letters, digits, "-", "_" and ".", and begin and end with a letter or digit',
    ],
  ];
  it.each(rows)('%s', (_rule, metadata, expected) => expect(errorsOf({}, metadata)).toEqual([expected]));
});

describe('pod spec', () => {
  const rows: [rule: string, spec: Partial<PodSpec>, expected: string][] = [
    ['no containers', { containers: [] }, 'spec.containers: Required value'],
    [
      'restart policy',
      { restartPolicy: 'always' },
      'spec.restartPolicy: Unsupported value: "always": supported values: "Always", "Never", "OnFailure"',
    ],
    [
      'grace below zero',
      { terminationGracePeriodSeconds: -1 },
      'spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'deadline of zero',
      { activeDeadlineSeconds: 0 },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    [
      'DNS policy',
      { dnsPolicy: 'x' },
      'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"',
    ],
    [
      'no name server for None',
      { dnsPolicy: 'None', dnsConfig: {} },
      'spec.dnsConfig.nameservers: Required value: dnsPolicy None needs at least one name server',
    ],
    [
      'no DNS config for None',
      { dnsPolicy: 'None' },
      'spec.dnsConfig: Required value: dnsPolicy None takes its name servers from here',
    ],
    [
      'too many name servers',
      { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
      'spec.dnsConfig.nameservers: Too many: 4: must have at most 3 items',
    ],
    [
      'name server',
      { dnsConfig: { nameservers: ['x'] } },
      'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be an IP address, for example 10.9.8.7 or 2001:db8::ffff',
    ],
    [
      'search domain',
      { dnsConfig: { searches: ['A'] } },
      'spec.dnsConfig.searches[0]: Invalid value: "A": must be a domain of lower-case letters, digits, "-", "_" and "."',
    ],
    [
      'host alias',
      { hostAliases: [{ ip: '1.2.3' }] },
      'spec.hostAliases[0].ip: Invalid value: "1.2.3": must be an IP address, for example 10.9.8.7 or 2001:db8::ffff',
    ],
    ['host name', { hostname: 'a.b' }, `spec.hostname: Invalid value: "a.b": ${label}`],
    [
      'ephemeral containers',
      { ephemeralContainers: [{ name: 'd', image: 'x' }] },
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [
      'shared processes beside host processes',
      { shareProcessNamespace: true, hostPID: true },
      'spec.shareProcessNamespace: Invalid value: true: cannot be combined with `hostPID`',
    ],
    [
      'user namespace beside host processes',
      { hostUsers: false, hostPID: true },
      'spec.hostPID: Forbidden: when `hostUsers` is false',
    ],
    [
      'operating system',
      { os: { name: 'plan9' } },
      'spec.os.name: Unsupported value: "plan9": supported values: "linux", "windows"',
    ],
    ['pull secret without name', { imagePullSecrets: [{}] }, 'spec.imagePullSecrets[0].name: Required value'],
    ['runtime class', { runtimeClassName: 'A' }, `spec.runtimeClassName: Invalid value: "A": ${subdomain}`],
    [
      'toleration without key',
      { tolerations: [{ operator: 'Equal' }] },
      'spec.tolerations[0].operator: Invalid value: "Equal": must be Exists, because a toleration without `key` tolerates every taint',
    ],
    [
      'toleration Exists with value',
      { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      'spec.tolerations[0].operator: Invalid value: "b": leave `value` out; Exists tolerates any value',
    ],
    [
      'toleration seconds',
      { tolerations: [{ key: 'a', tolerationSeconds: 1 }] },
      'spec.tolerations[0].effect: Invalid value: "": must be NoExecute, the only effect that `tolerationSeconds` applies to',
    ],
    [
      'toleration effect',
      { tolerations: [{ key: 'a', effect: 'x' }] },
      'spec.tolerations[0].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
    ],
    [
      'sysctl name',
      { securityContext: { sysctls: [{ name: 'A', value: '1' }] } },
      'spec.securityContext.sysctls[0].name: Invalid value: "A": must be lower-case words of letters, digits, "-" and "_", separated by "." or "/"',
    ],
    [
      'sysctl twice',
      {
        securityContext: {
          sysctls: [
            { name: 'net.a', value: '1' },
            { name: 'net/a', value: '1' },
          ],
        },
      },
      'spec.securityContext.sysctls[1].name: Duplicate value: "net/a"',
    ],
    [
      'network sysctl on the host network',
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.a', value: '1' }] } },
      'spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be set when `hostNetwork` is true',
    ],
    [
      'group below zero',
      { securityContext: { fsGroup: -1 } },
      'spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
    [
      'gates on a node',
      { nodeName: 'n', schedulingGates: [{ name: 'g' }] },
      'spec.nodeName: Forbidden: a pod with schedulingGates cannot have a node yet',
    ],
    [
      'affinity weight',
      {
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 0, podAffinityTerm: { topologyKey: 'k' } },
            ],
          },
        },
      },
      'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be between 1 and 100, inclusive',
    ],
    [
      'spread',
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' }] },
      'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    ],
    [
      'pod-level resource',
      { resources: { limits: { 'ephemeral-storage': '1Gi' } } },
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-<size>", "memory"',
    ],
    [
      'pod request below its containers',
      {
        containers: [{ ...main, resources: { requests: { cpu: '2' } } }],
        resources: { requests: { cpu: '1' } },
      },
      'spec.resources.requests[cpu]: Invalid value: "1": must be at least the 2 that the containers request together',
    ],
    [
      'container limit above the pod',
      {
        containers: [{ ...main, resources: { limits: { cpu: '2' }, requests: { cpu: '1' } } }],
        resources: { limits: { cpu: '1' } },
      },
      'spec.resources.limits[cpu]: Invalid value: "1": must be at least the limit 2 of spec.containers[0]',
    ],
  ];
  it.each(rows)('%s', (_rule, spec, expected) => expect(errorsOf(spec)).toEqual([expected]));
});

describe('containers', () => {
  const rows: [rule: string, container: Partial<Container>, expected: string, spec?: Partial<PodSpec>][] = [
    ['name missing', { name: '' }, 'name: Required value'],
    ['name', { name: 'A' }, `name: Invalid value: "A": ${label}`],
    ['image missing', { image: '' }, 'image: Required value'],
    [
      'image with space',
      { image: ' x' },
      'image: Invalid value: " x": must not have leading or trailing whitespace',
    ],
    [
      'pull policy',
      { imagePullPolicy: 'never' },
      'imagePullPolicy: Unsupported value: "never": supported values: "Always", "IfNotPresent", "Never"',
    ],
    [
      'message policy',
      { terminationMessagePolicy: 'x' },
      'terminationMessagePolicy: Unsupported value: "x": supported values: "FallbackToLogsOnError", "File"',
    ],
    ['port missing', { ports: [{ containerPort: 0 }] }, 'ports[0].containerPort: Required value'],
    [
      'port too high',
      { ports: [{ containerPort: 65536 }] },
      'ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    [
      'protocol',
      { ports: [{ containerPort: 1, protocol: 'tcp' }] },
      'ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
    ],
    [
      'port name',
      { ports: [{ containerPort: 1, name: '80' }] },
      'ports[0].name: Invalid value: "80": must contain at least one letter',
    ],
    [
      'port name twice',
      {
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
        ],
      },
      'ports[1].name: Duplicate value: "a"',
    ],
    [
      'host port conflict',
      {
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 80 },
        ],
      },
      'ports[1].hostPort: Duplicate value: "TCP//80"',
    ],
    [
      'host network with another port',
      { ports: [{ containerPort: 1, hostPort: 2 }] },
      'ports[0].containerPort: Invalid value: 1: must equal `hostPort` on the host network',
      { hostNetwork: true },
    ],
    ['variable without name', { env: [{ name: '' }] }, 'env[0].name: Required value'],
    [
      'variable with an equals sign',
      { env: [{ name: 'a=b' }] },
      'env[0].name: Invalid value: "a=b": must be printable ASCII characters other than "="',
    ],
    [
      'value beside a source',
      { env: [{ name: 'a', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      'env[0].valueFrom: Invalid value: "": give either `value` or `valueFrom`',
    ],
    [
      'source without kind',
      { env: [{ name: 'a', valueFrom: {} }] },
      'env[0].valueFrom: Invalid value: "": give one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef`, `fileKeyRef`',
    ],
    [
      'unknown field',
      { env: [{ name: 'a', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] },
      'env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "spec.x": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
    ],
    [
      'divisor',
      { env: [{ name: 'a', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }] },
      'env[0].valueFrom.resourceFieldRef.divisor: Unsupported value: "2": supported values: "1", "1m"',
    ],
    [
      'key missing',
      { env: [{ name: 'a', valueFrom: { secretKeyRef: { name: 's', key: '' } } }] },
      'env[0].valueFrom.secretKeyRef.key: Required value',
    ],
    [
      'file of an unknown volume',
      { env: [{ name: 'a', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'K' } } }] },
      'env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"',
    ],
    [
      'envFrom without source',
      { envFrom: [{}] },
      'envFrom[0]: Invalid value: "": give `configMapRef` or `secretRef`',
    ],
    [
      'request above limit',
      { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
      'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      'amount below zero',
      { resources: { requests: { cpu: '-1' } } },
      'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      'unknown resource',
      { resources: { requests: { gpu: '1' } } },
      'resources.requests[gpu]: Invalid value: "gpu": must be cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain such as example.com/gpu',
    ],
    [
      'device without limit',
      { resources: { requests: { 'a.b/gpu': '1' } } },
      'resources.requests[a.b/gpu]: Required value: a limit must be set for a resource that cannot be overcommitted',
    ],
    [
      'device overcommitted',
      { resources: { requests: { 'a.b/gpu': '1' }, limits: { 'a.b/gpu': '2' } } },
      'resources.requests: Invalid value: "1": must be equal to a.b/gpu limit of 2',
    ],
    [
      'huge pages alone',
      { resources: { limits: { 'hugepages-2Mi': '2Mi' } } },
      'resources: Forbidden: huge pages need cpu or memory beside them',
    ],
    ['unknown claim', { resources: { claims: [{ name: 'c' }] } }, 'resources.claims[0].name: Not found: "c"'],
    [
      'resize restarts a pod that never restarts',
      { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
      'resizePolicy[0]: Invalid value: "RestartContainer": must be "NotRequired" when the pod is never restarted',
      { restartPolicy: 'Never' },
    ],
    [
      'probe without handler',
      { livenessProbe: {} },
      'livenessProbe: Required value: give one of exec, httpGet, tcpSocket, grpc or sleep',
    ],
    [
      'two handlers',
      { livenessProbe: { exec: { command: ['a'] }, tcpSocket: { port: 1 } } },
      'livenessProbe.tcpSocket: Forbidden: only one kind of handler may be given',
    ],
    [
      'liveness successes',
      { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } },
      'livenessProbe.successThreshold: Invalid value: 2: must be 1',
    ],
    [
      'negative delay',
      { startupProbe: { tcpSocket: { port: 1 }, initialDelaySeconds: -1 } },
      'startupProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'readiness grace',
      { readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 } },
      'readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: a readiness probe ends nothing, so it has no grace period',
    ],
    [
      'probe port',
      { readinessProbe: { httpGet: { port: 0 } } },
      'readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'probe scheme',
      { readinessProbe: { httpGet: { port: 1, scheme: 'http' } } },
      'readinessProbe.httpGet.scheme: Unsupported value: "http": supported values: "HTTP", "HTTPS"',
    ],
    [
      'protocol of a probe',
      { readinessProbe: { httpGet: { port: 1, protocol: 'HTTP3' } } },
      'readinessProbe.httpGet.protocol: Unsupported value: "HTTP3": supported values: "HTTP1", "HTTP2"',
    ],
    [
      'HTTP/2 with TLS',
      { readinessProbe: { httpGet: { port: 1, scheme: 'HTTPS', protocol: 'HTTP2' } } },
      'readinessProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)',
    ],
    [
      'HTTP/2 to another host',
      { readinessProbe: { httpGet: { port: 1, host: 'other', protocol: 'HTTP2' } } },
      'readinessProbe.httpGet.host: Invalid value: "other": must be empty when `protocol` is "HTTP2"',
    ],
    [
      'mode of a gRPC probe',
      { readinessProbe: { grpc: { port: 1, mode: 'mTLS' } } },
      'readinessProbe.grpc.mode: Unsupported value: "mTLS": supported values: "Plaintext", "TLS"',
    ],
    [
      'header name',
      { readinessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } } },
      'readinessProbe.httpGet.httpHeaders[0].name: Invalid value: "a b": must be letters, digits and "-"',
    ],
    [
      'exec without command',
      { lifecycle: { postStart: { exec: {} } } },
      'lifecycle.postStart.exec.command: Required value',
    ],
    [
      'sleep beyond the grace',
      { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
      'lifecycle.preStop.sleep: Invalid value: 31: must be from 0 to the terminationGracePeriodSeconds of 30',
    ],
    [
      'stop signal without system',
      { lifecycle: { stopSignal: 'SIGTERM' } },
      'lifecycle.stopSignal: Forbidden: may only be set when `spec.os.name` is set',
    ],
    [
      'mount of an unknown volume',
      { volumeMounts: [{ name: 'x', mountPath: '/x' }] },
      'volumeMounts[0].name: Not found: "x"',
    ],
    [
      'mount path missing',
      { volumeMounts: [{ name: 'v', mountPath: '' }] },
      'volumeMounts[0].mountPath: Required value',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'mount path twice',
      {
        volumeMounts: [
          { name: 'v', mountPath: '/a' },
          { name: 'v', mountPath: '/a' },
        ],
      },
      'volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'sub path climbing out',
      { volumeMounts: [{ name: 'v', mountPath: '/a', subPath: 'a/../..' }] },
      'volumeMounts[0].subPath: Invalid value: "a/../..": must not contain ".."',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'absolute sub path',
      { volumeMounts: [{ name: 'v', mountPath: '/a', subPath: '/a' }] },
      'volumeMounts[0].subPath: Invalid value: "/a": must be a relative path',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'propagation without privilege',
      { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }] },
      'volumeMounts[0].mountPropagation: Forbidden: Bidirectional needs a privileged container',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'recursive but writable',
      { volumeMounts: [{ name: 'v', mountPath: '/a', recursiveReadOnly: 'Enabled' }] },
      'volumeMounts[0].recursiveReadOnly: Forbidden: needs readOnly to be true',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'device of a directory',
      { volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] },
      'volumeDevices[0].name: Invalid value: "v": must be a persistentVolumeClaim or ephemeral volume to be used as a block device',
      { volumes: [{ name: 'v' }] },
    ],
    [
      'user below zero',
      { securityContext: { runAsUser: -1 } },
      'securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
    [
      'privileged without escalation',
      { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
      'securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: a privileged container cannot forbid privilege escalation',
    ],
    [
      'local profile missing',
      { securityContext: { seccompProfile: { type: 'Localhost' } } },
      'securityContext.seccompProfile.localhostProfile: Required value: must be set when type is Localhost',
    ],
    [
      'profile type',
      { securityContext: { appArmorProfile: { type: 'x' } } },
      'securityContext.appArmorProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ],
    [
      'restart policy',
      { restartPolicy: 'x' },
      'restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"',
    ],
    [
      'rules without policy',
      { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      'restartPolicy: Required value: restartPolicyRules need a restartPolicy of the container',
    ],
    [
      'rule without exit codes',
      { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] },
      'restartPolicyRules[0].exitCodes: Required value: must be specified',
    ],
    [
      'rule operator',
      {
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'Is', values: [1] } }],
      },
      'restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
    ],
    [
      'exit code',
      {
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [256] } }],
      },
      'restartPolicyRules[0].exitCodes.values[0]: Invalid value: 256: must be between 0 and 255, inclusive',
    ],
  ];
  it.each(rows)('%s', (_rule, container, expected, spec) =>
    expect(containerErrors(container, spec)).toEqual([expected]),
  );
  it('have unique names across lists', () => {
    expect(errorsOf({ containers: [main, main], initContainers: [main] })).toEqual([
      'spec.containers[1].name: Duplicate value: "main"',
      'spec.initContainers[0].name: Duplicate value: "main"',
    ]);
  });
  it('of type init have no probes unless they are sidecars', () => {
    const init = { name: 'i', image: 'x', startupProbe: { tcpSocket: { port: 1 } } };
    expect(errorsOf({ initContainers: [init] })).toEqual([
      'spec.initContainers[0].startupProbe: Forbidden: only init containers with restartPolicy Always may have it',
    ]);
    expect(errorsOf({ initContainers: [{ ...init, restartPolicy: 'Always' }] })).toEqual([]);
  });
  it('share host ports', () => {
    const ports = [{ containerPort: 80, hostPort: 80 }];
    expect(
      errorsOf({
        containers: [
          { ...main, ports },
          { ...main, name: 'b', ports },
        ],
      }),
    ).toEqual(['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"']);
  });
  it('report all errors together', () => {
    expect(errorsOf({ containers: [{ name: 'A' }] })).toEqual([
      `${c0}.name: Invalid value: "A": ${label}`,
      `${c0}.image: Required value`,
    ]);
  });
});

describe('volumes', () => {
  const rows: [rule: string, volume: Omit<Volume, 'name'>, expected: string][] = [
    [
      'two kinds',
      { emptyDir: {}, hostPath: { path: '/' } },
      'hostPath: Forbidden: only one kind of volume may be given',
    ],
    ['host path missing', { hostPath: { path: '' } }, 'hostPath.path: Required value'],
    [
      'host path climbing',
      { hostPath: { path: '/a/../b' } },
      'hostPath.path: Invalid value: "/a/../b": must not contain ".."',
    ],
    [
      'host path type',
      { hostPath: { path: '/', type: 'Dir' } },
      'hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
    [
      'size limit',
      { emptyDir: { sizeLimit: '-1' } },
      'emptyDir.sizeLimit: Invalid value: "-1": must be a quantity of 0 or more',
    ],
    [
      'mode of an empty directory',
      { emptyDir: { mode: 0o2000 } },
      'emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive',
    ],
    [
      'owner of all files',
      { configMap: { name: 'c', defaultUser: -1 } },
      'configMap.defaultUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
    [
      'owner of a file',
      { secret: { secretName: 's', items: [{ key: 'k', path: 'p', user: 2 ** 31 }] } },
      'secret.items[0].user: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive',
    ],
    [
      'owner of a token',
      { projected: { sources: [{ serviceAccountToken: { path: 'p', user: -1 } }] } },
      'projected.sources[0].serviceAccountToken.user: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
    ['secret name', { secret: {} }, 'secret.secretName: Required value'],
    [
      'mode',
      { configMap: { name: 'c', defaultMode: 0o1000 } },
      'configMap.defaultMode: Invalid value: 512: must be a file mode from 0 to 0777 (octal)',
    ],
    [
      'path of an item',
      { configMap: { name: 'c', items: [{ key: 'k', path: '../x' }] } },
      'configMap.items[0].path: Invalid value: "../x": must not contain ".."',
    ],
    [
      'reserved path',
      { configMap: { name: 'c', items: [{ key: 'k', path: '..x' }] } },
      'configMap.items[0].path: Invalid value: "..x": must not begin with ".."',
    ],
    [
      'downward file without source',
      { downwardAPI: { items: [{ path: 'a' }] } },
      'downwardAPI.items[0]: Required value: give either fieldRef or resourceFieldRef',
    ],
    [
      'downward resource without container',
      { downwardAPI: { items: [{ path: 'a', resourceFieldRef: { resource: 'limits.cpu' } }] } },
      'downwardAPI.items[0].resourceFieldRef.containerName: Required value',
    ],
    [
      'projected without source',
      { projected: { sources: [{}] } },
      'projected.sources[0]: Required value: give one source, for example configMap',
    ],
    [
      'projected paths',
      {
        projected: {
          sources: [
            { secret: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
            { serviceAccountToken: { path: 'p' } },
          ],
        },
      },
      'projected.sources[1]: Invalid value: "p": another source already projects this path',
    ],
    [
      'token lifetime',
      { projected: { sources: [{ serviceAccountToken: { path: 'p', expirationSeconds: 599 } }] } },
      'projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: must be between 600 and 4294967296, inclusive',
    ],
    ['image', { image: {} }, 'image.reference: Required value'],
    [
      'claim',
      { persistentVolumeClaim: { claimName: '' } },
      'persistentVolumeClaim.claimName: Required value',
    ],
    [
      'nfs path',
      { nfs: { server: 's', path: 'a' } },
      'nfs.path: Invalid value: "a": must be an absolute path, which begins with "/"',
    ],
    [
      'nfs server that mount would take for an option',
      { nfs: { server: '-T/tmp/fstab', path: '/a' } },
      'nfs.server: Invalid value: "-T/tmp/fstab": must be a host name or an IP address, for example files.example.com, 192.0.2.7 or 2001:db8::7',
    ],
    ['csi driver', { csi: { driver: '' } }, 'csi.driver: Required value'],
    ['ephemeral', { ephemeral: {} }, 'ephemeral.volumeClaimTemplate: Required value'],
  ];
  it.each(rows)('%s', (_rule, volume, expected) => expect(volumeErrors(volume)).toEqual([expected]));
  it('have unique names', () => {
    expect(errorsOf({ volumes: [{ name: 'v' }, { name: 'v' }, { name: '' }] })).toEqual([
      'spec.volumes[1].name: Duplicate value: "v"',
      'spec.volumes[2].name: Required value',
    ]);
  });
});

describe('the joined text', () => {
  it('lists errors in brackets, one alone without', () => {
    const error = { path: ['spec', 'containers'], message: 'Required value' };
    expect(formatFieldErrors([error])).toBe('spec.containers: Required value');
    expect(formatFieldErrors([error, error])).toBe(
      '[spec.containers: Required value, spec.containers: Required value]',
    );
  });
});
