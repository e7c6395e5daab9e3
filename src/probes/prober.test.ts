import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { CriError, type CriRuntime } from '../cri/index.js';
import { HttpGetError } from '../http-get/index.js';
import type { Container, Probe } from '../kube/index.js';
import { Timeline } from '../timeline/index.js';
import type { ProbeNetwork } from './contracts.js';
import { type ProbeProtocols, Prober } from './prober.js';

interface Setting {
  readonly probe: Probe;
  readonly container?: Partial<Container>;
  readonly exec?: CriRuntime['execSync'];
  readonly network?: Partial<ProbeNetwork>;
  readonly sidecar?: boolean;
  readonly protocols?: ProbeProtocols;
  readonly clock?: VirtualClock;
}

const silent: ProbeNetwork = {
  http: () => Promise.reject(new HttpGetError('no http')),
  tcp: () => Promise.reject(new Error('no tcp')),
  grpc: () => Promise.resolve({ kind: 'no-connection' }),
};

async function run({
  probe,
  container = {},
  exec,
  network = {},
  sidecar = false,
  protocols,
  clock = new VirtualClock(),
}: Setting) {
  const timeline = new Timeline({ clock });
  const calls: unknown[] = [];
  const prober = new Prober({
    clock,
    timeline,
    cri: {
      execSync: (request, options) => {
        calls.push([request, options?.timeoutMs]);
        return exec?.(request, options) ?? Promise.reject(new CriError('Unimplemented', 'no exec'));
      },
    },
    network: { ...silent, ...network },
    ...(protocols && { protocols }),
    expand: (text, lookup) => text.replace(/\$\((\w+)\)/g, (whole, name) => lookup(name) ?? whole),
  });
  const probed: Container = { name: 'app', livenessProbe: probe, ...container };
  const verdict = await prober.run(
    {
      kind: 'liveness',
      pod: {
        metadata: { name: 'a', namespace: 'ns', uid: 'u1' },
        spec: sidecar
          ? { containers: [{ name: 'main' }], initContainers: [probed] }
          : { containers: [probed] },
      },
      status: { podIP: '10.0.0.9' },
      container: probed,
      containerId: 'c1',
    },
    new AbortController().signal,
  );
  const events = timeline
    .ofPod('u1')
    .map(({ event, message }) => `${event?.type} ${event?.reason} ${event?.fieldPath}: ${message}`);
  return { verdict, events, calls };
}

const exited =
  (exitCode: number, stdout = '', stderr = ''): CriRuntime['execSync'] =>
  async () => ({ exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) });
const exec: Probe = { exec: { command: ['check', '$(A)'] }, timeoutSeconds: 3 };
const about = 'Warning Unhealthy spec.containers{app}:';

describe('protocols that a gate lets through', () => {
  it.each([
    ['HTTP2', true, true],
    ['HTTP2', false, undefined],
    ['HTTP1', true, undefined],
    [undefined, true, undefined],
  ])('httpGet with %s and the gate %s', async (protocol, h2c, expected) => {
    const seen: unknown[] = [];
    await run({
      probe: { httpGet: { port: 80, ...(protocol && { protocol }) } },
      protocols: { h2c, grpcTls: false },
      network: {
        http: async ({ isPlainHttp2 }) => {
          seen.push(isPlainHttp2);
          return { status: 200, body: '' };
        },
      },
    });
    expect(seen).toEqual([expected]);
  });

  it.each([
    ['TLS', true, true],
    ['TLS', false, undefined],
    ['Plaintext', true, undefined],
    [undefined, true, undefined],
  ])('grpc with %s and the gate %s', async (mode, grpcTls, expected) => {
    const seen: unknown[] = [];
    await run({
      probe: { grpc: { port: 80, ...(mode && { mode }) } },
      protocols: { h2c: false, grpcTls },
      network: {
        grpc: async ({ isTls }) => {
          seen.push(isTls);
          return { kind: 'status', status: 'SERVING' };
        },
      },
    });
    expect(seen).toEqual([expected]);
  });
});

describe('an exec probe', () => {
  it('gives the runtime the timeout plus a margin to report it', async () => {
    const { verdict, events, calls } = await run({
      probe: exec,
      exec: exited(0, 'fine'),
      container: { env: [{ name: 'A', value: '1' }] },
    });
    expect(calls).toEqual([[{ containerId: 'c1', cmd: ['check', '1'], timeout: 3 }, 4_000]]);
    expect(verdict).toEqual({ result: 'success', output: 'fine' });
    expect(events).toEqual([]);
  });

  it("fails with at most 10240 bytes of the command's output", async () => {
    const { verdict, events } = await run({ probe: exec, exec: exited(1, 'x'.repeat(10_238), 'errors') });
    const output = `${'x'.repeat(10_238)}er`;
    expect(verdict).toEqual({ result: 'failure', output });
    expect(events).toEqual([`${about} Liveness probe failed: ${output}`]);
  });

  it('fails at the timeout', async () => {
    const message = 'command timed out: "check $(A)" timed out after 3s';
    const { verdict, calls } = await run({
      probe: exec,
      exec: () => Promise.reject(new CriError('DeadlineExceeded', 'late', { message })),
    });
    expect(verdict).toEqual({ result: 'failure', output: message });
    expect(calls).toHaveLength(1);
  });

  it('has no verdict after three attempts that could not run', async () => {
    const { verdict, events, calls } = await run({ probe: exec });
    expect(verdict).toBeUndefined();
    expect(calls).toHaveLength(3);
    expect(events).toEqual([
      `${about} Liveness probe errored and resulted in unknown state: rpc error: code = Unimplemented desc = no exec`,
    ]);
  });

  it('uses the first attempt that could run', async () => {
    let attempts = 0;
    const { verdict, events, calls } = await run({
      probe: exec,
      exec: (request) =>
        ++attempts < 3 ? Promise.reject(new CriError('Unavailable', 'away')) : exited(0)(request),
    });
    expect(verdict?.result).toBe('success');
    expect(calls).toHaveLength(3);
    expect(events).toEqual([]);
  });
});

