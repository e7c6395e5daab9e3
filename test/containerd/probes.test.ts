/** Probes of each kind against real containers. */

import { readdir, readFile, readlink } from 'node:fs/promises';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodStatus, Probe } from '../../src/kube/index.js';
import { freePort } from '../env/index.js';
import { busybox, eventually, forever, isReady, manifest, shell, TestNode } from './agent.js';

let node: TestNode;
let startedMs = 0;
beforeAll(async () => {
  node = await TestNode.create();
  await node.start();
  startedMs = Date.now();
});
afterAll(() => node.stop());

const everySecond = (probe: Partial<Probe>): Probe => ({ periodSeconds: 1, failureThreshold: 2, ...probe });
const execProbe = (script: string, more: Partial<Probe> = {}): Probe =>
  everySecond({ exec: { command: shell(script) }, ...more });

const app = (probes: Partial<Container>, command = forever): Container => ({
  name: 'app',
  image: busybox,
  command: [...command],
  ...probes,
});

/** Serves the files of /www on a port. */
const webServer = (port: number, before = ''): string[] =>
  shell(`mkdir -p /www; echo fine > /www/ok; ${before} exec httpd -f -p ${port} -h /www`);

async function run(name: string, container: Container, spec = {}): Promise<void> {
  await node.apply(`${name}.yaml`, manifest(name, { spec: { containers: [container], ...spec } }));
}

async function exec(name: string, script: string): Promise<string> {
  const [containerId = ''] = await node.running(name);
  const { stdout } = await node.cri.execSync({ containerId, cmd: shell(script), timeout: 10 });
  return Buffer.from(stdout).toString();
}

const first = (status: PodStatus) => status.containerStatuses?.[0];
const told = (name: string, what: string): string => node.logOf(name, what).join('\n');

describe.concurrent('liveness', () => {
  it('restarts a container whose command fails, with the grace of the probe', async () => {
    const stubborn = shell("trap '' TERM; touch /alive; while true; do sleep 0.1; done");
    const livenessProbe = execProbe('cat /alive || { echo it is gone; exit 3; }', {
      terminationGracePeriodSeconds: 2,
    });
    await run('dies', app({ livenessProbe }, stubborn), { terminationGracePeriodSeconds: 300 });
    await node.untilReady('dies');
    const [before = ''] = await node.running('dies');
    await exec('dies', 'rm /alive');
    const status = await node.until('dies', 'was restarted', (one) => first(one)?.restartCount === 1, 30_000);
    const seen = `${JSON.stringify(first(status))}\n${node.logOf('dies').join('\n')}`;
    expect(first(status)?.lastState?.terminated, seen).toMatchObject({
      exitCode: 137,
      reason: 'Error',
      containerID: `containerd://${before}`,
    });
    expect(told('dies', 'event.Unhealthy')).toContain('Liveness probe failed: ');
    expect(told('dies', 'event.Unhealthy')).toContain('it is gone');
    expect(told('dies', 'event.Killing')).toContain('Container app failed liveness probe, will be restarted');
    await node.untilReady('dies');
    await node.remove('dies.yaml');
  });

  it('ends a command that hangs, and leaves no process of it', async () => {
    await run('hangs', app({ livenessProbe: execProbe('sleep 3571', { failureThreshold: 1 }) }));
    await node.until('hangs', 'was restarted', (one) => (first(one)?.restartCount ?? 0) > 0, 30_000);
    expect(told('hangs', 'event.Unhealthy')).toContain(
      'Liveness probe failed: command timed out: "sh -c sleep 3571" timed out after 1s',
    );
    await node.remove('hangs.yaml');
    await node.untilGone('hangs');
    await eventually(
      'no command is left',
      async () => !(await commandLines()).some((line) => line.includes('3571')),
    );
  });

  it('restarts a container that stops listening, by tcpSocket and a named port', async () => {
    const container = app(
      {
        livenessProbe: everySecond({ tcpSocket: { port: 'web' } }),
        ports: [{ name: 'web', containerPort: 8080 }],
      },
      shell(
        "trap 'exit 0' TERM; [ -e /tmp/second ] || httpd -p 8080; touch /tmp/second; while true; do sleep 0.1; done",
      ),
    );
    await run('listens', container);
    await node.untilReady('listens');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(first((await node.status('listens'))!)?.restartCount).toBe(0);
    await exec('listens', 'killall httpd');
    const status = await node.until(
      'listens',
      'was restarted',
      (one) => first(one)?.restartCount === 1,
      30_000,
    );
    const seen = `${JSON.stringify(first(status))}\n${node.logOf('listens').join('\n')}`;
    expect(first(status)?.lastState?.terminated, seen).toMatchObject({ exitCode: 0 });
    expect(told('listens', 'event.Unhealthy')).toMatch(
      /Liveness probe failed: dial tcp 10\.88\.\d+\.\d+:8080: connect: connection refused/,
    );
    await node.remove('listens.yaml');
  });
});

