/** The API of a bare node: requests, patches, applied configurations, selectors, options, paths and files of objects. */
import { isDeepStrictEqual } from 'node:util';
import { accessRequest } from '../../../src/bare-node/access-request.js';
import { parseJson, parseSource, SyntaxProblem } from '../../../src/kube/index.js';
import type { KubeObject } from '../../../src/kube/types/index.js';
import { compareFields } from '../../../src/kube-api/apply/compare.js';
import {
  type FieldSet,
  fieldPaths,
  intersection,
  isEmptySet,
  readFieldSet,
  union,
  writeFieldSet,
} from '../../../src/kube-api/apply/field-set.js';
import { yamlText } from '../../../src/kube-api/files/yaml-writer.js';
import { KindIndex } from '../../../src/kube-api/http/target.js';
import { servedKinds } from '../../../src/kube-api/kinds/kinds.js';
import { filterOf } from '../../../src/kube-api/objects/selectors.js';
import { decideAccess } from '../../../src/kube-api/posted/authorizer.js';
import { kindType } from '../../../src/kube-api/schema/api-types.js';
import { ApiError, resources } from '../../../src/kube-client/index.js';
import { isMapping, member } from '../../../src/kube-client/patches/json.js';
import { putInEnvelope } from '../../../src/kube-protobuf/index.js';
import { objectMessage } from '../../../src/kube-protobuf/objects.js';
import { holds, never, only, type Target, texts } from '../../target.js';
import { ApiWorld, marker, podSpec, stranger } from './world.js';

const shop = '/api/v1/namespaces/shop';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const json = { 'content-type': 'application/json' };
const applyType = { 'content-type': 'application/apply-patch+yaml' };

/** What holds of all that is stored: it is a name, it fits its limits, and the next process reads what this one has. */
function checkStored({ api, startRevision }: ApiWorld): void {
  for (const { resource } of servedKinds)
    for (const object of api.storage.list(resource)) {
      const { name = '', namespace, resourceVersion } = object.metadata;
      if (Number(resourceVersion) <= startRevision) continue;
      const place = `${namespace ?? ''}/${name}`;
      holds(/^[a-z0-9.-]*\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(place), `a name is a name: ${place}`);
      const [read] = parseSource(yamlText(object), 'file');
      holds(isDeepStrictEqual(read?.value, JSON.parse(JSON.stringify(object))), `a file has all of ${place}`);
    }
}

