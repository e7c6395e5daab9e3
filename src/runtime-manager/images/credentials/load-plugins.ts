/** Loads the node's configured credential provider plugins before anything runs. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../async/index.js';
import type { Timeline } from '../../../timeline/index.js';
import type { PodServiceAccounts } from '../../contracts.js';
import type { PluginMetrics } from '../../metrics.js';
import { CredentialPlugin } from './plugin.js';
import { type ConfigFile, readProviders } from './plugin-config.js';

export interface LoadPluginsOptions {
  /** A file, or a directory whose `.json`, `.yaml` and `.yml` files are merged. */
  readonly configPath: string;
  readonly binDir: string;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly metrics: PluginMetrics;
  /** The gate KubeletServiceAccountTokenForCredentialProviders. */
  readonly tokensEnabled: boolean;
  /** Absent on a node without an API: pods with a service account get nothing of plugins that want a token then. */
  readonly serviceAccounts?: PodServiceAccounts | undefined;
}

/** Fails when the configuration is invalid or a plugin's executable is missing. */
export async function loadCredentialPlugins(
  options: LoadPluginsOptions,
): Promise<readonly CredentialPlugin[]> {
  const { configPath, binDir, clock, timeline, metrics, tokensEnabled, serviceAccounts } = options;
  const files = await readConfigFiles(configPath);
  const providers = readProviders(files, { tokensEnabled });
  for (const { name } of providers) {
    const executable = join(binDir, name);
    await access(executable, constants.X_OK).catch((cause: unknown) => {
      throw new Error(`plugin binary executable ${executable} did not exist or cannot be run`, { cause });
    });
  }
  const hash = createHash('sha256');
  for (const { text } of files) hash.update(text);
  metrics.configuration.set(1, { hash: `sha256:${hash.digest('hex')}` });
  return providers.map(
    (provider) => new CredentialPlugin(provider, { clock, timeline, binDir, metrics, serviceAccounts }),
  );
}

async function readConfigFiles(configPath: string): Promise<ConfigFile[]> {
  const isConfigDirectory = (await stat(configPath)).isDirectory();
  const names = isConfigDirectory
    ? (await readdir(configPath)).filter((name) => /\.(json|ya?ml)$/.test(name)).sort()
    : undefined;
  const paths = names?.map((name) => join(configPath, name)) ?? [configPath];
  if (paths.length === 0) throw new Error(`no configuration files found in directory ${configPath}`);
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
}
