/** What real containers find around them: variables, names, resolver and hosts files, terminals. */
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../src/kube/index.js';
import { busybox, forever, manifest, shell, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({
    config: { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.test' },
    flags: ['--node-ip', '192.0.2.7'],
  });
  await node.start();
});
afterAll(() => node.stop());

const app = (more: Partial<Container> = {}): Container => ({
  name: 'app',
  image: busybox,
  command: forever,
  ...more,
});

async function run(name: string, spec: Partial<PodSpec>, metadata: object = {}): Promise<string> {
  const pod = manifest(name, { spec: { containers: [app()], ...spec } });
  await node.apply(`${name}.yaml`, { ...pod, metadata: { ...pod.metadata, ...metadata } });
  const status = await node.untilReady(name);
  return status.podIP ?? '';
}

async function variables(name: string): Promise<Record<string, string>> {
  const text = await node.exec(name, 'app', 'cat', '/proc/1/environ');
  return Object.fromEntries(
    text
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}

describe.concurrent('variables', () => {
  it('their order, expansions and what the pod is', async () => {
    const podIp = await run(
      'vars',
      {
        containers: [
          app({
            resources: {
              limits: { cpu: '1500m', memory: '64Mi' },
              requests: { cpu: '250m', memory: '32Mi' },
            },
            env: [
              { name: 'EARLY', value: 'a $(LATE) $(UNKNOWN) $$(EARLY)' },
              { name: 'LATE', value: 'b' },
              { name: 'AFTER', value: '<$(LATE)>' },
              { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
              { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
              { name: 'TEAM', valueFrom: { fieldRef: { fieldPath: "metadata.labels['team']" } } },
              { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
              { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              { name: 'HOST_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
              { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
              {
                name: 'MILLIS',
                valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } },
              },
              {
                name: 'MEBI',
                valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } },
              },
            ],
          }),
        ],
      },
      { labels: { team: 'x-y' } },
    );
    expect(await variables('vars')).toMatchObject({
      EARLY: 'a $(LATE) $(UNKNOWN) $(EARLY)',
      LATE: 'b',
      AFTER: '<b>',
      NAME: 'vars-node1',
      NAMESPACE: 'default',
      TEAM: 'x-y',
      NODE: 'node1',
      POD_IP: podIp,
      HOST_IP: '192.0.2.7',
      CPUS: '2',
      MILLIS: '250',
      MEBI: '64',
    });
  });

  it('command and args are expanded with them', async () => {
    await run('args', {
      containers: [
        app({
          env: [{ name: 'WHO', value: 'world' }],
          command: ['sh', '-c', 'echo "$0 $@" > /tmp/said; exec sleep 1000'],
          args: ['hello', '$(WHO)', '$(NOBODY)', '$$(WHO)'],
        }),
      ],
    });
    expect(await node.exec('args', 'app', 'cat', '/tmp/said')).toBe('hello world $(NOBODY) $(WHO)\n');
  });

  it('a reference that cannot be resolved keeps the container from starting', async () => {
    const env = [
      { name: 'X', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', containerName: 'nobody' } } },
    ];
    await node.apply('unresolved.yaml', manifest('unresolved', { spec: { containers: [app({ env })] } }));
    const status = await node.until(
      'unresolved',
      'is refused',
      (one) => one.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(status.containerStatuses?.[0]?.state?.waiting?.message).toContain('container nobody not found');
    await node.remove('unresolved.yaml');
  });
});

describe.concurrent('names', () => {
  it.each<[string, Partial<PodSpec>, string, (ip: string) => string]>([
    ['plain', {}, 'plain-node1', (ip) => `${ip}\tplain-node1\n`],
    [
      'named',
      { hostname: 'web', subdomain: 'shop' },
      'web',
      (ip) => `${ip}\tweb.shop.default.svc.cluster.test\tweb\n`,
    ],
    [
      'fqdn',
      { hostname: 'web', subdomain: 'shop', setHostnameAsFQDN: true },
      'web.shop.default.svc.cluster.test',
      (ip) => `${ip}\tweb.shop.default.svc.cluster.test\tweb\n`,
    ],
    ['override', { hostnameOverride: 'my.name', subdomain: 'shop' }, 'my.name', (ip) => `${ip}\tmy.name\n`],
    [
      'aliases',
      { hostAliases: [{ ip: '10.1.2.3', hostnames: ['db', 'db.local'] }] },
      'aliases-node1',
      (ip) => `${ip}\taliases-node1\n\n# Entries added by HostAliases.\n10.1.2.3\tdb\tdb.local\n`,
    ],
  ])('%s', async (name, spec, hostname, hostsEnd) => {
    const podIp = await run(name, spec);
    expect(await node.exec(name, 'app', 'hostname')).toBe(`${hostname}\n`);
    const hosts = await node.exec(name, 'app', 'cat', '/etc/hosts');
    expect(hosts.startsWith('# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n')).toBe(true);
    expect(hosts.endsWith(hostsEnd(podIp))).toBe(true);
  });

  it('a name that is too long for the kernel is told', async () => {
    const spec = { hostname: 'a'.repeat(40), subdomain: 'shop', setHostnameAsFQDN: true };
    await node.apply('long.yaml', manifest('long', { spec }));
    await node.until('long', 'is told', () => node.logOf('long', 'event.FailedCreatePodSandBox').length > 0);
    expect(node.logOf('long', 'event.FailedCreatePodSandBox')[0]).toContain(
      'failed to construct FQDN from pod hostname and cluster domain, FQDN',
    );
    await node.remove('long.yaml');
  });
});

describe.concurrent('the resolver', () => {
  const resolv = async (name: string): Promise<string[]> =>
    (await node.exec(name, 'app', 'cat', '/etc/resolv.conf')).trim().split('\n');

  it('of the cluster', async () => {
    await run('dns-cluster', {});
    const lines = await resolv('dns-cluster');
    expect(lines[0]).toMatch(/^search default\.svc\.cluster\.test svc\.cluster\.test cluster\.test/);
    expect(lines).toContain('nameserver 10.96.0.10');
    expect(lines).toContain('options ndots:5');
  });

  it('of the pod alone', async () => {
    await run('dns-none', {
      dnsPolicy: 'None',
      dnsConfig: {
        nameservers: ['192.0.2.53'],
        searches: ['example.test'],
        options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }],
      },
    });
    expect((await resolv('dns-none')).sort()).toEqual([
      'nameserver 192.0.2.53',
      'options ndots:2 rotate',
      'search example.test',
    ]);
  });
});

it('host ports lead to the pod', async () => {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  await run('ports', {
    containers: [
      app({
        command: shell('mkdir -p /tmp/w; echo hi > /tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w'),
        ports: [{ containerPort: 8080, hostPort: port }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });
  const { containers } = await node.cri.listContainers({});
  const mine = containers.find(({ labels }) => labels['io.kubernetes.pod.name'] === 'ports-node1');
  const { info } = await node.cri.podSandboxStatus({ podSandboxId: mine?.podSandboxId ?? '', verbose: true });
  expect(JSON.parse(info.info ?? '{}').config.port_mappings).toEqual([
    { container_port: 8080, host_port: port },
  ]);
  const own = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
  expect(await (await fetch(`http://${own}:${port}/`)).text()).toBe('hi\n');
});

it('a terminal and an input where they are asked for', async () => {
  await run('terminal', {
    containers: [
      app({ name: 'app', tty: true, stdin: true, command: shell('tty; exec sleep 1000') }),
      app({ name: 'plain' }),
    ],
  });
  expect(await node.exec('terminal', 'app', 'readlink', '/proc/1/fd/0')).toMatch(
    /^\/dev\/(pts\/\d+|console)/,
  );
  expect(await node.exec('terminal', 'plain', 'readlink', '/proc/1/fd/0')).toBe('/dev/null\n');
});
