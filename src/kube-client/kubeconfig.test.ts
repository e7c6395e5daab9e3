import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { KubeconfigError, parseKubeconfig } from './kubeconfig.js';

const pem = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
const data = Buffer.from(pem).toString('base64');

function config(cluster: object = {}, user: object = {}, root: object = {}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    ...root,
  });
}
const read = (text: string, context?: string) => parseKubeconfig(text, '/etc/k/kubelet.conf', context);
const exec = (more: object = {}) => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'login',
    interactiveMode: 'Never',
    ...more,
  },
});

describe('what is parsed', () => {
  it('server, authority and certificate, with paths relative to the file’s directory', () => {
    const access = read(
      config(
        { 'certificate-authority': 'ca.crt', 'tls-server-name': 'kube' },
        { 'client-certificate': 'pki/me.pem', 'client-key': '/abs/me.key' },
      ),
    );
    expect(access.endpoint).toMatchObject({
      certificateAuthority: { kind: 'file', path: '/etc/k/ca.crt' },
      insecureSkipTlsVerify: false,
      tlsServerName: 'kube',
    });
    expect(access.endpoint.server.host).toBe('10.0.0.1:6443');
    expect(access.user.clientCertificate).toEqual({
      certificate: { kind: 'file', path: '/etc/k/pki/me.pem' },
      key: { kind: 'file', path: '/abs/me.key' },
    });
    expect(access.namespace).toBe('default');
  });
  it('data wins over a file', () => {
    const access = read(config({ 'certificate-authority': 'ca.crt', 'certificate-authority-data': data }));
    expect(access.endpoint.certificateAuthority).toEqual({ kind: 'data', pem });
  });
  it('a token file wins over a token', () => {
    expect(read(config({}, { token: 't', tokenFile: 'f' })).user.bearer).toEqual({
      kind: 'file',
      path: '/etc/k/f',
    });
  });
  it('a plugin by name stays a name, by path is relative to the file', () => {
    const plugin = (command: string) => read(config({}, exec({ command }))).user.bearer;
    expect(plugin('login')).toMatchObject({ kind: 'exec', plugin: { command: 'login' } });
    expect(plugin('./bin/login')).toMatchObject({ kind: 'exec', plugin: { command: '/etc/k/bin/login' } });
  });
  it('a server without a scheme is https', () => {
    expect(read(config({ server: '10.0.0.1:6443' })).endpoint.server.href).toBe('https://10.0.0.1:6443/');
  });
  it('another context can be selected, and one without a user has no credentials', () => {
    const contexts = [{ name: 'other', context: { cluster: 'k', namespace: 'team' } }];
    const access = read(config({}, {}, { contexts, 'current-context': 'gone' }), 'other');
    expect(access).toMatchObject({ namespace: 'team', user: { bearer: undefined } });
  });
});

describe('rejections name the file, the place and the field', () => {
  it.each<[string, string, RegExp]>([
    ['an empty file', '', /kubelet\.conf: is empty/],
    ['another kind', config({}, {}, { kind: 'Pod' }), /kubelet\.conf:2:1: kind is "Pod"/],
    ['no current context', config({}, {}, { 'current-context': '' }), /current-context is missing/],
    [
      'an unknown context',
      config({}, {}, { 'current-context': 'x' }),
      /current-context is "x", which is not in contexts/,
    ],
    [
      'an unknown cluster',
      config({}, {}, { clusters: [] }),
      /contexts\[0\]\.context\.cluster is "k", which is not in clusters/,
    ],
    ['an unknown user', config({}, {}, { users: [] }), /contexts\[0\]\.context\.user is "u"/],
    ['no server', config({ server: '' }), /clusters\[0\]\.cluster\.server is missing/],
    ['another scheme', config({ server: 'ftp://x' }), /server has the scheme ftp:/],
    ['a proxy', config({ 'proxy-url': 'http://p' }), /proxy-url is not supported/],
    [
      'insecure with an authority',
      config({ 'certificate-authority-data': data, 'insecure-skip-tls-verify': true }),
      /insecure-skip-tls-verify contradicts/,
    ],
    [
      'data that is no PEM',
      config({ 'certificate-authority-data': 'bm8=' }),
      /certificate-authority-data is not PEM in base64/,
    ],
    [
      'a certificate without key',
      config({}, { 'client-certificate-data': data }),
      /users\[0\]\.user\.client-key is missing/,
    ],
    ['a key without certificate', config({}, { 'client-key-data': data }), /client-certificate is missing/],
    [
      'a password',
      config({}, { username: 'a', password: 'b' }),
      /users\[0\]\.user\.username is not supported/,
    ],
    ['impersonation', config({}, { as: 'root' }), /users\[0\]\.user\.as is not supported/],
    ['a token that is a number', config({}, { token: 5 }), /users\[0\]\.user\.token is not a string/],
    ['a plugin beside a token', config({}, { token: 't', ...exec() }), /exec is given beside a token/],
    ['a plugin that asks', config({}, exec({ interactiveMode: 'Always' })), /interactiveMode is Always/],
    [
      'an old plugin',
      config({}, exec({ apiVersion: 'client.authentication.k8s.io/v1alpha1' })),
      /exec\.apiVersion is/,
    ],
  ])('%s', (_, text, message) => {
    expect(() => read(text)).toThrow(KubeconfigError);
    expect(() => read(text)).toThrow(message);
  });
});
