/** Device plugins over real sockets: what a plugin is answered when it registers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { GrpcConnection } from '../../grpc/index.js';
import { Registration } from './gen/device-plugin.js';
import { serveDeviceRegistration } from './grpc-plugins.js';
import { registrationRefusal } from './resource-name.js';

it('a plugin is told why it is refused, with the code of an unknown error', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'devices-'));
  const socketPath = path.join(root, 'kubelet.sock');
  const server = await serveDeviceRegistration(socketPath, async ({ version, resourceName }) => {
    const refusal = registrationRefusal(version, resourceName);
    if (refusal !== undefined) throw new Error(refusal);
  });
  const plugin = new GrpcConnection(socketPath);
  const request = { version: 'v1beta1', endpoint: 'dp.sock', resourceName: 'example.com/resource' };
  try {
    expect(await plugin.unary(Registration.register, request)).toEqual({});
    await expect(
      plugin.unary(Registration.register, { ...request, version: 'v1beta2' }),
    ).rejects.toMatchObject({
      codeName: 'Unknown',
      details:
        'requested API version "v1beta2" is not supported by kubelet. Supported version is ["v1beta1"]',
    });
    expect(server.failure()).toBeUndefined();
  } finally {
    plugin.close();
    await server.close();
    await rm(root, { recursive: true });
  }
});
