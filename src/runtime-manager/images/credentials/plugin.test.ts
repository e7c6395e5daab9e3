import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../../async/index.js';
import type { Pod } from '../../../kube/index.js';
import { Registry } from '../../../metrics/index.js';
import { Timeline } from '../../../timeline/index.js';
import { createPluginMetrics } from '../../metrics.js';
import { loadCredentialPlugins } from './load-plugins.js';
import { CredentialPlugin, type RunPlugin } from './plugin.js';
import { type CredentialProvider, readProviders } from './plugin-config.js';
import { cacheKeysOf, parsePluginAnswer } from './plugin-response.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const provider: CredentialProvider = {
  name: 'ecr',
  apiVersion,
  matchImages: ['*.a.io', 'b.io:5000/team'],
  defaultCacheDurationMs: 60_000,
  args: ['get'],
  env: [{ name: 'REGION', value: 'x' }],
};

const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, spec: { containers: [] } };

const answer = (more: object = {}): string =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Image',
    auth: { '*.a.io': { username: 'u', password: 'p' } },
    ...more,
  });

function pluginOf(run: RunPlugin, clock = new VirtualClock()) {
  const timeline = new Timeline();
  const registry = new Registry();
  const plugin = new CredentialPlugin(provider, {
    clock,
    timeline,
    binDir: '/bin/plugins',
    metrics: createPluginMetrics(registry),
    run,
  });
  return { plugin, clock, timeline, registry };
}

describe('running a plugin', () => {
  it('passes the image on stdin, with its arguments and variables', async () => {
    const asked: unknown[] = [];
    const { plugin } = pluginOf(async (file, { args, env, input }) => {
      asked.push([file, args, env.REGION, env.PATH === process.env.PATH, JSON.parse(input)]);
      return answer();
    });
    expect(await plugin.lookup(pod, 'x.a.io/app')).toEqual([{ username: 'u', password: 'p' }]);
    expect(asked).toEqual([
      [
        '/bin/plugins/ecr',
        ['get'],
        'x',
        true,
        { kind: 'CredentialProviderRequest', apiVersion, image: 'x.a.io/app' },
      ],
    ]);
  });

  it('is skipped for images that do not match', async () => {
    const { plugin } = pluginOf(() => Promise.reject(new Error('asked')));
    expect(await plugin.lookup(pod, 'c.io/app')).toEqual([]);
  });

  it('happens once for concurrent callers', async () => {
    let runs = 0;
    const { plugin } = pluginOf(async () => {
      runs++;
      return answer({ cacheDuration: '0s' });
    });
    await Promise.all([plugin.lookup(pod, 'x.a.io/app'), plugin.lookup(pod, 'x.a.io/app')]);
    expect(runs).toBe(1);
    await plugin.lookup(pod, 'x.a.io/app');
    expect(runs).toBe(2);
  });

  it.each<[string, object, string[], number]>([
    ['a response for an image applies to that image', {}, ['x.a.io/app', 'x.a.io/app', 'x.a.io/other'], 2],
    [
      'a response for a registry applies to all of it',
      { cacheKeyType: 'Registry' },
      ['x.a.io/app', 'x.a.io/other', 'y.a.io/app'],
      2,
    ],
    [
      'a global response applies to everything',
      { cacheKeyType: 'Global' },
      ['x.a.io/app', 'y.a.io/other'],
      1,
    ],
  ])('%s', async (_, more, images, expected) => {
    let runs = 0;
    const { plugin } = pluginOf(async () => {
      runs++;
      return answer(more);
    });
    for (const image of images) await plugin.lookup(pod, image);
    expect(runs).toBe(expected);
  });

  it.each<[string, object, number, number]>([
    ['as long as it says', { cacheDuration: '10s' }, 10_000, 2],
    ['not yet over', { cacheDuration: '10s' }, 9_999, 1],
    ['as long as is configured', {}, 60_000, 2],
    ['for this time only', { cacheDuration: '0s' }, 0, 2],
  ])('a response is cached %s', async (_, more, afterMs, expected) => {
    let runs = 0;
    const { plugin, clock } = pluginOf(async () => {
      runs++;
      return answer(more);
    });
    await plugin.lookup(pod, 'x.a.io/app');
    await clock.advance(afterMs);
    await plugin.lookup(pod, 'x.a.io/app');
    expect(runs).toBe(expected);
  });

  it('that hangs is cancelled after a minute, without credentials', async () => {
    const { plugin, clock, registry } = pluginOf(
      (_, { signal }) =>
        new Promise((__, reject) => signal.addEventListener('abort', () => reject(new Error('killed')))),
    );
    const looking = plugin.lookup(pod, 'x.a.io/app');
    await clock.advance(60_000);
    expect(await looking).toEqual([]);
    expect(registry.text()).toContain('kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 1');
  });

  it.each([
    ['no JSON', 'p4ssword', 'error decoding credential provider plugin response from stdout'],
    ['another version', answer({ apiVersion: `${apiVersion}beta1` }), 'did not match expected apiVersion'],
    ['another kind', answer({ kind: 'X' }), 'unexpected kind'],
    ['no cache key', answer({ cacheKeyType: 'Pod' }), 'did not return a valid cacheKeyType'],
  ])('that responds with %s gives nothing, and nothing of it is revealed', async (_, text, message) => {
    const { plugin, timeline } = pluginOf(async () => text);
    expect(await plugin.lookup(pod, 'x.a.io/app')).toEqual([]);
    expect(timeline.ofNode()[0]?.error).toContain(message);
    expect(JSON.stringify(timeline.ofNode())).not.toContain('p4ssword');
    expect(() => parsePluginAnswer(text, apiVersion)).toThrow(message);
  });

  it('responses are cached by image, by registry and globally', () => {
    expect(cacheKeysOf('a.io:5000/x/y')).toEqual(['image a.io:5000/x/y', 'registry a.io:5000', 'global']);
  });
});

