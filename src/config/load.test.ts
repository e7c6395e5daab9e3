import { describe, expect, it } from 'vitest';
import { ConfigurationError } from './config-error.js';
import type { DropInEntry } from './drop-ins.js';
import { type LoadedConfiguration, type LoadOutcome, loadConfiguration } from './load.js';
import type { ConfiguredHost } from './rule-context.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const dropIn = (text: string) => header + text;

interface Setup {
  /** Body of /etc/k/cfg.yaml below kind and apiVersion. */
  main?: string;
  /** Whole files by path. */
  files?: Record<string, string>;
  args?: string[];
  host?: ConfiguredHost;
  standalone?: boolean;
}

function load({ main, files = {}, args = [], host, standalone = false }: Setup): Promise<LoadOutcome> {
  const all: Record<string, string> = { ...files };
  if (main !== undefined) all['/etc/k/cfg.yaml'] = header + main;
  return loadConfiguration({
    argv: [
      ...(main === undefined ? [] : ['--config', '/etc/k/cfg.yaml']),
      ...(standalone ? [] : ['--kubeconfig=/etc/k/kubeconfig']),
      ...args,
    ],
    cwd: '/etc/k',
    ...(host !== undefined && { host }),
    readFile: async (path) => {
      const text = all[path];
      if (text === undefined) throw new Error(`open ${path}: no such file or directory`);
      return text;
    },
    listDir: async (path) => listDir(Object.keys(all), path),
  });
}

function listDir(paths: readonly string[], dir: string): DropInEntry[] {
  const below = paths.filter((path) => path.startsWith(`${dir}/`)).map((path) => path.slice(dir.length + 1));
  if (below.length === 0) throw new Error(`lstat ${dir}: no such file or directory`);
  const names = new Map(below.map((rest) => [rest.split('/')[0]!, rest.includes('/')]));
  return [...names].reverse().map(([name, isDirectory]) => ({ name, isDirectory }));
}

async function run(setup: Setup): Promise<LoadedConfiguration> {
  const outcome = await load(setup);
  if (outcome.kind !== 'run') throw new Error(`expected to run, got ${outcome.kind}`);
  return outcome;
}

async function failure(setup: Setup): Promise<ConfigurationError> {
  try {
    await load(setup);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigurationError);
    return thrown as ConfigurationError;
  }
  throw new Error('expected a ConfigurationError');
}

const withDropIns = (files: Record<string, string>, setup: Setup = {}): Setup => ({
  main: '',
  ...setup,
  files: Object.fromEntries(Object.entries(files).map(([name, text]) => [`/etc/k/conf.d/${name}`, text])),
  args: ['--config-dir=conf.d', ...(setup.args ?? [])],
});

const fiveThresholds = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

