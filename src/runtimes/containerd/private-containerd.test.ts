import { expect, it } from 'vitest';
import { saysUnimplemented } from './private-containerd.js';

it.each([
  ['ctr: unknown method /containerd.services.leases.v1.Leases/Create: not implemented', true],
  ['ctr: rpc error: code = Unimplemented desc = unknown service containerd.services.leases.v1.Leases', true],
  ['ctr: open /x.tar: no such file or directory', false],
])('"%s": the server is not containerd: %s', (output, expected) => {
  expect(saysUnimplemented(output)).toBe(expected);
});