const config = (providers: unknown, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers,
    ...more,
  });
const entry = (more: object = {}): object => ({
  name: 'ecr',
  apiVersion,
  matchImages: ['*.a.io'],
  defaultCacheDuration: '10m',
  ...more,
});

describe('the configuration', () => {
  it('is parsed', () => {
    const text = config([entry({ args: ['get'], env: [{ name: 'A', value: 'b' }] })]);
    expect(readProviders([{ path: 'f', text }], { tokensEnabled: true })).toEqual([
      {
        name: 'ecr',
        apiVersion,
        matchImages: ['*.a.io'],
        defaultCacheDurationMs: 600_000,
        args: ['get'],
        env: [{ name: 'A', value: 'b' }],
      },
    ]);
  });

  it.each<[string, string, string]>([
    ['no plugin', config([]), 'f: providers: Required value: at least 1 item in plugins is required'],
    ['another kind', config([entry()], { kind: 'X' }), 'kind: Invalid value: "X"'],
    ['another version', config([entry()], { apiVersion: 'v9' }), 'apiVersion: Unsupported value: "v9"'],
    ['no name', config([entry({ name: '' })]), 'providers[0].name: Required value: name is required'],
    ['a name with a space', config([entry({ name: 'a b' })]), 'name cannot contain spaces'],
    [
      'a name that leaves the directory',
      config([entry({ name: '../x' })]),
      'name cannot contain path separator',
    ],
    ['a name that is the directory', config([entry({ name: '.' })]), "name cannot be '.'"],
    ['two of the same name', config([entry(), entry()]), 'providers: Duplicate value: "ecr"'],
    [
      'an unknown protocol',
      config([entry({ apiVersion: 'v9' })]),
      'providers[0].apiVersion: Unsupported value: "v9"',
    ],
    ['no images', config([entry({ matchImages: [] })]), 'providers[0].matchImages: Required value'],
    ['an image with a scheme', config([entry({ matchImages: ['https://a.io'] })]), 'match image is invalid'],
    [
      'no duration',
      config([entry({ defaultCacheDuration: undefined })]),
      'defaultCacheDuration: Required value',
    ],
    [
      'a negative duration',
      config([entry({ defaultCacheDuration: '-1s' })]),
      'must be greater than or equal to 0',
    ],
    ['an unknown field', config([entry({ matchImage: [] })]), 'providers[0]: unknown field "matchImage"'],
  ])('%s is rejected', (_, text, message) => {
    expect(() => readProviders([{ path: 'f', text }], { tokensEnabled: true })).toThrow(message);
  });
});