/** The first line is method and target, the second the media type; the rest is the body. */
const requests: Target = {
  name: 'api-requests',
  seeds: texts(
    `GET ${shop}/pods?limit=1&labelSelector=app%3Dweb\n`,
    `GET ${shop}/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1\n`,
    `POST ${shop}/configmaps?fieldManager=m&fieldValidation=Strict\napplication/json\n{"metadata":{"generateName":"a-","labels":{"x":"y"}},"data":{"k":"v"},"binaryData":{"b":"YQ=="}}`,
    `POST ${shop}/pods\napplication/yaml\nmetadata: {name: p}\nspec:\n  containers: [{name: a, image: b, resources: {limits: {cpu: 1}}}]\n`,
    `PUT ${deployments}/web/scale\napplication/json\n{"spec":{"replicas":3}}`,
    `DELETE ${deployments}/web\napplication/json\n{"propagationPolicy":"Foreground","preconditions":{"uid":"x"},"dryRun":["All"]}`,
    `DELETE ${shop}/pods?fieldSelector=status.phase!=Running\n\n`,
    `PATCH ${shop}/services/web\napplication/json-patch+json\n[{"op":"add","path":"/spec/ports/-","value":{"name":"b","port":81}},{"op":"copy","from":"/spec/ports/0","path":"/spec/ports/1"},{"op":"test","path":"/kind","value":"Service"}]`,
    `PATCH ${deployments}/web?fieldManager=m\napplication/strategic-merge-patch+json\n{"spec":{"template":{"spec":{"containers":[{"name":"app","$setElementOrder/env":[{"name":"B"},{"name":"A"}],"env":[{"name":"A","$patch":"delete"}]}]}}}}`,
    `PATCH ${shop}/configmaps/settings\napplication/merge-patch+json\n{"data":{"key":null,"more":"x"},"metadata":{"finalizers":["a.b/c"],"managedFields":[{}]}}`,
    `POST ${shop}/pods/web/eviction\napplication/json\n{"deleteOptions":{"gracePeriodSeconds":0}}`,
    `POST ${shop}/serviceaccounts/default/token\napplication/json\n{"spec":{"audiences":["a"],"expirationSeconds":600,"boundObjectRef":{"kind":"Pod","name":"web"}}}`,
    `POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\napplication/json\n{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`,
    `POST /apis/batch/v1/namespaces/shop/cronjobs\napplication/json\n{"metadata":{"name":"c"},"spec":{"schedule":"*/5 1-3 * * MON","timeZone":"Etc/UTC","jobTemplate":{"spec":{"template":{"spec":${JSON.stringify({ ...podSpec, restartPolicy: 'Never' })}}}}}}`,
    `POST /api/v1/persistentvolumes\napplication/json\n{"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`,
    `PUT /api/v1/namespaces/shop/finalize\napplication/json\n{"metadata":{"name":"shop"},"spec":{"finalizers":[]}}`,
    'GET /openapi/v3/apis/apps/v1\n',
    'GET /apis?as=x\n',
  ),
  words: [
    'application/apply-patch+yaml',
    'application/vnd.kubernetes.protobuf',
    '?fieldManager=a&force=true',
    '&dryRun=All',
    '/status',
    '"metadata":{"managedFields":[{"manager":"a","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]}',
    '"finalizers":["a.b/c"]',
    '%2e%2e%2f',
    '/../',
    'kube-system',
    '"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]',
    '"nodeName":"n"',
  ],
  refuses: never,
  async run(input) {
    const text = input.toString('utf8');
    const [first = '', type = '', ...rest] = text.split('\n');
    const [method = '', target = ''] = first.split(' ');
    const world = await ApiWorld.open();
    await world.ask(
      method,
      target,
      Buffer.from(rest.join('\n')),
      type === '' ? {} : { 'content-type': type },
    );
    checkStored(world);
  },
};

const resourceAt = { pods: resources.pods, deployments: resources.deployments, services: resources.services };

/** A media type and a patch on a line each, for one object after the other. */
const patchedObjects: Target = {
  name: 'api-patches',
  seeds: texts(
    'merge\n{"spec":{"replicas":3,"paused":true},"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}',
    'strategic\n{"spec":{"ports":[{"port":80,"$patch":"delete"},{"port":81,"name":"x"}],"template":{"spec":{"containers":[{"name":"b","image":"c"}]}}}}',
    'json\n[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"x"},{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]',
    'strategic\n{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["b.c/d"]},"spec":{"$retainKeys":["containers"],"activeDeadlineSeconds":3}}',
  ),
  words: [
    '"$patch":"replace",',
    '"$patch":"merge",',
    '"status":{"phase":"Running"},',
    '/spec/',
    '"-1"',
    '~1',
    '~0',
  ],
  refuses: only(SyntaxProblem),
  async run(input) {
    const text = input.toString('utf8');
    const end = text.indexOf('\n');
    const type = text.slice(0, end);
    const headers = {
      'content-type': type === 'json' ? 'application/json-patch+json' : `application/${type}-patch+json`,
    };
    const body = Buffer.from(text.slice(end + 1));
    const world = await ApiWorld.open();
    for (const [plural, resource] of Object.entries(resourceAt)) {
      const path = `${plural === 'deployments' ? '/apis/apps/v1' : '/api/v1'}/namespaces/shop/${plural}/web`;
      const before = JSON.stringify(world.api.storage.get(resource, 'shop/web'));
      const { status } = await world.ask('PATCH', path, body, headers);
      const after = JSON.stringify(world.api.storage.get(resource, 'shop/web'));
      if (status !== 200) holds(before === after, 'a patch that is refused changes nothing');
      else if (type === 'merge') {
        await world.ask('PATCH', path, body, headers);
        const twice = JSON.stringify(world.api.storage.get(resource, 'shop/web'));
        holds(twice === after, 'a merge patch twice is as once');
      }
    }
    checkStored(world);
  },
};

