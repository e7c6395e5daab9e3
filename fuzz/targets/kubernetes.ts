/** Kubernetes texts: manifests, patches, quantities, names and selectors, from files, URLs and the API. */
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../../src/cli/client/usage-error.js';
import { parseSelector } from '../../src/cli/print/selector.js';
import { emptyContent, readManifestText } from '../../src/cli/run/manifest.js';
import {
  canonicalJson,
  clone,
  compareQuantities,
  formatDuration,
  formatQuantity,
  goQuote,
  InvalidManifest,
  InvalidQuantity,
  JsonProblem,
  type LabelSelector,
  parseDuration,
  parseImageName,
  parseIp,
  parseJson,
  parseQuantity,
  parseSource,
  parseTimestampNanos,
  SyntaxProblem,
  selectorMatches,
  semanticEqual,
} from '../../src/kube/index.js';
import { ApiUnreachable } from '../../src/kube-client/api-error.js';
import { apiErrorOf } from '../../src/kube-client/index.js';
import { jsonEqual, PatchRefused } from '../../src/kube-client/patches/json.js';
import { applyJsonPatch } from '../../src/kube-client/patches/json-patch.js';
import { mergeSchemaOf } from '../../src/kube-client/patches/merge-keys.js';
import { applyMergePatch } from '../../src/kube-client/patches/merge-patch.js';
import { strategicMergeDiff } from '../../src/kube-client/patches/strategic-diff.js';
import { applyStrategicMergePatch } from '../../src/kube-client/patches/strategic-merge.js';
import type { JsonPatchOperation } from '../../src/kube-client/port.js';
import { readRetryAfter } from '../../src/kube-client/retry-decision.js';
import { parseWatchEvent, readLines } from '../../src/kube-client/watch-stream.js';
import { readObjects } from '../../src/pods/objects/standalone/read-objects.js';
import { readManifest } from '../../src/pods/sources/static-pod.js';
import { parseReferences } from '../../src/runtime-manager/config/expansion.js';
import { normalNames, parseImageReference } from '../../src/runtime-manager/images/reference.js';
import { chunksOf, holds, never, only, type Target, texts } from '../target.js';

const podYaml = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
  annotations: &notes {a: "1"}
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 5
  initContainers:
  - {name: init, image: busybox, command: [sh, -c, "exit 0"], restartPolicy: Always}
  containers:
  - name: app
    image: registry.example:5000/team/app:v1@sha256:${'0'.repeat(64)}
    ports: [{containerPort: 80, hostPort: 8080, protocol: TCP}]
    env:
    - {name: A, value: "$(B) $$(C)"}
    - name: B
      valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a']"}}
    resources: {limits: {cpu: 250m, memory: 64Mi}, requests: {cpu: 100m}}
    livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1}
    readinessProbe: {exec: {command: ["true"]}}
    volumeMounts: [{name: data, mountPath: /data, subPath: a/b}]
    securityContext: {runAsUser: 1000, capabilities: {drop: [ALL]}}
  volumes:
  - {name: data, emptyDir: {sizeLimit: 1Gi}}
  - {name: host, hostPath: {path: /tmp, type: Directory}}
  - name: all
    projected: {sources: [{downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}]}
  tolerations: [{operator: Exists}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]
