/** Parses the command line the way the reference's flag library does. */
import { ConfigurationError, messageOf } from './config-error.js';
import { type ConfigTree, readPath, writePath } from './config-path.js';
import {
  defaultKubeletFlags,
  type FlagSpec,
  flagsByName,
  flagsByShorthand,
  type KubeletFlags,
} from './flag-table.js';
import { joinOccurrences, parseFlagValue, type VersionRequest, valueWhenBare } from './flag-values.js';
import { nearestName } from './nearest-name.js';
import { nodeLabelsProblem } from './node-labels.js';
import type { ConfigPath, KubeletConfiguration } from './types.js';

export type CommandLine =
  | { readonly kind: 'help' }
  | { readonly kind: 'version'; readonly raw: boolean }
  | {
      readonly kind: 'run';
      readonly flags: KubeletFlags;
      /** Configuration fields set by flags, with their values. */
      readonly settings: ReadonlyMap<ConfigPath, unknown>;
      readonly warnings: readonly string[];
    };

interface Occurrence {
  readonly spec: FlagSpec;
  readonly text: string;
  /** As errors name the flag. */
  readonly shown: string;
}

/** Throws a ConfigurationError for anything that is not a known flag with a good value. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const values = new Map<FlagSpec, unknown>();
  const positionals: string[] = [];
  try {
    for (const token of scan(argv)) {
      if (typeof token === 'string') positionals.push(token);
      else values.set(token.spec, accept(token, values));
    }
  } catch (thrown) {
    throw new ConfigurationError(`failed to parse kubelet flag: ${messageOf(thrown)}`, { cause: thrown });
  }
  const [command] = positionals;
  if (command !== undefined) throw new ConfigurationError(`unknown command ${command}`);
  return interpret(values);
}

/** Checks of the flags that are not part of the configuration. */
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

/** The configuration with the flags on top: a flag replaces its field, only feature gates are merged. */
export function applyFlagSettings(
  config: KubeletConfiguration,
  settings: ReadonlyMap<ConfigPath, unknown>,
): KubeletConfiguration {
  const result = structuredClone(config);
  // The tree view lets table paths be followed at run time; the values have the kinds of their fields.
  const tree = result as unknown as ConfigTree;
  for (const [path, value] of settings) {
    const before = path === 'featureGates' ? readPath(tree, path) : undefined;
    const merged = typeof before === 'object' ? { ...before, ...Object(value) } : value;
    writePath(tree, path, structuredClone(merged));
  }
  if (result.podPidsLimit < 0) result.podPidsLimit = -1;
  return result;
}

/** Splits the arguments into positionals (strings) and flags with their texts. */
function* scan(argv: readonly string[]): Generator<string | Occurrence> {
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    if (argument === '--') {
      yield* argv.slice(index + 1);
      return;
    }
    if (!argument.startsWith('-') || argument === '-') {
      yield argument;
      continue;
    }
    const { spec, text, shown } = argument.startsWith('--') ? readLong(argument) : readShort(argument);
    if (text !== undefined) {
      yield { spec, text, shown };
      continue;
    }
    const bare = valueWhenBare(spec.kind);
    if (bare !== undefined) {
      yield { spec, text: bare, shown };
      continue;
    }
    const next = argv[++index];
    if (next === undefined) {
      const isShort = !argument.startsWith('--');
      throw new Error(
        `flag needs an argument: ${isShort ? `'${spec.shorthand}' in ${argument}` : `--${spec.name}`}`,
      );
    }
    yield { spec, text: next, shown };
  }
}

interface FlagToken {
  readonly spec: FlagSpec;
  readonly text: string | undefined;
  readonly shown: string;
}

function readLong(argument: string): FlagToken {
  const body = argument.slice(2);
  const equals = body.indexOf('=');
  const written = equals === -1 ? body : body.slice(0, equals);
  if (written === '' || written.startsWith('-')) throw new Error(`bad flag syntax: ${argument}`);
  const spec = flagsByName.get(written.replaceAll('_', '-'));
  if (spec === undefined) {
    const nearest = nearestName(written, flagsByName.keys());
    throw new ConfigurationError(`unknown flag: --${written}`, {
      ...(nearest !== undefined && { hint: `did you mean --${nearest}?` }),
    });
  }
  return { spec, text: equals === -1 ? undefined : body.slice(equals + 1), shown: shownName(spec) };
}

function readShort(argument: string): FlagToken {
  const letter = argument.charAt(1);
  const spec = flagsByShorthand.get(letter);
  if (spec === undefined) throw new Error(`unknown shorthand flag: '${letter}' in ${argument}`);
  const rest = argument.slice(2);
  if (rest === '') return { spec, text: undefined, shown: shownName(spec) };
  if (rest.startsWith('=')) return { spec, text: rest.slice(1), shown: shownName(spec) };
  // `-h` takes no value, so letters after it would be further flags; no other letter may follow it.
  if (valueWhenBare(spec.kind) !== undefined) {
    throw new Error(`unknown shorthand flag: '${rest.charAt(0)}' in ${argument}`);
  }
  return { spec, text: rest, shown: shownName(spec) };
}

function shownName(spec: FlagSpec): string {
  return spec.shorthand === undefined ? `--${spec.name}` : `-${spec.shorthand}, --${spec.name}`;
}

function accept(occurrence: Occurrence, values: ReadonlyMap<FlagSpec, unknown>): unknown {
  const { spec, text, shown } = occurrence;
  let value: unknown;
  try {
    value = parseFlagValue(spec.kind, text);
  } catch (thrown) {
    // Header values are secret.
    const repeated = spec.kind === 'headerMap' ? '' : ` ${JSON.stringify(text)}`;
    throw new Error(`invalid argument${repeated} for "${shown}" flag: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
  return values.has(spec) ? joinOccurrences(spec.kind, values.get(spec), value) : value;
}

function interpret(values: ReadonlyMap<FlagSpec, unknown>): CommandLine {
  const settings = new Map<ConfigPath, unknown>();
  const warnings: string[] = [];
  const given: Partial<Record<keyof KubeletFlags, unknown>> = {};
  let wantsHelp = false;
  let version: VersionRequest | undefined;
  for (const [spec, value] of values) {
    if (spec.deprecated !== undefined) warnings.push(`flag --${spec.name} is deprecated: ${spec.deprecated}`);
    switch (spec.target.to) {
      case 'config':
        if (value !== undefined) settings.set(spec.target.path, value);
        break;
      case 'kubelet':
        given[spec.target.key] = value;
        break;
      case 'help':
        wantsHelp = value === true;
        break;
      case 'version':
        version = value as VersionRequest; // what parseFlagValue returns for this kind
        break;
      case 'nowhere':
        break;
    }
  }
  if (wantsHelp) return { kind: 'help' };
  if (version?.print === true) return { kind: 'version', raw: version.raw };
  if (version !== undefined) given.reportedVersion = version.reported;
  // The flag table names for every key the kind of its value.
  const flags = { ...structuredClone(defaultKubeletFlags), ...given } as KubeletFlags;
  return { kind: 'run', flags, settings, warnings };
}