/** The fields of each manager, by its name and operation. */
function owned(object: KubeObject): Map<string, FieldSet> {
  const sets = new Map<string, FieldSet>();
  for (const entry of object.metadata.managedFields ?? []) {
    const set = readFieldSet(structuredClone(entry.fieldsV1));
    holds(set !== undefined, 'what is written is a set of fields');
    holds(isDeepStrictEqual(writeFieldSet(set), entry.fieldsV1), 'a set of fields goes round');
    sets.set(`${entry.manager}/${entry.operation}/${entry.subresource ?? ''}`, set);
  }
  return sets;
}

/** The kind on the first line, then a configuration. */
const applied: Target = {
  name: 'api-apply',
  seeds: texts(
    'Deployment\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web, more: x}}\n    spec:\n      containers:\n      - {name: app, image: "web:2", env: [{name: C, value: "3"}], ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81}]}\n      - {name: side, image: x}\n',
    'ConfigMap\ndata: {key: mine, other: "1"}\nmetadata: {labels: {a: b}, annotations: {c: d}, finalizers: [a.b/c]}\n',
    'Service\nspec:\n  ports: [{port: 80, protocol: TCP, targetPort: web}, {name: two, port: 82}]\n  selector: {app: other}\n  externalIPs: [1.2.3.4]\n',
    'Pod\nmetadata: {labels: {app: x}, ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]}\nspec:\n  activeDeadlineSeconds: 5\n  containers: [{name: app, image: "web:3", volumeMounts: [{mountPath: /a, name: v}]}]\n  tolerations: [{key: a}]\n',
    'ServiceAccount\nsecrets: [{name: a}]\nimagePullSecrets: [{name: b}]\n',
  ),
  words: [
    'spec: ',
    'status: {}',
    'env: ',
    'null',
    '{}',
    '[]',
    'managedFields: []',
    '- ',
    '  ',
    '{name: a}',
    'uid: x',
  ],
  refuses: never,
  async run(input) {
    const text = input.toString('utf8');
    const end = text.indexOf('\n');
    const kind = text.slice(0, end);
    const served = servedKinds.find(({ resource }) => resource.kind === kind);
    const config = readYaml(text.slice(end + 1));
    const type = kindType(kind);
    if (served === undefined || type === undefined || !isMapping(config)) return;
    const { group, version, plural, namespaced } = served.resource;
    if (!namespaced) return;
    const name = kind === 'ConfigMap' ? 'settings' : kind === 'ServiceAccount' ? 'default' : 'web';
    const named = { apiVersion: group === '' ? version : `${group}/${version}`, kind };
    const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/namespaces/shop/${plural}/${name}`;
    const world = await ApiWorld.open();
    const apply = async (object: object): Promise<number> => {
      const given = { ...object, ...named, metadata: { ...(member(object, 'metadata') ?? {}), name } };
      const body = Buffer.from(JSON.stringify(given));
      return (await world.ask('PATCH', `${path}?fieldManager=mine&force=true`, body, applyType)).status;
    };
    const stored = (): KubeObject | undefined => world.api.storage.get(served.resource, `shop/${name}`);
    if ((await apply(config)) > 201) return;
    const once = stored();
    if (once === undefined) return;
    const managers = owned(once);
    holds((await apply(config)) <= 201, 'what was applied can be applied again');
    holds(stored() === once, 'applied twice is as once');
    checkStored(world);
    if (once.metadata.deletionTimestamp !== undefined || (await apply({})) > 200) return;
    const left = stored();
    if (left === undefined) return;
    holds(!owned(left).has('mine/Apply/'), 'who applies nothing owns nothing');
    const { modified, removed } = compareFields({ kind: 'object', type, whole: false }, once, left);
    for (const [manager, fields] of managers) {
      if (manager === 'mine/Apply/') continue;
      const taken = intersection(union(modified, removed), fields);
      holds(isEmptySet(taken), `applying nothing leaves what ${manager} owns: ${fieldPaths(taken).join()}`);
    }
    checkStored(world);
  },
};

function readYaml(text: string): unknown {
  try {
    return parseSource(text, 'configuration')[0]?.value;
  } catch (error) {
    if (error instanceof SyntaxProblem) return undefined;
    throw error;
  }
}

const labelled: readonly KubeObject[] = [
  {},
  { app: 'web' },
  { app: 'web', tier: 'front' },
  { app: '', 'a.b/c': 'x' },
  { tier: 'back' },
].map((labels, n) => ({
  metadata: { name: `o${n}`, namespace: 'shop', labels: labels as Record<string, string> },
}));

/** A selector of labels, or after a line break one of fields. */
const selectors: Target = {
  name: 'api-selectors',
  seeds: texts(
    'app=web',
    'app in (web, db),tier notin (front),!gone,a.b/c',
    'app!=web,tier==front',
    '\nmetadata.name=o1,spec.nodeName!=a',
    '\nstatus.phase=',
  ),
  words: [' in (', ' notin (', ')', '!', '==', '!=', ',', 'metadata.name=', 'app'],
  refuses: only(ApiError),
  run(input) {
    const [labelSelector = '', fieldSelector = ''] = input.toString('utf8').split('\n');
    const filter = filterOf(resources.pods, { labelSelector, fieldSelector });
    const both = [labelSelector, labelSelector].filter((one) => one.trim() !== '').join(',');
    const twice = filterOf(resources.pods, { labelSelector: both, fieldSelector });
    for (const object of labelled) holds(filter(object) === twice(object), 'a selector twice is as once');
  },
};

/** The query of a list; its pages together are the list. */
const listOptions: Target = {
  name: 'api-lists',
  seeds: texts(
    'limit=2',
    'limit=1&labelSelector=n%20in%20(1,2,3)',
    'limit=3&fieldSelector=metadata.name!=m2&resourceVersion=3&resourceVersionMatch=NotOlderThan',
    'continue=WzUsInNob3AvbTIiXQ&limit=2',
    'watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=3',
    'resourceVersion=9&resourceVersionMatch=Exact',
    'pretty&includeObject=Object',
  ),
  words: ['&', '=', 'resourceVersionMatch=', 'Exact', 'sendInitialEvents=true', 'continue=', '%00'],
  refuses: never,
  async run(input) {
    const query = input.toString('utf8').replaceAll('\n', '');
    const world = await ApiWorld.open();
    for (let n = 0; n < 7; n++)
      await world.api.create(
        resources.configMaps,
        { metadata: { name: `m${n}`, labels: { n: String(n) } } },
        'shop',
      );
    const first = await world.ask('GET', `${shop}/configmaps?${query}`);
    if (first.status !== 200 || !isMapping(first.value)) return;
    const all = new URLSearchParams(query);
    if (all.has('watch') || all.has('continue')) return;
    const whole = new URLSearchParams(query);
    whole.delete('limit');
    const names = (value: unknown): string[] => {
      const items = member(value, 'items');
      return Array.isArray(items)
        ? items.map((item) => String(member(member(item, 'metadata'), 'name')))
        : [];
    };
    const wanted = names((await world.ask('GET', `${shop}/configmaps?${whole}`)).value);
    const found: string[] = [];
    for (let page: unknown = first.value; ; ) {
      found.push(...names(page));
      const token = member(member(page, 'metadata'), 'continue');
      if (typeof token !== 'string') break;
      // Whoever goes on names no version, which the token has.
      const next = new URLSearchParams(query);
      next.delete('resourceVersion');
      next.delete('resourceVersionMatch');
      next.set('continue', token);
      page = (await world.ask('GET', `${shop}/configmaps?${next}`)).value;
    }
    holds(isDeepStrictEqual(found, wanted), `the pages are the list: ${found.join()} of ${wanted.join()}`);
  },
};

const kinds = new KindIndex(servedKinds);

/** A method and a target: what a stranger may ask shows and changes nothing that is stored. */
const paths: Target = {
  name: 'api-paths',
  seeds: texts(
    `GET ${shop}/secrets/secret`,
    `GET ${shop}/configmaps?watch=1`,
    'GET /api/v1/secrets?limit=5',
    'GET /apis/apps/v1/deployments',
    `POST ${shop}/configmaps`,
    `DELETE ${shop}/configmaps/settings`,
    'POST /apis/authentication.k8s.io/v1/tokenreviews',
    'POST /apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews',
    'GET /openapi/v3/api/v1',
    'GET /api/v1/namespaces/shop/status',
    'HEAD /version',
  ),
  words: [
    '//',
    '/./',
    '/../',
    '%2f',
    '%2F',
    '%2e',
    '%25',
    '%00',
    '?',
    '#',
    '/watch/',
    'namespaces/',
    '/api',
    '\\',
  ],
  refuses: never,
  async run(input) {
    const [method = '', ...rest] = input.toString('utf8').split(' ');
    const target = rest.join(' ');
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
    if (!decideAccess(stranger, accessRequest(kinds, method, path, query)).allowed) return;
    const world = await ApiWorld.open();
    const { revision } = world.api.storage;
    const body = Buffer.from('{"metadata":{"name":"made"}}');
    const { text } = await world.ask(method, target, body, json, stranger);
    holds(
      !text.includes(marker) && !text.includes(Buffer.from(marker).toString('base64')),
      'nothing is shown',
    );
    holds(world.api.storage.revision === revision, 'nothing is changed');
  },
};

function inProtobuf(apiVersion: string, kind: string, object: object): Buffer {
  const bytes = objectMessage(apiVersion, kind)?.encode(object) ?? new Uint8Array();
  return putInEnvelope({ apiVersion, kind, bytes });
}

const protobufBodies: Target = {
  name: 'api-protobuf',
  seeds: [
    inProtobuf('v1', 'Pod', { metadata: { name: 'p', labels: { a: 'b' } }, spec: podSpec }),
    inProtobuf('v1', 'ConfigMap', { metadata: { name: 'c' }, data: { a: 'b' }, binaryData: { x: 'AAEC' } }),
    inProtobuf('v1', 'Secret', { metadata: { name: 's' }, data: { a: 'Yg==' }, type: 'Opaque' }),
    inProtobuf('v1', 'Service', {
      metadata: { name: 's' },
      spec: {
        ports: [{ port: 80, targetPort: 'web' }],
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 3 } },
      },
    }),
    inProtobuf('v1', 'Event', {
      metadata: { name: 'e' },
      involvedObject: { namespace: 'shop', kind: 'Pod' },
      eventTime: '2020-01-01T00:00:00.000001Z',
    }),
  ],
  refuses: never,
  async run(input) {
    const world = await ApiWorld.open();
    const type = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    for (const plural of ['pods', 'configmaps', 'secrets', 'services', 'events'])
      await world.ask('POST', `${shop}/${plural}`, input, type);
    checkStored(world);
  },
};

/** Any JSON as the files of objects have it. */
const files: Target = {
  name: 'object-files',
  seeds: texts(
    '{"a":"b\\nc\\n","d":[{"e":1,"f":[[],{}]}],"yes":"no","":"","# x":"- y","k":"|\\n x\\n"}',
    '{"metadata":{"name":"x","annotations":{"a":"{\\"b\\":1}\\n"}},"data":{"t":"\\tx\\n\\n y\\n","n":"1e3","z":"~"}}',
    '{"x":["a: b","-","?","0x1f","2020-01-01","=","<<","!t","&a","*b","%c","@d","`e"]}',
  ),
  words: [
    '\\n',
    '\\r',
    '\\u2028',
    '\\u0085',
    '\\ufeff',
    ': ',
    ' #',
    '- ',
    '"|"',
    '"on"',
    '"~"',
    '"1_0"',
    '"0o7"',
    '"1:30"',
  ],
  maxBytes: 4 * 1024,
  run(input) {
    // Numbers that JSON cannot say are none that could be stored.
    const value: unknown = JSON.parse(JSON.stringify(parseJson(input.toString('utf8'), { maxDepth: 90 })));
    if (!isMapping(value) || Object.keys(value).length === 0) return;
    const limits = { maxLength: 1 << 24, maxDepth: 200, maxTokens: 1_000_000 };
    const [read] = parseSource(yamlText(value), 'file', limits);
    holds(isDeepStrictEqual(read?.value, value), 'a file has what was written');
  },
};

export const apiTargets: readonly Target[] = [
  requests,
  patchedObjects,
  applied,
  selectors,
  listOptions,
  paths,
  protobufBodies,
  files,
];