describe.concurrent('readiness', () => {
  it('follows what httpGet finds, and restarts nothing', async () => {
    await run(
      'web',
      app({ readinessProbe: everySecond({ httpGet: { path: '/ok', port: 8080 } }) }, webServer(8080)),
    );
    const ready = await node.untilReady('web');
    expect(first(ready)).toMatchObject({ started: true, ready: true, restartCount: 0 });
    await exec('web', 'mv /www/ok /www/away');
    const unready = await node.until('web', 'is unready', (one) => !isReady(one), 15_000);
    expect(unready.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [app]',
    });
    expect(told('web', 'event.Unhealthy')).toContain(
      'Readiness probe failed: HTTP probe failed with statuscode: 404',
    );
    await exec('web', 'mv /www/away /www/ok');
    const again = await node.untilReady('web', 15_000);
    expect(first(again)?.restartCount).toBe(0);
    const [, uid = ''] = /pod_uid="([^"]+)"/.exec(await node.get('/metrics/probes')) ?? [];
    expect(uid).not.toBe('');
    expect(await node.get('/metrics/probes')).toMatch(
      /^prober_probe_total\{probe_type="Readiness",result="failed",container="app",pod="web-node1",namespace="default",pod_uid="[0-9a-f]{32}"\} [1-9]/m,
    );
    await node.remove('web.yaml');
    await node.untilGone('web');
    await eventually(
      'its metrics are gone',
      async () => !(await node.get('/metrics/probes')).includes('web-node1'),
    );
  });

  it('still counts while the pod is being stopped; liveness does not', async () => {
    const slow = shell("trap 'touch /going; sleep 8; exit 0' TERM; while true; do sleep 0.1; done");
    const probe = execProbe('test ! -e /going');
    await run('leaves', app({ readinessProbe: probe, livenessProbe: probe }, slow), {
      terminationGracePeriodSeconds: 30,
    });
    await node.untilReady('leaves');
    await node.remove('leaves.yaml');
    await eventually(
      'its readiness has failed',
      async () => told('leaves', 'probe.readiness').includes('readiness success → failure'),
      8_000,
    );
    expect(await node.running('leaves')).toHaveLength(1);
    await node.untilGone('leaves');
    // A run that was under way when the pod was told to stop comes to its end; there is no other.
    expect(told('leaves', 'event.Unhealthy').split('Liveness').length).toBeLessThanOrEqual(2);
    expect(told('leaves', 'event.Killing')).not.toContain('liveness');
  });

  it('asks a gRPC server for the health of a service', async () => {
    const { port, health, close } = await startHealthServer();
    try {
      await run('grpc', app({ readinessProbe: everySecond({ grpc: { port, service: 'db' } }) }), {
        hostNetwork: true,
      });
      await node.untilReady('grpc');
      health.status = 2;
      await node.until('grpc', 'is unready', (one) => !isReady(one), 15_000);
      expect(told('grpc', 'event.Unhealthy')).toContain(
        'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
      );
      expect(health.services).toContain('db');
    } finally {
      await node.remove('grpc.yaml');
      close();
    }
  });
});

