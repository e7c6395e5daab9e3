/** The part of a credential provider's configuration that is about service account tokens. */
import { qualifiedName } from '../../../kube/index.js';
import type { ConfigFields } from './config-fields.js';

const cacheTypes = ['ServiceAccount', 'Token'] as const;

/** A plugin with these gets a token of the pod's service account with every request. */
export interface TokenAttributes {
  readonly audience: string;
  /** What a response may be reused for: requests of the same account, or of the same token. */
  readonly cacheType: (typeof cacheTypes)[number];
  /** Whether the plugin is asked only for pods that have an account. */
  readonly requireServiceAccount: boolean;
  /** An account that lacks one of these does not use the plugin. */
  readonly requiredAnnotationKeys: readonly string[];
  readonly optionalAnnotationKeys: readonly string[];
}

/** The one protocol that carries tokens. */
const protocolWithTokens = 'credentialprovider.kubelet.k8s.io/v1';

export interface TokenAttributesPlace {
  /** The path of the field. */
  readonly at: string;
  readonly apiVersion: unknown;
  /** The gate KubeletServiceAccountTokenForCredentialProviders. */
  readonly isEnabled: boolean;
}

/** Reports all problems; what it returns then is not used. */
export function readTokenAttributes(
  fields: ConfigFields,
  value: unknown,
  { at, apiVersion, isEnabled }: TokenAttributesPlace,
): TokenAttributes | undefined {
  if (value === undefined || value === null) return undefined;
  const given = fields.object(value, at, [
    'serviceAccountTokenAudience',
    'cacheType',
    'requireServiceAccount',
    'requiredServiceAccountAnnotationKeys',
    'optionalServiceAccountAnnotationKeys',
  ]);
  if (given === undefined) return undefined;
  const problem = (field: string, message: string): void => fields.problem(`${at}${field}: ${message}`);
  if (!isEnabled) {
    problem(
      '',
      'Forbidden: tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders feature gate is disabled',
    );
  }
  const { serviceAccountTokenAudience: audience = '', requireServiceAccount } = given;
  if (typeof audience !== 'string') problem('.serviceAccountTokenAudience', 'Invalid value: not a text');
  else if (audience === '') problem('.serviceAccountTokenAudience', 'Required value');
  if (requireServiceAccount === undefined || requireServiceAccount === null) {
    problem('.requireServiceAccount', 'Required value');
  } else if (typeof requireServiceAccount !== 'boolean') {
    problem('.requireServiceAccount', 'Invalid value: write true or false');
  }
  if (apiVersion !== protocolWithTokens) {
    problem('', `Forbidden: tokenAttributes is only supported for ${protocolWithTokens} API version`);
  }
  const keysOf = (field: string): readonly string[] => annotationKeys(fields, given[field], `${at}.${field}`);
  const required = keysOf('requiredServiceAccountAnnotationKeys');
  if (requireServiceAccount === false && required.length > 0) {
    problem(
      '.requiredServiceAccountAnnotationKeys',
      'Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
    );
  }
  const optional = keysOf('optionalServiceAccountAnnotationKeys');
  const both = required.filter((key) => optional.includes(key)).sort();
  if (both.length > 0) {
    problem(
      '',
      `Invalid value: ${JSON.stringify(both)}: annotation keys cannot be both required and optional`,
    );
  }
  return {
    audience: String(audience),
    cacheType: cacheTypeOf(given.cacheType, (message) => problem('.cacheType', message)),
    requireServiceAccount: requireServiceAccount === true,
    requiredAnnotationKeys: required,
    optionalAnnotationKeys: optional,
  };
}

function cacheTypeOf(value: unknown, problem: (message: string) => void): TokenAttributes['cacheType'] {
  const known = cacheTypes.find((type) => type === value);
  if (known !== undefined) return known;
  problem(
    value === undefined || value === null || value === ''
      ? `Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`
      : `Unsupported value: ${JSON.stringify(value)}: supported values: ${cacheTypes.map((type) => JSON.stringify(type)).join(', ')}`,
  );
  return 'Token';
}

/** The rule of names holds without regard to case. */
function annotationKeys(fields: ConfigFields, value: unknown, at: string): readonly string[] {
  const keys = fields.texts(value, at);
  for (const [index, key] of keys.entries()) {
    const detail = qualifiedName(key.toLowerCase());
    if (detail !== undefined) fields.problem(`${at}: Invalid value: ${JSON.stringify(key)}: ${detail}`);
    if (keys.indexOf(key) < index) fields.problem(`${at}: Duplicate value: ${JSON.stringify(key)}`);
  }
  return keys;
}
