/** Parses the configuration of credential provider plugins and reports what is wrong with it. */
import { type Mapping, parseDuration, parseSource } from '../../../kube/index.js';
import { ConfigFields } from './config-fields.js';
import { readTokenAttributes, type TokenAttributes } from './token-attributes.js';

export const pluginApiVersions = [
  'credentialprovider.kubelet.k8s.io/v1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
  'credentialprovider.kubelet.k8s.io/v1alpha1',
] as const;
export type PluginApiVersion = (typeof pluginApiVersions)[number];

/** The one version whose files may mention tokens. */
const configWithTokens = 'kubelet.config.k8s.io/v1';
const configApiVersions: readonly string[] = [
  configWithTokens,
  'kubelet.config.k8s.io/v1beta1',
  'kubelet.config.k8s.io/v1alpha1',
];

/** A plugin and the images it serves. */
export interface CredentialProvider {
  /** Also the name of its executable. */
  readonly name: string;
  readonly apiVersion: PluginApiVersion;
  readonly matchImages: readonly string[];
  /** How long a response without its own cache duration is kept. */
  readonly defaultCacheDurationMs: number;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Set for a plugin that is asked with a token of the pod's service account. */
  readonly tokenAttributes?: TokenAttributes | undefined;
}

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

export interface ReadProvidersOptions {
  /** The gate KubeletServiceAccountTokenForCredentialProviders. */
  readonly tokensEnabled: boolean;
}

/** Merges the files of a directory. Fails with all problems in one message. */
export function readProviders(
  files: readonly ConfigFile[],
  options: ReadProvidersOptions,
): readonly CredentialProvider[] {
  const problems: string[] = [];
  const providers: CredentialProvider[] = [];
  for (const file of files) {
    const before = providers.length;
    for (const { value } of parseSource(file.text, file.path)) {
      const fields = new ConfigFields((message) => problems.push(`${file.path}: ${message}`));
      new ProviderReader(fields, options).readConfig(value, providers);
    }
    if (providers.length === before && problems.length === 0) {
      problems.push(`${file.path}: providers: Required value: at least 1 item in plugins is required`);
    }
  }
  const names = new Set<string>();
  for (const { name } of providers) {
    if (names.has(name)) problems.push(`providers: Duplicate value: ${JSON.stringify(name)}`);
    names.add(name);
  }
  if (problems.length > 0) throw new Error(problems.join('; '));
  return providers;
}

const providerFields = ['name', 'apiVersion', 'matchImages', 'defaultCacheDuration', 'args', 'env'];

class ProviderReader {
  readonly #fields: ConfigFields;
  readonly #options: ReadProvidersOptions;

  constructor(fields: ConfigFields, options: ReadProvidersOptions) {
    this.#fields = fields;
    this.#options = options;
  }

  readConfig(value: unknown, into: CredentialProvider[]): void {
    const config = this.#fields.object(value, 'the file', ['apiVersion', 'kind', 'providers']);
    if (config === undefined) return;
    if (config.kind !== 'CredentialProviderConfig') {
      this.#fields.problem(
        `kind: Invalid value: ${JSON.stringify(config.kind ?? '')}: write CredentialProviderConfig`,
      );
    }
    if (!configApiVersions.includes(String(config.apiVersion))) {
      this.#fields.problem(
        `apiVersion: Unsupported value: ${JSON.stringify(config.apiVersion ?? '')}: supported values: ${configApiVersions.join(', ')}`,
      );
    }
    const { providers = [] } = config;
    if (!Array.isArray(providers)) {
      this.#fields.problem('providers: Invalid value: not a list');
      return;
    }
    const known =
      config.apiVersion === configWithTokens ? [...providerFields, 'tokenAttributes'] : providerFields;
    for (const [index, entry] of providers.entries()) {
      this.#provider(this.#fields.object(entry, `providers[${index}]`, known), `providers[${index}]`, into);
    }
  }

  #provider(fields: Mapping | undefined, at: string, into: CredentialProvider[]): void {
    if (fields === undefined) return;
    const apiVersion = pluginApiVersions.find((known) => known === fields.apiVersion);
    if (apiVersion === undefined) {
      this.#fields.problem(
        fields.apiVersion === undefined || fields.apiVersion === ''
          ? `${at}.apiVersion: Required value`
          : `${at}.apiVersion: Unsupported value: ${JSON.stringify(fields.apiVersion)}: supported values: ${pluginApiVersions.join(', ')}`,
      );
    }
    into.push({
      name: this.#name(fields.name, `${at}.name`),
      apiVersion: apiVersion ?? pluginApiVersions[0],
      matchImages: this.#images(fields.matchImages, `${at}.matchImages`),
      defaultCacheDurationMs: this.#duration(fields.defaultCacheDuration, `${at}.defaultCacheDuration`),
      args: this.#fields.texts(fields.args, `${at}.args`),
      env: this.#env(fields.env, `${at}.env`),
      tokenAttributes: readTokenAttributes(this.#fields, fields.tokenAttributes, {
        at: `${at}.tokenAttributes`,
        apiVersion: fields.apiVersion,
        isEnabled: this.#options.tokensEnabled,
      }),
    });
  }

  #name(value: unknown, at: string): string {
    const name = typeof value === 'string' ? value : '';
    if (name === '') this.#fields.problem(`${at}: Required value: name is required`);
    else if (name.includes(' '))
      this.#fields.problem(`${at}: Invalid value: ${JSON.stringify(name)}: name cannot contain spaces`);
    else if (name === '.') this.#fields.problem(`${at}: Invalid value: ".": name cannot be '.'`);
    else if (name === '..') this.#fields.problem(`${at}: Invalid value: "..": name cannot be '..'`);
    else if (/[/\\]/.test(name)) {
      this.#fields.problem(
        `${at}: Invalid value: ${JSON.stringify(name)}: name cannot contain path separator`,
      );
    }
    return name;
  }

  #images(value: unknown, at: string): readonly string[] {
    const images = this.#fields.texts(value, at);
    if (images.length === 0)
      this.#fields.problem(`${at}: Required value: at least 1 item in matchImages is required`);
    for (const [index, image] of images.entries()) {
      if (/^\w+:\/\//.test(image) || image === '' || /\s/.test(image)) {
        this.#fields.problem(
          `${at}[${index}]: Invalid value: ${JSON.stringify(image)}: match image is invalid: write host[:port][/path] without a scheme`,
        );
      }
    }
    return images;
  }

  #duration(value: unknown, at: string): number {
    if (value === undefined || value === null) {
      this.#fields.problem(`${at}: Required value: defaultCacheDuration is required`);
      return 0;
    }
    try {
      const durationMs = parseDuration(String(value));
      if (durationMs >= 0) return durationMs;
      this.#fields.problem(
        `${at}: Invalid value: ${JSON.stringify(value)}: defaultCacheDuration must be greater than or equal to 0`,
      );
    } catch {
      this.#fields.problem(
        `${at}: Invalid value: ${JSON.stringify(value)}: not a duration; write for example 10m`,
      );
    }
    return 0;
  }

  #env(value: unknown, at: string): CredentialProvider['env'] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) {
      this.#fields.problem(`${at}: Invalid value: not a list`);
      return [];
    }
    return value.flatMap((entry: unknown, index) => {
      const fields = this.#fields.object(entry, `${at}[${index}]`, ['name', 'value']);
      if (fields === undefined) return [];
      if (typeof fields.name !== 'string' || fields.name === '') {
        this.#fields.problem(`${at}[${index}].name: Required value`);
        return [];
      }
      return [{ name: fields.name, value: String(fields.value ?? '') }];
    });
  }
}