describe('configurations that run', () => {
  const rows: [rule: string, setup: Setup, expected: object][] = [
    ['the last of two duplicate keys wins', { main: 'maxPods: 50\nmaxPods: 60\n' }, { maxPods: 60 }],
    [
      '--lenient-config ignores an unknown field',
      { main: 'fooBar: 1\nport: 5\n', args: ['--lenient-config'] },
      { port: 5 },
    ],
    [
      'a relative path is resolved against the directory of the file',
      { main: 'staticPodPath: manifests\n' },
      { staticPodPath: '/etc/k/manifests' },
    ],
    [
      'a relative path is normalized',
      { main: 'volumePluginDir: ../plugins/\n' },
      { volumePluginDir: '/etc/plugins' },
    ],
    ['an absolute path stays', { main: 'staticPodPath: /a/b\n' }, { staticPodPath: '/a/b' }],
    ['an explicit empty resolvConf is kept', { main: 'resolvConf: ""\n' }, { resolvConf: '' }],
    ['an absent resolvConf has a default', { main: '' }, { resolvConf: '/etc/resolv.conf' }],
    [
      'the update frequency of the file is also the report frequency',
      { main: 'nodeStatusUpdateFrequency: 4s\n' },
      { nodeStatusUpdateFrequency: 4000, nodeStatusReportFrequency: 4000 },
    ],
    [
      'the update frequency of a flag does not change the report frequency',
      { main: '', args: ['--node-status-update-frequency=4s'] },
      { nodeStatusUpdateFrequency: 4000, nodeStatusReportFrequency: 300_000 },
    ],
    [
      'a zero update frequency is unset',
      { main: 'nodeStatusUpdateFrequency: 0s\n' },
      { nodeStatusUpdateFrequency: 10_000, nodeStatusReportFrequency: 300_000 },
    ],
    [
      'without --config the node is open and has no hard thresholds',
      {},
      {
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
        readOnlyPort: 10255,
        evictionHard: {},
      },
    ],
    [
      'an empty --config closes the node and has five hard thresholds',
      { main: '' },
      {
        authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
        authorization: { mode: 'Webhook' },
        readOnlyPort: 0,
        evictionHard: fiveThresholds,
      },
    ],
    [
      'evictionHard of the file replaces the thresholds',
      { main: 'evictionHard: {memory.available: 1Gi}\n' },
      { evictionHard: { 'memory.available': '1Gi' } },
    ],
    ['an empty evictionHard means no thresholds', { main: 'evictionHard: {}\n' }, { evictionHard: {} }],
    [
      'mergeDefaultEvictionSettings fills in the missing thresholds',
      { main: 'evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n' },
      { evictionHard: { ...fiveThresholds, 'memory.available': '1Gi' } },
    ],
    [
      'mergeDefaultEvictionSettings fills an empty evictionHard',
      { main: 'evictionHard: {}\nmergeDefaultEvictionSettings: true\n' },
      { evictionHard: fiveThresholds },
    ],
    [
      'evictionHard of a drop-in keeps the other thresholds',
      withDropIns({ 'a.conf': dropIn('evictionHard: {memory.available: 1Gi}\n') }),
      { evictionHard: { ...fiveThresholds, 'memory.available': '1Gi' } },
    ],
    [
      'the later drop-in wins',
      withDropIns({ '20-b.conf': dropIn('port: 8080\n'), '10-a.conf': dropIn('port: 9090\n') }),
      { port: 8080 },
    ],
    [
      'a flag wins over drop-ins',
      withDropIns({ '10-a.conf': dropIn('port: 9090\n') }, { args: ['--port=8081'] }),
      { port: 8081 },
    ],
    [
      'directories are walked in lexical order with the files',
      withDropIns({ '10/z.conf': dropIn('port: 1\n'), '20.conf': dropIn('port: 2\n') }),
      { port: 2 },
    ],
    [
      'a drop-in replaces a whole list',
      withDropIns(
        { 'a.conf': dropIn('clusterDNS: [3.3.3.3, 4.4.4.4, 5.5.5.5]\n') },
        { main: 'clusterDNS: [1.1.1.1, 2.2.2.2]\n' },
      ),
      { clusterDNS: ['3.3.3.3', '4.4.4.4', '5.5.5.5'] },
    ],
    [
      'a zero in a drop-in restores the default',
      withDropIns({ 'a.conf': dropIn('port: 0\n') }, { main: 'port: 5\n' }),
      { port: 10250 },
    ],
    [
      'null in a drop-in restores the default',
      withDropIns({ 'a.conf': dropIn('syncFrequency: null\n') }, { main: 'syncFrequency: 5s\n' }),
      { syncFrequency: 60_000 },
    ],
    [
      'an empty list in a drop-in restores the default',
      withDropIns({ 'a.conf': dropIn('') }, { main: 'enforceNodeAllocatable: []\n' }),
      { enforceNodeAllocatable: ['pods'] },
    ],
    [
      'a drop-in without the suffix .conf is ignored',
      withDropIns({ 'x.yaml': 'not: [a config' }),
      { port: 10250 },
    ],
    [
      'relative paths in a drop-in are not resolved',
      withDropIns({ 'a.conf': dropIn('staticPodPath: manifests\n') }),
      { staticPodPath: 'manifests' },
    ],
    [
      '--config-dir alone starts from the open baseline',
      { ...withDropIns({ 'a.conf': dropIn('port: 5\n') }), main: undefined },
      { port: 5, readOnlyPort: 10255, authorization: { mode: 'AlwaysAllow' }, evictionHard: {} },
    ],
    [
      'gates of file and flag are merged, the flag wins',
      { main: 'featureGates: {EnvFiles: false, PodsAPI: false}\n', args: ['--feature-gates=PodsAPI=true'] },
      { featureGates: { EnvFiles: false, PodsAPI: true } },
    ],
    [
      'parallel image pulls turn serial pulls off',
      { main: 'maxParallelImagePulls: 5\n' },
      { maxParallelImagePulls: 5, serializeImagePulls: false },
    ],
    [
      'one parallel pull leaves serial pulls on',
      { main: 'maxParallelImagePulls: 1\n' },
      { serializeImagePulls: true },
    ],
    [
      'a map flag replaces the map of the file',
      { main: 'systemReserved: {cpu: 1m, memory: 1Mi}\n', args: ['--system-reserved=pid=3'] },
      { systemReserved: { pid: '3' } },
    ],
    [
      'the first list flag replaces the list, further ones add to it',
      { main: 'clusterDNS: [9.9.9.9]\n', args: ['--cluster-dns=1.1.1.1,2.2.2.2', '--cluster-dns=3.3.3.3'] },
      { clusterDNS: ['1.1.1.1', '2.2.2.2', '3.3.3.3'] },
    ],
    [
      'an empty enforceNodeAllocatable of the file stays empty',
      { main: 'enforceNodeAllocatable: []\n' },
      { enforceNodeAllocatable: [] },
    ],
    ['a negative pod PID limit means no limit', { main: 'podPidsLimit: -5\n' }, { podPidsLimit: -1 }],
    [
      'the crash loop cap has a default while its gate is on',
      { main: '' },
      { crashLoopBackOff: { maxContainerRestartPeriod: 300_000 } },
    ],
    [
      '--seccomp-default overrides the file',
      { main: '', args: ['--seccomp-default'] },
      { seccompDefault: true },
    ],
    [
      'the image service defaults to the runtime',
      { main: 'containerRuntimeEndpoint: unix:///x\n' },
      { imageServiceEndpoint: 'unix:///x' },
    ],
    ['an empty cgroup root is / with cgroups per QoS', { main: '' }, { cgroupRoot: '/' }],
    [
      'reservedSystemCPUs overrides reserved cpu',
      {
        main: 'reservedSystemCPUs: 0-1,4\nkubeReserved: {cpu: "1", memory: 1Gi}\n',
      },
      { systemReserved: { cpu: '3' }, kubeReserved: { memory: '1Gi' } },
    ],
    [
      'reservedSystemCPUs counts instead of all reserved cpu',
      {
        main: 'reservedSystemCPUs: 0-1\nsystemReserved: {cpu: "4"}\nkubeReserved: {cpu: "1"}\n',
      },
      { systemReserved: { cpu: '2' }, kubeReserved: {} },
    ],
    [
      'reserved cpu is rounded to the nearest thousandth',
      { main: 'kubeReserved: {cpu: 100500u}\nsystemReserved: {cpu: 400u}\n' },
      { kubeReserved: { cpu: '101m' }, systemReserved: { cpu: '0' } },
    ],
    [
      'cgroup v2 kills the whole container',
      { main: '', host: { cgroupVersion: 2 } },
      { singleProcessOOMKill: false },
    ],
  ];
  it.each(rows)('%s', async (_, setup, expected) => {
    expect((await run(setup)).config).toMatchObject(expected);
  });

  it('replaced maps hold no other keys', async () => {
    const replaced = await run({ main: 'evictionHard: {memory.available: 1Gi}\n' });
    expect(replaced.config.evictionHard).toEqual({ 'memory.available': '1Gi' });
    const none = await run({});
    expect(none.config.evictionHard).toEqual({});
    const flag = await run({ main: 'systemReserved: {cpu: 1m}\n', args: ['--system-reserved=pid=3'] });
    expect(flag.config.systemReserved).toEqual({ pid: '3' });
  });

  it('turns on gates that file and flag set together', async () => {
    const { featureGates } = await run({
      main: 'featureGates: {PodsAPI: true}\n',
      args: ['--feature-gates=MemoryQoS=true'],
    });
    expect([featureGates.enabled('PodsAPI'), featureGates.enabled('MemoryQoS')]).toEqual([true, true]);
  });

  it('omits the crash loop cap while its gate is off', async () => {
    const { config } = await run({ main: '', args: ['--feature-gates=KubeletCrashLoopBackOffMax=false'] });
    expect(config.crashLoopBackOff).toEqual({});
  });

  it('lists the explicit settings', async () => {
    const loaded = await run(
      withDropIns({ 'a.conf': dropIn('port: 1\n') }, { main: 'maxPods: 5\n', args: ['--v=3'] }),
    );
    expect([...loaded.explicit].sort()).toEqual(['logging.verbosity', 'maxPods', 'port']);
  });

  it('is standalone without --kubeconfig', async () => {
    expect((await run({ standalone: true })).standalone).toBe(true);
    expect((await run({})).standalone).toBe(false);
  });

  it('masks header values in the published configuration, and keeps them in the used one', async () => {
    const loaded = await run({ main: 'staticPodURLHeader: {Authorization: [s3cret]}\n' });
    expect(loaded.publishedConfig.staticPodURLHeader).toEqual({ Authorization: ['<masked>'] });
    expect(loaded.config.staticPodURLHeader).toEqual({ Authorization: ['s3cret'] });
  });
});

