/** What a mask leaves of secrets: nothing but whether they are the same, and about how long they are. */
import { describe, expect, it } from 'vitest';
import { createMask, type MaskKind } from './masks.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secret = 'hunter2-correct-horse';

describe('a mask', () => {
  const mask = createMask();

  it.each<[string, MaskKind | undefined, unknown]>([
    ['a Secret', 'secret', { kind: 'Secret', metadata: { name: 's' }, data: { password: base64(secret) } }],
    ['a list of Secrets', 'secret', { items: [{ metadata: {}, data: { password: base64(secret) } }] }],
    [
      'a step of a watch',
      'secret',
      { done: false, value: { type: 'ADDED', object: { data: { p: base64(secret) } } } },
    ],
    [
      'what kubectl notes of a Secret',
      'secret',
      { metadata: { annotations: { last: `{"data":"${secret}"}` } } },
    ],
    ['a Secret of unknown origin', undefined, { kind: 'Secret', data: { p: base64(secret) } }],
    ['a token', 'credentials', { kind: 'TokenRequest', status: { token: secret, expirationTimestamp: 'x' } }],
    ['the address of a stream', 'stream', { url: `http://127.0.0.1/exec/${secret}` }],
    [
      'the output of a command that succeeds',
      'output',
      { exitCode: 0, stdout: Buffer.from(secret), stderr: Buffer.from('') },
    ],
    [
      'a file of passwords',
      'docker config',
      JSON.stringify({ auths: { 'r.example': { password: secret, auth: base64(`u:${secret}`) } } }),
    ],
    ['a file of variables', 'env file', `# comment ${secret}\nPASSWORD=${secret}\n`],
    ['a file of a volume', 'volume', Buffer.from(secret)],
    ['a file that a pod writes', 'content', Buffer.from(secret)],
  ])('hides %s', (_, kind, value) => {
    const shown = mask.value(kind, ['/path'], value);
    const text = JSON.stringify(shown, (_key, each: unknown) =>
      each instanceof Uint8Array ? Buffer.from(each).toString('latin1') : each,
    );
    for (const form of [secret, base64(secret), base64(`u:${secret}`), secret.slice(0, 12)])
      expect(text).not.toContain(form);
  });

  it('gives the same secret the same placeholder, and another one another', () => {
    const shown = (text: string): unknown => mask.value('secret', [], { data: { a: base64(text) } });
    expect(shown('a')).toEqual(shown('a'));
    expect(shown('a')).not.toEqual(shown('b'));
  });

  it('of another recording gives other placeholders', () => {
    const value = { data: { a: base64('a') } };
    expect(createMask().value('secret', [], value)).not.toEqual(mask.value('secret', [], value));
  });

  it('keeps registries and the form of passwords, by which pulls are decided', () => {
    const config = JSON.stringify({ auths: { 'r.example': { auth: base64(`user:${secret}`) } } });
    const shown = mask.value('secret', [], { data: { '.dockerconfigjson': base64(config) } }) as {
      data: Record<string, string>;
    };
    const read = JSON.parse(Buffer.from(shown.data['.dockerconfigjson'] ?? '', 'base64').toString()) as {
      auths: Record<string, { auth: string }>;
    };
    expect(Buffer.from(read.auths['r.example']?.auth ?? '', 'base64').toString()).toMatch(
      /^masked:masked-[0-9a-f]+$/,
    );
  });

  it('knows a file of a volume that the kubelet itself has written, and the text of a ConfigMap', () => {
    const path = '/k/pods/u/volumes/kubernetes.io~projected/t/..2026/ca.crt';
    mask.called({ p: 'machine', m: 'ownFiles.writeFile', i: '' }, [path, secret]);
    expect(mask.value('volume', [path], Buffer.from(secret))).toEqual({ $w: 1 });
    mask.value('config map', [], { data: { 'ca.crt': 'public' } });
    expect(mask.value('volume', ['/other'], Buffer.from('public'))).toEqual(Buffer.from('public'));
  });
});
