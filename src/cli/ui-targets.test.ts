import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type UiTargetFlags, uiTarget } from './ui-targets.js';

const none: UiTargetFlags = {
  kubeconfig: undefined,
  node: undefined,
  'state-dir': undefined,
  run: undefined,
  socket: undefined,
  server: undefined,
  'token-file': undefined,
  'client-certificate': undefined,
  'client-key': undefined,
  'certificate-authority': undefined,
  'insecure-skip-tls-verify': false,
};
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-ui-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const kubeconfig = (server: string): string => {
  const file = path.join(dir, 'config');
  const cluster = { server };
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'secret' } }],
    }),
  );
  return file;
};

describe('uiTarget', () => {
  it.each<[string, Partial<UiTargetFlags>, string]>([
    ['two nodes', { server: 'https://a:1', run: 'x' }, 'name one node: --server or --run'],
    ['a kubeconfig without a node', { kubeconfig: '/none' }, '--kubeconfig and --node go together'],
    ['a node without a kubeconfig', { node: 'n' }, '--kubeconfig and --node go together'],
    ['a kubeconfig that is missing', { kubeconfig: '/none', node: 'n' }, '/none: cannot be read'],
    ['a server without TLS', { server: 'http://a:1' }, 'write a URL such as https://'],
  ])('refuses %s', async (_, flags, said) => {
    await expect(uiTarget({ ...none, ...flags })).rejects.toThrow(said);
  });

  it('refuses an API server without TLS: a token must not travel in the clear', async () => {
    const flags = { ...none, kubeconfig: kubeconfig('http://api:8080'), node: 'n' };
    await expect(uiTarget(flags)).rejects.toThrow('is not reached over https');
  });

  it('reaches a node through the API server, with the credentials of the kubeconfig', async () => {
    const target = await uiTarget({ ...none, kubeconfig: kubeconfig('https://api:6443/base'), node: 'n/1' });
    expect(target).toMatchObject({ kind: 'agent', name: 'n/1 through https://api:6443' });
    expect(await target.endpoint()).toMatchObject({
      kind: 'https',
      url: new URL('https://api:6443/base/api/v1/nodes/n%2F1/proxy'),
      headers: { Authorization: 'Bearer secret' },
      tls: { rejectUnauthorized: true },
    });
  });

  it('reaches an agent with the credentials of the flags', async () => {
    const file = path.join(dir, 'token');
    writeFileSync(file, 'secret\n');
    const target = await uiTarget({ ...none, server: 'https://node-1:10250', 'token-file': file });
    expect(await target.endpoint()).toMatchObject({
      url: new URL('https://node-1:10250'),
      headers: { Authorization: 'Bearer secret' },
      tls: { rejectUnauthorized: true },
    });
  });

  it('says what to do where no bare node runs', async () => {
    const target = await uiTarget({ ...none, 'state-dir': dir });
    await expect(target.endpoint()).rejects.toThrow(
      `no bare node runs with ${dir}: start it with nodelet up`,
    );
  });
});