describe('other probes', () => {
  it('exec goes before httpGet, httpGet before tcpSocket, tcpSocket before grpc', async () => {
    const all: Probe = {
      ...exec,
      httpGet: { port: 80 },
      tcpSocket: { port: 81 },
      grpc: { port: 82 },
    };
    const { exec: _exec, ...withoutExec } = all;
    const { httpGet: _http, ...withoutHttp } = withoutExec;
    const { tcpSocket: _tcp, ...withoutTcp } = withoutHttp;
    expect((await run({ probe: all, exec: exited(1, 'exec') })).verdict?.output).toBe('exec');
    expect((await run({ probe: withoutExec })).verdict?.output).toBe('no http');
    expect((await run({ probe: withoutHttp })).verdict?.output).toBe('no tcp');
    expect((await run({ probe: withoutTcp })).verdict?.output).toBe(
      'timeout: failed to connect service "10.0.0.9:82" within 3s: context deadline exceeded',
    );
  });

  it('without a handler there is nothing to run', async () => {
    expect((await run({ probe: {} })).events).toEqual([
      `${about} Liveness probe errored and resulted in unknown state: missing probe handler for a_ns(u1):app`,
    ]);
  });

  it('an unknown port is an error', async () => {
    const { verdict, events } = await run({ probe: { tcpSocket: { port: 'web' } } });
    expect(verdict).toBeUndefined();
    expect(events[0]).toContain('unknown state: port "web" not found');
  });

  it('a response that breaks off is an error after three attempts', async () => {
    let attempts = 0;
    const http = (): Promise<never> => {
      attempts++;
      return Promise.reject(new Error('unexpected EOF'));
    };
    const { verdict, events } = await run({ probe: { httpGet: { port: 80 } }, network: { http } });
    expect(verdict).toBeUndefined();
    expect(attempts).toBe(3);
    expect(events).toEqual([`${about} Liveness probe errored and resulted in failure state: unexpected EOF`]);
  });

  it("each attempt has the probe's full timeout", async () => {
    const limits: number[] = [];
    await run({
      probe: { tcpSocket: { port: 81, host: 'db' }, timeoutSeconds: 7 },
      network: {
        tcp: async (address, { timeoutMs }) => {
          expect(address).toEqual({ host: 'db', port: 81 });
          limits.push(timeoutMs);
        },
      },
    });
    expect(limits).toEqual([7_000]);
  });

  it('events about sidecars name their field path', async () => {
    const { events } = await run({
      probe: { tcpSocket: { port: 81 } },
      sidecar: true,
      container: { restartPolicy: 'Always' },
    });
    expect(events).toEqual(['Warning Unhealthy spec.initContainers{app}: Liveness probe failed: no tcp']);
  });
});

describe('a delay of the agent', () => {
  const http: Probe = { httpGet: { port: 80 }, timeoutSeconds: 1 };

  /** A server whose response does not arrive in time; the agent is busy for `busyMs` of each attempt. */
  async function late(probe: Probe, { tookMs = 1000, busyMs = 0, attempts = 9 }) {
    const clock = new VirtualClock();
    let busy = 0;
    let made = 0;
    const wait = async (): Promise<void> => {
      made++;
      if (made > attempts) return;
      busy += busyMs;
      await clock.advance(tookMs);
      throw new HttpGetError('context deadline exceeded');
    };
    const outcome = await run({
      clock,
      probe,
      network: {
        http: async () => {
          await wait();
          return { status: 200, body: 'ok' };
        },
        tcp: wait,
        busyMs: () => busy,
      },
    });
    return { ...outcome, made };
  }

  it('fails a container that is late by itself', async () => {
    const { verdict, made } = await late(http, {});
    expect({ verdict, made }).toEqual({
      verdict: { result: 'failure', output: 'context deadline exceeded' },
      made: 1,
    });
  });
  it.each([
    ['busy', http, { busyMs: 700 }],
    ['a late timer', http, { tookMs: 1500 }],
    ['tcp', { tcpSocket: { port: 80 } }, { busyMs: 700 }],
  ])('says nothing about the container: %s', async (_, probe, setting) => {
    const { verdict, made, events } = await late(probe, setting);
    expect({ verdict, made }).toEqual({ verdict: undefined, made: 3 });
    expect(events).toEqual([expect.stringContaining('the liveness probe does not count: it took')]);
  });
  it('is over at the next attempt', async () => {
    const { verdict, events } = await late(http, { busyMs: 700, attempts: 1 });
    expect({ verdict, events }).toEqual({ verdict: { result: 'success', output: 'ok' }, events: [] });
  });
});
