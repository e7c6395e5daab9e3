import { describe, expect, it } from 'vitest';
import { ConfigurationError } from './config-error.js';
import { defaultKubeletFlags, flagSpecs } from './flag-table.js';
import { type KubeletCommandLine, parseKubeletCommandLine } from './flags.js';
import { nodeLabelsProblem } from './node-labels.js';

type Run = Extract<KubeletCommandLine, { kind: 'run' }>;

function run(args: string[]): Run {
  const command = parseKubeletCommandLine(args);
  if (command.kind !== 'run') throw new Error(`expected to run, got ${command.kind}`);
  return command;
}

const settings = (args: string[]) => Object.fromEntries(run(args).settings);

describe('values of configuration flags', () => {
  const rows: [args: string[], expected: Record<string, unknown>][] = [
    [['--port=1'], { port: 1 }],
    [['--port', '1'], { port: 1 }],
    [['--port=0x10'], { port: 16 }],
    [['--port=010'], { port: 8 }],
    [['--port=+5'], { port: 5 }],
    [['--port=1', '--port=2'], { port: 2 }],
    [['--max-pods=1_000'], { maxPods: 1000 }],
    [['--max-pods=-5'], { maxPods: -5 }],
    [['--pod-max-pids=99999999999'], { podPidsLimit: 99999999999 }],
    [['--enable-server'], { enableServer: true }],
    [['--enable-server=false'], { enableServer: false }],
    [['--enable-server=0'], { enableServer: false }],
    [['--enable_server=f'], { enableServer: false }],
    [['--anonymous-auth=FALSE'], { 'authentication.anonymous.enabled': false }],
    [['-v', '4'], { 'logging.verbosity': 4 }],
    [['-v=4'], { 'logging.verbosity': 4 }],
    [['-v4'], { 'logging.verbosity': 4 }],
    [['--v=4'], { 'logging.verbosity': 4 }],
    [['--sync-frequency=1m30s'], { syncFrequency: 90_000 }],
    [['--address=::1'], { address: '::1' }],
    [['--address='], {}],
    [['--cluster-dns=a,b', '--cluster-dns=c'], { clusterDNS: ['a', 'b', 'c'] }],
    [['--cluster-dns=a,'], { clusterDNS: ['a', ''] }],
    [['--cluster-dns='], { clusterDNS: [] }],
    [['--allowed-unsafe-sysctls="a,b",c'], { allowedUnsafeSysctls: ['a,b', 'c'] }],
    [
      ['--system-reserved=cpu=1, memory = 2', '--system-reserved=pid=3'],
      { systemReserved: { cpu: '1', memory: '2', pid: '3' } },
    ],
    [['--system-reserved='], { systemReserved: {} }],
    [
      ['--eviction-hard=memory.available<5%,nodefs.available<1Gi'],
      { evictionHard: { 'memory.available': '5%', 'nodefs.available': '1Gi' } },
    ],
    [
      ['--eviction-soft-grace-period=memory.available=1m'],
      { evictionSoftGracePeriod: { 'memory.available': '1m' } },
    ],
    [['--feature-gates=A=true', '--feature-gates=B=false,'], { featureGates: { A: true, B: false } }],
    [
      ['--manifest-url-header=a:b,a:c', '--manifest-url-header= d : e:f '],
      { staticPodURLHeader: { a: ['b', 'c'], d: ['e:f'] } },
    ],
    [
      ['--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1024Mi'],
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
          { numaNode: 1, limits: { memory: '1Gi' } },
        ],
      },
    ],
    [
      ['--reserved-memory=0:memory=1Gi', '--reserved-memory=1:memory=2Gi'],
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi' } },
          { numaNode: 1, limits: { memory: '2Gi' } },
        ],
      },
    ],
    [
      ['--register-with-taints=a=b:NoSchedule,c:NoExecute'],
      {
        registerWithTaints: [
          { key: 'a', value: 'b', effect: 'NoSchedule' },
          { key: 'c', effect: 'NoExecute' },
        ],
      },
    ],
    [
      ['--register-with-taints=a:NoSchedule', '--register-with-taints=b:NoSchedule'],
      { registerWithTaints: [{ key: 'b', effect: 'NoSchedule' }] },
    ],
    [
      ['--vmodule=a=1,b=2', '--vmodule=c=3'],
      {
        'logging.vmodule': [
          { filePattern: 'a', verbosity: 1 },
          { filePattern: 'b', verbosity: 2 },
          { filePattern: 'c', verbosity: 3 },
        ],
      },
    ],
    [['--log-json-info-buffer-size=1024'], { 'logging.options.json.infoBufferSize': '1024' }],
    [['--rotate-server-certificates'], { serverTLSBootstrap: true }],
  ];
  it.each(rows)('%j', (args, expected) => {
    expect(settings(args)).toEqual(expected);
  });
});

