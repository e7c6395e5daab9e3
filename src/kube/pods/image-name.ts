/** Parses image references such as `example/app:v1@sha256:…`, as far as a pod needs it. */

export interface ImageName {
  /** The reference without tag and digest. */
  readonly repository: string;
  /** `latest` when neither tag nor digest is given; empty when only a digest is. */
  readonly tag: string;
  readonly digest: string;
}

const component = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const domain =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?$/;
const tagGrammar = /^\w[\w.-]{0,127}$/;
const digestGrammar = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/** The parts of an image reference, or undefined when it is not one. */
export function parseImageName(reference: string): ImageName | undefined {
  const [named = '', digest = '', ...rest] = reference.split('@');
  if (rest.length > 0 || (reference.includes('@') && !digestGrammar.test(digest))) return undefined;
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const repository = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? '' : named.slice(colon + 1);
  if (colon >= 0 && !tagGrammar.test(tag)) return undefined;
  if (!isRepository(repository)) return undefined;
  return { repository, tag: tag === '' && digest === '' ? 'latest' : tag, digest };
}

/** `Always` for the moving tag `latest`, given or implied; else `IfNotPresent`. */
export function defaultPullPolicy(reference: string): 'Always' | 'IfNotPresent' {
  return parseImageName(reference)?.tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function isRepository(repository: string): boolean {
  if (repository === '' || /^[a-f0-9]{64}$/.test(repository)) return false;
  const parts = repository.split('/');
  const [first = ''] = parts;
  const hasDomain =
    parts.length > 1 && (/[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first);
  if (hasDomain && !domain.test(first)) return false;
  return parts.slice(hasDomain ? 1 : 0).every((part) => component.test(part));
}
