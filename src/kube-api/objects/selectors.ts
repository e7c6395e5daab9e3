/** Field and label selectors as the API parses them. */

import type { KubeObject, LabelSelectorRequirement } from '../../kube/types/index.js';
import { selectorMatches } from '../../kube/values/label-selector.js';
import { ApiError } from '../../kube-client/api-error.js';
import { member } from '../../kube-client/patches/json.js';
import type { ObjectSelection } from '../../kube-client/port.js';
import type { Resource } from '../../kube-client/resources.js';

export type ObjectFilter = (object: KubeObject) => boolean;

const everywhere = ['metadata.name', 'metadata.namespace'];
const byKind: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'Pod',
    [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  ],
  ['Node', ['spec.unschedulable']],
  ['Service', ['spec.clusterIP', 'spec.type']],
  ['Secret', ['type']],
  ['Namespace', ['status.phase']],
  ['CertificateSigningRequest', ['spec.signerName']],
  ['PodCertificateRequest', ['spec.nodeName', 'spec.podName', 'spec.signerName']],
  ['ResourceSlice', ['spec.nodeName', 'spec.driver']],
  [
    'Event',
    [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reportingComponent',
      'reason',
      'type',
      'source',
    ],
  ],
  ['ReplicaSet', ['status.replicas']],
  ['Job', ['status.successful']],
]);

/** Fields whose value stands under another name, or has one when it is absent. */
const readAs: ReadonlyMap<string, (object: KubeObject) => string> = new Map([
  ['Pod spec.hostNetwork', (object) => String(member(member(object, 'spec'), 'hostNetwork') ?? false)],
  ['Node spec.unschedulable', (object) => String(member(member(object, 'spec'), 'unschedulable') ?? false)],
  ['ReplicaSet status.replicas', (object) => String(member(member(object, 'status'), 'replicas') ?? 0)],
  ['Job status.successful', (object) => String(member(member(object, 'status'), 'succeeded') ?? 0)],
  [
    'Event source',
    (object) =>
      String(member(member(object, 'source'), 'component') || member(object, 'reportingComponent') || ''),
  ],
]);

export function filterOf(resource: Resource, selection: ObjectSelection): ObjectFilter {
  const fields = fieldTerms(resource, selection.fieldSelector ?? '');
  const labels = labelRequirements(selection.labelSelector ?? '');
  return (object) =>
    (!resource.namespaced || !selection.namespace || object.metadata.namespace === selection.namespace) &&
    fields.every(({ read, value, equal }) => (read(object) === value) === equal) &&
    selectorMatches({ matchExpressions: labels }, object.metadata.labels ?? {});
}

interface FieldTerm {
  readonly read: (object: KubeObject) => string;
  readonly value: string;
  readonly equal: boolean;
}

function fieldTerms(resource: Resource, text: string): FieldTerm[] {
  const known = [...everywhere, ...(byKind.get(resource.kind) ?? [])];
  return text
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, path = '', operator = '', value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(term) ?? [];
      if (operator === '') throw badRequest(`invalid field selector: ${term}`);
      if (!known.includes(path)) throw unknownField(resource, path);
      const read =
        readAs.get(`${resource.kind} ${path}`) ?? ((object: KubeObject): string => fieldOf(object, path));
      return { read, value, equal: operator !== '!=' };
    });
}

function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const part of path.split('.')) value = member(value, part);
  return value === undefined || value === null ? '' : String(value);
}

function labelRequirements(text: string): LabelSelectorRequirement[] {
  if (text.trim() === '') return [];
  return termsOf(text).map((term) => labelRequirement(term.trim()));
}

/** Splits at commas that are in no parentheses; an unbalanced one must not select everything. */
function termsOf(text: string): string[] {
  const terms: string[] = [];
  let begin = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '(' || letter === ')') {
      if ((letter === '(') === isInside)
        throw badRequest(`unable to parse requirement: ${text.slice(0, 64)}`);
      isInside = !isInside;
    } else if (letter === ',' && !isInside) {
      terms.push(text.slice(begin, at));
      begin = at + 1;
    }
  }
  if (isInside) throw badRequest(`unable to parse requirement: ${text.slice(0, 64)}`);
  return [...terms, text.slice(begin)];
}

function labelRequirement(term: string): LabelSelectorRequirement {
  const [, setKey, operator, values] = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term) ?? [];
  if (setKey !== undefined && values !== undefined) {
    const listed = values.split(',').map((value) => value.trim());
    return { key: setKey, operator: operator === 'in' ? 'In' : 'NotIn', values: listed };
  }
  const [, key, sign, value = ''] = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(term) ?? [];
  if (key !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, not, bare] = /^(!?)\s*([^\s=!]+)$/.exec(term) ?? [];
  if (bare === undefined) throw badRequest(`unable to parse requirement: ${term}`);
  return { key: bare, operator: not === '!' ? 'DoesNotExist' : 'Exists' };
}

/** Kinds with fields of their own word it differently from those without. */
function unknownField({ kind }: Resource, path: string): ApiError {
  if (byKind.has(kind)) return badRequest(`field label not supported: ${path}`);
  const known = everywhere.map((field) => JSON.stringify(field)).join(', ');
  return badRequest(`${JSON.stringify(path)} is not a known field selector: only ${known}`);
}

function badRequest(message: string): ApiError {
  return new ApiError({ code: 400, reason: 'BadRequest', message });
}
