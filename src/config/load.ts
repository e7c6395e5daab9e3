/** Builds the effective configuration from defaults, the file, drop-ins and flags, in this order, and validates it. */
import { resolve } from 'node:path';
import { ConfigurationError, joinProblems, messageOf } from './config-error.js';
import { constructionProblems } from './construction.js';
import { type DocumentSettings, decodeConfigFile } from './decode.js';
import { applyDefaults, applyEvictionDefaults, baselineConfiguration } from './defaults.js';
import { type ConfigFiles, mergeDropIns } from './drop-ins.js';
import { checkFeatureGateNames, type FeatureGates, resolveFeatureGates } from './feature-gates.js';
import type { KubeletFlags } from './flag-table.js';
import {
  applyFlagSettings,
  type KubeletCommandLine,
  parseKubeletCommandLine,
  validateKubeletFlags,
} from './flags.js';
import type { ConfiguredHost, RuleContext } from './rule-context.js';
import { maskSecrets, serializeConfiguration } from './serialize.js';
import { settleConfiguration } from './settle.js';
import type { KubeletConfiguration } from './types.js';
import { configurationWarnings, validateConfiguration } from './validate.js';

export interface LoadOptions extends ConfigFiles {
  /** Arguments without the program's own name. */
  readonly argv: readonly string[];
  /** The directory that `--config` and `--config-dir` are relative to. */
  readonly cwd: string;
  /** What some rules need to know about the machine. */
  readonly host?: ConfiguredHost;
}

export interface LoadedConfiguration {
  readonly kind: 'run';
  readonly flags: KubeletFlags;
  /** The configuration that the kubelet uses. */
  readonly config: KubeletConfiguration;
  /** The configuration that `/configz` shows, through `serializeConfiguration`; secrets are masked. */
  readonly publishedConfig: KubeletConfiguration;
  readonly featureGates: FeatureGates;
  /** Paths that a file or a flag sets, for `inertSettings`. */
  readonly explicit: ReadonlySet<string>;
  readonly warnings: readonly string[];
  /** `--kubeconfig` is not set: pods come only from files and URLs. */
  readonly standalone: boolean;
  /**
   * Loads the configuration again with the same flags and drop-ins, and with this text in place of the file of `--config`.
   * Throws a ConfigurationError as `loadConfiguration` does.
   */
  readonly tryFile: (file: string, text: string) => Promise<LoadedConfiguration>;
}

export type LoadOutcome =
  | LoadedConfiguration
  | { readonly kind: 'help' }
  | { readonly kind: 'version'; readonly raw: boolean };

type RunCommand = Extract<KubeletCommandLine, { kind: 'run' }>;

/** Throws a ConfigurationError whose message is for the user. */
export async function loadConfiguration(options: LoadOptions): Promise<LoadOutcome> {
  const command = parseKubeletCommandLine(options.argv);
  return command.kind === 'run' ? await loadRun(command, options) : command;
}

async function loadRun(command: RunCommand, options: LoadOptions): Promise<LoadedConfiguration> {
  const flagGates = gatesOf(command.settings.get('featureGates'));
  checkFeatureGateNames(flagGates);
  validateKubeletFlags(command.flags);

  const files = await readFiles(command, flagGates, options);
  const published = applyFlagSettings(files.config, command.settings);
  const resolved = resolveFeatureGates(published.featureGates);
  const standalone = command.flags.kubeconfig === '';
  const host = options.host ?? {};
  const context: RuleContext = { config: published, gates: resolved.gates, host, standalone };
  check(context);
  return {
    kind: 'run',
    flags: command.flags,
    config: settleConfiguration(published, command.flags, host),
    publishedConfig: maskSecrets(published),
    featureGates: resolved.gates,
    explicit: new Set([...files.explicit, ...command.settings.keys()]),
    warnings: [
      ...command.warnings,
      ...files.warnings,
      ...resolved.warnings,
      ...configurationWarnings(context),
    ],
    standalone,
    tryFile: (config, text) =>
      loadRun(
        { ...command, flags: { ...command.flags, config } },
        {
          ...options,
          readFile: async (path) =>
            path === resolve(options.cwd, config) ? text : await options.readFile(path),
        },
      ),
  };
}

function check(context: RuleContext): void {
  const invalid = validateConfiguration(context);
  if (invalid.length > 0) {
    const hint = invalid.some((problem) => problem.includes('cgroup v1'))
      ? 'This machine uses cgroup v1: set failCgroupV1: false in the configuration file, or pass --fail-cgroupv1=false, to run anyway'
      : undefined;
    throw new ConfigurationError(
      `failed to validate kubelet configuration, error: ${joinProblems(invalid)}`,
      {
        ...(hint === undefined ? {} : { hint }),
      },
    );
  }
  const impossible = constructionProblems(context);
  if (impossible.length > 0) {
    const hint = impossible.some((problem) => problem.startsWith('no client provided'))
      ? 'Without --kubeconfig, set authentication.webhook.enabled: false and authorization.mode: AlwaysAllow'
      : undefined;
    throw new ConfigurationError(joinProblems(impossible), { ...(hint === undefined ? {} : { hint }) });
  }
}

interface FromFiles {
  readonly config: KubeletConfiguration;
  readonly explicit: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

/** Returns the configuration without flags: the file or the baseline, with drop-ins merged over it. */
async function readFiles(
  command: RunCommand,
  flagGates: Readonly<Record<string, boolean>>,
  options: LoadOptions,
): Promise<FromFiles> {
  const { flags } = command;
  const base = flags.config === '' ? fromNothing(flagGates) : await readMainFile(flags, flagGates, options);
  if (flags.configDir === '') return base;
  const directory = resolve(options.cwd, flags.configDir);
  const merged = await mergeDropIns(serializeConfiguration(base.config), directory, options, {
    lenient: flags.lenientConfig,
  });
  return {
    config: applyDefaults(merged.settings, gatesFor(merged.settings, flagGates)),
    explicit: new Set([...base.explicit, ...merged.written]),
    warnings: [...base.warnings, ...merged.warnings],
  };
}

function fromNothing(flagGates: Readonly<Record<string, boolean>>): FromFiles {
  const { gates } = resolveFeatureGates(flagGates);
  return { config: baselineConfiguration(gates), explicit: new Set(), warnings: [] };
}

async function readMainFile(
  flags: KubeletFlags,
  flagGates: Readonly<Record<string, boolean>>,
  options: LoadOptions,
): Promise<FromFiles> {
  const file = resolve(options.cwd, flags.config);
  try {
    const text = await options.readFile(file);
    const { settings, warnings } = decodeConfigFile(text, file, { lenient: flags.lenientConfig });
    const config = applyDefaults(settings, gatesFor(settings, flagGates));
    applyEvictionDefaults(config, settings);
    return { config, explicit: new Set(settings.values.keys()), warnings };
  } catch (thrown) {
    throw new ConfigurationError(
      `failed to load kubelet config file, path: ${file}, error: failed to load Kubelet config file ${file}, error ${messageOf(thrown)}`,
      { cause: thrown },
    );
  }
}

/** The gates of settings and flags: some defaults depend on them. */
function gatesFor(settings: DocumentSettings, flagGates: Readonly<Record<string, boolean>>): FeatureGates {
  return resolveFeatureGates({ ...gatesOf(settings.values.get('featureGates')), ...flagGates }).gates;
}

function gatesOf(value: unknown): Readonly<Record<string, boolean>> {
  // The decoders of file and flags return a map of booleans for this field.
  return (value ?? {}) as Readonly<Record<string, boolean>>;
}
