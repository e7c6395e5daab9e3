import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject, OwnerReference } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, testDeployment } from '../test-cluster.js';
import { decideDependent, decideOwner, type OwnerState } from './decide.js';

const owner = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('decideDependent', () => {
  it.each<[rule: string, states: OwnerState[], metadata: object, hasDependents: boolean, expected: string]>([
    ['an object without owners stays', [], {}, false, 'keep'],
    ['an object with an owner stays', ['present'], {}, false, 'keep'],
    ['an object whose owner is of an unknown kind stays', ['unknown'], {}, false, 'keep'],
    ['an object whose only owner is gone goes', ['absent'], {}, false, 'Background'],
    ['an object that has another owner loses one reference', ['present', 'absent'], {}, false, 'drop 1'],
    ['an object that has an unknown owner loses the other', ['absent', 'unknown'], {}, false, 'drop 0'],
    ['an object whose owner waits goes before it', ['waiting'], {}, false, 'Background'],
    ['and its own dependents go before that', ['waiting'], {}, true, 'Foreground'],
    ['an object that shall orphan does so', ['absent'], { finalizers: ['orphan'] }, true, 'Orphan'],
    ['an object that is being deleted is left to that', ['absent'], deleted, false, 'keep'],
  ])('%s', (_, states, metadata, hasDependents, expected) => {
    const owners = states.map((state, index) => ({ reference: owner(String(index)), state }));
    const step = decideDependent({ metadata }, owners, hasDependents);
    const shown =
      step.kind === 'delete' ? step.propagation : step.kind === 'keep' ? 'keep' : `drop ${step.uids.join()}`;
    expect(shown).toBe(expected);
  });
});

describe('decideOwner', () => {
  const dependent = (blockOwnerDeletion: boolean): KubeObject => ({
    metadata: { ownerReferences: [{ ...owner('me'), blockOwnerDeletion }] },
  });
  it.each<[rule: string, metadata: object, dependents: KubeObject[], expected: string]>([
    ['an object that is not deleted needs nothing', { finalizers: ['foregroundDeletion'] }, [], 'none'],
    [
      'it waits for a dependent that blocks it',
      { ...deleted, finalizers: ['foregroundDeletion'] },
      [dependent(true)],
      'wait',
    ],
    [
      'it does not wait for others',
      { ...deleted, finalizers: ['foregroundDeletion'] },
      [dependent(false)],
      'release',
    ],
    ['it orphans its dependents', { ...deleted, finalizers: ['orphan'] }, [dependent(true)], 'orphan'],
    ['it goes when nobody is left to orphan', { ...deleted, finalizers: ['orphan'] }, [], 'release'],
    ['finalizers of others are none of its business', { ...deleted, finalizers: ['x'] }, [], 'none'],
  ])('%s', (_, metadata, dependents, expected) => {
    expect(decideOwner({ metadata: { uid: 'me', ...metadata } }, dependents).kind).toBe(expected);
  });
});

describe('the garbage collector', () => {
  let cluster: TestCluster;
  afterEach(() => cluster.stop());

  const started = async (): Promise<void> => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.deployments, testDeployment('web', 2));
    await cluster.advance(2000);
  };
  const left = async (): Promise<number[]> => [
    (await cluster.list(resources.deployments)).length,
    (await cluster.list(resources.replicaSets)).length,
    (await cluster.list(resources.pods)).length,
  ];
  const mark = (finalizer: string) =>
    cluster.api.patch(
      resources.deployments,
      { namespace: 'default', name: 'web' },
      { type: 'merge', body: { metadata: { finalizers: [finalizer] } } },
    );

  it('deletes a Deployment with all that belongs to it', async () => {
    await started();
    await cluster.api.delete(resources.deployments, { namespace: 'default', name: 'web' });
    await cluster.advance(2000);
    expect(await left()).toEqual([0, 0, 0]);
  });

  it('deletes the owner last when asked to', async () => {
    await started();
    await mark('foregroundDeletion');
    // The simulated server does not add the finalizer of a deletion in the foreground.
    const [set] = await cluster.list(resources.replicaSets);
    const body = { metadata: { finalizers: ['foregroundDeletion'] } };
    await cluster.api.patch(
      resources.replicaSets,
      { namespace: 'default', name: set!.metadata.name ?? '' },
      { type: 'merge', body },
    );
    await cluster.api.delete(resources.deployments, { namespace: 'default', name: 'web' });
    await cluster.settle();
    expect(await left()).toEqual([1, 1, 2]);
    await cluster.advance(5000);
    expect(await left()).toEqual([0, 0, 0]);
  });

  it('leaves the dependents behind when asked to', async () => {
    await started();
    await mark('orphan');
    await cluster.api.delete(resources.deployments, { namespace: 'default', name: 'web' });
    await cluster.advance(2000);
    expect(await left()).toEqual([0, 1, 2]);
    expect((await cluster.list(resources.replicaSets))[0]!.metadata.ownerReferences ?? []).toEqual([]);
  });

  it('keeps what has an owner left, and what has an owner of an unknown kind', async () => {
    cluster = await TestCluster.started();
    const first = await cluster.api.create(resources.configMaps, {
      metadata: { name: 'first', namespace: 'default' },
    });
    const reference = { ...owner(first.metadata.uid ?? ''), name: 'first' };
    const make = (name: string, ownerReferences: OwnerReference[]) =>
      cluster.api.create(resources.secrets, { metadata: { name, namespace: 'default', ownerReferences } });
    await make('shared', [reference, owner('gone')]);
    await make('foreign', [{ ...owner('x'), apiVersion: 'example.com/v1', kind: 'Thing' }]);
    await make('lost', [owner('gone')]);
    await cluster.advance(1000);
    const names = (await cluster.list(resources.secrets)).map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(['foreign', 'shared']);
    expect((await cluster.get(resources.secrets, 'shared')).metadata.ownerReferences).toEqual([reference]);
  });
});
