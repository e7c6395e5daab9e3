/** Parses the configuration of credential provider plugins and reports what is wrong with it. */
import { type Mapping, parseDuration, parseSource } from '../../../kube/index.js';

export const pluginApiVersions = [
  'credentialprovider.kubelet.k8s.io/v1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
  'credentialprovider.kubelet.k8s.io/v1alpha1',
] as const;
export type PluginApiVersion = (typeof pluginApiVersions)[number];

const configApiVersions: readonly string[] = [
  'kubelet.config.k8s.io/v1',
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
}

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Merges the files of a directory. Fails with all problems in one message. */
export function readProviders(files: readonly ConfigFile[]): readonly CredentialProvider[] {
  const problems: string[] = [];
  const providers: CredentialProvider[] = [];
  for (const file of files) {
    const before = providers.length;
    for (const { value } of parseSource(file.text, file.path)) {
      new ProviderReader((message) => problems.push(`${file.path}: ${message}`)).readConfig(value, providers);
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

class ProviderReader {
  constructor(readonly problem: (message: string) => void) {}

  readConfig(value: unknown, into: CredentialProvider[]): void {
    const config = this.#object(value, 'the file', ['apiVersion', 'kind', 'providers']);
    if (config === undefined) return;
    if (config.kind !== 'CredentialProviderConfig') {
      this.problem(
        `kind: Invalid value: ${JSON.stringify(config.kind ?? '')}: write CredentialProviderConfig`,
      );
    }
    if (!configApiVersions.includes(String(config.apiVersion))) {
      this.problem(
        `apiVersion: Unsupported value: ${JSON.stringify(config.apiVersion ?? '')}: supported values: ${configApiVersions.join(', ')}`,
      );
    }
    const { providers = [] } = config;
    if (!Array.isArray(providers)) {
      this.problem('providers: Invalid value: not a list');
      return;
    }
    for (const [index, entry] of providers.entries()) this.#provider(entry, `providers[${index}]`, into);
  }

  #provider(value: unknown, at: string, into: CredentialProvider[]): void {
    const fields = this.#object(value, at, [
      'name',
      'apiVersion',
      'matchImages',
      'defaultCacheDuration',
      'args',
      'env',
      'tokenAttributes',
    ]);
    if (fields === undefined) return;
    if (fields.tokenAttributes !== undefined) {
      this.problem(
        `${at}.tokenAttributes: Forbidden: this build has no service account tokens to hand to plugins; leave the field out`,
      );
    }
    const apiVersion = pluginApiVersions.find((known) => known === fields.apiVersion);
    if (apiVersion === undefined) {
      this.problem(
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
      args: this.#texts(fields.args, `${at}.args`),
      env: this.#env(fields.env, `${at}.env`),
    });
  }

  #name(value: unknown, at: string): string {
    const name = typeof value === 'string' ? value : '';
    if (name === '') this.problem(`${at}: Required value: name is required`);
    else if (name.includes(' '))
      this.problem(`${at}: Invalid value: ${JSON.stringify(name)}: name cannot contain spaces`);
    else if (name === '.') this.problem(`${at}: Invalid value: ".": name cannot be '.'`);
    else if (name === '..') this.problem(`${at}: Invalid value: "..": name cannot be '..'`);
    else if (/[/\\]/.test(name)) {
      this.problem(`${at}: Invalid value: ${JSON.stringify(name)}: name cannot contain path separator`);
    }
    return name;
  }

  #images(value: unknown, at: string): readonly string[] {
    const images = this.#texts(value, at);
    if (images.length === 0)
      this.problem(`${at}: Required value: at least 1 item in matchImages is required`);
    for (const [index, image] of images.entries()) {
      if (/^\w+:\/\//.test(image) || image === '' || /\s/.test(image)) {
        this.problem(
          `${at}[${index}]: Invalid value: ${JSON.stringify(image)}: match image is invalid: write host[:port][/path] without a scheme`,
        );
      }
    }
    return images;
  }

  #duration(value: unknown, at: string): number {
    if (value === undefined || value === null) {
      this.problem(`${at}: Required value: defaultCacheDuration is required`);
      return 0;
    }
    try {
      const durationMs = parseDuration(String(value));
      if (durationMs >= 0) return durationMs;
      this.problem(
        `${at}: Invalid value: ${JSON.stringify(value)}: defaultCacheDuration must be greater than or equal to 0`,
      );
    } catch {
      this.problem(`${at}: Invalid value: ${JSON.stringify(value)}: not a duration; write for example 10m`);
    }
    return 0;
  }

  #env(value: unknown, at: string): CredentialProvider['env'] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) {
      this.problem(`${at}: Invalid value: not a list`);
      return [];
    }
    return value.flatMap((entry: unknown, index) => {
      const fields = this.#object(entry, `${at}[${index}]`, ['name', 'value']);
      if (fields === undefined) return [];
      if (typeof fields.name !== 'string' || fields.name === '') {
        this.problem(`${at}[${index}].name: Required value`);
        return [];
      }
      return [{ name: fields.name, value: String(fields.value ?? '') }];
    });
  }

  #texts(value: unknown, at: string): readonly string[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value) && value.every((one): one is string => typeof one === 'string')) return value;
    this.problem(`${at}: Invalid value: not a list of texts`);
    return [];
  }

  #object(value: unknown, at: string, known: readonly string[]): Mapping | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.problem(`${at}: Invalid value: not an object`);
      return undefined;
    }
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) this.problem(`${at}: unknown field ${JSON.stringify(name)}`);
    }
    // A non-array object can be read by field name.
    return value as Mapping;
  }
}
