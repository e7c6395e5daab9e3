/** How a node comes by its identity in a cluster: certificates that are asked for, refused, replaced and lost. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKubeconfig, resources } from '../../src/kube-client/index.js';
import {
  CleanupStack,
  type ClusterNode,
  type ClusterNodeOptions,
  type ControlPlane,
  startClusterNode,
  startContainerd,
  startControlPlane,
  type TestContainerd,
} from '../env/index.js';
import { eventually } from './cluster.js';
import {
  answer,
  bootstrapObjects,
  type Request,
  requestOf,
  requestsOf,
  tokenKubeconfig,
  tokenUser,
} from './joining-cluster.js';

/** Much longer than a rotation takes; a test waits until a certificate of this age has ended. */
const certificateSeconds = 75;

const cleanups = new CleanupStack();
let plane: ControlPlane;
let containerd: TestContainerd;
beforeAll(async () => {
  // No pod runs on these nodes, so they can share a runtime.
  containerd = await startContainerd({ cleanups });
  const controllerArgs = [`--cluster-signing-duration=${certificateSeconds}s`];
  plane = await startControlPlane({ cleanups, controllers: true, controllerArgs });
  const approved = ['rotate', 'expire'].map((id) => ({ id, isApproved: true }));
  const asked = ['joiner', 'refuse', 'denied'].map((id) => ({ id, isApproved: false }));
  await plane.apply(...bootstrapObjects([...approved, ...asked]));
});
afterAll(() => cleanups.run());

const node = (name: string, options: Partial<ClusterNodeOptions> = {}): Promise<ClusterNode> =>
  startClusterNode({ cleanups, plane, containerd, name, start: false, ...options });

/** A node that has nothing but a token; its kubeconfig is still to be written. */
function newcomer(name: string, token: string, config: object = {}): Promise<ClusterNode> {
  return node(name, {
    kubeconfig: plane.pki.path(`joined/${name}.kubeconfig`),
    flags: [`--bootstrap-kubeconfig=${tokenKubeconfig(plane, token)}`],
    config: { ...config },
  });
}

const certDir = ({ rootDir }: ClusterNode): string => join(dirname(rootDir), 'pki');

const storedPairs = (at: ClusterNode): string[] =>
  readdirSync(certDir(at)).filter((file) => /^kubelet-client-\d{4}-.*\.pem$/.test(file));

/** What a client sees that trusts the cluster's authority: the names of the certificate, or why there is none. */
function handshake({ address, port, name }: ClusterNode): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, servername: name, ca: plane.pki.authorityPem }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '');
      socket.destroy();
    });
    socket.on('error', (error) => resolve(String(error)));
  });
}

describe.concurrent('a node that has only a bootstrap token', () => {
  it('waits for its certificate, writes its kubeconfig, and needs neither again', async () => {
    const joining = await newcomer('newcomer', 'joiner');
    const started = joining.start();
    const request = await requestOf(plane, tokenUser('joiner'));
    expect(request.metadata.name).toMatch(/^node-csr-[\w-]{43}$/);
    expect(request.spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    });
    expect(await plane.find(resources.nodes, { name: 'newcomer' })).toBeUndefined();
    await answer(plane, 'approve', request);
    await started;
    await joining.ready();
    const access = await loadKubeconfig(plane.pki.path('joined/newcomer.kubeconfig'));
    const current = join(certDir(joining), 'kubelet-client-current.pem');
    expect(access.user.clientCertificate).toEqual({
      certificate: { kind: 'file', path: current },
      key: { kind: 'file', path: current },
    });
    expect(readdirSync(certDir(joining))).not.toContain('kubelet-client.key.tmp');
    const restartMs = Date.now();
    await joining.restart();
    await eventually('the node speaks again', async () => (await renewTime(joining)) > restartMs);
    expect(await requestsOf(plane, tokenUser('joiner'))).toHaveLength(1);
    await joining.remove();
  });

  it('ends with the reason when its request is denied', async () => {
    const joining = await newcomer('refused', 'refuse');
    const started = joining.start();
    const ended = expect(started).rejects.toThrow(
      /nodelet agent: --bootstrap-kubeconfig .*: no client certificate: certificate signing request is denied, reason: "KubectlDeny"/,
    );
    await answer(plane, 'deny', await requestOf(plane, tokenUser('refuse')));
    await ended;
    expect(joining.isRunning).toBe(false);
  });

  it('with rotation goes on asking while it is denied, and joins when it is not', async () => {
    const joining = await newcomer('patient', 'denied', { rotateCertificates: true });
    await joining.start();
    await answer(plane, 'deny', await requestOf(plane, tokenUser('denied')));
    const second = await requestOf(plane, tokenUser('denied'), (found) => !isDenied(found));
    expect(second.metadata.generateName).toBe('csr-');
    expect(joining.log).toContain('is denied, reason: "KubectlDeny"');
    await answer(plane, 'approve', second);
    await joining.ready();
    await joining.remove();
  });
});

