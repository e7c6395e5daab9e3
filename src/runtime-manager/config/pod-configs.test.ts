import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageStatusResponse, NamespaceMode } from '../../cri/index.js';
import type { Container, Pod, PodSpec } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { FilePodConfigs, imageUserFromRuntime, type PodConfigsOptions } from './pod-configs.js';
import { type RuntimeSettings, runtimeSettings } from './settings.js';

let root = '';
let timeline: Timeline;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pod-configs-'));
  timeline = new Timeline();
  await writeFile(join(root, 'resolv.conf'), 'nameserver 8.8.8.8\nsearch corp\n');
  await writeFile(join(root, 'hosts'), '127.0.0.1 node\n');
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

function configs(
  change: Partial<RuntimeSettings> = {},
  options: Partial<PodConfigsOptions> = {},
): FilePodConfigs {
  const settings = runtimeSettings({
    nodeName: 'node-a',
    rootDir: join(root, 'lib'),
    podLogsDir: join(root, 'logs'),
    resolvConf: join(root, 'resolv.conf'),
    hostsFile: join(root, 'hosts'),
    clusterDomain: 'cluster.local',
    clusterDns: ['10.96.0.10'],
    ...change,
  });
  return new FilePodConfigs({
    settings: () => settings,
    timeline,
    volumes: {
      mounts: async () => [{ containerPath: '/data', hostPath: '/v/data' }],
      devices: async () => [{ containerPath: '/dev/x', hostPath: '/v/x', permissions: 'mrw' }],
    },
    imageUser: async () => ({ uid: 1000 }),
    env: {},
    ...options,
  });
}

const app: Container = {
  name: 'app',
  image: 'example/app:1',
  terminationMessagePath: '/dev/termination-log',
  env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
  args: ['--ip=$(POD_IP)'],
};

function makePod(spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
    spec: { containers: [app], enableServiceLinks: true, ...spec },
  };
}

function request(pod: Pod, change: { podIps?: string[]; targetContainerId?: string } = {}) {
  const container = pod.spec.containers[0]!;
  return { pod, container, restartCount: 1, podIps: ['10.0.0.7'], image: { ref: 'sha256:abc' }, ...change };
}