describe('many probes', () => {
  it('leave no connection behind', async () => {
    await run(
      'busy',
      app(
        {
          readinessProbe: everySecond({ httpGet: { path: '/ok', port: 8080 } }),
          livenessProbe: everySecond({ tcpSocket: { port: 8080 } }),
        },
        webServer(8080),
      ),
    );
    const { podIP = '' } = await node.untilReady('busy');
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    const open = await eventuallyNoSockets(podIP);
    expect(open).toEqual([]);
    await node.remove('busy.yaml');
  });
});

describe('startup', () => {
  it('keeps the other probes back until it succeeds', async () => {
    // First probes are spread over their period while the agent is younger than that.
    const readinessPeriodSeconds = 20;
    const youngMs = startedMs + (readinessPeriodSeconds + 1) * 1_000 - Date.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, youngMs)));
    const container = app({
      startupProbe: execProbe('test -e /up', { failureThreshold: 100 }),
      livenessProbe: execProbe('echo run >> /live; test -e /up', { failureThreshold: 1 }),
      readinessProbe: execProbe('true', { periodSeconds: readinessPeriodSeconds }),
    });
    await run('rises', container);
    await node.until('rises', 'runs', (one) => first(one)?.state?.running !== undefined);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(first((await node.status('rises'))!)).toMatchObject({
      started: false,
      ready: false,
      restartCount: 0,
    });
    expect(await exec('rises', 'cat /live || true')).toBe('');
    await exec('rises', 'touch /up');
    // The next readiness probe by itself would be farther away.
    const status = await node.untilReady('rises', 10_000);
    expect(first(status)).toMatchObject({ started: true, restartCount: 0 });
    await eventually('liveness is probed', async () => (await exec('rises', 'cat /live || true')) !== '');
    await node.remove('rises.yaml');
  });
});

describe('an agent that is killed', () => {
  it('probes on when it is back, and restarts nothing for having been away', async () => {
    const probe = execProbe('echo run >> /runs');
    await run('stays', app({ readinessProbe: probe, livenessProbe: probe, startupProbe: probe }));
    await node.untilReady('stays');
    const before = await node.running('stays');
    await node.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const runsBefore = (await exec('stays', 'cat /runs')).length;
    await node.start();
    const status = await node.untilReady('stays', 15_000);
    expect(first(status)).toMatchObject({ started: true, restartCount: 0 });
    await eventually(
      'it is probed again',
      async () => (await exec('stays', 'cat /runs')).length > runsBefore + 12,
    );
    expect(await node.running('stays')).toEqual(before);
    await node.remove('stays.yaml');
    await node.untilGone('stays');
  });
});

/** Sockets of the agent that are connected to the address; a probe that is under way right now may have one. */
async function eventuallyNoSockets(podIp: string): Promise<string[]> {
  let open: string[] = [];
  for (let turn = 0; turn < 10; turn++) {
    open = await agentSockets(podIp);
    if (open.length === 0) return open;
    await new Promise((resolve) => setTimeout(resolve, 70));
  }
  return open;
}

async function agentSockets(podIp: string): Promise<string[]> {
  const hex = podIp
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0').toUpperCase())
    .join('');
  const inodes = (await readFile('/proc/net/tcp', 'utf8'))
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote]) => remote?.startsWith(`${hex}:`))
    .map((fields) => `socket:[${fields[9]}]`);
  const dir = `/proc/${node.pid}/fd`;
  const links = await Promise.all((await readdir(dir)).map((fd) => readlink(`${dir}/${fd}`).catch(() => '')));
  return links.filter((link) => inodes.includes(link));
}

async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) =>
      (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '),
    ),
  );
}

/** A health service on loopback, where probes of pods on the host's network find it. */
async function startHealthServer() {
  const health = { status: 1, services: [] as string[] };
  const server = new GrpcServer();
  server.addService(
    {
      Check: {
        path: '/grpc.health.v1.Health/Check',
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: Buffer) => value,
        requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
        responseSerialize: (value: { status: number }) => Buffer.from([8, value.status]),
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    },
    {
      Check: (
        call: { request: { service: string } },
        callback: (error: null, value: { status: number }) => void,
      ) => {
        health.services.push(call.request.service);
        callback(null, { status: health.status });
      },
    },
  );
  const port = await freePort();
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`0.0.0.0:${port}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
  return { port, health, close: () => server.forceShutdown() };
}