describe('configurations that are refused', () => {
  const rows: [rule: string, setup: Setup, message: string][] = [
    [
      'an unregistered version',
      {
        files: { '/etc/k/c': 'apiVersion: kubelet.config.k8s.io/v1beta2\nkind: KubeletConfiguration\n' },
        args: ['--config=c'],
      },
      'no kind "KubeletConfiguration" is registered for version "kubelet.config.k8s.io/v1beta2"',
    ],
    [
      'a duration as a number',
      { main: 'syncFrequency: 60\n' },
      '/etc/k/cfg.yaml:3:1: syncFrequency must be a duration string',
    ],
    [
      'an empty file',
      { files: { '/etc/k/c': '' }, args: ['--config=c'] },
      'failed to load kubelet config file, path: /etc/k/c, error: failed to load Kubelet config file /etc/k/c, error kubelet config file "/etc/k/c" was empty',
    ],
    ['a missing file', { args: ['--config=nothing'] }, 'open /etc/k/nothing: no such file or directory'],
    [
      'a drop-in without kind',
      withDropIns({ 'a.conf': 'apiVersion: kubelet.config.k8s.io/v1beta1\n' }),
      "'Kind' is missing",
    ],
    [
      'a drop-in without apiVersion',
      withDropIns({ 'a.conf': 'kind: KubeletConfiguration\n' }),
      'no apiVersion/kind',
    ],
    [
      'a drop-in of another version',
      withDropIns({ 'a.conf': 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1\n' }),
      'failed to merge kubelet configs: failed to walk through kubelet dropin directory "/etc/k/conf.d": failed to load kubelet dropin file, path: /etc/k/conf.d/a.conf, unknown apiVersion/kind: kubelet.config.k8s.io/v1, Kind=KubeletConfiguration',
    ],
    [
      'a drop-in with a key twice',
      withDropIns({ 'a.conf': dropIn('port: 1\nport: 2\n') }),
      'key "port" is written more than once',
    ],
    ['an empty drop-in', withDropIns({ 'a.conf': '' }), 'was empty'],
    [
      'an unknown field in a drop-in',
      withDropIns({ 'a.conf': dropIn('prt: 1\n') }),
      'unknown field "prt" (did you mean "port"?)',
    ],
    ['a missing drop-in directory', { main: '', args: ['--config-dir=conf.d'] }, 'no such file or directory'],
    [
      'a locked gate',
      { main: 'featureGates: {NodeSwap: false}\n' },
      'cannot set feature gate NodeSwap to false, feature is locked to true',
    ],
    ['an unknown gate of a flag', { args: ['--feature-gates=Foo=true'] }, 'unrecognized feature gate: Foo'],
    [
      'a low threshold that is not below the high one',
      { main: 'imageGCLowThresholdPercent: 85\n' },
      'imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent',
    ],
    [
      'none with another level',
      { main: 'enforceNodeAllocatable: [none, pods]\n' },
      'may not contain additional enforcements when "none" is specified',
    ],
    [
      'webhook authentication without an API server',
      { main: '', standalone: true },
      'no client provided, cannot use webhook authentication',
    ],
    [
      'a kubernetes.io label',
      { args: ['--node-labels=foo.kubernetes.io/x=1'] },
      "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [foo.kubernetes.io/x]",
    ],
    [
      'a built-in cloud provider',
      { args: ['--cloud-provider=aws'] },
      'cloud provider "aws" was specified, but built-in cloud providers are disabled. Please set --cloud-provider=external and migrate to an external cloud provider',
    ],
    [
      'lock contention without a lock file',
      { args: ['--exit-on-lock-contention'] },
      'cannot exit on lock file contention: no lock file specified',
    ],
    [
      'serial and parallel pulls through a drop-in',
      withDropIns({ 'a.conf': dropIn('maxParallelImagePulls: 5\n') }),
      'maxParallelImagePulls 5 must not be above 1',
    ],
    [
      'several violations together',
      { main: 'port: 70000\nmaxPods: -1\n' },
      '[invalid configuration: port (--port) 70000 must be between 1 and 65535, inclusive, invalid configuration: maxPods (--max-pods) -1 must not be a negative number]',
    ],
    [
      'cgroup v1 unless allowed',
      { main: '', host: { cgroupVersion: 1 } },
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
    ],
    [
      'an empty runtime endpoint by flag',
      { args: ['--container-runtime-endpoint='] },
      'containerRuntimeEndpoint (--container-runtime-endpoint) must not be empty',
    ],
  ];
  it.each(rows)('%s', async (_, setup, message) => {
    expect((await failure(setup)).message).toContain(message);
  });

  it('names every unknown field, its position, the nearest known field and the flag that ignores it', async () => {
    const { message } = await failure({ main: 'MaxPods: 3\nauthentication:\n  webhok: {}\n' });
    expect(message).toContain('/etc/k/cfg.yaml:3:1: unknown field "MaxPods" (did you mean "maxPods"?)');
    expect(message).toContain(
      '/etc/k/cfg.yaml:5:3: unknown field "authentication.webhok" (did you mean "webhook"?)',
    );
    expect(message).toContain('--lenient-config');
  });

  it('accepts node.kubernetes.io labels', async () => {
    expect((await run({ args: ['--node-labels=node.kubernetes.io/x=1'] })).flags.nodeLabels).toEqual({
      'node.kubernetes.io/x': '1',
    });
  });
});

describe('warnings', () => {
  const rows: [rule: string, setup: Setup, warning: string][] = [
    [
      'lenient decoding names what it ignores',
      { main: 'fooBar: 1\n', args: ['--lenient-config'] },
      'Using lenient decoding as strict decoding failed: /etc/k/cfg.yaml:3:1: unknown field "fooBar"; it is ignored',
    ],
    [
      'a duplicate key is named',
      { main: 'maxPods: 5\nmaxPods: 6\n' },
      '/etc/k/cfg.yaml:4:1: key "maxPods" is written more than once',
    ],
    [
      'a deprecated flag names its field',
      { args: ['--max-pods=5'] },
      'flag --max-pods is deprecated: set maxPods in the configuration file instead',
    ],
    [
      'a GA gate is named',
      { args: ['--feature-gates=CustomCPUCFSQuotaPeriod=true'] },
      'feature gate CustomCPUCFSQuotaPeriod is GA',
    ],
    [
      'kubelet cgroups outside the reserved cgroup',
      { main: 'kubeletCgroups: /a\nkubeReservedCgroup: /b\n' },
      'kubeletCgroups /a is not within kubeReservedCgroup /b',
    ],
  ];
  it.each(rows)('%s', async (_, setup, warning) => {
    expect((await run(setup)).warnings.join('\n')).toContain(warning);
  });
  it('are absent for a plain file', async () => {
    expect((await run({ main: 'maxPods: 5\n' })).warnings).toEqual([]);
  });
});

describe('requests', () => {
  const rows: [args: string[], outcome: object][] = [
    [['--help'], { kind: 'help' }],
    [['-h'], { kind: 'help' }],
    [['--version'], { kind: 'version', raw: false }],
    [['--version=raw'], { kind: 'version', raw: true }],
  ];
  it.each(rows)('%j', async (args, outcome) => {
    expect(await load({ args })).toEqual(outcome);
  });
  it('--version=vX.Y.Z only changes what is reported', async () => {
    expect((await run({ args: ['--version=v1.36.4-x'] })).flags.reportedVersion).toBe('v1.36.4-x');
  });
});