describe('plugins as programs', () => {
  const dirs: string[] = [];
  afterEach(async () => {
    for (const dir of dirs.splice(0)) await rm(dir, { recursive: true });
  });

  async function load(script: string, providers = [entry()]) {
    const dir = await mkdtemp(join(tmpdir(), 'nodelet-plugins-'));
    dirs.push(dir);
    await writeFile(join(dir, 'config.json'), config(providers));
    await writeFile(join(dir, 'ecr'), `#!/bin/sh\n${script}`);
    await chmod(join(dir, 'ecr'), 0o755);
    const timeline = new Timeline();
    const registry = new Registry();
    const plugins = await loadCredentialPlugins({
      configPath: join(dir, 'config.json'),
      binDir: dir,
      clock: systemClock,
      timeline,
      metrics: createPluginMetrics(registry),
      tokensEnabled: true,
    });
    return { plugin: plugins[0]!, timeline, registry };
  }

  it('are run', async () => {
    const { plugin, registry } = await load(`grep -q '"image":"x.a.io/app"' || exit 3\necho '${answer()}'\n`);
    expect(await plugin.lookup(pod, 'x.a.io/app')).toEqual([{ username: 'u', password: 'p' }]);
    expect(registry.text()).toMatch(
      /kubelet_credential_provider_config_info\{hash="sha256:[0-9a-f]{64}"\} 1/,
    );
    expect(registry.text()).toContain(
      'kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"} 1',
    );
  });

  it.each([
    '-T/x',
    '--help',
    '$(id)',
    ';reboot',
    'a b',
    'a\nb',
    'a\0b',
    '../x',
    'LABEL=x',
    'y'.repeat(200_000),
  ])('get the image %j on stdin, and nowhere else', async (name) => {
    const image = `x.a.io/${name}`;
    const { plugin } = await load(
      'dir=$(dirname "$0")\nprintf "%s\\n" "$#" "$@" > "$dir/words"\nenv > "$dir/env"\ncat > "$dir/input"\nexit 1\n',
      [entry({ args: ['get'] })],
    );
    await plugin.lookup(pod, image);
    const written = (file: string): Promise<string> => readFile(join(dirs[0] ?? '', file), 'utf8');
    expect(await written('words')).toBe('1\nget\n');
    expect(await written('env')).not.toContain('x.a.io');
    expect(JSON.parse(await written('input'))).toMatchObject({ image });
  });

  it('that fail are reported with their exit code alone', async () => {
    const { plugin, timeline } = await load('echo secret; echo secret >&2; exit 7\n');
    expect(await plugin.lookup(pod, 'x.a.io/app')).toEqual([]);
    expect(timeline.ofNode()[0]?.error).toMatch(/exit status 7$/);
    expect(JSON.stringify(timeline.ofNode())).not.toContain('secret');
  });

  it('that nobody waits for are killed', async () => {
    const { plugin } = await load('exec sleep 60\n');
    const stop = new AbortController();
    const looking = plugin.lookup(pod, 'x.a.io/app', stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(looking).rejects.toThrow('context canceled');
  });

  it('that are missing stop the start', async () => {
    await expect(load('', [entry({ name: 'gone' })])).rejects.toThrow(
      /plugin binary executable .*gone did not exist/,
    );
  });
});
