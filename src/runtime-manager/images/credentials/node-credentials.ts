/** The machine's own registry credentials, from the files of container tools. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../async/index.js';
import type { Timeline } from '../../../timeline/index.js';
import { isMissing } from '../../logs/file-error.js';
import { type DockerConfig, parseDockerConfigJson, parseDockercfg } from './docker-config.js';

export interface NodeCredentialsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** The agent's root directory, searched first. */
  readonly rootDir: string;
  readonly workingDir?: string;
  readonly homeDir?: string;
  readonly read?: (path: string) => Promise<string>;
}

const cachedForMs = 300_000;

/** The files in search order; only the first valid one counts. */
export function nodeCredentialFiles(
  rootDir: string,
  workingDir: string,
  homeDir: string,
): readonly { readonly path: string; readonly parse: (text: string) => DockerConfig }[] {
  return [
    ...[rootDir, workingDir, join(homeDir, '.docker'), '/.docker'].map((directory) => ({
      path: join(directory, 'config.json'),
      parse: parseDockerConfigJson,
    })),
    ...[rootDir, workingDir, homeDir, '/'].map((directory) => ({
      path: join(directory, '.dockercfg'),
      parse: parseDockercfg,
    })),
  ];
}

/** Where a process of this machine finds them. */
export function machineCredentialFiles(): Required<
  Pick<NodeCredentialsOptions, 'read' | 'workingDir' | 'homeDir'>
> {
  return { read: (path) => readFile(path, 'utf8'), workingDir: process.cwd(), homeDir: homedir() };
}

/** Rereads the files after five minutes. */
export class NodeCredentials {
  readonly #options: NodeCredentialsOptions;
  #known: { readonly config: DockerConfig; readonly readAtMs: number } | undefined;

  constructor(options: NodeCredentialsOptions) {
    this.#options = options;
  }

  async read(): Promise<DockerConfig> {
    const nowMs = this.#options.clock.monotonic();
    if (this.#known !== undefined && nowMs - this.#known.readAtMs < cachedForMs) return this.#known.config;
    const config = await this.#search();
    this.#known = { config, readAtMs: nowMs };
    return config;
  }

  async #search(): Promise<DockerConfig> {
    const { rootDir, timeline, ...given } = this.#options;
    const { read, workingDir, homeDir } = { ...machineCredentialFiles(), ...given };
    for (const { path, parse } of nodeCredentialFiles(rootDir, workingDir, homeDir)) {
      try {
        return parse(await read(path));
      } catch (error) {
        if (isMissing(error)) continue;
        timeline.record({
          kind: 'problem',
          what: 'credentials.file',
          message: `registry passwords in ${path} are not used`,
          level: 'warn',
          error,
        });
      }
    }
    return new Map();
  }
}
