import { expect, it } from 'vitest';
import { containerdConfig } from './containerd-config.js';

const places = {
  dir: '/p',
  root: '/p/root',
  state: '/p/state',
  runcRoot: '/p/runc',
  socket: '/p/containerd.sock',
  cniConfDir: '/p/cni',
  registryHostsDir: '/p/hosts',
};

it('opens no socket that another containerd of the machine may have', () => {
  const settings = { sandboxImage: 'pause', cniBinDir: '/bin', restrictOomScore: false };
  const { grpc, plugins } = containerdConfig(places, settings);
  expect(grpc).toEqual({ address: '/p/containerd.sock' });
  // Newer ones listen at /var/run/nri/nri.sock by default, and end when they cannot.
  expect(plugins).toMatchObject({ 'io.containerd.nri.v1.nri': { disable: true } });
});