describe('values of the other flags', () => {
  const rows: [args: string[], expected: object][] = [
    [[], defaultKubeletFlags],
    [['--node-labels=a=b,c', '--node-labels=d=e=f'], { nodeLabels: { a: 'b', c: '', d: 'e=f' } }],
    [
      ['--root-dir', '/r', '--cert-dir=/c', '--kubeconfig=/k'],
      // The directory of device plugins does not follow the root directory: plugins know only the one.
      { rootDir: '/r', certDir: '/c', kubeconfig: '/k', devicePluginDir: '/var/lib/kubelet/device-plugins' },
    ],
    [['--housekeeping-interval=1s'], { housekeepingIntervalMs: 1000 }],
    [
      ['--maximum-dead-containers=5', '--minimum-container-ttl-duration=1m'],
      { maximumDeadContainers: 5, minimumContainerTtlDurationMs: 60_000 },
    ],
    [
      ['--seccomp-default', '--exit-on-lock-contention', '--lock-file=/l'],
      { seccompDefault: true, exitOnLockContention: true, lockFile: '/l' },
    ],
    [['--version=false'], { reportedVersion: '' }],
  ];
  it.each(rows)('%j', (args, expected) => {
    expect(run(args).flags).toMatchObject(expected);
  });
});

describe('refused command lines', () => {
  const prefix = 'failed to parse kubelet flag: ';
  const rows: [args: string[], message: string][] = [
    [['--foo=1'], `${prefix}unknown flag: --foo`],
    [['--boot-id-file=x'], `${prefix}unknown flag: --boot-id-file`],
    [['--storage-driver-db=x'], `${prefix}unknown flag: --storage-driver-db`],
    [['--foo_bar'], `${prefix}unknown flag: --foo_bar`],
    [['-x'], `${prefix}unknown shorthand flag: 'x' in -x`],
    [['-foo'], `${prefix}unknown shorthand flag: 'f' in -foo`],
    [['--port'], `${prefix}flag needs an argument: --port`],
    [['-v'], `${prefix}flag needs an argument: 'v' in -v`],
    [['--port='], `${prefix}invalid argument "" for "--port" flag: "" is not a whole number`],
    [['--port=1e2'], `${prefix}invalid argument "1e2" for "--port" flag: "1e2" is not a whole number`],
    [
      ['--port=99999999999'],
      `${prefix}invalid argument "99999999999" for "--port" flag: 99999999999 is out of range (-2147483648 to 2147483647)`,
    ],
    [['-vh'], `${prefix}invalid argument "h" for "-v, --v" flag: "h" is not a whole number`],
    [['--v=-1'], `${prefix}invalid argument "-1" for "-v, --v" flag: -1 is out of range (0 to 4294967295)`],
    [
      ['--enable-server=x'],
      `${prefix}invalid argument "x" for "--enable-server" flag: "x" is neither true nor false`,
    ],
    [['--address=x'], `${prefix}invalid argument "x" for "--address" flag: "x" is not a valid IP address`],
    [
      ['--eviction-hard=memory.available=5%'],
      `${prefix}invalid argument "memory.available=5%" for "--eviction-hard" flag: malformed pair "memory.available=5%", write key<value`,
    ],
    [
      ['--feature-gates=A=x'],
      `${prefix}invalid argument "A=x" for "--feature-gates" flag: invalid value of A: x; write true or false`,
    ],
    [
      ['--manifest-url-header=s3cret'],
      `${prefix}invalid argument for "--manifest-url-header" flag: malformed pair, write name:value`,
    ],
    [
      ['--register-with-taints=a=b'],
      `${prefix}invalid argument "a=b" for "--register-with-taints" flag: invalid taint spec: a=b, write key=value:Effect`,
    ],
    [
      ['--register-with-taints=a=b:Foo'],
      `${prefix}invalid argument "a=b:Foo" for "--register-with-taints" flag: invalid taint effect: Foo, use NoSchedule, PreferNoSchedule, NoExecute`,
    ],
    [
      ['--register-with-taints=a=b:NoSchedule,a=c:NoSchedule'],
      `${prefix}invalid argument "a=b:NoSchedule,a=c:NoSchedule" for "--register-with-taints" flag: duplicated taints with the same key and effect: a:NoSchedule`,
    ],
    [
      ['--reserved-memory=x'],
      `${prefix}invalid argument "x" for "--reserved-memory" flag: "x" is no reservation, write numaNode:type=quantity[,type=quantity...]`,
    ],
    [
      ['--reserved-memory=0:cpu=1'],
      `${prefix}invalid argument "0:cpu=1" for "--reserved-memory" flag: unknown memory type "cpu", use memory or hugepages-<size>`,
    ],
    [
      ['--vmodule=a'],
      `${prefix}invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format`,
    ],
    [['--version=x'], `${prefix}invalid argument "x" for "--version" flag: "x" is neither true nor false`],
    [['--=x'], `${prefix}bad flag syntax: --=x`],
    [['---port=1'], `${prefix}bad flag syntax: ---port=1`],
    [['a', 'b'], 'unknown command a'],
    [['--enable-server', 'false'], 'unknown command false'],
    [['--', '--port=1'], 'unknown command --port=1'],
    [['--help', 'x'], 'unknown command x'],
    [['--foo', '--help'], `${prefix}unknown flag: --foo`],
  ];
  it.each(rows)('%j', (args, message) => {
    let thrown: unknown;
    try {
      parseKubeletCommandLine(args);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigurationError);
    expect((thrown as Error).message).toBe(message);
  });

  it('suggests the nearest flag', () => {
    try {
      parseKubeletCommandLine(['--max-pod=5']);
    } catch (error) {
      expect((error as ConfigurationError).hint).toBe('did you mean --max-pods?');
      return;
    }
    throw new Error('expected a ConfigurationError');
  });
});

