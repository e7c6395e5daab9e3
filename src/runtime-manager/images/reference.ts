/** Parses image references as container tools do: short names mean the default registry. */
import { parseImageName } from '../../kube/index.js';

/** The registry of a name without one, and its older spelling. */
const defaultDomain = 'docker.io';
const legacyDefaultDomain = 'index.docker.io';
/** Where the default registry keeps single-part names. */
const officialRepositories = 'library';
const longestRepositoryName = 255;

const digestHexLength: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);

export interface ImageReference {
  readonly domain: string;
  /** The repository within its registry: `library/busybox`. */
  readonly path: string;
  /** Empty when none was given. */
  readonly tag: string;
  /** Empty when none was given. */
  readonly digest: string;
}

/** Fails with `couldn't parse image name "…": …`. */
export function parseImageReference(image: string): ImageReference {
  const parsed = readReference(image);
  if (typeof parsed === 'string') {
    throw new Error(`couldn't parse image name ${JSON.stringify(image)}: ${parsed}`);
  }
  return parsed;
}

/** Adds `:latest` to a name with neither tag nor digest; otherwise returns it as written. */
export function withDefaultTag(image: string): string {
  const { tag, digest } = parseImageReference(image);
  return tag === '' && digest === '' ? `${image}:latest` : image;
}

/** The registry and repository of an image, without tag and digest: `docker.io/library/busybox`. */
export function normalRepository(image: string): string {
  const { domain, path } = parseImageReference(image);
  return `${domain}/${path}`;
}

/** The names by which a runtime may list the image: as written, by tag and by digest. None for an empty reference. */
export function normalNames(image: string): string[] {
  if (image === '') return [];
  const parsed = readReference(image);
  if (typeof parsed === 'string') return [image];
  const { domain, path, tag, digest } = parsed;
  const repository = `${domain}/${path}`;
  const names = [image];
  if (tag !== '' || digest === '') names.push(`${repository}:${tag === '' ? 'latest' : tag}`);
  if (digest !== '') names.push(`${repository}@${digest}`);
  return names;
}

/** The parsed reference, or what is wrong with it. */
function readReference(image: string): ImageReference | string {
  if (/^[a-f0-9]{64}$/.test(image)) {
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  }
  const { domain, remainder } = splitDomain(image);
  const [remote = ''] = remainder.split(':', 1);
  if (remote.toLowerCase() !== remote) {
    return `invalid reference format: repository name (${remote}) must be lowercase`;
  }
  const name = parseImageName(`${domain}/${remainder}`);
  if (name === undefined) return 'invalid reference format';
  if (name.repository.length > longestRepositoryName) {
    return `repository name must not be more than ${longestRepositoryName} characters`;
  }
  const problem = name.digest === '' ? undefined : digestProblem(name.digest);
  if (problem !== undefined) return problem;
  return {
    domain,
    path: name.repository.slice(domain.length + 1),
    tag: explicitTag(remainder),
    digest: name.digest,
  };
}

function splitDomain(image: string): { domain: string; remainder: string } {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const namesRegistry = /[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first;
  const given = slash < 0 || !namesRegistry ? defaultDomain : first;
  const domain = given === legacyDefaultDomain ? defaultDomain : given;
  const remainder = slash >= 0 && namesRegistry ? image.slice(slash + 1) : image;
  const isOfficial = domain === defaultDomain && !remainder.includes('/');
  return { domain, remainder: isOfficial ? `${officialRepositories}/${remainder}` : remainder };
}

function explicitTag(remainder: string): string {
  const [named = ''] = remainder.split('@', 1);
  const colon = named.indexOf(':');
  return colon < 0 ? '' : named.slice(colon + 1);
}

function digestProblem(digest: string): string | undefined {
  const colon = digest.indexOf(':');
  const algorithm = digest.slice(0, colon);
  const hex = digest.slice(colon + 1);
  if (!/^[a-z0-9]+(?:[.+_-][a-z0-9]+)*$/.test(algorithm)) return 'invalid checksum digest format';
  const length = digestHexLength.get(algorithm);
  if (length === undefined) return 'unsupported digest algorithm';
  if (hex.length !== length) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(hex) ? undefined : 'invalid checksum digest format';
}
