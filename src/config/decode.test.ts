import { describe, expect, it } from 'vitest';
import { decodeConfigFile } from './decode.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const decode = (text: string, lenient = false) => decodeConfigFile(text, '/c.yaml', { lenient });

describe('decodeConfigFile reads', () => {
  const rows: [body: string, expected: Record<string, unknown>][] = [
    ['port: 5', { port: 5 }],
    ['port: 5.0', { port: 5 }],
    ['port: null', {}],
    ['enableServer: off', { enableServer: false }],
    ['cpuCFSQuotaPeriod: null', {}],
    ['syncFrequency: 1h1m1.5s', { syncFrequency: 3_661_500 }],
    ['syncFrequency: 100us', { syncFrequency: 0.1 }],
    ['logging: {flushFrequency: 2500000000}', { 'logging.flushFrequency': 2500 }],
    [
      'logging: {flushFrequency: 2s, verbosity: 3}',
      { 'logging.flushFrequency': 2000, 'logging.verbosity': 3 },
    ],
    ['logging: {options: {json: {infoBufferSize: 1000}}}', { 'logging.options.json.infoBufferSize': '1k' }],
    ['authentication: null', {}],
    ['authentication: {webhook: {enabled: null, cacheTTL: 1s}}', { 'authentication.webhook.cacheTTL': 1000 }],
    ['staticPodURLHeader: {a: [b, c]}', { staticPodURLHeader: { a: ['b', 'c'] } }],
    ['featureGates: {A: true}', { featureGates: { A: true } }],
    ['tlsCurvePreferences: [29, 23]', { tlsCurvePreferences: [29, 23] }],
    [
      'reservedMemory: [{limits: {memory: 1024Mi}}]',
      { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
    ],
    [
      'shutdownGracePeriodByPodPriority: [{}]',
      { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 0 }] },
    ],
    [
      'registerWithTaints: [{key: a, value: b, effect: NoSchedule}]',
      { registerWithTaints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] },
    ],
    ['clusterDNS: null', {}],
  ];
  it.each(rows)('%s', (body, expected) => {
    expect(Object.fromEntries(decode(`${header}${body}\n`).settings.values)).toEqual(expected);
  });

  it('JSON', () => {
    const text = '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":7}';
    expect(decode(text).settings.values.get('maxPods')).toBe(7);
  });

  it('an empty optional structure', () => {
    expect([...decode(`${header}tracing: {}\n`).settings.structs]).toEqual(['tracing']);
  });

  it('the first of several documents, with a warning', () => {
    const { settings, warnings } = decode(`${header}port: 1\n---\n${header}port: 2\n`);
    expect(settings.values.get('port')).toBe(1);
    expect(warnings).toEqual(['/c.yaml holds 2 documents; only the first one is read']);
  });
});

describe('decodeConfigFile refuses', () => {
  const rows: [text: string, message: string][] = [
    ['', 'kubelet config file "/c.yaml" was empty'],
    ['# nothing\n', "Object 'Kind' is missing"],
    ['kind: KubeletConfiguration\n', "Object 'apiVersion' is missing"],
    ['apiVersion: kubelet.config.k8s.io/v1beta1\n', "Object 'Kind' is missing"],
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Foo\n',
      'no kind "Foo" is registered for version "kubelet.config.k8s.io/v1beta1"',
    ],
    ['- 1\n', 'must be one object with apiVersion and kind, not a list'],
    ['a: [\n', '/c.yaml:'],
    [`${header}port: "x"\n`, '/c.yaml:3:1: port must be a whole number (int32), not the string "x"'],
    [`${header}port: 1.5\n`, 'port must be a whole number (int32), not the number 1.5'],
    [`${header}port: 99999999999\n`, 'port 99999999999 does not fit int32'],
    [`${header}enableServer: "true"\n`, 'enableServer must be true or false, not the string "true"'],
    [`${header}clusterDNS: a\n`, 'clusterDNS must be a list, not the string "a"'],
    [`${header}clusterDNS: [a, 5]\n`, '/c.yaml:3:17: clusterDNS[1] must be a string, not the number 5'],
    [`${header}evictionHard:\n  memory.available: 5\n`, 'must be a string, not the number 5'],
    [`${header}authentication: 5\n`, 'authentication must be an object, not the number 5'],
    [`${header}syncFrequency: null\n`, 'syncFrequency must be a duration string'],
    [`${header}syncFrequency: ""\n`, 'syncFrequency invalid duration ""'],
    [`${header}syncFrequency: 5x\n`, 'syncFrequency unknown unit "x" in duration "5x"'],
    [
      `${header}runtimeRequestTimeout: 0\n`,
      'runtimeRequestTimeout must be a duration string such as 10s or 1m30s, not the number 0',
    ],
    [`${header}logging: {flushFrequency: 1.5}\n`, 'logging.flushFrequency must be a duration string'],
    [`${header}logging: {verbosity: -1}\n`, 'logging.verbosity -1 does not fit uint32'],
    [
      `${header}registerWithTaints: [{key: a, efect: NoSchedule}]\n`,
      'unknown field "registerWithTaints[0].efect" (did you mean "effect"?)',
    ],
    [`${header}zzzzzzzz: 1\n`, '/c.yaml:3:1: unknown field "zzzzzzzz"\n'],
  ];
  it.each(rows)('%j', (text, message) => {
    expect(() => decode(text)).toThrow(message);
  });

  it('all wrong values at once', () => {
    expect(() => decode(`${header}port: x\nmaxPods: y\n`)).toThrow(/port must be.*\n.*maxPods must be/);
  });

  it('a header of the wrong type without repeating it', () => {
    expect(() => decode(`${header}staticPodURLHeader: {Authorization: s3cret}\n`)).toThrow(
      /^\/c\.yaml:3:22: staticPodURLHeader\.Authorization must map names to lists of strings$/,
    );
  });

  it('wrong values even with lenient decoding', () => {
    expect(() => decode(`${header}port: x\n`, true)).toThrow('port must be');
  });
});