describe('the flag table', () => {
  it('has every name once', () => {
    const names = flagSpecs.map((spec) => spec.name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
  it('does not warn about flags that are not deprecated', () => {
    const staying = [
      '--v=1',
      '--vmodule=a=1',
      '--provider-id=x',
      '--fail-cgroupv1',
      '--log-flush-frequency=1s',
      '--node-ip=1.2.3.4',
    ];
    expect(run(staying).warnings).toEqual([]);
  });
});

describe('nodeLabelsProblem', () => {
  const good: Record<string, string>[] = [
    {},
    { a: '' },
    { 'example.com/a': 'b' },
    { 'kubernetes.io/hostname': 'x' },
    { 'topology.kubernetes.io/zone': 'x' },
    { 'failure-domain.beta.kubernetes.io/region': 'x' },
    { 'beta.kubernetes.io/instance-type': 'x' },
    { 'kubelet.kubernetes.io/x': '1' },
    { 'a.node.kubernetes.io/x': '1' },
    { 'notkubernetes.io/x': '1' },
  ];
  it.each(good)('accepts %j', (labels) => {
    expect(nodeLabelsProblem(labels)).toBeUndefined();
  });
  const bad: [labels: Record<string, string>, start: string][] = [
    [
      { 'foo.kubernetes.io/x': '1', 'k8s.io/y': '' },
      "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [foo.kubernetes.io/x k8s.io/y]",
    ],
    [{ 'kubernetes.io/foo': '1' }, "unknown 'kubernetes.io' or 'k8s.io' labels"],
    [{ 'a b': 'c' }, "invalid node labels: 'a b' - name part must be"],
    [{ '/a': 'c' }, "invalid node labels: '/a' - prefix part must not be empty"],
    [{ a: 'b c' }, "invalid node labels: 'b c' - value must be"],
    [{ 'a b': 'c d' }, "invalid node labels: 'a b' - name part must be"],
  ];
  it.each(bad)('refuses %j', (labels, start) => {
    expect(nodeLabelsProblem(labels)?.startsWith(start)).toBe(true);
  });
});
