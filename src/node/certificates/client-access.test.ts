import { afterEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import { simulatedHost } from '../../host/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { parseKubeconfig } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { type ClientAccessOptions, openClientAccess } from './client-access.js';
import { signAll, signingRequests, testPair } from './test-signer.js';

const started: TaskGroup[] = [];
afterEach(async () => {
  for (const tasks of started.splice(0)) await tasks.stop();
});

const cluster = `clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443', certificate-authority: /ca.crt}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`;
const bootstrapConfig = `${cluster}users: [{name: u, user: {token: abc}}]\n`;

function world(more: Partial<ClientAccessOptions> = {}) {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  const timeline = new Timeline({ clock });
  const { files } = simulatedHost();
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  started.push(tasks);
  const text = async (file: string): Promise<string> => Buffer.from(await files.readFile(file)).toString();
  const asked: string[] = [];
  const options: ClientAccessOptions = {
    files,
    clock,
    timeline,
    random: () => 0.5,
    nodeName: 'n1',
    certDir: '/pki',
    kubeconfigPath: '/kubeconfig',
    bootstrapKubeconfigPath: '/bootstrap',
    rotateCertificates: false,
    openApi: (access, credentials) => {
      asked.push(credentials === undefined ? (access.user.bearer?.kind ?? 'anonymous') : 'managed');
      return api;
    },
    readKubeconfig: async (file) => parseKubeconfig(await text(file), file),
    ...more,
  };
  const signal = new AbortController().signal;
  return {
    clock,
    api,
    timeline,
    files,
    text,
    asked,
    tasks,
    sign: () => tasks.start('signer', (end) => signAll(api, clock, 3_600_000, end)),
    open: () => openClientAccess(options, signal),
  };
}

const withCertificate = (directory: string) =>
  `${cluster}users: [{name: u, user: {client-certificate: ${directory}/c.crt, client-key: ${directory}/c.key}}]\n`;
async function givePair(test: ReturnType<typeof world>, nowMs: number): Promise<void> {
  const { certificatePem, keyPem } = testPair(nowMs);
  await test.files.mkdir('/given');
  await test.files.writeFile('/given/c.crt', certificatePem);
  await test.files.writeFile('/given/c.key', keyPem);
  await test.files.writeFile('/kubeconfig', withCertificate('/given'));
}

describe('without rotation', () => {
  it('the bootstrap waits for its certificate, stores it and writes the kubeconfig', async () => {
    const test = world();
    await test.files.writeFile('/bootstrap', bootstrapConfig);
    test.sign();
    const opening = test.open();
    await test.clock.advance(5_000);
    const { access, manager } = await opening;
    expect(manager).toBeUndefined();
    expect(access.endpoint.server.href).toBe('https://10.0.0.1:6443/');
    expect(access.endpoint.certificateAuthority).toEqual({ kind: 'file', path: '/ca.crt' });
    const pem = { kind: 'file', path: '/pki/kubelet-client-current.pem' };
    expect(access.user.clientCertificate).toEqual({ certificate: pem, key: pem });
    expect((await test.files.stat('/kubeconfig')).mode).toBe(0o600);
    expect(await test.files.readdir('/pki')).not.toContain('kubelet-client.key.tmp');
    const [request] = await signingRequests(test.api);
    expect(request?.metadata.name).toMatch(/^node-csr-/);
  });
  it.each([
    ['an expired certificate without a bootstrap is reported', -366 * 86_400_000, true],
    ['a valid certificate is not reported', 0, false],
  ])('%s', async (_rule, ageMs, isNamed) => {
    const test = world({ bootstrapKubeconfigPath: '' });
    await givePair(test, test.clock.now() + ageMs);
    const { access } = await test.open();
    expect(access.user.clientCertificate).toBeDefined();
    const told = test.timeline.ofNode().map(({ message }) => message);
    const expected =
      'the API server will refuse the credentials in /kubeconfig: its client certificate has expired; replace it';
    expect(told.includes(expected)).toBe(isNamed);
  });
  it('a restart makes the same request', async () => {
    const test = world();
    await test.files.writeFile('/bootstrap', bootstrapConfig);
    const abort = new AbortController();
    const first = openClientAccess(
      {
        files: test.files,
        clock: test.clock,
        timeline: test.timeline,
        random: () => 0.5,
        nodeName: 'n1',
        certDir: '/pki',
        kubeconfigPath: '/kubeconfig',
        bootstrapKubeconfigPath: '/bootstrap',
        rotateCertificates: false,
        openApi: () => test.api,
        readKubeconfig: async (file) => parseKubeconfig(await test.text(file), file),
      },
      abort.signal,
    );
    const failed = expect(first).rejects.toThrow('context canceled');
    await test.clock.advance(1_000);
    abort.abort();
    await failed;
    test.sign();
    const opening = test.open();
    await test.clock.advance(5_000);
    await opening;
    expect(await signingRequests(test.api)).toHaveLength(1);
  });
  it('waits a minute for the server, then makes the request anyway', async () => {
    const test = world();
    await test.files.writeFile('/bootstrap', bootstrapConfig);
    test.api.faults.add({ verb: 'getText', fault: { kind: 'unreachable' }, times: 1_000 });
    test.sign();
    const opening = test.open();
    await test.clock.advance(50_000);
    expect(await signingRequests(test.api)).toHaveLength(0);
    await test.clock.advance(15_000);
    await opening;
  });
  it('a usable kubeconfig needs no bootstrap', async () => {
    const test = world();
    await givePair(test, test.clock.now());
    const { access } = await test.open();
    expect(access.user.clientCertificate?.key).toEqual({ kind: 'file', path: '/given/c.key' });
    expect(test.asked).toEqual([]);
  });
  it('a broken kubeconfig without a bootstrap is an error', async () => {
    const test = world({ bootstrapKubeconfigPath: '' });
    await expect(test.open()).rejects.toThrow('invalid kubeconfig: ');
  });
});

describe('with rotation', () => {
  it('the kubeconfig is written at once and the certificate arrives later', async () => {
    const test = world({ rotateCertificates: true });
    await test.files.writeFile('/bootstrap', bootstrapConfig);
    const { access, manager, credentials } = await test.open();
    expect(access.user.clientCertificate?.key).toEqual({
      kind: 'file',
      path: '/pki/kubelet-client-current.pem',
    });
    expect(await credentials?.current()).toEqual({});
    test.sign();
    test.tasks.start('manager', (signal) => manager!.run(signal));
    await test.clock.advance(5_000);
    expect((await credentials?.current())?.clientCertificate).toBeDefined();
    await test.clock.advance(3_600_000);
    // First with the bootstrap's token, then with the certificate it obtained.
    expect(test.asked.slice(-2)).toEqual(['token', 'managed']);
  });
  it('an expired certificate does not skip the bootstrap', async () => {
    const test = world({ rotateCertificates: true });
    await test.files.writeFile('/bootstrap', bootstrapConfig);
    await givePair(test, test.clock.now() - 2 * 365 * 86_400_000);
    const { access } = await test.open();
    expect(access.user.clientCertificate?.key).toEqual({
      kind: 'file',
      path: '/pki/kubelet-client-current.pem',
    });
  });
  it('the files of a usable kubeconfig are the first pair', async () => {
    const test = world({ rotateCertificates: true });
    await givePair(test, test.clock.now());
    const { manager } = await test.open();
    expect(manager?.current?.keyPem).toBe(await test.text('/given/c.key'));
  });
  it('no kubeconfig and no bootstrap is an error', async () => {
    const test = world({ rotateCertificates: true, bootstrapKubeconfigPath: '' });
    await expect(test.open()).rejects.toThrow('unable to load kubeconfig: ');
  });
});
