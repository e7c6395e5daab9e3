/** Credential provider plugins with tokens: real programs, asked by a kubelet of a simulated cluster. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { ClusterMachine, isReady, type Member, startMember } from './cluster-machine.js';
import { endNodes } from './node.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodelet-providers-'));
});
afterEach(async () => {
  await endNodes();
  await rm(dir, { recursive: true });
});

/** Writes down each request on a line of its own, and gives credentials for `a.io`. */
const script = `#!/bin/sh
dir=$(dirname "$0")
cat >> "$dir/asked"
echo >> "$dir/asked"
echo '${JSON.stringify({
  kind: 'CredentialProviderResponse',
  apiVersion,
  cacheKeyType: 'Registry',
  auth: { 'a.io': { username: 'puller', password: 'let-me-in' } },
})}'
`;

async function startWithPlugin(): Promise<Member> {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [
      {
        name: 'giver',
        apiVersion,
        matchImages: ['a.io'],
        defaultCacheDuration: '10m',
        tokenAttributes: {
          serviceAccountTokenAudience: 'registry.example',
          cacheType: 'ServiceAccount',
          requireServiceAccount: true,
          requiredServiceAccountAnnotationKeys: ['example.com/role'],
        },
      },
    ],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  await writeFile(join(dir, 'giver'), script);
  await chmod(join(dir, 'giver'), 0o755);
  const on = new ClusterMachine();
  for (const [name, role] of [
    ['seller', { 'example.com/role': 'sales', 'example.com/other': 'x' }],
    ['plain', {}],
  ] as const) {
    await on.api.create(resources.serviceAccounts, {
      metadata: { name, namespace: 'default', annotations: role },
    });
  }
  return startMember({
    on,
    kubelet: { credentialProviders: { configPath: join(dir, 'config.json'), binDir: dir } },
  });
}

/** The program takes real time, which the test's time must not run ahead of. */
async function untilReady({ on, node }: Member, name: string): Promise<void> {
  for (let turn = 0; turn < 400; turn++) {
    const pod = await on.find(name);
    if (pod !== undefined && isReady(pod)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
    await node.advance(100);
  }
  throw new Error(`${name} is not ready\n${node.describe()}`);
}

const asked = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(join(dir, 'asked'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const pulls = ({ node }: Member): unknown[] =>
  // What the line keeps of a call is the request of its method.
  node.line.of('pullImage').map(({ request }) => (request as { auth?: unknown }).auth);

describe('a plugin with tokens', { timeout: 60_000 }, () => {
  it('gives credentials to the accounts that ask for it by an annotation', async () => {
    const test = await startWithPlugin();
    const pod = await test.on.create('web', { image: 'a.io/app:1', spec: { serviceAccountName: 'seller' } });
    await untilReady(test, 'web');
    const [first, ...more] = await asked();
    expect(more).toEqual([]);
    expect(first).toEqual({
      kind: 'CredentialProviderRequest',
      apiVersion,
      image: 'a.io/app',
      serviceAccountToken: expect.stringMatching(/^token-seller-/),
      serviceAccountAnnotations: { 'example.com/role': 'sales' },
    });
    expect(pulls(test)).toEqual([{ username: 'puller', password: 'let-me-in' }]);
    const tokenCalls = test.on.api.calls.filter(({ subresource }) => subresource === 'token');
    expect(tokenCalls).toHaveLength(1);
    expect(pod.spec.serviceAccountName).toBe('seller');

    // Another pod of the account uses the response, one of another account gets nothing.
    await test.on.create('again', { image: 'a.io/other:1', spec: { serviceAccountName: 'seller' } });
    await untilReady(test, 'again');
    await test.on.create('plain', { image: 'a.io/third:1', spec: { serviceAccountName: 'plain' } });
    await untilReady(test, 'plain');
    expect(await asked()).toHaveLength(1);
    expect(pulls(test).slice(1)).toEqual([{ username: 'puller', password: 'let-me-in' }, undefined]);
    const { items: events } = await test.on.api.list(resources.events);
    const told = JSON.stringify([events, test.node.entries]);
    expect(told).not.toContain(String(first?.serviceAccountToken));
    expect(told).not.toContain('let-me-in');
  });
});