`;

const podJson = JSON.stringify({
  apiVersion: 'v1',
  kind: 'PodList',
  items: [
    {
      metadata: { name: 'a', uid: '7' },
      spec: { containers: [{ name: 'c', image: 'i', args: ['x'] }], hostNetwork: true, dnsPolicy: 'None' },
    },
  ],
});

const yamlWords = [
  'apiVersion: v1\n',
  'kind: Pod\n',
  'spec:\n',
  'containers:\n',
  '- name: a\n',
  '  image: b\n',
  '---\n',
  '%YAML 1.2\n',
  '!!binary ',
  '!!set {a}',
  '!!omap [a: 1]',
  '!!float ',
  '? ',
  '&x ',
  '*x',
  '<<: ',
  '|2-\n',
  'resources: {limits: {cpu: ',
  '\r\n',
  '\t',
];

/** The YAML parser takes ten times as long for a byte as the others. */
const yamlFloodBytes = 8 * 1024;

const manifest: Target = {
  name: 'manifest',
  floodBytes: yamlFloodBytes,
  seeds: texts(podYaml, podJson, podYaml.slice(0, 120), 'a: &a {b: 1}\nc: {<<: *a}\n? [d]\n: e\n'),
  words: yamlWords,
  refuses: only(InvalidManifest, SyntaxProblem),
  run(input) {
    // Reading decodes, fills in defaults and validates.
    const { pods } = readManifest(
      input.toString('utf8'),
      { kind: 'http', url: 'http://localhost/', shown: 'http://localhost/' },
      { nodeName: 'node', refuseApiReferences: true },
    );
    for (const pod of pods) {
      const copy = clone(pod);
      holds(canonicalJson(copy) === canonicalJson(pod), 'a copy has the same text');
      holds(semanticEqual(copy, pod), 'a copy is equal');
    }
  },
};

const runInputs: Target = {
  name: 'run-inputs',
  floodBytes: yamlFloodBytes,
  seeds: texts(
    `${podYaml}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 2\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i}]}\n`,
    'apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n',
    'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n- kind: Service\n',
    'apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec: {serviceName: s, template: {spec: {containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: v}, spec: {resources: {requests: {storage: 1Gi}}}}]}\n',
  ),
  words: [...yamlWords, 'kind: DaemonSet\n', 'kind: CronJob\n', 'generateName: x\n', 'replicas: 9\n'],
  refuses: never,
  run: (input) => readManifestText(input.toString('utf8'), 'stdin', emptyContent()),
};

const objects: Target = {
  name: 'objects',
  floodBytes: yamlFloodBytes,
  seeds: texts(
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n}\ndata: {a: b}\nbinaryData: {k: aGk=}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: Opaque\nstringData: {p: w}\ndata: {q: aGk=}\n',
    'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp}}\n',
    'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: v}\nspec: {resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteOnce]}\n',
  ),
  words: yamlWords,
  refuses: only(InvalidManifest, SyntaxProblem),
  run: (input) => void readObjects(input.toString('utf8'), 'objects.yaml'),
};

const document: Target = {
  name: 'document',
  floodBytes: yamlFloodBytes,
  seeds: texts(
    podYaml,
    podJson,
    'a: |\n  b\n c: d\n',
    '{"a": {"b": [1, 2, {"c": "\\u0041"}]}, "a": 2}',
    '- \'x\'\n- "y\\n"\n- 0o7\n- 1_000\n',
  ),
  words: yamlWords,
  maxBytes: 16 * 1024,
  refuses: only(SyntaxProblem),
  run(input) {
    for (const { value, locate } of parseSource(input.toString('utf8'), 'x')) {
      for (const key of typeof value === 'object' && value !== null ? Object.keys(value).slice(0, 20) : []) {
        locate([key, 0, 'a']);
        const place = locate([key]);
        holds(place === undefined || (place.line > 0 && place.column > 0), 'places count from one');
      }
    }
  },
};

const json: Target = {
  name: 'json',
  seeds: texts(podJson, '[1,"a\\"",{"b":null}]', '{"a":{"a":1},"a":2}'),
  words: ['[', ']', '{', '}', '":', '\\"', '['.repeat(120)],
  refuses: only(JsonProblem),
  run(input) {
    const text = input.toString('utf8');
    const value = parseJson(text);
    holds(isDeepStrictEqual(value, JSON.parse(text)), 'it reads what JSON.parse reads');
    holds(
      canonicalJson(JSON.parse(canonicalJson(value))) === canonicalJson(value),
      'the canonical text is stable',
    );
  },
};

const quantity: Target = {
  name: 'quantity',
  seeds: texts('100m', '1.5Gi', '-0.5', '12e6', '1E', '+1n', '100000000000000000000000000000k', '1e-9'),
  words: ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'n', 'u', 'm', 'k', 'M', 'G', 'e', 'E', '.', '-', '+'],
  maxBytes: 512,
  refuses: only(InvalidQuantity),
  run(input) {
    const parsed = parseQuantity(input.toString('utf8'));
    const text = formatQuantity(parsed);
    const again = parseQuantity(text);
    holds(compareQuantities(again, parsed) === 0, `${text} is the quantity that was formatted`);
    holds(formatQuantity(again) === text, 'the canonical form is stable');
  },
};

const duration: Target = {
  name: 'duration',
  seeds: texts('1h30m', '100us', '-1.5s', '0', '2562047h47m16s', '.5s', '1µs'),
  words: ['ns', 'us', 'µs', 'ms', 's', 'm', 'h', '.', '-'],
  maxBytes: 512,
  run(input) {
    const ms = parseDuration(input.toString('utf8'));
    holds(!Number.isNaN(ms), 'a duration is a number');
    if (Math.abs(ms) > 1e12 || !Number.isFinite(ms)) return;
    holds(
      Math.abs(parseDuration(formatDuration(ms)) - ms) <= Math.abs(ms) * 1e-9 + 1e-6,
      'the text is the duration',
    );
  },
};

const timestamp: Target = {
  name: 'timestamp',
  seeds: texts('2006-01-02T15:04:05Z', '2006-01-02T15:04:05.123456789+07:00', '0000-01-01T00:00:00Z'),
  refuses: never,
  run: (input) => void parseTimestampNanos(input.toString('utf8')),
};

const imageName: Target = {
  name: 'image-name',
  seeds: texts(
    'busybox',
    'registry.example:5000/a/b_c:v1.2',
    `localhost/x@sha256:${'a'.repeat(64)}`,
    'a/b:c@d',
    'A/b',
  ),
  words: ['@sha256:', ':', '/', '..', '__', '-', 'docker.io/'],
  maxBytes: 4096,
  run(input) {
    const text = input.toString('utf8');
    parseImageName(text);
    normalNames(text);
    const { domain, path, tag, digest } = parseImageReference(text);
    const full = `${domain}/${path}${tag === '' ? '' : `:${tag}`}${digest === '' ? '' : `@${digest}`}`;
    holds(
      isDeepStrictEqual(parseImageReference(full), { domain, path, tag, digest }),
      `${full} is the same image`,
    );
  },
};

const labelSelector: Target = {
  name: 'label-selector',
  seeds: texts('a=b,c!=d,!e,f in (g,h),i notin (j)', 'app==web', 'x/y in (a)'),
  words: [' in (', ' notin (', ')', ',', '=', '==', '!=', '!'],
  refuses: only(UsageError),
  run: (input) => void parseSelector(input.toString('utf8'))({ a: 'b', f: 'g' }),
};

const names: Target = {
  name: 'small-texts',
  seeds: texts(
    '10.0.0.1',
    'fe80::1%eth0',
    '$(A) $$(B) $(C',
    '::ffff:1.2.3.4',
    '120',
    'Wed, 21 Oct 2015 07:28:00 GMT',
  ),
  words: ['$(', ')', '$$', '::', '%'],
  refuses: never,
  run(input) {
    const text = input.toString('utf8');
    parseIp(text);
    parseReferences(text);
    readRetryAfter(text);
    goQuote(text);
  },
};

/** Three values on a line each: what is patched, the patch, and what it should become. */
const patches: Target = {
  name: 'patches',
  seeds: texts(
    '{"metadata":{"finalizers":["a","b"],"labels":{"x":"y"}},"spec":{"containers":[{"name":"a","env":[{"name":"A"}]}]}}\n{"spec":{"containers":[{"name":"a","$patch":"delete"},{"name":"b"}]},"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["b"],"labels":null}}\n{"status":{"conditions":[{"type":"A"}]}}',
    '{"a":[1,2],"b":{"c":1}}\n[{"op":"add","path":"/a/1","value":9},{"op":"move","from":"/b/c","path":"/d"},{"op":"test","path":"/a/0","value":1},{"op":"copy","from":"/a","path":"/b/x"},{"op":"remove","path":"/a/0"},{"op":"replace","path":"/d","value":{}}]\n{}',
    '{"status":{"podIPs":[{"ip":"1"}]}}\n{"$retainKeys":["status"],"status":{"$patch":"replace"}}\n{"status":{"podIPs":[{"ip":"2"},{"ip":"1"}]}}',
  ),
  words: [
    '"$patch":"delete",',
    '"$patch":"replace",',
    '"$retainKeys":[],',
    '"__proto__":{"x":1},',
    '"constructor":{},',
    '{"op":"add","path":"/-"},',
  ],
  refuses: only(PatchRefused, JsonProblem),
  run(input) {
    const [original, patch, modified] = input
      .toString('utf8')
      .split('\n')
      .map((line) => parseJson(line));
    const before = canonicalJson(original);
    const schema = mergeSchemaOf({ kind: 'Pod' });
    holds(!('x' in Object.prototype), 'no patch reaches the prototype of all objects');
    applyMergePatch(original, patch);
    const ignoreRefusal = (apply: () => unknown): void => {
      try {
        apply();
      } catch (error) {
        if (!(error instanceof PatchRefused)) throw error;
      }
    };
    ignoreRefusal(() => applyStrategicMergePatch(schema, original, patch));
    if (Array.isArray(patch) && patch.every(isOperation))
      ignoreRefusal(() => applyJsonPatch(original, patch));
    jsonEqual(original, modified);
    strategicMergeDiff(schema, original, modified);
    holds(canonicalJson(original) === before, 'a patch changes a copy');
  },
};

function isOperation(value: unknown): value is JsonPatchOperation {
  if (typeof value !== 'object' || value === null || !('op' in value) || !('path' in value)) return false;
  if (typeof value.path !== 'string') return false;
  if (value.op === 'move' || value.op === 'copy') return 'from' in value && typeof value.from === 'string';
  return value.op === 'add' || value.op === 'remove' || value.op === 'replace' || value.op === 'test';
}

const selectors: Target = {
  name: 'selector-objects',
  seeds: texts(
    '{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"In","values":["d"]},{"key":"e","operator":"Exists"}]}',
  ),
  words: ['"NotIn"', '"DoesNotExist"', '"__proto__"'],
  refuses: (error) => error instanceof Error && !(error instanceof RangeError),
  // The API has checked these; here only that nothing hangs or overflows.
  run: (input) =>
    void selectorMatches(parseJson(input.toString('utf8')) as LabelSelector, { a: 'b', c: 'd' }),
};

const watchEvents: Target = {
  name: 'watch-events',
  seeds: texts(
    '{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"5"}}}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n',
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n\n',
  ),
  words: ['"MODIFIED"', '"DELETED"', '"ERROR"', '"BOOKMARK"', '\n'],
  refuses: only(ApiUnreachable),
  async run(input) {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield* chunksOf(input);
    }
    apiErrorOf(500, input.toString('utf8'));
    for await (const line of readLines(chunks(), 4096)) parseWatchEvent(line);
  },
};

export const kubernetesTargets: readonly Target[] = [
  manifest,
  runInputs,
  objects,
  document,
  json,
  quantity,
  duration,
  timestamp,
  imageName,
  labelSelector,
  names,
  patches,
  selectors,
  watchEvents,
];
