/** Certificates on disks that lose power, are full, or were tampered with. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { type SimulatedHost, simulatedHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { FileServingCertificate, selfSignedFiles, selfSignedPair } from './serving.js';
import { CertificateStore, recordSetAside } from './store.js';
import { testPair } from './test-signer.js';

function world(host: SimulatedHost = simulatedHost()) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const { files } = host;
  const store = new CertificateStore({
    files,
    clock,
    directory: '/pki',
    name: 'kubelet-client',
    onSetAside: (file) => recordSetAside(timeline, file),
  });
  const told = (): string =>
    timeline
      .ofNode()
      .map(({ message }) => message)
      .join('\n');
  const selfSigned = { files, clock, timeline, certDir: '/pki', hostname: 'n1' };
  return { host, clock, timeline, files, store, told, selfSigned };
}

type Damage = (host: SimulatedHost, path: string) => Promise<void> | void;
const damages: readonly [string, Damage][] = [
  ['empty', (host, path) => host.files.writeFile(path, '')],
  [
    'cut in half',
    async (host, path) => {
      const bytes = await host.files.readFile(path);
      await host.files.writeFile(path, bytes.slice(0, bytes.length / 2));
    },
  ],
  ['garbage', (host, path) => host.files.writeFile(path, 'garbage')],
  [
    'a directory',
    async (host, path) => {
      await host.files.unlink(path);
      await host.files.mkdir(path);
    },
  ],
  [
    'a pipe',
    async (host, path) => {
      await host.files.unlink(path);
      host.machine.makeSpecialFile(path, 'fifo');
    },
  ],
  [
    'unreadable',
    async (host, path) => {
      const { inode } = await host.files.stat(path);
      host.inject({
        at: (call) =>
          call.operation === 'readFile' && host.machine.walk(call.path, true).position?.node.inode === inode,
        when: 'before',
        effect: { kind: 'fail', code: 'EIO' },
      });
    },
  ],
];

describe('the store of certificates', () => {
  it.each(damages)('%s: set aside and reported, and the previous pair is used', async (_, damage) => {
    const { host, clock, store, told, files } = world();
    const [first, second] = [testPair(clock.now()), testPair(clock.now())];
    await store.update(first.certificatePem, first.keyPem);
    await clock.advance(1000);
    await store.update(second.certificatePem, second.keyPem);
    const file = '/pki/kubelet-client-2026-01-01-00-00-01.pem';
    await damage(host, file);
    expect((await store.current())?.keyPem).toBe(first.keyPem);
    expect(told()).toContain(`${file} cannot be used: `);
    expect(told()).toContain(`it is kept as ${file}.corrupt-`);
    expect(await files.readlink(store.currentPath)).toBe('/pki/kubelet-client-2026-01-01-00-00-00.pem');
    expect((await store.current())?.keyPem).toBe(first.keyPem);
    expect(told().split('\n')).toHaveLength(1);
  });

  it('sets aside a broken only pair, and has none', async () => {
    const { clock, files, store, told } = world();
    const { certificatePem, keyPem } = testPair(clock.now());
    await store.update(certificatePem, keyPem);
    await files.writeFile(store.currentPath, certificatePem);
    expect(await store.current()).toBeUndefined();
    expect(told()).toContain('.corrupt-');
    expect(told()).not.toContain('BEGIN');
    await store.update(certificatePem, keyPem);
    expect((await store.current())?.keyPem).toBe(keyPem);
  });

  it('does not blame the pair for too many open files', async () => {
    const { host, clock, store, files } = world();
    const { certificatePem, keyPem } = testPair(clock.now());
    await store.update(certificatePem, keyPem);
    const before = await files.readdir('/pki');
    host.inject({
      at: ({ operation }) => operation === 'readFile',
      when: 'before',
      effect: { kind: 'fail', code: 'EMFILE' },
    });
    await expect(store.current()).rejects.toThrow('EMFILE');
    expect(await files.readdir('/pki')).toEqual(before);
  });

  it.each([
    { unsyncedBytes: 'lost', unsyncedNames: 'kept' },
    { unsyncedBytes: 'cut in half', unsyncedNames: 'kept' },
    { unsyncedBytes: 'lost', unsyncedNames: 'undone' },
  ] as const)('at each step of an update a power cut leaves the old or the new pair: %o', async (cut) => {
    const [first, second] = [testPair(0), testPair(0)];
    for (let at = 1; ; at++) {
      const { host, clock, store } = world();
      await store.update(first.certificatePem, first.keyPem);
      await clock.advance(1000);
      const before = host.calls.at(-1)?.number ?? 0;
      host.inject({ at: before + at, when: 'before', effect: { kind: 'die' } });
      const ended = await store.update(second.certificatePem, second.keyPem).then(
        () => true,
        () => false,
      );
      host.machine.powerCut(cut);
      const after = world(simulatedHost({ machine: host.machine }));
      const keys = ended ? [second.keyPem] : [first.keyPem, second.keyPem];
      expect(keys).toContain((await after.store.current())?.keyPem);
      if (ended) break;
      expect(at).toBeLessThan(30);
    }
  });
});

describe('the self-signed pair', () => {
  const made = selfSignedPair('n1', 0);

  it.each(
    ['/pki/kubelet.crt', '/pki/kubelet.key'].flatMap((file) =>
      damages.map(([name, damage]) => ({ file, name, damage })),
    ),
  )(
    '$file $name: set aside, reported and recreated',
    async ({ file, damage }) => {
      const test = world();
      await selfSignedFiles(test.selfSigned);
      await damage(test.host, file);
      const serving = await FileServingCertificate.open(await selfSignedFiles(test.selfSigned));
      expect(serving.current).toBeDefined();
      expect(test.told()).toContain(`${file} cannot be used: `);
      expect(test.told()).not.toContain('PRIVATE KEY');
    },
    30_000,
  );

  it('completes a key that a crash left without its certificate', async () => {
    const test = world();
    const { keyPem } = made;
    await test.files.mkdir('/pki');
    await test.files.writeFile('/pki/kubelet.key', keyPem);
    const serving = await FileServingCertificate.open(await selfSignedFiles(test.selfSigned));
    expect(serving.current.keyPem).toBe(keyPem);
  }, 30_000);

  it.each(['ENOSPC', 'EIO', 'EROFS', 'EMFILE'])(
    'is used from memory while writes fail with %s, and written afterwards',
    async (code) => {
      const test = world();
      let isFailing = true;
      test.host.inject({
        at: ({ changing }) => changing && isFailing,
        when: 'before',
        effect: { kind: 'fail', code },
      });
      const serving = await FileServingCertificate.open(await selfSignedFiles(test.selfSigned));
      const { keyPem } = serving.current;
      expect(test.told()).toContain(code);
      await serving.reload();
      isFailing = false;
      await serving.reload();
      expect(serving.current.keyPem).toBe(keyPem);
      expect(new TextDecoder().decode(await test.files.readFile('/pki/kubelet.key'))).toBe(keyPem);
      expect(test.timeline.ofNode().filter(({ kind }) => kind === 'problem')).toHaveLength(1);
    },
    30_000,
  );
});
