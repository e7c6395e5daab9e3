/**
 * An image of this machine's own programs: node, a shell and common tools. It is built on demand, so that a
 * pod can run in a container on a machine that cannot pull anything.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  access,
  chmod,
  constants,
  mkdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { type Clock, errorText, sleep } from '../../async/index.js';
import { CriError, type CriRuntime } from '../../cri/index.js';
import { CommandLine, isSingleExecutable } from '../../programs/index.js';
import { runCommand } from './command.js';
import { imageDocuments, sha256Digest } from './oci.js';
import { sharedLibraries } from './shared-libraries.js';

/** An unreachable host: the image is never pulled. */
export const hostImageName = 'nodelet.local/host';
const reference = `${hostImageName}:1`;

/** Programs that go into the image if the machine has them. */
const programs = [
  ...['sh', 'bash', 'busybox', 'node', 'wget', 'curl', 'hostname', 'ps'],
  ...[
    'cat',
    'cut',
    'date',
    'echo',
    'env',
    'expr',
    'false',
    'grep',
    'head',
    'id',
    'kill',
    'ls',
    'mkdir',
    'mv',
  ],
  ...['printf', 'rm', 'sed', 'seq', 'sleep', 'sort', 'tail', 'test', 'touch', 'tr', 'true', 'uname', 'wc'],
];
const searchPath = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';
/** Where containers find node; a link unless the machine has node there. */
const linkedNode = '/usr/local/bin/node';
const knownTimeoutMs = 30_000;
const pollMs = 50;

const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n';
const group = 'root:x:0:\nnogroup:x:65534:\n';

export function isHostImage(image: string): boolean {
  return image === reference;
}

export interface HostImageOptions {
  /** Where the archive is built. */
  readonly dir: string;
  readonly clock: Clock;
  /** Imports an archive's images into the runtime. */
  readonly importArchive: (archive: string, signal: AbortSignal) => Promise<void>;
}

/** Builds the image once, however often it is requested. */
export class HostImage {
  readonly #options: HostImageOptions;
  readonly #closing = new AbortController();
  #made: Promise<void> | undefined;

  constructor(options: HostImageOptions) {
    this.#options = options;
  }

  /** Resolves with the image's id once the runtime knows it. */
  async provide(runtime: Pick<CriRuntime, 'imageStatus'>): Promise<string> {
    this.#made ??= this.#make();
    try {
      await this.#made;
    } catch (error) {
      this.#made = undefined;
      throw new CriError(
        'Unknown',
        `image ${reference} could not be made of this machine's programs: ${errorText(error)}`,
      );
    }
    const { clock } = this.#options;
    const giveUpMs = clock.monotonic() + knownTimeoutMs;
    for (;;) {
      const { image } = await runtime.imageStatus({ image: { image: reference } });
      if (image !== undefined) return image.id;
      if (clock.monotonic() > giveUpMs) {
        this.#made = undefined;
        throw new CriError('Unknown', `the runtime does not show the imported image ${reference}`);
      }
      // The CRI learns of an import from an event.
      await sleep(clock, pollMs);
    }
  }

  /** Cancels a running build. */
  async close(): Promise<void> {
    this.#closing.abort();
    // The caller that requested the image got its failure.
    await this.#made?.catch(() => {});
  }

