/** Parses the files and secrets in which container tools keep registry credentials. */
import { parseJson } from '../../../kube/index.js';

/** One entry of such a file. */
export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
  /** Part of the credentials' identity; never sent. */
  readonly email?: string;
}

/** Keyed by registry as written: `https://index.docker.io/v1/`, `registry.example:5000/team`. */
export type DockerConfig = ReadonlyMap<string, RegistryAuth>;

/** `config.json` and secrets of type `kubernetes.io/dockerconfigjson`: the entries are below `auths`. */
export function parseDockerConfigJson(text: string): DockerConfig {
  return parseEntries(member(readJson(text), 'auths') ?? {});
}

/** `.dockercfg` and secrets of type `kubernetes.io/dockercfg`: the entries are at the top level. */
export function parseDockercfg(text: string): DockerConfig {
  return parseEntries(readJson(text));
}

/** Errors must not quote the text: it may hold a password. */
function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new Error('not a JSON text');
  }
}

function parseEntries(value: unknown): DockerConfig {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('the registries are not an object');
  }
  return new Map(Object.entries(value).map(([registry, entry]) => [registry, parseEntry(registry, entry)]));
}

/** `auth` is what tools write; it wins over username and password, which people write. */
function parseEntry(registry: string, entry: unknown): RegistryAuth {
  const text = (name: string): string => {
    const value = member(entry, name);
    if (value === undefined || value === null) return '';
    if (typeof value !== 'string') throw new Error(`${name} of registry ${registry} is not a text`);
    return value;
  };
  const email = text('email');
  const rest = email === '' ? {} : { email };
  const auth = text('auth');
  if (auth === '') return { username: text('username'), password: text('password'), ...rest };
  const decoded = Buffer.from(auth, 'base64').toString();
  const colon = decoded.indexOf(':');
  if (colon < 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(auth.trim())) {
    throw new Error(
      `unable to parse auth field of registry ${registry}, must be formatted as base64(username:password)`,
    );
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1), ...rest };
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? // An object that has the member, of whatever type.
      (value as Record<string, unknown>)[name]
    : undefined;
}
