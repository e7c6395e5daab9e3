import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import type { ProgramEnd } from '../programs/index.js';
import { generateKeyPem, makeCertificate } from '../x509/certificate.js';
import { ApiUnreachable } from './api-error.js';
import { connectKubeApi, type KubeConnection } from './connect.js';
import { credentialsOf } from './credentials.js';
import { callOf } from './exec-credential.js';
import type { ClusterAccess, ExecPlugin, UserAccess } from './kubeconfig.js';
import { createExecPluginMetrics } from './metrics.js';

const hour = 3_600_000;
const authority = { subject: { commonName: 'ca' }, keyPem: generateKeyPem() };
const lifetime = { notBeforeMs: Date.now() - hour, notAfterMs: Date.now() + hour };
const authorityPem = makeCertificate({ ...authority, ...lifetime, isAuthority: true });
function issue(commonName: string, server = false): { certificatePem: string; keyPem: string } {
  const keyPem = generateKeyPem();
  const names = server ? { names: { dnsNames: ['kube.test'], ipAddresses: ['127.0.0.1'] } } : {};
  const usages = [server ? ('serverAuth' as const) : ('clientAuth' as const)];
  const certificatePem = makeCertificate({
    subject: { commonName },
    keyPem,
    issuer: authority,
    ...lifetime,
    usages,
    ...names,
  });
  return { certificatePem, keyPem };
}

let dir: string;
let clock: VirtualClock;
let problems: string[];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-credentials-'));
  clock = new VirtualClock();
  problems = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

const file = (name: string, text: string): string => {
  writeFileSync(path.join(dir, name), text);
  return path.join(dir, name);
};
const accessOf = (
  user: Partial<UserAccess>,
  endpoint: Partial<ClusterAccess['endpoint']> = {},
): ClusterAccess => ({
  endpoint: {
    server: new URL('https://127.0.0.1:1'),
    certificateAuthority: { kind: 'data', pem: authorityPem },
    insecureSkipTlsVerify: false,
    tlsServerName: undefined,
    ...endpoint,
  },
  user: { clientCertificate: undefined, bearer: undefined, ...user },
  namespace: 'default',
});
const credentials = (user: Partial<UserAccess>, metrics = createExecPluginMetrics()) =>
  credentialsOf({
    clock,
    access: accessOf(user),
    metrics,
    onProblem: (message) => void problems.push(message),
  });

describe('a token file', () => {
  it('is reread after a minute, or when the token was rejected', async () => {
    const found = credentials({ bearer: { kind: 'file', path: file('token', 'one\n') } });
    expect(await found.current()).toEqual({ bearerToken: 'one' });
    file('token', 'second');
    expect(await found.current()).toEqual({ bearerToken: 'one' });
    await clock.advance(60_000);
    const second = await found.current();
    expect(second).toEqual({ bearerToken: 'second' });
    file('token', 'the third');
    found.refused(second);
    expect(await found.current()).toEqual({ bearerToken: 'the third' });
  });
  it('that is missing or empty leaves the last token in use', async () => {
    const found = credentials({ bearer: { kind: 'file', path: file('token', 'one') } });
    await found.current();
    for (const text of ['', undefined]) {
      if (text === undefined) rmSync(path.join(dir, 'token'));
      else file('token', text);
      await clock.advance(60_000);
      expect(await found.current()).toEqual({ bearerToken: 'one' });
    }
    expect(problems).toHaveLength(2);
    expect(problems[0]).toContain('contains no token; the old content stays in use');
  });
  it('that never existed is named', async () => {
    const found = credentials({ bearer: { kind: 'file', path: path.join(dir, 'nosuch') } });
    await expect(found.current()).rejects.toThrow(path.join(dir, 'nosuch'));
  });
});

