import { afterEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import { type HostCall, simulatedHost } from '../../host/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { createClientCertificateMetrics, createServingCertificateMetrics } from '../metrics.js';
import { ClientCertificateLost, managedCredentials, watchClientCertificate } from './client.js';
import { CertificateManager, type CertificateManagerOptions } from './manager.js';
import { nodeSubject } from './request.js';
import { FileServingCertificate, SignedServingCertificate, selfSignedFiles } from './serving.js';
import { CertificateStore, recordSetAside } from './store.js';
import { decide, signAll, signingRequests, testPair } from './test-signer.js';

const hour = 3_600_000;
const started: TaskGroup[] = [];
afterEach(async () => {
  for (const tasks of started.splice(0)) await tasks.stop();
});

function world() {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  const timeline = new Timeline({ clock });
  const host = simulatedHost();
  const { files } = host;
  const failures: unknown[] = [];
  const tasks = new TaskGroup({ onError: (_task, error) => failures.push(error) });
  started.push(tasks);
  const store = new CertificateStore({
    files,
    clock,
    directory: '/pki',
    name: 'kubelet-client',
    onSetAside: (file) => recordSetAside(timeline, file),
  });
  const manager = (more: Partial<CertificateManagerOptions> = {}) =>
    new CertificateManager({
      clock,
      timeline,
      random: () => 0.5,
      purpose: 'client',
      store,
      template: () => ({ subject: nodeSubject('n1') }),
      api: () => api,
      ...more,
    });
  const text = async (file: string): Promise<string> => Buffer.from(await files.readFile(file)).toString();
  return {
    clock,
    api,
    timeline,
    host,
    files,
    tasks,
    failures,
    store,
    manager,
    text,
    sign: (lifeMs = 10 * hour) => tasks.start('signer', (signal) => signAll(api, clock, lifeMs, signal)),
    start: (made: { run(signal: AbortSignal): Promise<void> }) =>
      tasks.start('manager', (signal) => made.run(signal)),
  };
}

describe('the store', () => {
  it('keeps each pair in its own file and a link to the last', async () => {
    const { clock, files, store, text } = world();
    expect(await store.current()).toBeUndefined();
    const first = testPair(clock.now());
    await store.update(first.certificatePem, first.keyPem);
    expect(await files.readlink('/pki/kubelet-client-current.pem')).toBe(
      '/pki/kubelet-client-2026-01-01-00-00-00.pem',
    );
    expect((await files.stat('/pki/kubelet-client-current.pem')).mode).toBe(0o600);
    expect(await text('/pki/kubelet-client-current.pem')).toBe(first.certificatePem + first.keyPem);
    await clock.advance(1000);
    const second = testPair(clock.now());
    await store.update(second.certificatePem, second.keyPem);
    expect(await files.readlink('/pki/kubelet-client-current.pem')).toBe(
      '/pki/kubelet-client-2026-01-01-00-00-01.pem',
    );
    expect((await store.current())?.keyPem).toBe(second.keyPem);
    expect((await files.readdir('/pki')).filter((name) => name.includes('updated'))).toEqual([]);
  });
  it('never overwrites a file in place of its link', async () => {
    const { clock, files, store } = world();
    await files.mkdir('/pki', { recursive: true });
    await files.writeFile('/pki/kubelet-client-updated.pem', 'mine');
    const { certificatePem, keyPem } = testPair(clock.now());
    await expect(store.update(certificatePem, keyPem)).rejects.toThrow('symbolic link');
  });
  it('refuses a mismatched pair', async () => {
    const { clock, store } = world();
    const { certificatePem } = testPair(clock.now());
    await expect(store.update(certificatePem, testPair(0).keyPem)).rejects.toThrow('does not match');
  });
  it('uses the configured files, then the plain ones', async () => {
    const { clock, files, store } = world();
    const [plain, given] = [testPair(clock.now()), testPair(clock.now())];
    await files.mkdir('/pki', { recursive: true });
    await files.writeFile('/pki/kubelet-client.crt', plain.certificatePem);
    await files.writeFile('/pki/kubelet-client.key', plain.keyPem);
    await files.writeFile('/given.crt', given.certificatePem);
    await files.writeFile('/given.key', given.keyPem);
    const fallback = { certificateFile: '/given.crt', keyFile: '/given.key' };
    const configured = new CertificateStore({
      files,
      clock,
      directory: '/pki',
      name: 'kubelet-client',
      fallback,
      onSetAside: () => {},
    });
    expect([(await store.current())?.keyPem, (await configured.current())?.keyPem]).toEqual([
      plain.keyPem,
      given.keyPem,
    ]);
  });
});

describe('the manager', () => {
  it.each(['ENOSPC', 'EIO', 'EROFS', 'EMFILE'])(
    'uses a certificate that %s keeps from being stored, and stores it later',
    async (code) => {
      const test = world();
      let isFailing = true;
      const isRefused = ({ changing, path }: HostCall): boolean =>
        isFailing && changing && path.startsWith('/pki');
      test.host.inject({ at: isRefused, when: 'before', effect: { kind: 'fail', code } });
      const manager = test.manager();
      await manager.load();
      test.sign();
      test.start(manager);
      await test.clock.advance(600_000);
      expect(manager.current).toBeDefined();
      const problems = () => test.timeline.ofNode().filter(({ kind }) => kind === 'problem');
      expect(problems()).toHaveLength(1);
      expect(problems()[0]?.message).toContain(code);
      isFailing = false;
      await test.clock.advance(600_000);
      expect((await test.store.current())?.keyPem).toBe(manager.current?.keyPem);
      expect(test.timeline.ofNode().at(-1)?.message).toBe('the client certificate is stored');
    },
  );
  it('gets a first certificate and rotates it at 80 % of its lifetime', async () => {
    const test = world();
    const metrics = createServingCertificateMetrics();
    const manager = test.manager({ metrics });
    await manager.load();
    expect([manager.current, manager.ttlSeconds()]).toEqual([undefined, Number.POSITIVE_INFINITY]);
    test.sign();
    test.start(manager);
    await test.clock.advance(5_000);
    const first = manager.current;
    expect(first).toBeDefined();
    expect(manager.serverHealthy).toBe(true);
    await test.clock.advance(8 * hour - 60_000);
    expect(manager.current).toBe(first);
    await test.clock.advance(120_000);
    expect(manager.current).not.toBe(first);
    expect(manager.current?.keyPem).not.toBe(first?.keyPem);
    const { rotationAge } = metrics;
    expect([rotationAge.count(), Math.round(rotationAge.sum() / 3600)]).toEqual([1, 8]);
    expect(await signingRequests(test.api)).toHaveLength(2);
  });
  it('retries with growing delays, and knows whether the server responds', async () => {
    const test = world();
    const metrics = createClientCertificateMetrics();
    const failed = (): number => metrics.renewErrors.value();
    const manager = test.manager({ metrics });
    test.api.setReachable(false);
    test.start(manager);
    await test.clock.advance(100);
    expect([failed(), manager.serverHealthy]).toEqual([1, false]);
    await test.clock.advance(2_200);
    expect(failed()).toBe(2);
    test.api.setReachable(true);
    const forbidden = { kind: 'refuse', error: new ApiError({ code: 403, message: 'no' }) } as const;
    test.api.faults.add({ verb: 'create', fault: forbidden });
    await test.clock.advance(4_400);
    expect([failed(), manager.serverHealthy]).toEqual([3, true]);
  });
  it('a denied or deleted request ends the attempt', async () => {
    const test = world();
    test.start(test.manager());
    await test.clock.advance(100);
    const [first] = await signingRequests(test.api);
    await decide(test.api, first!.metadata.name!, 'Denied', 'not you');
    await test.clock.advance(100);
    const told = () => test.timeline.ofNode().map(({ message }) => message);
    expect(told().at(-1)).toContain(
      'certificate signing request is denied, reason: "Test", message: "not you"',
    );
    await test.clock.advance(3_000);
    const [, second] = await signingRequests(test.api);
    await test.api.delete(resources.certificateSigningRequests, { name: second!.metadata.name! });
    await test.clock.advance(100);
    expect(told().at(-1)).toContain('was deleted');
  });
  it('abandons an unsigned request after 15 minutes', async () => {
    const test = world();
    test.start(test.manager());
    await test.clock.advance(15 * 60_000 + 3_000);
    expect(await signingRequests(test.api)).toHaveLength(2);
  });
  it('stores and rotates a configured pair at once', async () => {
    const test = world();
    const bootstrap = testPair(test.clock.now());
    const manager = test.manager({ bootstrap });
    await manager.load();
    expect(manager.current?.keyPem).toBe(bootstrap.keyPem);
    test.sign();
    test.start(manager);
    await test.clock.advance(5_000);
    expect(manager.current?.keyPem).not.toBe(bootstrap.keyPem);
  });
  it('never records keys', async () => {
    const test = world();
    test.sign();
    const manager = test.manager();
    test.start(manager);
    await test.clock.advance(5_000);
    expect(manager.current).toBeDefined();
    expect(JSON.stringify(test.timeline.ofNode())).not.toContain('PRIVATE KEY');
  });
});

describe('the client certificate', () => {
  it('is used by requests as it changes; without one they carry none', async () => {
    const test = world();
    const manager = test.manager();
    const credentials = managedCredentials(manager);
    expect(await credentials.current()).toEqual({});
    test.sign();
    test.start(manager);
    await test.clock.advance(5_000);
    const credential = await credentials.current();
    expect(credential.clientCertificate?.keyPem).toBe(manager.current?.keyPem);
    expect(await credentials.current()).toBe(credential);
  });
  it('reconnects with each new certificate', async () => {
    const test = world();
    const manager = test.manager();
    let resets = 0;
    test.tasks.start('watch', (signal) =>
      watchClientCertificate({ ...test, manager, resetConnections: () => void resets++ }, signal),
    );
    test.sign();
    test.start(manager);
    await test.clock.advance(5_000);
    expect(resets).toBe(1);
    await test.clock.advance(9 * hour);
    expect(resets).toBe(2);
  });
  it('ends the agent if it expired and the server is healthy', async () => {
    const test = world();
    const manager = test.manager();
    test.sign();
    test.start(manager);
    await test.clock.advance(5_000);
    test.tasks.start('watch', (signal) =>
      watchClientCertificate({ ...test, manager, resetConnections: () => undefined }, signal),
    );
    const forbidden = { kind: 'refuse', error: new ApiError({ code: 401, message: 'no' }) } as const;
    test.api.faults.add({ verb: 'create', fault: forbidden, times: 10_000 });
    await test.clock.advance(9.9 * hour);
    expect(test.failures).toEqual([]);
    await test.clock.advance(0.2 * hour);
    expect(test.failures).toEqual([expect.any(ClientCertificateLost)]);
  }, 30_000);
});

describe('the serving certificate', () => {
  it('is requested once there is an IP, and again for a new address', async () => {
    const test = world();
    const serving = new SignedServingCertificate({
      ...test,
      random: () => 0.5,
      certDir: '/pki',
      nodeName: 'n1',
      api: () => test.api,
    });
    test.sign();
    test.start(serving);
    serving.setAddresses([{ type: 'Hostname', address: 'n1' }]);
    await test.clock.advance(5_000);
    expect([serving.current, (await signingRequests(test.api)).length]).toEqual([undefined, 0]);
    const first = { type: 'InternalIP', address: '10.0.0.5' };
    serving.setAddresses([first]);
    await test.clock.advance(5_000);
    const before = serving.current;
    expect(before).toBeDefined();
    serving.setAddresses([]);
    serving.setAddresses([first]);
    await test.clock.advance(5_000);
    expect(serving.current).toBe(before);
    serving.setAddresses([first, { type: 'InternalIP', address: 'fd00::5' }]);
    await test.clock.advance(5_000);
    expect(serving.current).not.toBe(before);
    expect(await test.text('/pki/kubelet-server-current.pem')).toContain('PRIVATE KEY');
  });
  it('creates self-signed files once', async () => {
    const test = world();
    const made = await selfSignedFiles({ ...test, certDir: '/pki', hostname: 'n1' });
    const [certificate, key] = [await test.text('/pki/kubelet.crt'), await test.text('/pki/kubelet.key')];
    expect((await test.files.stat('/pki/kubelet.crt')).mode).toBe(0o644);
    expect((await test.files.stat('/pki/kubelet.key')).mode).toBe(0o600);
    expect((await FileServingCertificate.open(made)).current.keyPem).toBe(key);
    await selfSignedFiles({ ...test, certDir: '/pki', hostname: 'n1' });
    expect(await test.text('/pki/kubelet.crt')).toBe(certificate);
    await test.files.unlink('/pki/kubelet.key');
    await expect(selfSignedFiles({ ...test, certDir: '/pki', hostname: 'n1' })).rejects.toThrow(
      'error reading /pki/kubelet.key, certificate and key must be supplied as a pair',
    );
  }, 30_000);
  it('reloads changed files, unless they do not match', async () => {
    const test = world();
    const serving = await FileServingCertificate.open(
      await selfSignedFiles({ ...test, certDir: '/pki', hostname: 'n1' }),
    );
    test.start(serving);
    const next = testPair(test.clock.now());
    const before = serving.current;
    await test.files.writeFile('/pki/kubelet.crt', next.certificatePem);
    await test.clock.advance(60_000);
    expect(serving.current).toBe(before);
    await test.files.writeFile('/pki/kubelet.key', next.keyPem);
    await test.clock.advance(60_000);
    expect(serving.current.keyPem).toBe(next.keyPem);
  });
  it('keeps what it has where files do not change in use', async () => {
    const test = world();
    const made = await selfSignedFiles({ ...test, certDir: '/pki', hostname: 'n1' });
    const serving = await FileServingCertificate.open({ ...made, reloads: false });
    test.start(serving);
    const next = testPair(test.clock.now());
    const before = serving.current;
    await test.files.writeFile('/pki/kubelet.crt', next.certificatePem);
    await test.files.writeFile('/pki/kubelet.key', next.keyPem);
    await test.clock.advance(60_000);
    expect(serving.current).toBe(before);
  });
});
