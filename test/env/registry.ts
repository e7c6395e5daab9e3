/** Starts an image registry on loopback, so that pulls, pull secrets and pull failures are real. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Blob, type OciImage, splitReference } from '../../src/runtimes/containerd/oci.js';
import { lastLines, runCommand, systemEnvironment } from './command.js';
import { ensurePackages } from './packages.js';
import { pollUntil } from './poll.js';
import { signalProcess } from './processes.js';
import { packagesFor } from './programs.js';
import { sweepLeftovers } from './teardown.js';
import { type CleanupStack, createTempDir, type TempDir } from './tempdir.js';

export interface RegistryCredentials {
  readonly user: string;
  readonly password: string;
}

export interface RegistryOptions {
  /** Ask for these credentials. Default: everybody may pull and push. */
  readonly auth?: RegistryCredentials;
  /** Stops the registry when it is run. */
  readonly cleanups?: CleanupStack;
}

const startTimeoutMs = 15_000;

/** Returns when the registry answers on a port of 127.0.0.1. */
export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  await ensurePackages(packagesFor('base', 'containerd'));
  await sweepLeftovers();
  const dir = await createTempDir('registry');
  const registry = new TestRegistry(dir, options.auth);
  options.cleanups?.defer('registry', () => registry.stop());
  try {
    writeFileSync(join(dir.path, 'config.json'), JSON.stringify(await configuration(dir.path, options.auth)));
    await registry.start();
    return registry;
  } catch (error) {
    await registry.stop();
    throw error;
  }
}

/** JSON, which the registry reads as the YAML it is. */
async function configuration(dir: string, auth: RegistryCredentials | undefined) {
  const common = {
    version: 0.1,
    log: { level: 'info', formatter: 'text' },
    storage: { filesystem: { rootdirectory: join(dir, 'data') }, delete: { enabled: true } },
    http: { addr: '127.0.0.1:0' },
  };
  if (auth === undefined) {
    return common;
  }
  const path = join(dir, 'htpasswd');
  writeFileSync(path, `${auth.user}:${await bcrypt(auth.password)}\n`);
  return { ...common, auth: { htpasswd: { realm: 'nodelet-test', path } } };
}

/** The only password hash the registry accepts, from the C library by way of the perl that every Debian has. */
async function bcrypt(password: string): Promise<string> {
  const salt = `$2y$05$${randomBytes(11).toString('hex').slice(0, 21)}u`;
  const { stdout } = await runCommand('perl', ['-e', 'print crypt($ARGV[0], $ARGV[1])', password, salt]);
  if (!stdout.startsWith('$2y$')) {
    throw new Error('crypt(3) of this machine does not know bcrypt');
  }
  return stdout;
}

export class TestRegistry {
  #process: ChildProcess | undefined;
  #port = 0;

  constructor(
    readonly dir: TempDir,
    readonly auth: RegistryCredentials | undefined,
  ) {}

  /** As in the names of the images it serves: `127.0.0.1:40123`. */
  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** `undefined` while it is down. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get #logPath(): string {
    return join(this.dir.path, 'registry.log');
  }

  /** What it has written, with one line for each request. */
  logs(): string {
    return readFileSync(this.#logPath, 'utf8');
  }

  /** Starts it if it is down; the port is a new one each time. */
  async start(): Promise<void> {
    if (this.#process !== undefined) {
      return;
    }
    const log = openSync(this.#logPath, 'w');
    const config = join(this.dir.path, 'config.json');
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'docker-registry', 'serve', config], {
      stdio: ['ignore', log, log],
      env: systemEnvironment({ OTEL_TRACES_EXPORTER: 'none' }),
      detached: true,
    });
    closeSync(log);
    child.unref();
    this.#process = child;
    this.#port = await pollUntil('the registry listens', () => this.#listeningPort(child), {
      timeoutMs: startTimeoutMs,
      detail: () => lastLines(this.logs(), 20),
    });
  }

  #listeningPort(child: ChildProcess): number | undefined {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the registry ended at its start:\n${lastLines(this.logs(), 20)}`);
    }
    const port = /listening on 127\.0\.0\.1:(\d+)/.exec(this.logs())?.[1];
    return port === undefined ? undefined : Number(port);
  }

  /** Stores an image and returns the name to pull it by: this registry's host with the image's own path and tag. */
  async push(image: OciImage): Promise<string> {
    const { repository, tag } = splitReference(image.name);
    for (const part of [...image.layers, image.config]) {
      await this.#pushBlob(repository, part);
    }
    const { mediaType, content } = image.manifest;
    await this.#request('PUT', `${this.url}/v2/${repository}/manifests/${tag}`, 201, {
      body: content,
      contentType: mediaType,
    });
    return `${this.host}/${repository}:${tag}`;
  }

  async #pushBlob(repository: string, { digest, content }: Blob): Promise<void> {
    const uploads = `${this.url}/v2/${repository}/blobs/uploads/`;
    const begun = await this.#request('POST', uploads, 202);
    const location = new URL(begun.headers.get('location') ?? '', this.url);
    location.searchParams.set('digest', digest);
    await this.#request('PUT', location.href, 201, {
      body: content,
      contentType: 'application/octet-stream',
    });
  }

  async #request(
    method: string,
    url: string,
    expected: number,
    sent?: { readonly body: Buffer; readonly contentType: string },
  ): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.auth !== undefined) {
      const credentials = Buffer.from(`${this.auth.user}:${this.auth.password}`).toString('base64');
      headers.authorization = `Basic ${credentials}`;
    }
    if (sent !== undefined) {
      headers['content-type'] = sent.contentType;
    }
    const response = await fetch(url, { method, headers, body: sent?.body ?? null });
    const text = await response.text();
    if (response.status !== expected) {
      throw new Error(`registry: ${method} ${url}: ${response.status} ${text}`);
    }
    return response;
  }

  /** Ends the process; what was pushed stays for the next `start`. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      return;
    }
    child.ref();
    const exited = once(child, 'exit');
    signalProcess(child.pid, 'SIGKILL');
    await exited;
  }

  /** Ends the process and removes its files; may be called again. */
  async stop(): Promise<void> {
    await this.kill();
    await this.dir.remove();
  }
}