describe.concurrent('a certificate that ends', () => {
  it('is replaced before, with the lease renewed all the while', async () => {
    const rotating = await newcomer('rotating', 'rotate', { rotateCertificates: true });
    await rotating.start();
    await rotating.ready();
    await eventually('it has a lease', async () => !Number.isNaN(await renewTime(rotating)));
    const [first] = storedPairs(rotating).sort();
    const firstEnds = Date.now() + certificateSeconds * 1000;
    const times = new Set<number>();
    await eventually(
      'the first certificate has ended',
      async () => {
        times.add(await renewTime(rotating));
        return Date.now() > firstEnds + 3000;
      },
      certificateSeconds * 2000,
    );
    const gaps = [...times].map((time, index, all) => time - (all[index - 1] ?? time));
    expect(Math.max(...gaps)).toBeLessThan(13_000);
    expect(times.size).toBeGreaterThan(5);
    expect(storedPairs(rotating).filter((file) => file !== first).length).toBeGreaterThan(0);
    expect(rotating.log).toContain('reconnecting to the API server');
    expect(await requestsOf(plane, 'system:node:rotating')).not.toEqual([]);
    expect(await requestsOf(plane, tokenUser('rotate'))).toHaveLength(1);
    await rotating.remove();
  });

  it('without rotation and bootstrap is named in the log, and the agent goes on', async () => {
    const kubeconfig = plane.kubeconfigFor('system:node:late', ['system:nodes'], -60_000);
    const late = await node('late', { kubeconfig });
    await late.start();
    await eventually('it says so', async () =>
      /cannot register the node late yet: .*Unauthorized/.test(late.log),
    );
    expect(late.log).toContain(
      `the API server will refuse the credentials in ${kubeconfig}: its client certificate has expired; replace it`,
    );
    expect(late.isRunning).toBe(true);
    await late.remove();
  });

  it('with rotation and no bootstrap ends the agent: only a start with other credentials helps', async () => {
    const kubeconfig = plane.kubeconfigFor('system:node:lost', ['system:nodes'], -60_000);
    const lost = await node('lost', { kubeconfig, config: { rotateCertificates: true } });
    await lost.start();
    await eventually('it ends', async () => !lost.isRunning, 60_000);
    expect(lost.log).toMatch(/nodelet agent: .*client certificate .*expired/);
  });

  it('with a bootstrap makes the node join again', async () => {
    const file = plane.kubeconfigFor('system:node:again', ['system:nodes'], -60_000);
    const again = await node('again', {
      kubeconfig: file,
      flags: [`--bootstrap-kubeconfig=${tokenKubeconfig(plane, 'expire')}`],
      config: { rotateCertificates: true },
    });
    await again.start();
    await again.ready();
    expect(readFileSync(file, 'utf8')).toContain('kubelet-client-current.pem');
    await again.remove();
  });
});

describe.concurrent('the certificate of the kubelet API', () => {
  const noFiles = { tlsCertFile: '', tlsPrivateKeyFile: '' };

  it('comes from the cluster when it is told so, and until then nobody is served', async () => {
    const serving = await node('serving', { config: { ...noFiles, serverTLSBootstrap: true } });
    await serving.start();
    await serving.ready();
    const isServing = ({ spec }: Request): boolean => spec.signerName === 'kubernetes.io/kubelet-serving';
    const request = await requestOf(plane, 'system:node:serving', isServing);
    expect(request.spec.usages).toEqual(['digital signature', 'server auth']);
    expect(await handshake(serving)).toContain('Error');
    await answer(plane, 'approve', request);
    await eventually('it is shown', async () => !(await handshake(serving)).includes('Error'));
    expect(await handshake(serving)).toBe(`DNS:serving, IP Address:${serving.address}`);
    await serving.remove();
  });

  it('is self-signed when nothing is said', async () => {
    const alone = await node('alone', { config: noFiles });
    await alone.start();
    expect(await handshake(alone)).toContain('self-signed certificate in certificate chain');
    expect(readdirSync(certDir(alone)).sort()).toEqual(['kubelet.crt', 'kubelet.key']);
    await alone.remove();
  });
});

describe.concurrent('an identity that is not right', () => {
  it('of another node: the node is not registered, tried at most every few seconds, and the log says why', async () => {
    const wrong = await node('wrong', { kubeconfig: plane.nodeKubeconfig('other') });
    await wrong.start();
    const refusal =
      /cannot register the node wrong yet: .*node 'other' cannot read 'wrong', only its own Node object/;
    await eventually('it is refused', async () => refusal.test(wrong.log));
    const before = wrong.log.match(/cannot register the node wrong yet/g)?.length ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 8000));
    const after = wrong.log.match(/cannot register the node wrong yet/g)?.length ?? 0;
    expect(after - before).toBeLessThan(8);
    expect(wrong.isRunning).toBe(true);
    expect(await plane.find(resources.nodes, { name: 'wrong' })).toBeUndefined();
    await wrong.remove();
  });

  it.each([
    ['no file', undefined, /no such file/],
    ['no YAML', '{ "a": ', /YAML|JSON|flow/i],
    ['no context', '{"apiVersion":"v1","kind":"Config"}', /context/],
  ])('a kubeconfig with %s ends the agent with one line that names it', async (name, text, problem) => {
    const kubeconfig = plane.pki.path(`${name.replace(' ', '-')}.kubeconfig`);
    if (text !== undefined) writeFileSync(kubeconfig, text);
    const broken = await node('broken', { kubeconfig });
    await expect(broken.start()).rejects.toThrow('ended at its start');
    const lines = broken.log.split('\n').filter((line) => line.startsWith('nodelet agent:'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`--kubeconfig ${kubeconfig}: `);
    expect(lines[0]).toMatch(problem);
    expect(broken.log).not.toMatch(/^\s+at /m);
  });
});

function isDenied({ status }: Request): boolean {
  return status?.conditions?.some(({ type }) => type === 'Denied') ?? false;
}

async function renewTime({ name }: ClusterNode): Promise<number> {
  const lease = await plane.find(resources.leases, { namespace: 'kube-node-lease', name });
  return Date.parse(lease?.spec?.renewTime ?? '');
}
