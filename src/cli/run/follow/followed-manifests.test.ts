import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../async/index.js';
import type { ManifestNews } from '../../../pods/sources/held-files.js';
import { emptyContent } from '../manifest.js';
import { FollowedManifests } from './followed-manifests.js';

const pod = (name: string, image = 'i'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: ${image}}]}\n`;
const bad = (name: string): string => pod(name).replace('image: i', 'image: 7');
const settings = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {k: "${value}"}\n`;

class World {
  readonly manifests = new FollowedManifests({ inputs: [], fixed: emptyContent(), clock: systemClock });
  #files: Record<string, string> = {};

  /** The files as they are now. */
  take(files: Record<string, string>, problems: Record<string, string> = {}): ManifestNews {
    const changed = Object.entries(files).filter(([file, text]) => this.#files[file] !== text);
    this.#files = files;
    return this.manifests.take({
      files: Object.keys(files),
      changed: new Map(changed),
      problems: new Map(Object.entries(problems)),
    });
  }

  get pods(): string {
    return this.manifests.content.pods
      .map(({ pod: { metadata, spec } }) => `${metadata.name} ${spec.containers[0]?.image}`)
      .join(', ');
  }
}

describe('followed manifests', () => {
  it('have the content of all files, and of each as it was last without errors', () => {
    const world = new World();
    world.take({ 'a.yaml': pod('a'), 'b.yaml': pod('b') });
    expect(world.pods).toBe('a i, b i');
    const news = world.take({ 'a.yaml': pod('a', 'j'), 'b.yaml': `${pod('c')}---\n${bad('b')}` });
    expect(world.pods).toBe('a j, b i');
    expect(news.errors).toEqual([
      'b.yaml:9:31: spec.containers[0].image: expected a string, found a number; put it in quotes',
      'b.yaml: until this is right, what it said before holds',
    ]);
    expect(world.take({ 'a.yaml': pod('a'), 'b.yaml': `${pod('c')}---\n${bad('b')}` }).errors).toEqual([]);
    const right = world.take({ 'a.yaml': pod('a'), 'b.yaml': `${pod('c')}---\n${pod('b')}` });
    expect(right).toEqual({ errors: [], warnings: [], notes: ['b.yaml is right again'] });
    expect(world.pods).toBe('a i, c i, b i');
    world.take({ 'b.yaml': pod('b') });
    expect(world.pods).toBe('b i');
  });

  it.each<[string, string]>([
    ['it is emptied', ''],
    ['it is cut', pod('a').slice(0, 60)],
    ['it becomes something else', 'once upon a time'],
    ['it is no text', '\u0000\u0001'],
  ])('keep the pods of a file when %s', (_what, text) => {
    const world = new World();
    world.take({ 'a.yaml': pod('a') });
    const { errors } = world.take({ 'a.yaml': text });
    expect(world.pods).toBe('a i');
    expect(errors.length).toBeGreaterThan(1);
  });

  it('take what is right of a file that never gave anything', () => {
    const world = new World();
    world.take({ 'a.yaml': bad('a') });
    expect(world.manifests.content.problems).toHaveLength(1);
    world.take({ 'a.yaml': `${pod('a')}---\n${bad('b')}` });
    expect(world.pods).toBe('a i');
  });

  it('tell what cannot be read, once, and when it can be again', () => {
    const world = new World();
    world.take({ 'a.yaml': pod('a') });
    const problems = { 'a.yaml': 'EACCES: permission denied' };
    expect(world.take({ 'a.yaml': pod('a') }, problems).errors).toEqual([
      'a.yaml: EACCES: permission denied',
      'a.yaml: until this is right, what it said before holds',
    ]);
    expect(world.pods).toBe('a i');
    expect(world.manifests.content.problems).toHaveLength(1);
    expect(world.take({ 'a.yaml': pod('a') }, problems).errors).toEqual([]);
    expect(world.take({ 'a.yaml': pod('a') }).notes).toEqual(['a.yaml is right again']);
    expect(world.manifests.content.problems).toEqual([]);
  });

  it('count the first of two pods of one name, and the other once that is gone', () => {
    const world = new World();
    world.take({ 'a.yaml': pod('x', 'one'), 'b.yaml': pod('x', 'two') });
    expect(world.pods).toBe('x one');
    expect(
      world.manifests.content.problems.map(({ file, line, message }) => `${file}:${line} ${message}`),
    ).toEqual([
      'b.yaml:3 pod default/x is also defined at a.yaml:1, which counts; give one of them another name',
    ]);
    world.take({ 'b.yaml': pod('x', 'two') });
    expect(world.pods).toBe('x two');
    expect(world.manifests.content.problems).toEqual([]);
  });

  it('have the objects that pods use', () => {
    const world = new World();
    world.take({ 'a.yaml': settings('1') });
    world.take({ 'a.yaml': settings('2') });
    expect(world.manifests.content.objects.configMaps.map(({ data }) => data?.k)).toEqual(['2']);
    world.take({ 'a.yaml': 'kind: [' });
    expect(world.manifests.content.objects.configMaps).toHaveLength(1);
    world.take({});
    expect(world.manifests.content.objects.configMaps).toEqual([]);
  });

  it('tell of ignored fields of a changed file', () => {
    const world = new World();
    const { warnings } = world.take({ 'a.yaml': `${pod('a')}foo: 1\n` });
    expect(warnings).toEqual(['a.yaml:5:1: foo: unknown field, ignored: remove it; Pod has no such field']);
  });
});