  /** Removes the image, if it was built. */
  async remove(runtime: Pick<CriRuntime, 'removeImage'>): Promise<void> {
    if (this.#made === undefined) return;
    await runtime.removeImage({ image: { image: reference } }, { timeoutMs: knownTimeoutMs });
  }

  async #make(): Promise<void> {
    const { dir, importArchive } = this.#options;
    await rm(dir, { recursive: true, force: true });
    try {
      await importArchive(await buildArchive(dir, this.#closing.signal), this.#closing.signal);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }
}

/** Wraps a runtime so that it builds this machine's image instead of pulling it. */
export function withHostImage(runtime: CriRuntime, hostImage: HostImage): CriRuntime {
  return {
    ...runtime,
    pullImage: async (request, options) =>
      isHostImage(request.image?.image ?? '')
        ? { imageRef: await hostImage.provide(runtime) }
        : runtime.pullImage(request, options),
  };
}

/** The path of an archive for `ctr images import`. tar copies the machine's own files into it. */
async function buildArchive(dir: string, signal: AbortSignal): Promise<string> {
  const root = path.join(dir, 'root');
  const blobs = path.join(dir, 'image/blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const layer = path.join(dir, 'layer.tar');
  const node = await machineNode();
  await makeSkeleton(root, node);
  const files = await machineFiles(node);
  // Follow links: the image needs what the machine runs under that name.
  const names = files.map((file) => file.slice(1)).join('\0');
  const owned = (line: CommandLine<'--'>): CommandLine<'--'> =>
    line.literal('--owner=0', '--group=0', '--numeric-owner', '--mtime=@0');
  const create = CommandLine.of('tar').literal('--create').option('--file', layer);
  await runCommand(owned(create).option('--directory', root).operands('.'));
  const append = CommandLine.of('tar').literal('--append').option('--file', layer);
  await runCommand(owned(append).literal('--dereference', '--directory=/', '--null', '--files-from=-'), {
    input: names,
    timeoutMs: 300_000,
    signal,
  });
  const digest = await fileDigest(layer);
  const { size } = await stat(layer);
  const { index, manifest, config } = imageDocuments({
    name: reference,
    layers: [{ digest, sizeBytes: size, diffId: digest }],
    config: { env: [`PATH=${searchPath}`], cmd: ['/bin/sh'] },
  });
  const place = (hash: string): string => path.join(blobs, hash.slice('sha256:'.length));
  await rename(layer, place(digest));
  for (const document of [manifest, config]) await writeFile(place(sha256Digest(document)), document);
  await writeFile(path.join(dir, 'image/oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await writeFile(path.join(dir, 'image/index.json'), index);
  const archive = path.join(dir, 'image.tar');
  const parts = ['oci-layout', 'index.json', 'blobs'];
  const pack = CommandLine.of('tar').literal('--create').option('--file', archive);
  await runCommand(pack.option('--directory', path.join(dir, 'image')).operands(...parts), {
    timeoutMs: 300_000,
    signal,
  });
  return archive;
}

/** What every image has besides programs. */
async function makeSkeleton(root: string, node: string | undefined): Promise<void> {
  for (const name of ['bin', 'dev', 'etc', 'proc', 'root', 'run', 'sys', 'usr/local/bin', 'var'])
    await mkdir(path.join(root, name), { recursive: true, mode: 0o755 });
  await mkdir(path.join(root, 'tmp'));
  // The umask applies to mkdir.
  await chmod(path.join(root, 'tmp'), 0o1777);
  await writeFile(path.join(root, 'etc/passwd'), passwd);
  await writeFile(path.join(root, 'etc/group'), group);
  if (node !== undefined && node !== linkedNode) await symlink(node, path.join(root, linkedNode));
}

/** The node that runs this agent, wherever the machine has it; with the single executable, one of the machine if it has any. */
async function machineNode(): Promise<string | undefined> {
  if (!isSingleExecutable()) return await realpath(process.execPath);
  for (const dir of searchPath.split(':')) {
    const file = path.join(dir, 'node');
    if (await isExecutable(file)) return await realpath(file);
  }
  return undefined;
}

/** Programs and their libraries, with node at its real path. */
export async function machineFiles(node: string | undefined, link = linkedNode): Promise<string[]> {
  const found = new Set<string>();
  for (const program of programs) {
    for (const dir of searchPath.split(':')) {
      const file = path.join(dir, program);
      if (await isExecutable(file)) found.add(file);
    }
  }
  // A shell must be where scripts expect it, and node where the link points.
  if (await isExecutable('/bin/sh')) found.add('/bin/sh');
  found.delete(link);
  if (node !== undefined) found.add(await realpath(node));
  const libraries = await sharedLibraries([...found]);
  return [...found, ...libraries].sort();
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function fileDigest(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}