describe('sandbox', () => {
  it('composes DNS from the node file and makes the log directory', async () => {
    const config = await configs().sandbox(makePod(), 0);
    expect(config.dnsConfig?.searches).toEqual([
      'shop.svc.cluster.local',
      'svc.cluster.local',
      'cluster.local',
      'corp',
    ]);
    expect(config.linux?.cgroupParent).toBe('');
    const directory = await stat(join(root, 'logs/shop_web_u1'));
    expect(directory.mode & 0o777).toBe(0o755);
    expect(timeline.ofPod('u1').filter(({ kind }) => kind === 'event')).toEqual([]);
  });

  it('includes the pod’s cgroup', async () => {
    const config = await configs({}, { cgroupParent: (pod) => `/kubepods/pod${pod.metadata.uid}` }).sandbox(
      makePod(),
      0,
    );
    expect(config.linux?.cgroupParent).toBe('/kubepods/podu1');
  });

  it('reports missing cluster DNS on pod and node', async () => {
    await configs({ clusterDns: [] }).sandbox(makePod(), 0);
    const [podEvent] = timeline.ofPod('u1');
    expect(podEvent?.event).toEqual({ type: 'Warning', reason: 'MissingClusterDNS' });
    expect(timeline.ofNode()[0]?.event).toEqual({
      type: 'Warning',
      reason: 'MissingClusterDNS',
      node: 'node-a',
    });
  });

  it('reports truncated DNS on the pod', async () => {
    await configs().sandbox(makePod({ dnsConfig: { nameservers: ['1', '2', '3', '4'] } }), 0);
    expect(timeline.ofPod('u1')[0]?.event?.reason).toBe('DNSConfigForming');
  });

  it('fails when the resolver file cannot be read, and works without one', async () => {
    const resolvConf = join(root, 'none');
    await expect(configs({ resolvConf }).sandbox(makePod(), 0)).rejects.toThrow(
      `could not read the resolver file ${resolvConf}: ENOENT`,
    );
    const config = await configs({ resolvConf: '' }).sandbox(makePod({ dnsPolicy: 'Default' }), 0);
    expect(config.dnsConfig).toEqual({ servers: ['127.0.0.1'], searches: ['.'], options: [] });
  });

  const unsupported: [rule: string, spec: Partial<PodSpec>, message: string][] = [
    [
      'user namespaces',
      { hostUsers: false },
      "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    ],
    [
      'resource claims',
      { resourceClaims: [{ name: 'gpu' }] },
      'pod "web_shop(u1)": spec.resourceClaims is set, but this build does not prepare dynamic resources yet',
    ],
  ];
  it.each(unsupported)('says that it does not support %s', async (_rule, spec, message) => {
    await expect(configs().sandbox(makePod(spec), 0)).rejects.toThrow(message);
  });
});

describe('container', () => {
  it('has its volumes, its hosts file and its termination log', async () => {
    const { config, cleanup } = await configs({ isSelinuxEnabled: true }).container(request(makePod()));
    await cleanup();
    const [volume, hosts, termination] = config.mounts ?? [];
    expect(config.mounts).toHaveLength(3);
    expect(volume).toEqual({ containerPath: '/data', hostPath: '/v/data' });
    expect(hosts).toEqual({
      containerPath: '/etc/hosts',
      hostPath: join(root, 'lib/pods/u1/etc-hosts'),
      readonly: false,
      selinuxRelabel: true,
    });
    expect(await readFile(hosts?.hostPath ?? '', 'utf8')).toContain('\n10.0.0.7\tweb\n');
    expect(termination?.containerPath).toBe('/dev/termination-log');
    expect(termination?.hostPath).toMatch(/\/lib\/pods\/u1\/containers\/app\/[0-9a-f]{8}$/);
    expect((await stat(join(root, 'logs/shop_web_u1/app'))).isDirectory()).toBe(true);
    expect(config.args).toEqual(['--ip=10.0.0.7']);
    expect(config.linux?.securityContext?.runAsUser).toEqual({ value: 1000 });
  });

  const hostsRows: [rule: string, spec: Partial<PodSpec>, podIps: string[], isMounted: boolean][] = [
    ['not before the pod has an address', {}, [], false],
    ['on the host network even so', { hostNetwork: true }, [], true],
    [
      'not over a mount of the container',
      { containers: [{ ...app, volumeMounts: [{ name: 'v', mountPath: '/etc/hosts' }] }] },
      ['10.0.0.7'],
      false,
    ],
    [
      'beside other mounts',
      { containers: [{ ...app, volumeMounts: [{ name: 'v', mountPath: '/etc/hosts/' }] }] },
      ['10.0.0.7'],
      true,
    ],
  ];
  it.each(hostsRows)('mounts a hosts file: %s', async (_rule, spec, podIps, isMounted) => {
    const { config } = await configs({ hostIps: ['192.168.0.1'] }).container(
      request(makePod(spec), { podIps }),
    );
    expect(config.mounts?.some(({ containerPath }) => containerPath === '/etc/hosts')).toBe(isMounted);
  });

  it('shows the node file on the host network', async () => {
    await configs().container(request(makePod({ hostNetwork: true })));
    expect(await readFile(join(root, 'lib/pods/u1/etc-hosts'), 'utf8')).toBe(
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n',
    );
  });

  it('starts without a termination log if none can be created', async () => {
    const pod = makePod({ hostNetwork: false });
    await writeFile(join(root, 'lib'), 'in the way');
    const { config } = await configs().container(request(pod, { podIps: [] }));
    expect(config.mounts).toHaveLength(1);
    expect(timeline.ofPod('u1').map(({ what }) => what)).toContain('container.termination-log');
  });

  it('leaves no file behind when the container must not start', async () => {
    const pod = makePod({ securityContext: { runAsNonRoot: true } });
    const failing = configs({}, { imageUser: async () => ({ username: 'nobody' }) }).container(request(pod));
    await expect(failing).rejects.toThrow(
      'container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root (pod: "web_shop(u1)", container: app)',
    );
    expect(await readdir(root)).toEqual(['hosts', 'resolv.conf']);
  });

  it('joins the target’s process namespace', async () => {
    const { config } = await configs().container(request(makePod(), { targetContainerId: 'id-1' }));
    expect(config.linux?.securityContext?.namespaceOptions).toMatchObject({
      pid: NamespaceMode.TARGET,
      targetId: 'id-1',
    });
  });

  it('has the devices of its block volumes', async () => {
    const { config } = await configs().container(request(makePod()));
    expect(config.devices).toEqual([{ containerPath: '/dev/x', hostPath: '/v/x', permissions: 'mrw' }]);
  });

  it('keeps values of the environment out of the timeline', async () => {
    await configs().container(
      request(makePod({ containers: [{ ...app, env: [{ name: 'A', value: 'hush' }], args: [] }] })),
    );
    expect(JSON.stringify(timeline.ofPod('u1'))).not.toContain('hush');
  });
});

describe('sources of the environment', () => {
  const withEnv = (env: Container['env']): Pod => makePod({ containers: [{ ...app, env, args: [] }] });

  it('without an API server there are no config maps, even optional ones', async () => {
    const pod = withEnv([
      { name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k', optional: true } } },
    ]);
    await expect(configs().container(request(pod))).rejects.toThrow(
      "couldn't get configMap shop/cm, no kubeClient defined",
    );
  });

  it('objects are fetched from the namespace of the pod', async () => {
    const env = {
      secret: async (namespace: string, name: string) => ({
        metadata: {},
        data: { k: Buffer.from(`${namespace}/${name}`).toString('base64') },
      }),
    };
    const pod = withEnv([{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]);
    const { config } = await configs({}, { env }).container(request(pod));
    expect(config.envs).toEqual([{ key: 'A', value: Buffer.from('shop/s') }]);
  });

  it('API pods wait for services, static pods do not', async () => {
    const env = { services: { hasSynced: () => false, list: () => [] } };
    await expect(configs({}, { env }).container(request(makePod()))).rejects.toThrow(
      'services have not yet been read at least once, cannot construct envvars',
    );
    const pod = makePod();
    pod.metadata.annotations = { 'kubernetes.io/config.source': 'file' };
    await expect(configs({}, { env }).container(request(pod))).resolves.toBeDefined();
  });

  it('env files are read from their volume', async () => {
    await writeFile(join(root, 'env'), "K='v'\n");
    const env = { volumeDirectory: (_pod: Pod, name: string) => (name === 'cfg' ? root : undefined) };
    const ref = (volumeName: string) => ({ fileKeyRef: { volumeName, path: 'env', key: 'K' } });
    const { config } = await configs({}, { env }).container(
      request(withEnv([{ name: 'A', valueFrom: ref('cfg') }])),
    );
    expect(config.envs).toEqual([{ key: 'A', value: Buffer.from('v') }]);
    await expect(
      configs({}, { env }).container(request(withEnv([{ name: 'A', valueFrom: ref('none') }]))),
    ).rejects.toThrow('cannot find the volume "none" referenced by FileKeyRef');
  });
});

describe('imageUserFromRuntime', () => {
  const rows: [rule: string, image: object | undefined, expected: object][] = [
    ['a number', { uid: { value: 5 } }, { uid: 5 }],
    ['root is a number too', { uid: { value: 0 } }, { uid: 0 }],
    ['a name', { username: 'nobody' }, { username: 'nobody' }],
    ['neither', {}, { username: '' }],
    ['no image', undefined, { username: '' }],
  ];
  it.each(rows)('%s', async (_rule, image, expected) => {
    const lookup = imageUserFromRuntime({ imageStatus: async () => ImageStatusResponse.create({ image }) });
    expect(await lookup('example/app:1')).toEqual(expected);
  });
});