describe('a certificate', () => {
  it('is replaced when both its files match again', async () => {
    const [old, next] = [issue('old'), issue('new')];
    const found = credentials({
      clientCertificate: {
        certificate: { kind: 'file', path: file('crt', old.certificatePem) },
        key: { kind: 'file', path: file('key', old.keyPem) },
      },
    });
    const first = await found.current();
    expect(await found.current()).toBe(first);
    file('crt', next.certificatePem);
    await clock.advance(10_000);
    expect(await found.current()).toBe(first);
    expect(problems).toEqual([expect.stringContaining('the key does not match the certificate')]);
    file('key', next.keyPem);
    await clock.advance(10_000);
    expect((await found.current()).clientCertificate).toEqual(next);
  });
  it('with a wrong key from the start is an error', async () => {
    const [one, other] = [issue('one'), issue('other')];
    const found = credentials({
      clientCertificate: {
        certificate: { kind: 'data', pem: one.certificatePem },
        key: { kind: 'data', pem: other.keyPem },
      },
    });
    await expect(found.current()).rejects.toThrow('the key does not match the certificate');
  });
});

describe('a plugin', () => {
  const plugin = (script: string, more: Partial<ExecPlugin> = {}): UserAccess['bearer'] => {
    const command = file('plugin', `#!/bin/sh\necho run >> "${dir}/runs"\n${script}`);
    chmodSync(command, 0o755);
    const defaults = {
      apiVersion: 'client.authentication.k8s.io/v1',
      args: ['a'],
      env: [{ name: 'X', value: 'y' }],
      installHint: undefined,
    };
    return { kind: 'exec', plugin: { command, provideClusterInfo: false, ...defaults, ...more } };
  };
  const printing = (status: object): string =>
    `cat <<'E'\n${JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })}\nE`;
  const runs = (): number => readFileSync(path.join(dir, 'runs'), 'utf8').trim().split('\n').length;

  it('runs once for concurrent callers, and again when its response expires or is rejected', async () => {
    const expirationTimestamp = new Date(clock.now() + 60_000).toISOString();
    const found = credentials({ bearer: plugin(printing({ token: 't', expirationTimestamp })) });
    const [one, two] = await Promise.all([found.current(), found.current()]);
    expect([one, two]).toEqual([{ bearerToken: 't' }, { bearerToken: 't' }]);
    await found.current();
    expect(runs()).toBe(1);
    found.refused(one!);
    await found.current();
    expect(runs()).toBe(2);
    await clock.advance(61_000);
    await found.current();
    expect(runs()).toBe(3);
  });
  it('gets the cluster, its arguments and its environment', async () => {
    const script = `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s %s"}}' "$1" "$X"; echo "$KUBERNETES_EXEC_INFO" > "${dir}/info"`;
    const found = credentials({ bearer: plugin(script, { provideClusterInfo: true }) });
    expect(await found.current()).toEqual({ bearerToken: 'a y' });
    expect(JSON.parse(readFileSync(path.join(dir, 'info'), 'utf8'))).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: 'https://127.0.0.1:1',
          'certificate-authority-data': Buffer.from(authorityPem).toString('base64'),
        },
      },
    });
  });
  it.each([
    ['fails', 'echo secret; exit 3', /failed with exit code 3$/],
    ['prints no JSON', 'echo secret', /is not JSON/],
    ['prints something else', `echo '{"kind":"Pod"}'`, /is not an ExecCredential/],
    ['prints nothing of use', printing({}), /has neither a token nor a certificate/],
  ])('that %s is an error that repeats nothing of its output', async (_, script, message) => {
    const failure: unknown = await credentials({ bearer: plugin(script) })
      .current()
      .catch((error: unknown) => error);
    expect(String(failure)).toMatch(message);
    expect(String(failure)).not.toContain('secret');
  });
  it('that is missing is named, with its hint', async () => {
    const bearer = plugin('', { command: '/nosuch/plugin', installHint: 'install it so' });
    await expect(credentials({ bearer }).current()).rejects.toThrow(
      'executable /nosuch/plugin not found\ninstall it so',
    );
  });
  it('is counted, and how long its certificates last', async () => {
    const registry = new Registry();
    const metrics = createExecPluginMetrics(registry);
    const first = issue('first', false);
    const status = { clientCertificateData: first.certificatePem, clientKeyData: first.keyPem };
    const found = credentials({ bearer: plugin(printing(status)) }, metrics);
    expect(samples(registry).rest_client_exec_plugin_ttl_seconds).toBe(Number.POSITIVE_INFINITY);
    const given = await found.current();
    const endsMs = Date.parse(new X509Certificate(first.certificatePem).validTo);
    const ttl = 'rest_client_exec_plugin_ttl_seconds';
    expect(samples(registry)[ttl]).toBe((endsMs - clock.now()) / 1000);
    const next = issue('next', false);
    plugin(printing({ clientCertificateData: next.certificatePem, clientKeyData: next.keyPem }));
    found.refused(given);
    await found.current();
    expect(samples(registry)).toMatchObject({
      'rest_client_exec_plugin_call_total{code="0",call_status="no_error"}': 2,
      rest_client_exec_plugin_certificate_rotation_age_count: 1,
    });
  });
  const output = { stdout: '', stderr: '' };
  it.each<[ProgramEnd, string, string]>([
    [{ kind: 'exited', exitCode: 3, ...output }, '3', 'plugin_execution_error'],
    [{ kind: 'not-started', code: 'ENOENT', ...output }, '1', 'plugin_not_found_error'],
    [{ kind: 'not-started', code: 'EACCES', ...output }, '1', 'client_internal_error'],
    [{ kind: 'timed-out', limitMs: 1, ...output }, '1', 'client_internal_error'],
  ])('that ends with %o is counted so', (end, code, status) => {
    expect(callOf(end)).toEqual({ code, call_status: status });
  });
});

