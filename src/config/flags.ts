/** The kubelet's command line: parses it, validates it and applies it to the configuration. */
import { FlagError, type ParsedFlags, parseFlags } from '../flags/index.js';
import { ConfigurationError } from './config-error.js';
import { type ConfigTree, readPath, writePath } from './config-path.js';
import { defaultKubeletFlags, flagsByName, type KubeletFlags } from './flag-table.js';
import type { VersionRequest } from './flag-values.js';
import { nodeLabelsProblem } from './node-labels.js';
import type { ConfigPath, KubeletConfiguration } from './types.js';

export type KubeletCommandLine =
  | { readonly kind: 'help' }
  | { readonly kind: 'version'; readonly raw: boolean }
  | {
      readonly kind: 'run';
      readonly flags: KubeletFlags;
      /** Configuration fields set by flags, with their values. */
      readonly settings: ReadonlyMap<ConfigPath, unknown>;
      readonly warnings: readonly string[];
    };

/** Throws a ConfigurationError for a command line that is wrong. */
export function parseKubeletCommandLine(argv: readonly string[]): KubeletCommandLine {
  const parsed = parseKnownFlags(argv);
  const [command] = [...parsed.positionals, ...(parsed.rest ?? [])];
  if (command !== undefined) throw new ConfigurationError(`unknown command ${command}`);
  return interpret(parsed);
}

function parseKnownFlags(argv: readonly string[]): ParsedFlags<typeof flagsByName> {
  try {
    return parseFlags(argv, flagsByName);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    const { problem } = error;
    const nearest = problem.kind === 'unknown-flag' ? problem.nearest : undefined;
    throw new ConfigurationError(`failed to parse kubelet flag: ${error.message}`, {
      cause: error,
      ...(nearest !== undefined && { hint: `did you mean --${nearest}?` }),
    });
  }
}

/** Validates the flags that are not part of the configuration. Throws a ConfigurationError. */
export function validateKubeletFlags(flags: KubeletFlags): void {
  const labels = nodeLabelsProblem(flags.nodeLabels);
  if (labels !== undefined) throw new ConfigurationError(`failed to validate kubelet flags: ${labels}`);
  if (flags.cloudProvider !== '' && flags.cloudProvider !== 'external') {
    throw new ConfigurationError(
      `cloud provider "${flags.cloudProvider}" was specified, but built-in cloud providers are disabled. ` +
        'Please set --cloud-provider=external and migrate to an external cloud provider',
    );
  }
  if (flags.exitOnLockContention && flags.lockFile === '') {
    throw new ConfigurationError('cannot exit on lock file contention: no lock file specified');
  }
}

/** Applies flags to a configuration: a flag replaces its field; feature gates are merged. */
export function applyFlagSettings(
  config: KubeletConfiguration,
  settings: ReadonlyMap<ConfigPath, unknown>,
): KubeletConfiguration {
  const result = structuredClone(config);
  // Paths of the table are known only at run time. Every value has the kind of its field.
  const tree = result as unknown as ConfigTree;
  for (const [path, value] of settings) {
    const before = path === 'featureGates' ? readPath(tree, path) : undefined;
    const merged = typeof before === 'object' ? { ...before, ...Object(value) } : value;
    writePath(tree, path, structuredClone(merged));
  }
  if (result.podPidsLimit < 0) result.podPidsLimit = -1;
  return result;
}

function interpret({ given, values }: ParsedFlags<typeof flagsByName>): KubeletCommandLine {
  const settings = new Map<ConfigPath, unknown>();
  const warnings: string[] = [];
  const kubeletValues: Partial<Record<keyof KubeletFlags, unknown>> = {};
  let wantsHelp = false;
  let version: VersionRequest | undefined;
  for (const name of given) {
    const flag = flagsByName[name];
    if (flag === undefined) continue;
    const { deprecated, target } = flag;
    const value = values[name];
    if (deprecated !== undefined) warnings.push(`flag --${name} is deprecated: ${deprecated}`);
    switch (target.to) {
      case 'config':
        if (value !== undefined) settings.set(target.path, value);
        break;
      case 'kubelet':
        kubeletValues[target.key] = value;
        break;
      case 'help':
        wantsHelp = value === true;
        break;
      case 'version':
        version = value as VersionRequest; // the type of this flag returns it
        break;
    }
  }
  if (wantsHelp) return { kind: 'help' };
  if (version?.print === true) return { kind: 'version', raw: version.raw };
  if (version !== undefined) kubeletValues.reportedVersion = version.reported;
  // The flag table gives every key a value of its type.
  const flags = { ...structuredClone(defaultKubeletFlags), ...kubeletValues } as KubeletFlags;
  return { kind: 'run', flags, settings, warnings };
}
