import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildBusyboxImage, startRegistry, type TestRegistry } from '../env/index.js';
import { eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
let registry: TestRegistry;
beforeAll(async () => {
  node = await TestNode.create();
  registry = await startRegistry({ cleanups: node.cleanups });
  await node.containerd.useRegistry(registry.host, registry.url);
  await node.start();
});
afterAll(() => node.stop());

const waitingReason = (status: {
  containerStatuses?: { state?: { waiting?: { reason?: string } } }[];
}): string | undefined => status.containerStatuses?.[0]?.state?.waiting?.reason;

it('an image that is missing is pulled from the registry', async () => {
  const image = await registry.push(
    await buildBusyboxImage({ name: 'nodelet.test/pulled:1', config: {} }, []),
  );
  await node.apply('pull.yaml', manifest('pull', { image }));
  await node.untilReady('pull');
  expect(node.log).toContain(`Pulling image "${image}"`);
  expect(node.log).toMatch(
    /Successfully pulled image ".*" in \S+ \(\S+ including waiting\)\. Image size: \d+ bytes\./,
  );
});

it('an image that nobody has: the error, then back-off, then it runs once somebody has it', async () => {
  const image = `${registry.host}/later:1`;
  await node.apply('later.yaml', manifest('later', { image, command: forever }));
  await node.until('later', 'cannot be pulled', (status) => waitingReason(status) === 'ErrImagePull');
  const status = await node.until(
    'later',
    'backs off',
    (one) => waitingReason(one) === 'ImagePullBackOff',
    40_000,
  );
  expect(status.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
    /^Back-off pulling image ".*": ErrImagePull: /,
  );
  await registry.push(await buildBusyboxImage({ name: 'nodelet.test/later:1', config: {} }, []));
  await node.untilReady('later', 60_000);
});

it('an image that must not be pulled is refused', async () => {
  const image = `${registry.host}/never:1`;
  await node.apply(
    'never.yaml',
    manifest('never', { spec: { containers: [{ name: 'app', image, imagePullPolicy: 'Never' }] } }),
  );
  const status = await node.until('never', 'is refused', (one) => waitingReason(one) === 'ErrImageNeverPull');
  expect(status.containerStatuses?.[0]?.state?.waiting?.message).toBe(
    `Container image "${image}" is not present with pull policy of Never`,
  );
});

it('a name that is no image is refused', async () => {
  await node.apply('badname.yaml', manifest('badname', { image: 'UPPER/Case:1' }));
  await node.until('badname', 'is refused', (one) => waitingReason(one) === 'InvalidImageName');
  await eventually('it is told', async () =>
    node.log.includes('Failed to apply default image tag "UPPER/Case:1"'),
  );
});