describe('over TLS', () => {
  let server: Server;
  let connection: KubeConnection | undefined;
  const peers: string[] = [];
  beforeEach(async () => {
    const { certificatePem, keyPem } = issue('server', true);
    peers.length = 0;
    server = createServer(
      { cert: certificatePem, key: keyPem, ca: authorityPem, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const peer = (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'nobody';
        peers.push(Array.isArray(peer) ? peer.join() : peer);
        response.end('ok');
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    connection?.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const connect = (
    user: Partial<UserAccess>,
    endpoint: Partial<ClusterAccess['endpoint']> = {},
  ): KubeConnection => {
    const { port } = server.address() as AddressInfo;
    const access = accessOf(user, { server: new URL(`https://127.0.0.1:${port}`), ...endpoint });
    connection = connectKubeApi({ clock, access, userAgent: 'test' });
    return connection;
  };

  it('a new certificate is used on new connections', async () => {
    const [old, next] = [issue('old'), issue('new')];
    const files = {
      certificate: { kind: 'file' as const, path: file('crt', old.certificatePem) },
      key: { kind: 'file' as const, path: file('key', old.keyPem) },
    };
    const api = connect({ clientCertificate: files }).client();
    await api.getText('/a');
    await api.getText('/b');
    file('crt', next.certificatePem);
    file('key', next.keyPem);
    await clock.advance(10_000);
    await api.getText('/c');
    expect(peers).toEqual(['old', 'old', 'new']);
  });
  it('a server of another authority is rejected', async () => {
    const other = makeCertificate({
      subject: { commonName: 'other' },
      keyPem: generateKeyPem(),
      ...lifetime,
      isAuthority: true,
    });
    const api = connect({}, { certificateAuthority: { kind: 'data', pem: other } }).client();
    await expect(api.getText('/')).rejects.toMatchObject({ name: 'ApiUnreachable', unanswered: 'not-sent' });
    expect(peers).toEqual([]);
  });
  it('the server’s name may differ from its address, and must match', async () => {
    expect(await connect({}, { tlsServerName: 'kube.test' }).client().getText('/')).toBe('ok');
    connection?.close();
    await expect(connect({}, { tlsServerName: 'wrong.test' }).client().getText('/')).rejects.toBeInstanceOf(
      ApiUnreachable,
    );
  });
  it('nothing is verified with insecure-skip-tls-verify', async () => {
    const api = connect({}, { certificateAuthority: undefined, insecureSkipTlsVerify: true }).client();
    expect(await api.getText('/')).toBe('ok');
  });
});
